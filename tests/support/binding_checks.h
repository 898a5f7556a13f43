#pragma once

#include <span>
#include <string>

#include <sinew/skinning/bind.h>

// What must hold for every binding, whatever the surface.
namespace sinew::test {

/// What is wrong with the weights bind_surface gave for `vertices` vertices; empty when nothing is.
std::string weights_fault(const SkinWeights& weights, std::size_t vertices, std::span<const Bone> bones,
                          const BindOptions& options);

/// Where the report contradicts the surface or the weights; empty when nowhere.
std::string report_fault(const BindReport& report, const MeshView& surface, const SkinWeights& weights,
                         std::span<const Bone> bones, const BindOptions& options);

/// 0 where the joint does not move the vertex.
float weight_of(const SkinWeights& weights, std::size_t vertex, int joint);

/// ½ Σ |a - b| over all joints: 0 for equal rows, 1 for rows without a common joint.
double total_variation(const SkinWeights& a, std::size_t vertex_of_a, const SkinWeights& b,
                       std::size_t vertex_of_b);

}  // namespace sinew::test

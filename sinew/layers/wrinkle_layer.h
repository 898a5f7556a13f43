#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/layer.h>
#include <sinew/effects/wrinkle_curve.h>
#include <sinew/effects/wrinkle_region.h>
#include <sinew/layers/implicit_options.h>
#include <sinew/layers/wrinkle_concavity.h>

namespace sinew {

/// A wrinkle tool in a recipe: a segment on the skin that folds when its ends come nearer.
struct WrinkleChoice {
  struct Level {
    double share = 1;
    void visit(FieldVisitor& fields);
  };

  std::string name = "wrinkles";  ///< for messages
  std::string mesh;               ///< pattern; empty: whichever is nearest
  std::vector<RecipePoint> points;
  int from_vertex = -1, to_vertex = -1;  ///< instead of points, of the file's mesh
  double width = 0;                      ///< metres; 0: as long as the segment
  int folds = 3, crest = 1, spacing = 0;
  std::size_t growth = 0;  ///< a WrinkleGrowth
  double height = 0.7;
  std::vector<Level> levels;    ///< none: one
  std::size_t attenuation = 0;  ///< a WrinkleAttenuation
  bool sharp = false;
  double strength = 1;
  double extension = 1;
  double fade = 0.03;
  std::size_t measure = 0;  ///< along the surface, or the chord

  void visit(FieldVisitor& fields);
  WrinkleShape shape() const;
};

class WrinkleLayerOptions : public LayerOptions {
 public:
  std::vector<WrinkleChoice> tools;
  int refine = 3;
  double detail = 2;
  bool respect_contact = true;

  void visit(FieldVisitor& fields) override;
  std::vector<std::uint8_t> triangle_levels(const Character& character) const override;
};

/// Skin and cloth that fold where they are compressed (Larboulette, Cani and Arnaldi 2006, §3), whatever
/// layer stands before it. Each tool's control curve keeps its length while its ends come nearer; its height
/// lifts the skin along its normals. Tools that overlap add up.
class WrinkleLayer : public Layer {
 public:
  struct Tool {
    std::string name;
    WrinkleRegion region;
    WrinkleCurve curve{WrinkleShape{}};
    double rest_length = 0;     ///< l: along the path or the chord, in the pose of greatest extension
    bool along_surface = true;  ///< else by the chord
    double strength = 1, fade = 0;
    double side = 1;
    std::vector<WrinkleCurve::Place> places;  ///< per vertex of the region
    std::vector<std::uint32_t> own_vertices;  ///< per vertex of the region, its number in the layer's list
    WrinkleConcavity concavity;
    std::vector<std::uint32_t>
        own_corners;  ///< per entry of concavity.vertices(), its number in the layer's list
    std::vector<std::uint32_t> own_normals;    ///< whose normals it needs: its vertices, corners of its paths
    std::vector<std::uint32_t> own_triangles;  ///< those that the normals need, numbers in the layer's list
  };

  /// Throws Error for tools whose ends are missing, the same, or not there.
  WrinkleLayer(const Character& character, const WrinkleLayerOptions& options);

  std::span<const Tool> tools() const { return tools_; }
  /// How much shorter than its rest a tool is for these positions, metres; negative when it is stretched.
  static double loss(const Tool& tool, std::span<const Vec3f> positions);

  std::string idle_because() const override;
  std::vector<std::string> notes() const override { return notes_; }
  bool uses_free_motion() const override { return respect_contact_; }
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  std::vector<Tool> tools_;
  std::vector<std::uint32_t> moved_;               // vertices that tools lift or take normals from
  std::vector<Triangle> triangles_;                // round these
  std::vector<std::uint32_t> triangle_starts_{0};  // per entry of moved_
  std::vector<std::uint32_t> triangle_numbers_;
  std::vector<std::string> notes_;
  bool respect_contact_ = true;
};

std::unique_ptr<LayerOptions> make_wrinkle_options();
std::unique_ptr<const Layer> make_wrinkle_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew

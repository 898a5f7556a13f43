#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/cli/bench_binding.h"
#include "apps/cli/bench_fitting.h"
#include "apps/cli/bench_methods.h"
#include "apps/cli/json.h"
#include "apps/cli/kernel_run.h"

/// What `sinew bench` says of its cases: as a table, as JSON and as a plot.
namespace sinew::cli {

std::string binding_case(std::size_t vertices);
std::string fitting_case(std::size_t vertices);

Json to_json(const CaseResult& result);
Json to_json(const KernelRun& run);
Json to_json(const BindingRun& run);
Json to_json(const FittingRun& run);

/// The runs of one case; there must be some.
void print(const CaseResult& result);
void print(const std::vector<KernelRun>& runs);
void print(const std::vector<BindingRun>& runs);
void print(const std::vector<FittingRun>& runs);

/// Throws Error unless all numbers of threads gave the same result, to the bit.
void check_hashes(const CaseResult& result);
void check_hashes(const std::vector<KernelRun>& runs);
void check_hashes(const std::vector<BindingRun>& runs);
void check_hashes(const std::vector<FittingRun>& runs);

/// An SVG: time per vertex over the size of the character, one line per method. Level lines scale as they
/// should.
std::string scaling_plot(const std::vector<CaseResult>& results, std::span<const LayerMethod> methods);

}  // namespace sinew::cli

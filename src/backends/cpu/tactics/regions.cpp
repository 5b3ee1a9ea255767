// When loops and conditionals run by the kernels of their operators, and which.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "compile/tactics/region_choice.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/within.h"

namespace tenon::backends::cpu {
namespace {

using compile::Problem;

// oneDNN's convolutions take row-major images, but are not offered so where others are faster.
std::vector<compile::Candidate> alsoRowMajor(const compile::Tactic& tactic, const Problem& problem) {
  const bool isWindow = problem.op.as<ops::Convolution>() != nullptr || problem.op.as<ops::Deconvolution>() != nullptr;
  if (!isWindow || !tactic.name().starts_with("cpu.dnnl_")) return {};
  return {compile::rowMajor(tactic.name(), problem)};
}

class RegionsTactic final : public SimpleTactic {
 public:
  RegionsTactic() : SimpleTactic("cpu.regions", false, 10) {}

  compile::Support supports(const Problem& problem) const override {
    if (!ops::hasRegions(problem.op)) return compile::no("it runs loops and conditionals");
    return compile::takesPluginsWithin(problem, [&] { (void)choose(problem); });
  }

  plan::KernelRecord build(const Problem& problem, const compile::Candidate& candidate) const override {
    auto record = SimpleTactic::build(problem, candidate);
    record.params = writeFields(choose(problem).kernels);
    return record;
  }

 private:
  static compile::RegionChoice choose(const Problem& problem) {
    return compile::chooseRegionKernels(problem, {"cpu", "cpu", &alsoRowMajor});
  }
};

}  // namespace

const compile::Tactic& tactic_regions() {
  static const RegionsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu

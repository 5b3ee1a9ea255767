// When loops and conditionals run by the kernels of their operators, and which.
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/regions/moves.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "compile/tactics/region_choice.h"
#include "core/error.h"
#include "ops/op/size.h"
#include "ops/within.h"

namespace tenon::backends::cuda {
namespace {

class RegionsTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.regions"; }
  int version() const override { return 1; }
  compile::Support supports(const compile::Problem& problem) const override {
    if (!ops::hasRegions(problem.op)) return compile::no("it runs loops and conditionals");
    if (!nvrtc().missing.empty()) return compile::no("{}", nvrtc().missing);
    if (ops::holds<ops::Size>(problem.op))
      return compile::no("sizes that the data decide within a loop or conditional");
    return compile::takesPluginsWithin(problem, [&] { (void)choose(problem); });
  }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    return {compile::rowMajor(name(), problem)};
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate&) const override {
    return {"cuda", "regions", 1, problem.op.text(), writeFields(choose(problem).kernels), -1};
  }
  std::vector<std::byte> nativeCode(const compile::Problem& problem, const compile::Candidate&,
                                    const plan::KernelRecord&) const override {
    return choose(problem).code;
  }
  int rank(const compile::Problem&, const compile::Candidate&) const override { return 10; }

 private:
  static compile::RegionChoice choose(const compile::Problem& problem) {
    auto choice = compile::chooseRegionKernels(
        problem, {"cuda", "cuda", nullptr, cuda::compile(moveCode().source(), computeCapability())});
    for (const auto* kernels : {&choice.kernels.first, &choice.kernels.second}) {
      for (const auto& kernel : *kernels) {
        if (kernel.name == ops::RegionKernel::kReference)
          throw Unsupported("no kernel of the GPU takes row-major tensors for an operator of a body");
      }
    }
    return choice;
  }
};

}  // namespace

const compile::Tactic& tactic_regions() {
  static const RegionsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

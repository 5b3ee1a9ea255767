// When loops and conditionals run by the kernels of their operators, and which.
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/regions/moves.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "compile/tactics/region_choice.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"

namespace tenon::backends::cuda {
namespace {

class RegionsTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.regions"; }
  int version() const override { return 1; }
  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Loop>() == nullptr && problem.op.as<ops::If>() == nullptr)
      return compile::no("it runs loops and conditionals");
    if (!nvrtc().missing.empty()) return compile::no("{}", nvrtc().missing);
    return compile::yes();
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
    return compile::chooseRegionKernels(
        problem, {"cuda", "cuda", nullptr, cuda::compile(moveCode().source(), computeCapability())});
  }
};

}  // namespace

const compile::Tactic& tactic_regions() {
  static const RegionsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

// The fallback for every problem: the operator's reference on the host, between copies.
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "ops/op/plugin.h"
#include "ops/op/reformat.h"
#include "ops/op/size.h"
#include "ops/within.h"

namespace tenon::backends::cuda {
namespace {

class HostTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.host_evaluate"; }
  int version() const override { return 1; }
  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Plugin>() != nullptr) return compile::no("a plugin has no reference");
    if (ops::holds<ops::Plugin>(problem.op)) return compile::no("a plugin within it has no reference");
    // Sizes that the data decide are read on the host, and so is what has them.
    if (ops::hasRegions(problem.op) && !ops::holds<ops::Size>(problem.op) && nvrtc().missing.empty())
      return compile::no("loops and conditionals run by the kernels of their operators");
    return problem.op.as<ops::Reformat>() != nullptr
               ? compile::no("the reference implementation supports only linear layouts")
               : compile::yes();
  }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    return {compile::rowMajor(name(), problem)};
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate&) const override {
    return {"cuda", "host_evaluate", 1, problem.op.text(), "", -1};
  }
  int rank(const compile::Problem&, const compile::Candidate&) const override { return compile::kLastResortRank; }
};

}  // namespace

const compile::Tactic& tactic_host_evaluate() {
  static const HostTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

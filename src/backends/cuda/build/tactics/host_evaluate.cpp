// The last resort for every problem: the operator's reference on the host, between copies.
#include "backends/cuda/build/tactic_util.h"
#include "ops/op/reformat.h"

namespace tenon::backends::cuda {
namespace {

class HostTactic final : public build::Tactic {
 public:
  std::string_view name() const override { return "cuda.host_evaluate"; }
  int version() const override { return 1; }
  build::Support supports(const build::Problem& problem) const override {
    return problem.op.as<ops::Reformat>() != nullptr ? build::no("the reference knows one format") : build::yes();
  }
  std::vector<build::Candidate> candidates(const build::Problem& problem) const override { return {linearCandidate(name(), problem)}; }
  plan::KernelRecord build(const build::Problem& problem, const build::Candidate&) const override {
    return {"cuda", "host_evaluate", 1, problem.op.text(), "", -1};
  }
  int rank(const build::Problem&, const build::Candidate&) const override { return 1000; }
};

}  // namespace

const build::Tactic& tactic_host_evaluate() {
  static const HostTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

// Products with experts of few rows, each of which reads the matrix of its expert.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/expert_matmul.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostRows = 128;  // more share tiles
constexpr int64_t kFewRows = 16;    // up to which it is taken where nothing is measured

class ExpertRowsTactic final : public OwnTacticOf<ops::ExpertMatMul> {
 public:
  ExpertRowsTactic() : OwnTacticOf("cuda.expert_rows", Formats::kLinear, 9) {}
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    return OwnTactic::rank(problem, candidate) + (rowsOf(problem) <= kFewRows ? 0 : 2);
  }

 protected:
  compile::Support acceptsOp(const ops::ExpertMatMul&, const compile::Problem& problem) const override {
    if (rowsOf(problem) > kMostRows) return compile::no("{} rows; at most {}", rowsOf(problem), kMostRows);
    return compile::yes();
  }

 private:
  static int64_t rowsOf(const compile::Problem& problem) { return problem.outputs[0].dims.count(0, 2); }
};

}  // namespace

const compile::Tactic& tactic_expert_rows() {
  static const ExpertRowsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

// Tactics of contractions without a library.
#pragma once

#include "backends/cuda/cublas/flat_product.h"
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

inline compile::Support flatProduct(const ops::MatMul& op, const compile::Problem& problem) {
  return {flatProductRefusal(
      op, problem.inputs.size(), [&](size_t i) -> const Dims& { return problem.inputs[i].dims; },
      problem.outputs[0].dims)};
}

constexpr int kDirectRank = 500;    // behind all others, whose results a build compares with these
constexpr int kDepthwiseRank = 15;  // beside them
constexpr int64_t kMostSkinnyRows = 8;

template <typename T>
class DirectWindowTactic final : public OwnTacticOf<T> {
 public:
  explicit DirectWindowTactic(std::string_view name) : OwnTacticOf<T>(name, Formats::kAlsoChannelsLast, kDirectRank) {}

 protected:
  compile::Support acceptsOp(const T& op, const compile::Problem& problem) const override {
    return {directUnsupported(op.epilogue, inputTypes(problem), op.hasBias ? 3 : 2)};
  }
};

}  // namespace tenon::backends::cuda

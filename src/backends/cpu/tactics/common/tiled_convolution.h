// What the tactics of own convolutions over channels-last images share.
#pragma once

#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {

constexpr int64_t kMostTileTaps = 512;  // sources of a tile on the stack

// What all of them ask of a convolution: images, weights and a bias that are constants, padding that adds, an epilogue
// for tiles.
inline compile::Support isTiledConvolution(const compile::Problem& problem, const ops::Convolution& op) {
  const auto& w = problem.inputs[1];
  if (w.dims.rank != 4) return compile::no("{} spatial dimensions; only 2 are supported", w.dims.rank - 2);
  if (w.constant == nullptr) return compile::no("the weights are not constant");
  if (op.hasBias && problem.inputs[2].constant == nullptr) return compile::no("the bias is not constant");
  for (const auto& padding : op.prePadding) {
    if (padding.isConstant() && padding.constant() < 0)
      return compile::no("the padding {} is negative", padding.constant());
  }
  if (const auto fits = tileEpilogueFits(problem, op.epilogue, op.hasBias ? 3 : 2, 1); !fits) return fits;
  return onlyF32(problem);
}

class TiledConvolution : public SimpleTactic {
 public:
  TiledConvolution(std::string_view name, int rank) : SimpleTactic(name, true, rank), rank_(rank) {}

  compile::Support supports(const compile::Problem& problem) const final {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return compile::no("it computes convolutions");
    if (const auto is = isTiledConvolution(problem, *op); !is) return is;
    return takesWindow(*op, problem.inputs[1].dims);
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const final {
    const auto& op = *problem.op.as<ops::Convolution>();
    auto result = SimpleTactic::candidates(problem);
    result.erase(result.begin());  // row-major results are not what it makes
    addOthers(op, problem, result);
    allowPitch(result);
    allowOverwriting(problem, firstExtra(op), result);
    return result;
  }
  int rank(const compile::Problem&, const compile::Candidate& candidate) const final {
    return rank_ + (candidate.variant.empty() ? 0 : 1);
  }

 protected:
  // Of weights with four axes, constant as the bias is, and padding that adds.
  virtual compile::Support takesWindow(const ops::Convolution& op, const Dims& weights) const = 0;
  // Candidates beside the one with all images channels-last, which is there.
  virtual void addOthers(const ops::Convolution&, const compile::Problem&, std::vector<compile::Candidate>&) const {}

 private:
  static size_t firstExtra(const ops::Convolution& op) { return op.hasBias ? 3 : 2; }

  int rank_;
};

}  // namespace tenon::backends::cpu

// When row-major deconvolutions are computed channel by channel.
#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {
namespace {

class ColumnDeconvolutionTactic final : public SimpleTactic {
 public:
  ColumnDeconvolutionTactic() : SimpleTactic("cpu.column_deconvolution", false, 22) {}

  compile::Support supports(const compile::Problem& problem) const override {
    constexpr int64_t kMostElements = 512;
    const auto* op = problem.op.as<ops::Deconvolution>();
    if (op == nullptr) return compile::no("it computes deconvolutions");
    const auto& w = problem.inputs[1];
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    if (w.dims.rank < 3 || w.dims.rank > 5 || w.dims.count(2, w.dims.rank) > kMostElements)
      return compile::no("a window of {}; 1 to 3 axes and {} elements are supported", w.dims.text(), kMostElements);
    if (const auto support = staysF32(op->epilogue); !support) return support;
    return onlyF32(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_column_deconvolution() {
  static const ColumnDeconvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu

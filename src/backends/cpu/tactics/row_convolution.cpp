// When row-major images of few channels a group are convolved line by line.
#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {
namespace {

class RowConvolutionTactic final : public SimpleTactic {
 public:
  RowConvolutionTactic() : SimpleTactic("cpu.row_convolution", false, 30) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return compile::no("it computes convolutions");
    const auto& w = problem.inputs[1].dims;
    if (w.rank < 3 || w.rank > 5) return compile::no("{} spatial axes; 1 to 3 are supported", w.rank - 2);
    // Above these, tiles of channels do more with what they load.
    const bool isPointwise = w.count(2, w.rank) == 1 && std::all_of(op->strides.begin(), op->strides.end(),
                                                                    [](int64_t stride) { return stride == 1; });
    const int64_t mostProducts = isPointwise ? 32768 : 256;
    constexpr int64_t kMostTaps = 8192;
    const int64_t each = w[0] / std::max<int64_t>(1, op->groups);
    if (w[1] * each > mostProducts)
      return compile::no("groups of {} and {} channels; at most {} pairs are supported", w[1], each, mostProducts);
    if (w.count(1, w.rank) > kMostTaps)
      return compile::no("windows of {} elements; at most {} are supported", w.count(1, w.rank), kMostTaps);
    for (const int64_t stride : op->strides) {
      constexpr int64_t kMostStride = 1024;
      if (stride > kMostStride) return compile::no("a stride of {}; at most {} are supported", stride, kMostStride);
    }
    for (const auto* padding : {&op->prePadding, &op->postPadding}) {
      for (const auto& extent : *padding) {
        if (extent.isConstant() && std::abs(extent.constant()) > (int64_t{1} << 40))
          return compile::no("a padding of {}", extent.constant());
      }
    }
    if (const auto support = staysF32(op->epilogue); !support) return support;
    return onlyF32(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_row_convolution() {
  static const RowConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu

// When row-major images of few pixels are convolved as they are.
#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {
namespace {

class PlanarConvolutionTactic final : public SimpleTactic {
 public:
  PlanarConvolutionTactic() : SimpleTactic("cpu.planar_convolution", false, 18) {}

  compile::Support supports(const compile::Problem& problem) const override {
    constexpr int64_t kMostPixels = 4096;  // of a result: where there are more, a change of format is worth its time
    constexpr int64_t kMostElements = 512;
    constexpr int64_t kMostStride = 1024;
    constexpr int64_t kMostPadding = 1 << 16;
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return compile::no("it computes convolutions");
    const auto& w = problem.inputs[1];
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    if (w.dims.rank < 3 || w.dims.rank > 5)
      return compile::no("{} spatial axes; 1 to 3 are supported", w.dims.rank - 2);
    if (w.dims.count() == 0) return compile::no("the weights are empty");
    if (w.dims[0] / std::max<int64_t>(1, op->groups) < 4)
      return compile::no("{} output channels in a group; at least 4 are needed", w.dims[0] / op->groups);
    if (w.dims.count(2, w.dims.rank) > kMostElements)
      return compile::no("a window of {} elements; at most {} are supported", w.dims.count(2, w.dims.rank),
                         kMostElements);
    if (pixels(problem) > kMostPixels)
      return compile::no("{} pixels of a result; at most {} are supported", pixels(problem), kMostPixels);
    for (const int64_t stride : op->strides) {
      if (stride > kMostStride) return compile::no("a stride of {}; at most {} are supported", stride, kMostStride);
    }
    for (const int64_t dilation : op->dilations) {
      if (dilation > kMostStride)
        return compile::no("a dilation of {}; at most {} are supported", dilation, kMostStride);
    }
    for (const auto* padding : {&op->prePadding, &op->postPadding}) {
      for (const auto& extent : *padding) {
        if (extent.isConstant() && std::abs(extent.constant()) > kMostPadding)
          return compile::no("a padding of {}; at most {} is supported", extent.constant(), kMostPadding);
      }
    }
    // With operands, an epilogue runs behind the tiles.
    const size_t extras = problem.inputs.size() > (op->hasBias ? 3U : 2U) ? 0 : problem.inputs.size();
    if (extras == 0) {
      if (const auto support = staysF32(op->epilogue); !support) return support;
    } else if (const auto fits = tileEpilogueFits(problem, op->epilogue, extras, 1); !fits) {
      return fits;
    }
    return onlyF32(problem);
  }

  // Without a measurement: in front of what takes channels-last images where there are very few pixels, else behind it.
  int rank(const compile::Problem& problem, const compile::Candidate&) const override {
    constexpr int64_t kFewPixels = 64;
    return pixels(problem) <= kFewPixels ? 18 : 27;
  }

 private:
  static int64_t pixels(const compile::Problem& problem) {
    const auto& y = problem.outputs[0].dims;
    return y.count(2, y.rank);
  }
};

}  // namespace

const compile::Tactic& tactic_planar_convolution() {
  static const PlanarConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu

// Strides, scale and mask as kernels of attention on tensor cores are given them.
#include "backends/cuda/kernels/attention/flash_operands.h"

#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

void setStrides(int64_t* stride, const dnn::AttentionOperand& operand) {
  stride[0] = operand.batchStride;
  stride[1] = operand.headStride;
  stride[2] = operand.rowStride;
}

int64_t maskStride(const dnn::AttentionProblem& p, int axis) {
  return p.mask[axis] == 1 ? 0 : p.mask.strides()[static_cast<size_t>(axis)];
}

}  // namespace

void setFlash(FlashParameters& to, const dnn::AttentionProblem& p, const ops::Attention& op) {
  constexpr float kBaseTwo = 1.44269504f;
  to.heads = dividerBy(p.heads);
  to.sharing = dividerBy(p.sharing);
  to.queries = static_cast<int32_t>(p.queries);
  to.keys = static_cast<int32_t>(p.keys);
  to.width = static_cast<int32_t>(p.width);
  to.emptyIsZero = op.emptyIsZero ? 1 : 0;
  to.causal = p.causal ? 1 : 0;
  to.scale = (p.softcap == 0 ? p.scale : p.softcap) * kBaseTwo;
  to.inner = p.softcap == 0 ? 0 : p.scale / p.softcap;
  setStrides(to.qStride, p.q);
  setStrides(to.kStride, p.k);
  setStrides(to.vStride, p.v);
  setStrides(to.yStride, p.output);
  if (!p.hasMask) return;
  to.masks = dividerBy(p.mask[0]);
  for (int axis = 0; axis < 4; ++axis) to.maskStride[axis] = maskStride(p, axis);
}

void bindFlash(FlashParameters& to, const dnn::AttentionProblem& p, const runtime::LaunchArguments& arguments) {
  const auto at = [&](const dnn::Source& source) {
    return static_cast<const std::byte*>(arguments.inputs[source.input]) + source.offsetBytes;
  };
  to.q = at(p.q.source);
  to.k = at(p.k.source);
  to.v = at(p.v.source);
  to.mask = p.hasMask ? at(p.maskSource) : nullptr;
  to.y = arguments.outputs[0];
}

bool maskIsInPairs(const dnn::AttentionProblem& p) {
  bool inPairs = p.keys % 2 == 0;
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t stride = maskStride(p, axis);
    inPairs = inPairs && (axis == 3 ? stride == 1 : stride % 2 == 0);
  }
  return inPairs;
}

}  // namespace tenon::backends::cuda

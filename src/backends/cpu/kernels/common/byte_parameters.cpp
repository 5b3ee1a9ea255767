// In 64 bits, of which the sums keep 32.
#include "backends/cpu/kernels/common/byte_parameters.h"

#include <algorithm>

#include "core/dtype.h"

namespace tenon::backends::cpu {

void ByteParameters::configure(const ops::ByteConvolution& op, const ByteWeights& weights,
                               const runtime::Shapes& shapes, int64_t slack) {
  const auto count = static_cast<size_t>(weights.outputs + slack);
  added_.assign(count, 0);
  scales_.assign(count, 1.F);
  biases_.assign(count, 0.F);
  zerosOfWeights_.assign(static_cast<size_t>(weights.outputs), 0);
  xType_ = shapes.inputs[0].dtype;
  weightType_ = shapes.inputs[1].dtype;
  zeroCount_ = shapes.inputs[3].dims.count();
  scaleCount_ = op.type == DataType::kI32 ? 0 : shapes.inputs[op.scaleInput()].dims.count();
  hasRealBias_ = op.hasBias && shapes.inputs[4].dtype == DataType::kF32;
  channelOfLane_.clear();
  if (weights.isDepthwise) {
    const int64_t width = byteChannels().channels;
    const int64_t lanes = (weights.outputs + width - 1) / width * width;
    for (int64_t i = 0; i < lanes; ++i)
      channelOfLane_.push_back(static_cast<int32_t>(std::max<int64_t>(weights.channelAt(i / width, i % width), 0)));
  }
  laneAdded_.assign(channelOfLane_.size(), 0);
  laneScales_.assign(channelOfLane_.size(), 0);
  laneBiases_.assign(channelOfLane_.size(), 0);
}

void ByteParameters::read(const ops::ByteConvolution& op, const ByteWeights& weights, const int8_t* packed,
                          const runtime::LaunchArguments& arguments) {
  const auto* const sums = reinterpret_cast<const int32_t*>(packed + weights.sumsAt());
  const int64_t xShift = xType_ == DataType::kI8 ? 128 : 0;
  const int64_t wShift = weightType_ == DataType::kU8 ? -128 : 0;
  xZero_ = loadInt(xType_, arguments.inputs[2], 0) + xShift;
  const int64_t numbers = weights.tapCount * weights.depth;
  centersRows_ = false;
  for (int64_t k = 0; k < weights.outputs; ++k) {
    const auto at = static_cast<size_t>(k);
    const int64_t wZero = loadInt(weightType_, arguments.inputs[3], zeroCount_ == 1 ? 0 : k) + wShift;
    const int64_t bias = op.hasBias && !hasRealBias_ ? loadInt(DataType::kI32, arguments.inputs[4], k) : 0;
    if (hasRealBias_) biases_[at] = static_cast<const float*>(arguments.inputs[4])[k];
    zerosOfWeights_[at] = static_cast<int32_t>(wZero);
    centersRows_ = centersRows_ || wZero != 0;
    added_[at] = static_cast<int32_t>(
        static_cast<uint32_t>(bias - xZero_ * static_cast<int64_t>(sums[k]) + numbers * xZero_ * wZero));
    if (scaleCount_ != 0)
      scales_[at] = static_cast<const float*>(arguments.inputs[op.scaleInput()])[scaleCount_ == 1 ? 0 : k];
  }
  yZero_ = op.isQuantized() ? static_cast<int32_t>(loadInt(op.type, arguments.inputs[op.zeroInput()], 0)) : 0;
  low_ = op.relu ? yZero_ : op.type == DataType::kU8 ? 0 : -128;
  for (size_t i = 0; i < channelOfLane_.size(); ++i) {
    const auto channel = static_cast<size_t>(channelOfLane_[i]);
    laneAdded_[i] = added_[channel];
    laneScales_[i] = scales_[channel];
    laneBiases_[i] = biases_[channel];
  }
}

}  // namespace tenon::backends::cpu

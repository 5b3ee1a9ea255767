// What zero points, scales and biases make of the sums of a quantized convolution, by output channel.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/common/byte_window.h"
#include "backends/cpu/kernels/simd/byte_finish_simd.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// With x' = x - xZero and w' = w - wZero, sum x' w' = sum x w - xZero sum w - wZero sum x + n xZero wZero over the n
// numbers of a window with its padding. x is read as unsigned and w as signed bytes, and zero points move with them.
class ByteParameters {
 public:
  // Of an execution with these shapes; vectors have `slack` elements behind the last channel.
  void configure(const ops::ByteConvolution& op, const ByteWeights& weights, const runtime::Shapes& shapes,
                 int64_t slack);
  // Reads them; `packed`: the weights, with the sums of their columns.
  void read(const ops::ByteConvolution& op, const ByteWeights& weights, const int8_t* packed,
            const runtime::LaunchArguments& arguments);

  ByteColumns columnsAt(int64_t column) const {
    return {added_.data() + column, scales_.data() + column, biases_.data() + column, yZero_, low_};
  }
  // Of single channels, by the place of a lane.
  ByteColumns lanesAt(int64_t lane) const {
    return {laneAdded_.data() + lane, laneScales_.data() + lane, laneBiases_.data() + lane, yZero_, low_};
  }
  uint8_t xZero() const { return static_cast<uint8_t>(xZero_); }
  bool centersRows() const { return centersRows_; }  // whether some zero point of weights is not 0
  const int32_t* zerosOfWeights() const { return zerosOfWeights_.data(); }

 private:
  std::vector<int32_t> added_, zerosOfWeights_;
  std::vector<float> scales_, biases_;
  std::vector<int32_t> channelOfLane_, laneAdded_;
  std::vector<float> laneScales_, laneBiases_;
  DataType xType_ = DataType::kU8, weightType_ = DataType::kI8;
  int64_t zeroCount_ = 1, scaleCount_ = 0;
  int64_t xZero_ = 0;
  int32_t yZero_ = 0, low_ = 0;
  bool hasRealBias_ = false, centersRows_ = false;
};

}  // namespace tenon::backends::cpu

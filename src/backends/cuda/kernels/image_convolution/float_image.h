// Implicit-GEMM convolution of f32 images of few channels: tile shape, code, weights.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {

// What the code depends on beside types and epilogue: the macros of float_image_convolution.cuh.
struct FloatImageForm {
  int64_t channels = 0, rows = 0, columns = 0, outputs = 0;  // of the weights
  std::array<int64_t, 2> stride{1, 1};
  int64_t taps = 0;      // of a line, a multiple of 4
  int64_t parts = 0;     // of 8 channels, which a block computes
  bool isExact = false;  // f32 as it is, not as TF32
  std::string refusal;

  FloatImageForm(const ops::Convolution& op, const Dims& w, bool isExact);  // weights [K,C,R,S]
  size_t sharedBytes() const;
  int64_t groups() const { return (outputs + 8 * parts - 1) / (8 * parts); }  // of channels, a block's each
  // In the order in which lanes read them: [group][step][part][lane] two numbers, and with isExact their rests.
  std::vector<float> pack(const TensorView& w) const;
  size_t packedBytes() const { return static_cast<size_t>(groups() * weightBytes()); }
  Code code(const ops::Convolution& op, const Types& types) const;

 private:
  int64_t steps() const { return (channels * rows * taps / 4 + 1) / 2; }
  int64_t weightBytes() const { return steps() * parts * 32 * (isExact ? 16 : 8); }  // of a block
};

// Why the kernel does not take operands of these types, or empty.
std::string floatImageTypes(std::span<const DataType> inputs, bool hasBias);

}  // namespace tenon::backends::cuda

// Implicit-GEMM convolution of images of few channels, hand-written: tile shape, code, weights, launch.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"
#include "ops/op/convolution.h"
#include "ops/op/pooling.h"

namespace tenon::backends::cuda {

// A convolution of an image of halves; or a composite that rounds an image of f32 to the type of its weights first,
// takes maxima of windows of the result, or both.
struct ImageOp {
  ops::Convolution convolution;
  std::string narrow;                   // tensor_core.cuh's name of the rounding; empty: the image is of halves
  std::optional<ops::Pooling> pooling;  // of 2 or 3 x 2 or 3 cells, two places apart
  std::string refusal;

  explicit ImageOp(const ops::Operator& op);
  // Why the operands' types do not fit, or empty.
  std::string typesRefusal(std::span<const DataType> inputs) const;

 private:
  std::string readComposite(const ops::Operator& op);  // why it is none, or empty

  DataType half_ = DataType::kF16;  // that the rounding makes
};

// What the code depends on beside types and epilogue: the macros of image_convolution.cuh.
struct ImageForm {
  int64_t channels = 0, rows = 0, columns = 0, outputs = 0;  // of the weights
  std::array<int64_t, 2> stride{1, 1};
  int64_t lead = 0;                   // taps in front of the window, so that it begins at an even column
  int64_t taps = 0;                   // of a line, with those
  int64_t parts = 0;                  // of 8 channels, which a block computes
  std::array<int64_t, 2> pool{0, 0};  // cells of the windows behind it
  std::string refusal;

  ImageForm(const ImageOp& op, const Dims& w);  // weights [K,C,R,S]
  size_t sharedBytes() const { return sharedBytes(parts); }
  int64_t groups() const { return (outputs + 8 * parts - 1) / (8 * parts); }  // of channels, a block's each
  // Weights as rows of 64 halves, one for each channel: [group][panel][channel][64], pieces of 8 exchanged; of blocks
  // of fewer channels than a warpgroup takes in the order in which lanes read them: [group][step][part][lane][4].
  std::vector<uint16_t> pack(const TensorView& w) const;
  size_t packedBytes() const { return static_cast<size_t>(groups() * halvesOfBlock(parts)) * sizeof(uint16_t); }

 private:
  static constexpr int64_t kHalvesOfRow = 64;
  int64_t panels() const { return (channels * rows * taps + kHalvesOfRow - 1) / kHalvesOfRow; }
  int64_t steps() const { return (channels * rows * taps + 15) / 16; }
  int64_t halvesOfBlock(int64_t partsOfBlock) const;  // of its weights
  size_t sharedBytes(int64_t partsOfBlock) const;
};

Code imageCode(const ImageForm& form, const ImageOp& op, const Types& types);

}  // namespace tenon::backends::cuda

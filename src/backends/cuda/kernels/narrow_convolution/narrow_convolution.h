// Pointwise (1x1) convolutions of few channels, hand-written: tile shape, code, weights.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/narrow_convolution/narrow_convolution_parameters.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {

// How an input of the epilogue goes along with the result: 'w' as a whole, 'c' by channel, 's' one number, 0 in no
// such way.
char narrowKind(const runtime::TensorShape& extra, const runtime::TensorShape& y);
bool narrowFits(char kind, const runtime::TensorShape& extra, const runtime::TensorShape& y);

// What the code depends on beside types and epilogue: the template arguments of narrow_convolution.cuh.
struct NarrowForm {
  int64_t inputs = 0, outputs = 0;  // channels
  int64_t group = 0;                // of outputs, a block's
  int64_t warps = 4;
  bool gathers = false;
  std::string kinds;  // of the epilogue's inputs
  std::string refusal;

  // Weights [K,C,1,1].
  NarrowForm(const ops::Convolution& op, const Dims& w, int64_t group, std::string kinds, DataType result);
  static int64_t groupFor(int64_t rows, int64_t outputs);

  int64_t groups() const { return (outputs + group - 1) / group; }
  size_t sharedBytes() const;
  // Blocks among which so many rows are divided.
  int64_t blocksFor(int64_t rows) const;
  // Weights in the order in which lanes read them, halves.
  std::vector<uint16_t> pack(const TensorView& w) const;
  size_t packedBytes() const { return static_cast<size_t>((outputs + 7) / 8 * steps() * 32 * 4) * sizeof(uint16_t); }

 private:
  int64_t steps() const { return (inputs + 15) / 16; }
  int64_t inputOf(int64_t step, int64_t lane, int64_t element) const;  // channel, or -1
  int64_t weightBytes() const { return steps() * group * 32; }         // of a block
};

Code narrowCode(const NarrowForm& form, const ops::Convolution& op, const Types& types);

}  // namespace tenon::backends::cuda

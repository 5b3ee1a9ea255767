// The sum of two convolutions of channels-last images as one product by warpgroups, whose inner extent is that of both:
// the end of a residual block whose residual is a convolution of its own.
#pragma once

#include <vector>

#include "backends/cuda/kernels/mma90/mma90_convolution.h"

namespace tenon::backends::cuda {

// A composite of a convolution with a bias by channel, and of another one whose epilogue adds its result to sums before
// it does anything else to them.
struct Mma90Sum {
  static constexpr size_t kOtherBias = 2, kMainX = 3, kMainWeights = 4;  // inputs: x, w, bias of the other; x, w, ..
  ops::Convolution main, other;
  size_t residual = 0;  // which operand of `main` the other's result is
  std::string refusal;  // why the operator is none of these, or empty

  explicit Mma90Sum(const ops::Operator& op);

  // Both with their operands; in those of `main` the other's bias takes the place of its result.
  struct Parts {
    std::vector<runtime::TensorShape> mainInputs, otherInputs, outputs;
    Mma90Convolution first, second;
    std::string refusal;

    Mma90Weights weights() const;  // of both
    Mma90Weights otherWeights() const { return second.weights(); }
  };
  Parts partsOf(const runtime::Shapes& shapes) const;
  // Which input of the composite each operand of the sum is.
  std::vector<size_t> inputs(size_t count) const;
  Mma90Record recordOf(const plan::KernelRecord& record) const;
};

}  // namespace tenon::backends::cuda

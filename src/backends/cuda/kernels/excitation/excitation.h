// Squeeze-and-excitation by one kernel: which composites, how blocks share an image, code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/excitation/excitation_parameters.h"
#include "ops/op/convolution.h"
#include "ops/scalar.h"

namespace tenon::backends::cuda {

// A composite of the means of an image's channels, two convolutions of them by single pixels, and what their result
// does to the image. Inputs: x, the weights and the bias of the first, those of the second.
struct ExcitationOp {
  ops::Convolution squeeze, excite;
  ops::ScalarExpr scale;
  bool gateFirst = false;  // x0 of `scale` is the gate, x1 the image; else the other way round
  std::string refusal;     // why the operator is none of these, or empty

  explicit ExcitationOp(const ops::Operator& op);
  size_t secondWeights() const { return squeeze.hasBias ? 3 : 2; }
  // Why the kernel cannot compute it on these shapes, or empty.
  std::string shapesRefusal(const runtime::Shapes& shapes) const;
};

// Blocks of an image, which are a cluster, and their threads, and whether each block takes a slice of the channels
// instead of a share of the pixels; text "8x512" or "8x512s".
struct ExcitationShape {
  int blocks = 1, threads = 256;
  bool slices = false;

  std::string text() const { return fmt::format("{}x{}{}", blocks, threads, slices ? "s" : ""); }
  static ExcitationShape parse(std::string_view text);  // UserError when the text is wrong
};

// Those worth measuring for images [N, channels, height, width], the one that should be fastest first.
std::vector<ExcitationShape> excitationShapes(const Dims& x);

Code excitationCode(const ExcitationOp& op, bool slices, DataType type);

}  // namespace tenon::backends::cuda

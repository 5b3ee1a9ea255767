// A pointwise convolution together with the depthwise convolution behind it: which composites, tiles, code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/expansion/expansion_parameters.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {

constexpr int kExpansionThreads = 256;

// A composite of a pointwise convolution and a depthwise convolution of its result, with scalar epilogues of nothing
// else. Inputs: x, the weights and the bias of the first, those of the second.
struct ExpansionOp {
  ops::Convolution expand, window;
  std::string refusal;  // why the operator is none of these, or empty

  explicit ExpansionOp(const ops::Operator& op);
  // Fields that are left out are ones and zeros.
  int64_t stride() const { return window.strides.empty() ? 1 : window.strides[0]; }
  int64_t padding(size_t axis) const { return window.prePadding.empty() ? 0 : window.prePadding[axis].constant(); }
  size_t secondWeights() const { return expand.hasBias ? 3 : 2; }
  size_t operands() const { return secondWeights() + (window.hasBias ? 2 : 1); }
  // Why the kernel cannot compute it on these shapes, or empty.
  std::string shapesRefusal(const runtime::Shapes& shapes) const;
};

// Extents that the code depends on; text "[K,C,H,W]7x14x32": channels, those of x, the window, and of a block: rows and
// columns of results and channels.
struct ExpansionShape {
  int64_t channels = 0, inputs = 0, height = 0, width = 0;
  int rows = 0, columns = 0, slice = 0;

  std::string tile() const { return fmt::format("{}x{}x{}", rows, columns, slice); }
  std::string text() const { return fmt::format("[{},{},{},{}]{}", channels, inputs, height, width, tile()); }
  static ExpansionShape parse(std::string_view text);  // UserError when the text is wrong

  int64_t sharedBytes(int64_t stride) const;
};

// Those worth measuring, the one that should be fastest first; w and v are the weights.
std::vector<ExpansionShape> expansionShapes(const ExpansionOp& op, const Dims& y, const Dims& w, const Dims& v);

Code expansionCode(const ExpansionOp& op, const ExpansionShape& shape, DataType type);

}  // namespace tenon::backends::cuda

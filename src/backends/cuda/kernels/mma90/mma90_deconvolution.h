// Deconvolutions of channels-last images as products by warpgroups: windows of x times the pixels that they make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/kernels/mma90/mma90_kernel.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cuda {

// Along an axis of stride s, output place i s + p - before of the kernel's tap p + d s meets x[i - d]: a window of as
// many places of x as there are such d makes all s pixels of cell i.
struct Mma90Deconvolution {
  ops::MatMul product;
  std::vector<runtime::TensorShape> inputs, outputs;  // of the product, windows as rows of their channels
  Mma90Image image;
  Mma90Cells cells;
  Mma90Subpixels subpixels;
  std::string refusal;  // why there is no such product, or empty

  Mma90Deconvolution(const ops::Deconvolution& op, const runtime::Shapes& shapes);
  runtime::Shapes shapes(const SymbolValues* symbols) const { return {inputs, outputs, symbols}; }
  Mma90Weights weights() const;

 private:
  void setWindows(const ops::Deconvolution& op, const runtime::Shapes& shapes);
  void setProduct(const ops::Deconvolution& op, const runtime::Shapes& shapes);
};

}  // namespace tenon::backends::cuda

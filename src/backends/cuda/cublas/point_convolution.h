// Pointwise (1x1) convolutions of channels-last tensors: matmuls of all pixels with the weights.
#pragma once

#include <string>
#include <vector>

#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// The product of places and weights, and its operands as matrices: x [places,C], w [K,C], then the bias and the inputs
// of the epilogue as vectors, scalars or matrices. With other windows x is [places,C] of each tap, w [K,C times taps].
struct PointConvolution {
  enum class Windows : uint8_t { kPoints, kAny };
  ops::MatMul product;
  std::vector<runtime::TensorShape> inputs;
  std::vector<runtime::TensorShape> outputs;
  std::string refusal;  // why there is no such product, or empty

  PointConvolution(const ops::Convolution& op, const runtime::Shapes& shapes, Windows windows = Windows::kPoints);
  // Whether places are those of x.
  static bool isMatrix(const ops::Convolution& op, const runtime::Shapes& shapes);
  // An input of the epilogue of a result y as a vector, a scalar or a matrix; rank 0 where it is none.
  static Dims asMatrix(const runtime::TensorShape& extra, const Dims& y);
  runtime::Shapes shapes(const SymbolValues* symbols) const { return {inputs, outputs, symbols}; }
};

// The product alone, with the bias in its epilogue.
ops::MatMul productOf(const ops::Convolution& op);

}  // namespace tenon::backends::cuda

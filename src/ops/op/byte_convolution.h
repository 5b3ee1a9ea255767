// Convolution of quantized tensors, exact in integers, with requantization.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x [N,C,spatial...] and w [K,C/groups,kernel...] of i8 or u8 (they may differ), the zero points xZero (one
// element) and wZero (one, or [K]) of their types, bias [K] when hasBias, i32 or, where `type` is not i32, f32; where
// `type` is not i32 scale f32 (one, or [K]), and where it has 8 bits yZero (one element of `type`). Output
// [N,K,spatial'...] with the extents of a convolution. sum = bias of i32 + the sum of (x - xZero) * (w - wZero), where
// padding counts as xZero, modulo 2^32; real = f32(sum) * scale + bias of f32, rounded once or twice. The result is by
// `type`:
//   i32      sum
//   f32      real
//   i8, u8   saturate(round_half_even(real) + yZero), with relu not less than yZero
// Of a scale that is no finite number, each result of 8 bits is some number.
struct ByteConvolution {
  static constexpr std::string_view kName = "byte_convolution";
  std::vector<int64_t> strides;    // per spatial axis; empty: 1
  std::vector<int64_t> dilations;  // per spatial axis; empty: 1
  Shape prePadding;                // before each spatial axis; empty: 0; may be negative (cropping)
  Shape postPadding;               // behind each spatial axis; empty: 0
  int64_t groups = 1;
  bool hasBias = false;
  DataType type = DataType::kI32;
  bool relu = false;  // of types i8 and u8 alone
  static constexpr auto fields = std::tuple{field("strides", &ByteConvolution::strides),
                                            field("dilations", &ByteConvolution::dilations),
                                            field("prePadding", &ByteConvolution::prePadding),
                                            field("postPadding", &ByteConvolution::postPadding),
                                            field("groups", &ByteConvolution::groups),
                                            field("hasBias", &ByteConvolution::hasBias),
                                            field("type", &ByteConvolution::type),
                                            field("relu", &ByteConvolution::relu)};

  // Positions of inputs.
  size_t scaleInput() const noexcept { return hasBias ? 5 : 4; }
  size_t zeroInput() const noexcept { return scaleInput() + 1; }
  bool isQuantized() const noexcept { return type == DataType::kI8 || type == DataType::kU8; }

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

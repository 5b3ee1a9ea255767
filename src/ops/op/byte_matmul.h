// Product of quantized matrices less their zero points, exact in integers.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: a [...,M,K] and b [...,K,N] of i8 or u8 (they may differ), whose leading extents broadcast, and the zero
// points aZero (one element) and bZero (one, or [N]) of their types. Output [...,M,N] of i32: the sum of
// (a - aZero) * (b - bZero) over K, modulo 2^32.
struct ByteMatMul {
  static constexpr std::string_view kName = "byte_matmul";
  static constexpr auto fields = std::tuple{};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

// The bits of one type read as those of another.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x, of whole bytes. Output: the same shape, each element the bits of x's as `type`, which has as many; as bool
// whether any bit is set.
struct BitCast {
  static constexpr std::string_view kName = "bitcast";
  DataType type = DataType::kF32;
  static constexpr auto fields = std::tuple{field("type", &BitCast::type)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

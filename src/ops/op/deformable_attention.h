// Weighted sums of values at places of several feature maps.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: value [N, S, M, D]; shapes [L, 2] (rows and columns of each map) and starts [L] (its first of the S values),
// i32 or i64; places [N, Q, M, L, P, 2], x and y between 0 and 1; weights [N, Q, M, L, P]; value, places and weights
// floating, of one type. Output [N, Q, M, D]: the sum over maps and places of the weight times the value of the map,
// interpolated linearly, at (x * columns - 0.5, y * rows - 0.5). Pixels outside of a map, and outside of the S values,
// are 0;
// a map of more than 2^31 rows or columns, or which starts beyond 2^31 values, is left out.
struct DeformableAttention {
  static constexpr std::string_view kName = "deformable_attention";
  static constexpr auto fields = std::tuple{};
  static constexpr int64_t kMost = int64_t{1} << 31;

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

// The points of a cloud grouped by the cells of a grid.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: points f32 [N, M, C], x, y, z and others; counts i32 [N], how many of the M there are. Outputs: pillars f32
// [N, pillars, points, features]; cells i32 [N, pillars, 4], as 0, 0, row, column; count i32 [N] of pillars. `range` is
// the least x, y and z, then the largest, which no longer belong to it; `size` that of a cell. Points outside are left
// out. A pillar is a cell with points, in the order of their first points, of which it has the first; pillars beyond
// the limit are left out. Features of a point: its C numbers; x, y and z minus the mean of the pillar's points; x and y
// minus the middle of the cell; z minus the middle of a cell at the lowest z. Everything else is 0.
struct Pillars {
  static constexpr std::string_view kName = "pillars";
  int64_t pillars = 1;
  int64_t points = 1;
  int64_t features = 10;  // C + 5 or C + 6
  std::vector<double> range;
  std::vector<double> size;
  static constexpr auto fields =
      std::tuple{field("pillars", &Pillars::pillars), field("points", &Pillars::points),
                 field("features", &Pillars::features), field("range", &Pillars::range), field("size", &Pillars::size)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

// A plan with a shape program, put together by hand: y = the first floor(0.7 * N) elements of x[N], doubled.
#pragma once

#include "support/hand_plan.h"

namespace tenon::test {

inline plan::Plan shapePlan() {
  HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"N"});
  const int32_t y = hand.output("y", DataType::kF32, {"'half[0]'"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"'half[0]'"});
  hand.step("cut", "slice{start=[0] size=['half[0]']}", {x}, {t});
  hand.step("double", pointwise("mul(x0,2)"), {t}, {y});
  hand.profile({{"x", {{1}, {10}, {20}, {}, {}, {}}}});
  ShapeStep extents{"shape", "", {}, 1, DataType::kI64, {1}, {Extent::symbol("N")}, {}};
  ShapeStep scale{"scale", "", {}, 1, DataType::kF32, {1}, {}, {0.7}};
  ShapeStep half{"half", pointwise("cast.f32(x0);mul(t0,x1);floor(t1);cast.i64(t2)"), {0, 1}, 1, DataType::kI64, {}, {},
                 {}};
  hand.shapes({{extents, scale, half}, {{"half[0]", 2, 0}}}, {{0, 14}});
  return hand.finish();
}

}  // namespace tenon::test

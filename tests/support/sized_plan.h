// A plan with a size that it computes, put together by hand: y = the places of x[N] that are not 0, z = their sum.
#pragma once

#include "support/hand_plan.h"

namespace tenon::test {

inline plan::Plan sizedPlan() {
  HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"N"});
  const int32_t y = hand.output("y", DataType::kI32, {"1", "found"});
  const int32_t z = hand.output("z", DataType::kI32, {"1"});
  const int32_t count = hand.tensor("count", DataType::kI64, {});
  const int32_t places = hand.tensor("places", DataType::kI32, {"1", "found"});
  hand.step("count", "count_nonzero", {x}, {count});
  hand.cut();
  hand.step("places", "nonzero{size=found}", {x}, {places});
  hand.copy("copy", places, y);
  hand.step("sum", "reduce{axes=[1] keepDims=false}", {places}, {z});
  hand.size("found", "finder", Extent::parse("ceildiv(N,2)"), Extent::parse("N"), count);
  hand.profile({{"x", {{1}, {10}, {20}, {}, {}, {}}}});
  return hand.finish();
}

}  // namespace tenon::test

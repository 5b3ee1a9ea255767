// Heads of keys that several heads of queries share, by columns: shapes, and what is refused.
#include "ops/op/attention.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tenon::ops {
namespace {

std::vector<TensorType> typesOf(int64_t q, int64_t k, int64_t v) {
  const auto rows = [](int64_t length, int64_t columns) {
    return TensorType{DataType::kF32, Shape{Extent(2), Extent(length), Extent(columns)}, std::nullopt};
  };
  return {rows(5, q), rows(7, k), rows(7, v)};
}

Operator of(int64_t heads, int64_t keyHeads) {
  Attention op;
  op.heads = heads;
  op.keyHeads = keyHeads;
  return op;
}

TEST(Attention, HeadsOfKeysByColumns) {
  const auto result = of(4, 2).infer("a", typesOf(12, 6, 10));
  EXPECT_EQ(text(result[0].shape), "[2,5,20]");
  EXPECT_EQ(of(4, 2).text(), "attention{heads=4 keyHeads=2}");
}

TEST(Attention, HeadsOfKeysMustFit) {
  EXPECT_THROW(of(4, 3).infer("a", typesOf(12, 9, 9)), UserError);    // no divisor
  EXPECT_THROW(of(4, -1).infer("a", typesOf(12, 6, 6)), UserError);   // negative
  EXPECT_THROW(of(4, 2).infer("a", typesOf(12, 12, 6)), UserError);   // as many columns as q has
  EXPECT_THROW(of(4, 2).infer("a", typesOf(12, 6, 7)), UserError);    // columns that are no whole heads
  EXPECT_THROW(of(0, 2).infer("a", typesOf(12, 12, 12)), UserError);  // not by columns
}

}  // namespace
}  // namespace tenon::ops

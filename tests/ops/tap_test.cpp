// The operator behind debug tensors.
#include "ops/op/tap.h"

#include <gtest/gtest.h>

#include "ops/operator.h"

namespace tenon::ops {
namespace {

TEST(Tap, GivesItsInputOfAnyTypeAndShape) {
  const Operator op{Tap{}};
  for (const DataType dtype : {DataType::kF32, DataType::kF16, DataType::kI64, DataType::kBool, DataType::kI4}) {
    const Shape shape{Extent::symbol("N"), 3};
    const auto outputs = op.infer("tap", std::vector<TensorType>{{dtype, shape, std::nullopt}});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].dtype, dtype);
    EXPECT_EQ(outputs[0].shape, shape);
  }
  for (const int64_t extent : {0, 1, 5}) {
    HostTensor x(DataType::kF32, {extent, 3}), y(DataType::kF32, {extent, 3});
    for (int64_t i = 0; i < 3 * extent; ++i) x.view().storeDouble(i, static_cast<double>(i) - 4);
    const SymbolValues none;
    const std::vector<TensorView> inputs{x.view()}, outputs{y.view()};
    op.evaluate({inputs, outputs, &none});
    for (int64_t i = 0; i < 3 * extent; ++i) EXPECT_EQ(y.view().loadDouble(i), static_cast<double>(i) - 4);
  }
}

TEST(Tap, StaysAndSharesItsMemory) {
  const auto facts = Operator(Tap{}).facts();
  EXPECT_TRUE(facts.sideEffects);
  ASSERT_EQ(facts.aliases.size(), 1U);
  EXPECT_TRUE(facts.aliases[0].view);
}

}  // namespace
}  // namespace tenon::ops

// Shapes that come from elsewhere are checked before a reference trusts them.
#include "ops/check.h"

#include "core/error.h"
#include "ops/op/matmul.h"
#include "ops/op/slice.h"
#include "support.h"

namespace tenon::ops {
namespace {

void checkWith(const Operator& op, const std::vector<Dims>& inputs, const Dims& output,
               const SymbolValues& symbols = {}, DataType type = DataType::kF32) {
  std::vector<TensorView> views;
  for (const auto& dims : inputs) views.push_back({nullptr, DataType::kF32, dims});
  const std::vector<TensorView> outputs{{nullptr, type, output}};
  checkShapes(op, "node", {views, outputs, &symbols});
}

TEST(CheckShapes, AcceptsWhatFits) {
  EXPECT_NO_THROW(checkWith(MatMul{}, {{2, 3}, {3, 4}}, {2, 4}));
  EXPECT_NO_THROW(checkWith(Slice{{0}, {Extent::symbol("N")}}, {{5}}, {3}, {{"N", 3}}));
}

TEST(CheckShapes, RefusesWhatDoesNot) {
  EXPECT_THROW(checkWith(MatMul{}, {{2, 3}, {2, 4}}, {2, 4}), UserError);
  EXPECT_THROW(checkWith(MatMul{}, {{2, 3}, {3, 4}}, {2, 5}), UserError);
  EXPECT_THROW(checkWith(MatMul{}, {{2, 3}, {3, 4}}, {2, 4}, {}, DataType::kF16), UserError);
  EXPECT_THROW(checkWith(Slice{{0}, {Extent::symbol("N")}}, {{5}}, {6}, {{"N", 6}}), UserError);
}

}  // namespace
}  // namespace tenon::ops

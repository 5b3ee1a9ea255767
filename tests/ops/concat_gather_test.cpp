// Elements picked from tensors side by side, against a loop over the elements of the result.
#include "ops/op/concat_gather.h"
#include "core/error.h"
#include "support.h"

namespace tenon::ops {
namespace {

TEST(ConcatGather, PicksFromAllTensors) {
  Rng rng(7);
  const auto a = randomTensor(rng, {2, 3, 4}), b = randomTensor(rng, {2, 2, 4}), c = randomTensor(rng, {2, 0, 4});
  const int64_t picks[] = {4, 0, -1, 3, -5, 2};
  HostTensor indices(DataType::kI32, {6});
  for (int64_t i = 0; i < 6; ++i) indices.view().storeInt(i, picks[i]);
  HostTensor y(DataType::kF32, {2, 6, 4});
  const TensorView inputs[] = {a.view(), indices.view(), c.view(), b.view()};
  const TensorView outputs[] = {y.view()};
  ConcatGather{-2}.evaluate({inputs, outputs, nullptr});
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t at = picks[i] < 0 ? picks[i] + 5 : picks[i];
      for (int64_t k = 0; k < 4; ++k) {
        const double expected =
            at < 3 ? a.view().loadDouble((n * 3 + at) * 4 + k) : b.view().loadDouble((n * 2 + at - 3) * 4 + k);
        EXPECT_EQ(y.view().loadDouble((n * 6 + i) * 4 + k), expected) << n << "," << i << "," << k;
      }
    }
  }
}

TEST(ConcatGather, Refusals) {
  const Operator op = ConcatGather{1};
  const auto type = [](DataType dtype, Shape shape) { return TensorType{dtype, std::move(shape), std::nullopt}; };
  const auto x = type(DataType::kF32, {2, 3}), y = type(DataType::kF32, {2, 5});
  const auto indices = type(DataType::kI32, {4});
  const auto infer = [&](std::vector<TensorType> inputs) { return op.infer("pick", inputs); };
  EXPECT_EQ(infer({x, indices, y})[0].shape, (Shape{2, 4}));
  EXPECT_THROW(infer({x}), UserError);
  EXPECT_THROW(infer({x, type(DataType::kI64, {4}), y}), UserError);
  EXPECT_THROW(infer({x, type(DataType::kI32, {2, 2}), y}), UserError);
  EXPECT_THROW(infer({x, indices, type(DataType::kF32, {3, 5})}), UserError);
  EXPECT_THROW(infer({x, indices, type(DataType::kF16, {2, 5})}), UserError);
  EXPECT_EQ(Operator::parse(op.text()).text(), op.text());
}

}  // namespace
}  // namespace tenon::ops

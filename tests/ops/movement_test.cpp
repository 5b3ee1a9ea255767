// Operators that move elements: reshape, transpose, slice, concat, gather, fill, shape.
#include <limits>

#include "core/error.h"
#include "ops/op/concat.h"
#include "ops/op/fill.h"
#include "ops/op/gather.h"
#include "ops/op/reshape.h"
#include "ops/op/shape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"
#include "support.h"

namespace tenon::ops {
namespace {

const Extent kN = Extent::symbol("N");

std::vector<double> iota(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

TensorType shapeValue(std::vector<Extent> contents) {
  return {DataType::kI64, {Extent(static_cast<int64_t>(contents.size()))}, std::move(contents)};
}

TEST(Reshape, KeepsElements) {
  EXPECT_EQ(numbers(run1(Reshape{{3, 2}}, tensor({2, 3}, iota(6)))), iota(6));
  EXPECT_EQ(run1(Reshape{{0, 5}}, tensor({0}, {})).view().dims, (Dims{0, 5}));
  EXPECT_THROW(inferOf(Reshape{{4}}, {typed({2, 3})}), UserError);
  EXPECT_EQ(inferOf(Reshape{{kN, 6}}, {typed({kN, 2, 3})})[0].shape, (Shape{kN, 6}));
  EXPECT_EQ(*inferOf(Reshape{{}}, {shapeValue({kN})})[0].contents, (std::vector<Extent>{kN}));
  EXPECT_TRUE(Reshape{}.facts().aliases.at(0).view);
}

TEST(Transpose, MovesElements) {
  const auto out = run1(Transpose{{2, 0, 1}}, tensor({2, 3, 4}, iota(24)));
  EXPECT_EQ(out.view().dims, (Dims{4, 2, 3}));
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t c = 0; c < 3; ++c)
        EXPECT_EQ(out.view().loadDouble((a * 2 + b) * 3 + c), static_cast<double>((b * 3 + c) * 4 + a));
    }
  }
  EXPECT_EQ(numbers(run1(Transpose{{1, 0}}, tensor({2, 3}, {0, 1, 2, 3, 4, 5}, DataType::kI4))),
            (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(numbers(run1(Transpose{{}}, tensor({}, {7}))), (std::vector<double>{7}));
  EXPECT_THROW(inferOf(Transpose{{0, 0}}, {typed({2, 3})}), UserError);
  EXPECT_THROW(inferOf(Transpose{{0}}, {typed({2, 3})}), UserError);
  EXPECT_THROW(inferOf(Transpose{{0, 2}}, {typed({2, 3})}), UserError);
}

std::vector<double> sliced(SliceMode mode, int64_t start, int64_t size, int64_t stride, int64_t n) {
  return numbers(run1(Slice{{start}, {size}, {stride}, mode}, tensor({n}, iota(n))));
}

TEST(Slice, EachModeBeyondTheBounds) {
  EXPECT_EQ(sliced(SliceMode::kStrict, 1, 2, 2, 4), (std::vector<double>{1, 3}));
  EXPECT_EQ(sliced(SliceMode::kStrict, 3, 4, -1, 4), (std::vector<double>{3, 2, 1, 0}));
  EXPECT_EQ(sliced(SliceMode::kStrict, 2, 3, 0, 4), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(sliced(SliceMode::kStrict, 9, 0, 1, 4), (std::vector<double>{}));
  EXPECT_EQ(sliced(SliceMode::kClamp, -2, 7, 1, 3), (std::vector<double>{0, 0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(sliced(SliceMode::kFill, -2, 7, 1, 3), (std::vector<double>{0, 0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(sliced(SliceMode::kWrap, -2, 8, 1, 3), (std::vector<double>{1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(sliced(SliceMode::kReflect, -5, 12, 1, 3), (std::vector<double>{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(sliced(SliceMode::kReflect, -2, 5, 1, 1), (std::vector<double>{0, 0, 0, 0, 0}));
  EXPECT_EQ(sliced(SliceMode::kFill, 0, 2, 1, 0), (std::vector<double>{0, 0}));
}

TEST(Slice, FillValueAndPackedTypes) {
  const Slice op{{-1, 0}, {3, 2}, {}, SliceMode::kFill};
  EXPECT_EQ(numbers(run1(op, tensor({1, 2}, {1, 2}), tensor({}, {9}))), (std::vector<double>{9, 9, 1, 2, 9, 9}));
  EXPECT_EQ(numbers(run1(op, tensor({1, 2}, {1, -2}, DataType::kI4), tensor({1}, {-7}, DataType::kI4))),
            (std::vector<double>{-7, -7, 1, -2, -7, -7}));
}

TEST(Slice, Errors) {
  const auto infer = [](Slice op) { return inferOf(op, {typed({4})}); };
  EXPECT_THROW(infer({{0}, {5}, {}, SliceMode::kStrict}), UserError);
  EXPECT_THROW(infer({{-1}, {2}, {}, SliceMode::kStrict}), UserError);
  EXPECT_THROW(infer({{1}, {3}, {-1}, SliceMode::kStrict}), UserError);
  EXPECT_THROW(infer({{0}, {-1}, {}, SliceMode::kStrict}), UserError);
  EXPECT_THROW(infer({{0, 0}, {1, 1}, {}, SliceMode::kStrict}), UserError);
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  for (const auto mode :
       {SliceMode::kStrict, SliceMode::kClamp, SliceMode::kWrap, SliceMode::kReflect, SliceMode::kFill}) {
    EXPECT_THROW(infer({{2}, {2}, {kHighest - 1}, mode}), UserError);
    EXPECT_THROW(infer({{-2}, {3}, {std::numeric_limits<int64_t>::min() / 2}, mode}), UserError);
  }
  EXPECT_THROW(inferOf(Slice{{0}, {1}, {}, SliceMode::kClamp}, {typed({0})}), UserError);
  EXPECT_THROW(inferOf(Slice{{0}, {1}, {}, SliceMode::kFill}, {typed({4}), typed({2})}), UserError);
  EXPECT_THROW(inferOf(Slice{{0}, {1}, {}, SliceMode::kFill}, {typed({4}), typed({}, DataType::kI32)}), UserError);
  EXPECT_THROW(run(Slice{{kN}, {2}, {}, SliceMode::kStrict}, list(tensor({4}, iota(4))), {{"N", 3}}), UserError);
  EXPECT_EQ(numbers(run(Slice{{kN}, {2}, {}, SliceMode::kStrict}, list(tensor({4}, iota(4))), {{"N", 2}})[0]),
            (std::vector<double>{2, 3}));
}

TEST(Slice, FollowsContents) {
  const auto x = shapeValue({kN, 3, 5});
  EXPECT_EQ(*inferOf(Slice{{1}, {2}, {}, {}}, {x})[0].contents, (std::vector<Extent>{3, 5}));
  EXPECT_EQ(*inferOf(Slice{{2}, {2}, {-2}, {}}, {x})[0].contents, (std::vector<Extent>{5, kN}));
  EXPECT_EQ(*inferOf(Slice{{2}, {3}, {}, SliceMode::kFill}, {x})[0].contents, (std::vector<Extent>{5, 0, 0}));
  EXPECT_EQ(
      *inferOf(Slice{{2}, {2}, {}, SliceMode::kFill}, {x, {DataType::kI64, {}, std::vector<Extent>{kN}}})[0].contents,
      (std::vector<Extent>{5, kN}));
  EXPECT_FALSE(inferOf(Slice{{kN}, {2}, {}, {}}, {x})[0].contents);
}

TEST(Concat, JoinsAlongTheAxis) {
  EXPECT_EQ(numbers(run1(Concat{1}, tensor({2, 1}, {1, 2}), tensor({2, 2}, {3, 4, 5, 6}), tensor({2, 0}, {}))),
            (std::vector<double>{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(numbers(run1(Concat{-2}, tensor({1, 3}, {1, 2, 3}, DataType::kI4),
                         tensor({2, 3}, {4, 5, 6, 7, -8, -1}, DataType::kI4))),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, -8, -1}));
  EXPECT_EQ(inferOf(Concat{0}, {typed({kN, 3}), typed({2, 3})})[0].shape, (Shape{kN + 2, 3}));
  EXPECT_EQ(*inferOf(Concat{0}, {shapeValue({kN}), shapeValue({1, 2})})[0].contents, (std::vector<Extent>{kN, 1, 2}));
  EXPECT_THROW(inferOf(Concat{0}, {typed({2, 3}), typed({2, 4})}), UserError);
  EXPECT_THROW(inferOf(Concat{0}, {typed({2, 3}), typed({3})}), UserError);
  EXPECT_THROW(inferOf(Concat{0}, {typed({2}), typed({2}, DataType::kI32)}), UserError);
  EXPECT_THROW(inferOf(Concat{1}, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(Concat{0}, {}), UserError);
}

TEST(Gather, DefaultAgreesWithItsDefinition) {
  Rng rng(21);
  for (int round = 0; round < 100; ++round) {
    const int64_t b = pick(rng, 1, 2);
    const int64_t o = pick(rng, 1, 3);
    const int64_t n = pick(rng, 1, 5);
    const int64_t inner = pick(rng, 0, 3);
    const int64_t j = pick(rng, 0, 4);
    const auto data = randomTensor(rng, {b, o, n, inner});
    std::vector<double> indices;
    for (int64_t i = 0; i < b * j; ++i) indices.push_back(static_cast<double>(pick(rng, -n, n - 1)));
    const auto out = run1(Gather{GatherMode::kDefault, 2, 1}, tensor(data.view().dims, numbers(data)),
                          tensor({b, j}, indices, DataType::kI64));
    ASSERT_EQ(out.view().dims, (Dims{b, o, j, inner}));
    for (IndexIterator i(out.view().dims); i.valid(); i.next()) {
      auto index = static_cast<int64_t>(indices[static_cast<size_t>(i.index[0] * j + i.index[2])]);
      if (index < 0) index += n;
      const int64_t from = ((i.index[0] * o + i.index[1]) * n + index) * inner + i.index[3];
      EXPECT_EQ(out.view().loadDouble(i.dot(out.view().dims.strides())), data.view().loadDouble(from));
    }
  }
}

TEST(Gather, ModesByHand) {
  const auto data = [] { return tensor({2, 3}, {1, 2, 3, 4, 5, 6}); };
  const auto indices = [](const Dims& dims, std::vector<double> values) {
    return tensor(dims, values, DataType::kI32);
  };
  EXPECT_EQ(numbers(run1(Gather{GatherMode::kDefault, 0, 0}, data(), indices({}, {-1}))),
            (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(numbers(run1(Gather{GatherMode::kElement, 1, 0}, data(), indices({2, 2}, {2, 0, 1, -1}))),
            (std::vector<double>{3, 1, 5, 6}));
  EXPECT_EQ(numbers(run1(Gather{GatherMode::kElement, 0, 0}, data(), indices({1, 3}, {1, 0, 1}))),
            (std::vector<double>{4, 2, 6}));
  EXPECT_EQ(numbers(run1(Gather{GatherMode::kNd, 0, 0}, data(), indices({2, 2}, {0, 1, 1, 2}))),
            (std::vector<double>{2, 6}));
  EXPECT_EQ(numbers(run1(Gather{GatherMode::kNd, 0, 0}, data(), indices({1, 1}, {1}))), (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(numbers(run1(Gather{GatherMode::kNd, 0, 1}, data(), indices({2, 1}, {2, -3}))),
            (std::vector<double>{3, 4}));
  EXPECT_EQ(numbers(run1(Gather{}, tensor({3}, {1, -2, 3}, DataType::kI4), indices({2}, {2, 1}))),
            (std::vector<double>{3, -2}));
}

TEST(Gather, Errors) {
  const auto indices = [](double value) { return tensor({1}, {value}, DataType::kI64); };
  EXPECT_THROW(run1(Gather{}, tensor({3}, iota(3)), indices(3)), UserError);
  EXPECT_THROW(run1(Gather{}, tensor({3}, iota(3)), indices(-4)), UserError);
  EXPECT_THROW(inferOf(Gather{}, {typed({3}), typed({1})}), UserError);
  EXPECT_THROW(inferOf(Gather{GatherMode::kElement, 0, 0}, {typed({3, 2}), typed({1}, DataType::kI32)}), UserError);
  EXPECT_THROW(inferOf(Gather{GatherMode::kDefault, 0, 1}, {typed({3, 2}), typed({3}, DataType::kI32)}), UserError);
  EXPECT_THROW(inferOf(Gather{GatherMode::kNd, 0, 0}, {typed({3, 2}), typed({1, 3}, DataType::kI32)}), UserError);
  EXPECT_THROW(inferOf(Gather{GatherMode::kNd, 0, 0}, {typed({3, 2}), typed({}, DataType::kI32)}), UserError);
}

TEST(Gather, FollowsContents) {
  const auto data = shapeValue({kN, 3, 5});
  const TensorType one{DataType::kI64, {}, std::vector<Extent>{0}};
  EXPECT_EQ(*inferOf(Gather{}, {data, one})[0].contents, (std::vector<Extent>{kN}));
  EXPECT_EQ(*inferOf(Gather{}, {data, shapeValue({-1, 0})})[0].contents, (std::vector<Extent>{5, kN}));
  EXPECT_THROW(inferOf(Gather{}, {data, shapeValue({3})}), UserError);
}

TEST(Fill, RampsAndConstants) {
  EXPECT_EQ(numbers(run(Fill{{2, 3}, DataType::kF32, 1, {10, 0.5}}, {})[0]),
            (std::vector<double>{1, 1.5, 2, 11, 11.5, 12}));
  EXPECT_EQ(numbers(run(Fill{{3}, DataType::kF16, 0.25, {}}, {})[0]), (std::vector<double>{0.25, 0.25, 0.25}));
  EXPECT_EQ(numbers(run(Fill{{}, DataType::kI32, 7, {}}, {})[0]), (std::vector<double>{7}));
  EXPECT_EQ(run(Fill{{0}, DataType::kI32, 7, {1}}, {})[0].view().count(), 0);
  EXPECT_EQ(
      numbers(run1(Fill{{3}, DataType::kI64}, tensor({}, {5}, DataType::kI64), tensor({1}, {-2}, DataType::kI64))),
      (std::vector<double>{5, 3, 1}));
  EXPECT_EQ(*inferOf(Fill{{3}, DataType::kI64, 4, {2}}, {})[0].contents, (std::vector<Extent>{4, 6, 8}));
  EXPECT_FALSE(inferOf(Fill{{kN}, DataType::kI64, 4, {2}}, {})[0].contents);
  EXPECT_THROW(inferOf(Fill{{3}, DataType::kI64, 4, {2, 1}}, {}), UserError);
  EXPECT_THROW(inferOf(Fill{{3}, DataType::kI64}, {typed({}, DataType::kI64)}), UserError);
  EXPECT_THROW(inferOf(Fill{{3}, DataType::kI64}, {typed({}), typed({1})}), UserError);
}

TEST(ShapeOf, GivesExtents) {
  EXPECT_EQ(numbers(run1(ShapeOf{}, tensor({2, 0, 3}, {}))), (std::vector<double>{2, 0, 3}));
  EXPECT_EQ(run1(ShapeOf{}, tensor({}, {1})).view().dims, (Dims{0}));
  EXPECT_EQ(*inferOf(ShapeOf{}, {typed({kN, 3})})[0].contents, (std::vector<Extent>{kN, 3}));
}

}  // namespace
}  // namespace tenon::ops

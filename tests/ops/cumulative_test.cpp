// Cumulative against sums taken anew for every element.
#include "ops/op/cumulative.h"
#include "core/error.h"
#include "support.h"

namespace tenon::ops {
namespace {

const Extent kN = Extent::symbol("N");

// For each element the sum over all elements of its line that the definition names.
std::vector<double> expectedSums(const HostTensor& x, size_t axis, bool exclusive, bool reverse) {
  const Dims& dims = x.view().dims;
  std::vector<double> result;
  for (IndexIterator i(dims); i.valid(); i.next()) {
    double sum = 0;
    for (IndexIterator j(dims); j.valid(); j.next()) {
      auto line = j.index;
      line[axis] = i.index[axis];
      const int64_t distance = reverse ? j.index[axis] - i.index[axis] : i.index[axis] - j.index[axis];
      if (line != i.index || distance < (exclusive ? 1 : 0)) continue;
      sum += x.view().loadDouble(j.dot(dims.strides()));
    }
    result.push_back(sum);
  }
  return result;
}

TEST(Cumulative, AgreesWithItsDefinition) {
  Rng rng(61);
  for (int round = 0; round < 300; ++round) {
    const Dims dims{pickOf(rng, std::vector<int64_t>{0, 1, 2, 3}), pickOf(rng, std::vector<int64_t>{0, 1, 5, 13}),
                    pickOf(rng, std::vector<int64_t>{1, 2, 7})};
    const auto type = pickOf(rng, std::vector{DataType::kF32, DataType::kF16, DataType::kI32, DataType::kI64});
    const int64_t axis = pick(rng, -3, 2);
    const bool exclusive = pick(rng, 0, 1) == 1;
    const bool reverse = pick(rng, 0, 1) == 1;
    const auto x = randomTensor(rng, dims, type);
    const auto out = run1(Cumulative{axis, exclusive, reverse}, tensor(dims, numbers(x), type));
    const auto at = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    EXPECT_EQ(numbers(out), expectedSums(x, at, exclusive, reverse))
        << "round " << round << ": " << name(type) << " " << dims.text() << " axis " << axis;
    EXPECT_EQ(out.view().dtype, type);
  }
}

TEST(Cumulative, ByHand) {
  const auto sums = [](bool exclusive, bool reverse) {
    return numbers(run1(Cumulative{0, exclusive, reverse}, tensor({3}, {1, 2, 4})));
  };
  EXPECT_EQ(sums(false, false), (std::vector<double>{1, 3, 7}));
  EXPECT_EQ(sums(true, false), (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(sums(false, true), (std::vector<double>{7, 6, 4}));
  EXPECT_EQ(sums(true, true), (std::vector<double>{6, 4, 0}));
}

TEST(Cumulative, LongLinesKeepTheirPrecision) {
  const int64_t count = 100003;
  const auto out = run1(Cumulative{0}, tensor({count}, std::vector<double>(static_cast<size_t>(count), 0.1)));
  const double step = static_cast<double>(0.1F);
  EXPECT_NEAR(out.view().loadDouble(count - 1), step * static_cast<double>(count), 1e-3);
}

TEST(Cumulative, SpecialValuesStayBehindTheFirst) {
  const double nan = std::nan("");
  const auto out = numbers(run1(Cumulative{0}, tensor({3}, {1, nan, 2})));
  EXPECT_EQ(out[0], 1);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(numbers(run1(Cumulative{0}, tensor({3}, {100, 100, -100}, DataType::kI8))),
            (std::vector<double>{100, -56, 100}));  // integers wrap
}

TEST(Cumulative, ContentsAndErrors) {
  const TensorType shape{DataType::kI64, {3}, std::vector<Extent>{kN, 2, 3}};
  EXPECT_EQ(*inferOf(Cumulative{0}, {shape})[0].contents, (std::vector<Extent>{kN, kN + 2, kN + 5}));
  EXPECT_EQ(*inferOf(Cumulative{-1, true, true}, {shape})[0].contents, (std::vector<Extent>{5, 3, 0}));
  EXPECT_EQ(*inferOf(Cumulative{0}, {{DataType::kI64, {0}, std::vector<Extent>{}}})[0].contents, std::vector<Extent>{});
  EXPECT_FALSE(inferOf(Cumulative{0}, {typed({3}, DataType::kI64)})[0].contents.has_value());
  EXPECT_EQ(inferOf(Cumulative{1}, {typed({kN, 4})})[0].shape, (Shape{kN, 4}));
  EXPECT_THROW(inferOf(Cumulative{1}, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(Cumulative{-2}, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(Cumulative{0}, {typed({})}), UserError);
  EXPECT_THROW(inferOf(Cumulative{0}, {typed({2}, DataType::kBool)}), UserError);
}

TEST(Cumulative, TextReadsBack) {
  Rng rng(62);
  EXPECT_EQ(Operator(Cumulative{}).text(), "cumulative");
  EXPECT_EQ(Operator(Cumulative{2, true, true}).text(), "cumulative{axis=2 exclusive=true reverse=true}");
  for (int round = 0; round < 100; ++round) {
    const Operator op(Cumulative{pick(rng, -8, 7), pick(rng, 0, 1) == 1, pick(rng, 0, 1) == 1});
    const Operator read = Operator::parse(op.text());
    EXPECT_EQ(read, op) << op.text();
    EXPECT_EQ(read.hash(), op.hash());
    ASSERT_NE(read.as<Cumulative>(), nullptr);
  }
  EXPECT_FALSE(Operator(Cumulative{0, true}) == Operator(Cumulative{0, false, true}));
}

}  // namespace
}  // namespace tenon::ops

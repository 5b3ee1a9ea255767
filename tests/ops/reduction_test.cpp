// Reduce, softmax, topk, normalization and lrn against direct definitions.
#include <limits>
#include <numeric>

#include "core/error.h"
#include "ops/op/lrn.h"
#include "ops/op/normalization.h"
#include "ops/op/reduce.h"
#include "ops/op/softmax.h"
#include "ops/op/topk.h"
#include "support.h"

namespace tenon::ops {
namespace {

const Extent kN = Extent::symbol("N");

TEST(Reduce, AgreesWithItsDefinition) {
  Rng rng(31);
  for (int round = 0; round < 200; ++round) {
    const Dims dims{pick(rng, 1, 4), pick(rng, 1, 5), pick(rng, 1, 3)};
    const auto op = static_cast<ReduceOp>(pick(rng, 0, 4));
    Reduce reduce{op, {}, pick(rng, 0, 1) == 1};
    std::vector<bool> reduced(3);
    for (int64_t axis = 0; axis < 3; ++axis) {
      if (pick(rng, 0, 1) == 0) continue;
      reduced[static_cast<size_t>(axis)] = true;
      reduce.axes.push_back(pick(rng, 0, 1) == 0 ? axis : axis - 3);
    }
    const bool integer = pick(rng, 0, 1) == 1 && op != ReduceOp::kAvg;
    const auto x = randomTensor(rng, dims, integer ? DataType::kI32 : DataType::kF32);
    std::map<std::vector<int64_t>, std::vector<double>> groups;
    for (IndexIterator i(dims); i.valid(); i.next()) {
      std::vector<int64_t> key;
      for (size_t axis = 0; axis < 3; ++axis) key.push_back(reduced[axis] ? 0 : i.index[axis]);
      groups[key].push_back(x.view().loadDouble(i.dot(dims.strides())));
    }
    std::vector<double> expected;
    for (const auto& [key, values] : groups) {  // keys in order: the order of the output
      double value = 0;
      switch (op) {
        case ReduceOp::kProd: value = std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>()); break;
        case ReduceOp::kMax: value = *std::max_element(values.begin(), values.end()); break;
        case ReduceOp::kMin: value = *std::min_element(values.begin(), values.end()); break;
        default: value = std::accumulate(values.begin(), values.end(), 0.0); break;
      }
      if (integer) value = std::clamp(value, -2147483648.0, 2147483647.0);
      expected.push_back(op == ReduceOp::kAvg ? value / static_cast<double>(values.size()) : value);
    }
    const auto out = run1(reduce, tensor(dims, numbers(x), x.view().dtype));
    expectNear(numbers(out), expected, 1e-6, fmt::format("round {}", round));
    EXPECT_EQ(out.view().dims.rank, reduce.keepDims ? 3 : 3 - static_cast<int>(reduce.axes.size()));
  }
}

TEST(Reduce, OverNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto reduced = [](ReduceOp op, DataType type) {
    return numbers(run1(Reduce{op, {0}, false}, tensor({0, 2}, {}, type)))[1];
  };
  EXPECT_EQ(reduced(ReduceOp::kSum, DataType::kF32), 0);
  EXPECT_EQ(reduced(ReduceOp::kProd, DataType::kF32), 1);
  EXPECT_EQ(reduced(ReduceOp::kMax, DataType::kF32), -inf);
  EXPECT_EQ(reduced(ReduceOp::kMin, DataType::kF32), inf);
  EXPECT_TRUE(std::isnan(reduced(ReduceOp::kAvg, DataType::kF32)));
  EXPECT_EQ(reduced(ReduceOp::kMax, DataType::kI8), -128);
  EXPECT_EQ(reduced(ReduceOp::kMin, DataType::kI32), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(reduced(ReduceOp::kAvg, DataType::kI32), 0);
}

TEST(Reduce, SpecialValues) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(numbers(run1(Reduce{ReduceOp::kMax, {0}, false}, tensor({3}, {1, nan, 2})))[0]));
  EXPECT_TRUE(std::isnan(numbers(run1(Reduce{ReduceOp::kMin, {0}, false}, tensor({3}, {1, nan, 2})))[0]));
  EXPECT_EQ(numbers(run1(Reduce{ReduceOp::kAvg, {0}, false}, tensor({2}, {-3, 0}, DataType::kI32))),
            (std::vector<double>{-1}));
  EXPECT_EQ(numbers(run1(Reduce{ReduceOp::kSum, {}, false}, tensor({2}, {1, 2}))), (std::vector<double>{1, 2}));
}

TEST(Reduce, ContentsAndErrors) {
  const TensorType shape{DataType::kI64, {3}, std::vector<Extent>{kN, 2, 3}};
  EXPECT_EQ(*inferOf(Reduce{ReduceOp::kProd, {0}, false}, {shape})[0].contents, (std::vector<Extent>{kN * 6}));
  EXPECT_EQ(*inferOf(Reduce{ReduceOp::kSum, {-1}, true}, {shape})[0].contents, (std::vector<Extent>{kN + 5}));
  const auto highest = inferOf(Reduce{ReduceOp::kMax, {0}, false}, {shape})[0].contents->at(0);
  EXPECT_EQ(highest.evaluate({{"N", 1}}), 3);
  EXPECT_EQ(highest.evaluate({{"N", 7}}), 7);
  EXPECT_EQ(*inferOf(Reduce{ReduceOp::kProd, {0}, false}, {{DataType::kI64, {0}, std::vector<Extent>{}}})[0].contents,
            (std::vector<Extent>{1}));
  EXPECT_THROW(inferOf(Reduce{ReduceOp::kSum, {1}, false}, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(Reduce{ReduceOp::kSum, {0, -1}, false}, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(Reduce{ReduceOp::kSum, {0}, false}, {typed({2}, DataType::kBool)}), UserError);
}

TEST(Softmax, SumsToOneAndKeepsRatios) {
  Rng rng(32);
  for (const int64_t axis : {0, 1, 2, -1, -3}) {
    const Dims dims{3, 5, 2};
    const auto x = randomTensor(rng, dims);
    const auto y = run1(Softmax{axis}, tensor(dims, numbers(x)));
    const auto a = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    std::map<std::array<int64_t, kMaxRank>, double> sums;
    for (IndexIterator i(dims); i.valid(); i.next()) {
      auto key = i.index;
      key[a] = 0;
      sums[key] += std::exp(x.view().loadDouble(i.dot(dims.strides())));
    }
    for (IndexIterator i(dims); i.valid(); i.next()) {
      auto key = i.index;
      key[a] = 0;
      const int64_t at = i.dot(dims.strides());
      EXPECT_NEAR(y.view().loadDouble(at), std::exp(x.view().loadDouble(at)) / sums[key], 1e-7);
    }
  }
}

TEST(Softmax, LargeValuesAndEdges) {
  expectNear(numbers(run1(Softmax{0}, tensor({2}, {1000, 1000}))), {0.5, 0.5});
  expectNear(numbers(run1(Softmax{0}, tensor({2}, {-INFINITY, 0}))), {0, 1});
  EXPECT_EQ(run1(Softmax{1}, tensor({2, 0}, {})).view().count(), 0);
  EXPECT_THROW(inferOf(Softmax{1}, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(Softmax{0}, {typed({})}), UserError);
  EXPECT_THROW(inferOf(Softmax{0}, {typed({2}, DataType::kI32)}), UserError);
}

TEST(TopK, AgreesWithAStableSort) {
  Rng rng(33);
  for (int round = 0; round < 100; ++round) {
    const Dims dims{pick(rng, 1, 3), pick(rng, 1, 9), pick(rng, 1, 3)};
    const auto x = randomTensor(rng, dims, pickOf(rng, std::vector{DataType::kF32, DataType::kI32}));
    const bool largest = pick(rng, 0, 1) == 1;
    const int64_t k = pick(rng, 0, dims[1]);
    const auto out = run(TopK{largest, k, 1, DataType::kI64}, list(tensor(dims, numbers(x), x.view().dtype)));
    for (int64_t a = 0; a < dims[0]; ++a) {
      for (int64_t b = 0; b < dims[2]; ++b) {
        const auto value = [&](int64_t i) { return x.view().loadDouble((a * dims[1] + i) * dims[2] + b); };
        std::vector<int64_t> order(static_cast<size_t>(dims[1]));
        std::iota(order.begin(), order.end(), int64_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t i, int64_t j) { return largest ? value(i) > value(j) : value(i) < value(j); });
        for (int64_t i = 0; i < k; ++i) {
          const int64_t at = (a * k + i) * dims[2] + b;
          ASSERT_EQ(out[1].view().loadInt(at), order[static_cast<size_t>(i)]);
          ASSERT_EQ(out[0].view().loadDouble(at), value(order[static_cast<size_t>(i)]));
        }
      }
    }
  }
}

TEST(TopK, NanIsLargest) {
  const double nan = std::nan("");
  EXPECT_EQ(numbers(run(TopK{true, 3, 0}, list(tensor({4}, {1, nan, INFINITY, nan})))[1]),
            (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(numbers(run(TopK{false, 4, 0}, list(tensor({4}, {1, nan, INFINITY, nan})))[1]),
            (std::vector<double>{0, 2, 1, 3}));
}

TEST(TopK, Errors) {
  EXPECT_THROW(inferOf(TopK{true, 5, 0}, {typed({4})}), UserError);
  EXPECT_THROW(inferOf(TopK{true, -1, 0}, {typed({4})}), UserError);
  constexpr int64_t kMost = INT32_MAX;  // that indices of i32 reach
  EXPECT_NO_THROW(inferOf(TopK{true, 1, 0}, {typed({kMost})}));
  EXPECT_THROW(inferOf(TopK{true, 1, 0}, {typed({kMost + 1})}), UserError);
  EXPECT_NO_THROW(inferOf(TopK{true, 1, 0, DataType::kI64}, {typed({kMost + 1})}));
  EXPECT_THROW(inferOf(TopK{true, 1, 0, DataType::kF32}, {typed({4})}), UserError);
  EXPECT_THROW(run(TopK{true, kN, 0}, list(tensor({2}, {1, 2})), {{"N", 3}}), UserError);
  EXPECT_EQ(inferOf(TopK{true, kN, 0}, {typed({4, 2})})[1].shape, (Shape{kN, 2}));
}

// Mean and variance over the elements that share a key.
template <typename Key>
std::vector<double> normalized(const HostTensor& x, double epsilon, Key key) {
  std::map<std::vector<int64_t>, std::vector<double>> groups;
  const Dims& dims = x.view().dims;
  for (IndexIterator i(dims); i.valid(); i.next())
    groups[key(i.index)].push_back(x.view().loadDouble(i.dot(dims.strides())));
  std::vector<double> result;
  for (IndexIterator i(dims); i.valid(); i.next()) {
    const auto& values = groups[key(i.index)];
    const auto count = static_cast<double>(values.size());
    double mean = 0;
    double square = 0;
    for (const double v : values) mean += v / count;
    for (const double v : values) square += v * v / count;
    result.push_back((x.view().loadDouble(i.dot(dims.strides())) - mean) / std::sqrt(square - mean * mean + epsilon));
  }
  return result;
}

using Index = std::array<int64_t, kMaxRank>;

TEST(Normalization, LayerInstanceAndGroup) {
  Rng rng(34);
  const Dims dims{2, 6, 3, 5};
  const auto x = randomTensor(rng, dims);
  const auto out = [&](const Normalization& op) {
    return numbers(run1(op, tensor(dims, numbers(x)), tensor({}, {1}), tensor({}, {0})));
  };
  expectNear(out({{1, 2, 3}, 1e-3}), normalized(x, 1e-3, [](const Index& i) { return std::vector{i[0]}; }));
  expectNear(out({{-1, -2}, 1e-3}), normalized(x, 1e-3, [](const Index& i) { return std::vector{i[0], i[1]}; }));
  expectNear(out({{0}, 1e-3}), normalized(x, 1e-3, [](const Index& i) { return std::vector{i[1], i[2], i[3]}; }));
  for (const auto& axes : {std::vector<int64_t>{2, 3}, std::vector<int64_t>{1, 2, 3}}) {
    expectNear(out({axes, 1e-3, 2}), normalized(x, 1e-3, [](const Index& i) { return std::vector{i[0], i[1] / 3}; }));
  }
}

TEST(Normalization, ScaleAndBias) {
  const auto x = [] { return tensor({1, 4, 1}, {0, 2, 10, 14}); };
  const Normalization groups{{2}, 0, 2};
  expectNear(numbers(run1(groups, x(), tensor({1, 4, 1}, {1, 2, 3, 4}), tensor({1, 4, 1}, {0, 0, 0, 10}))),
             {-1, 2, -3, 14});
  expectNear(numbers(run1(groups, x(), tensor({1, 2, 1}, {1, 3}), tensor({1, 1, 1}, {1}))), {0, 2, -2, 4});
  expectNear(
      numbers(run1(Normalization{{-1}, 0}, tensor({2, 2}, {0, 2, 1, 5}), tensor({2}, {1, 10}), tensor({2}, {0, 5}))),
      {-1, 15, -1, 15});
  EXPECT_EQ(run1(Normalization{{1}}, tensor({0, 2}, {}), tensor({2}, {1, 1}), tensor({2}, {0, 0})).view().count(), 0);
}

TEST(Normalization, RootMeanSquare) {
  const Normalization op{{-1}, 0.25, 1, false};
  const double first = std::sqrt((9.0 + 16) / 2 + 0.25);
  expectNear(numbers(run1(op, tensor({2, 2}, {3, -4, 0, 0}), tensor({2}, {1, 10}), tensor({2}, {5, 5}))),
             {3 / first + 5, -40 / first + 5, 5, 5});
}

TEST(Normalization, OfASum) {
  Rng rng(36);
  const auto x = randomTensor(rng, {3, 7});
  const auto r = randomTensor(rng, {3, 7});
  const auto make = [](const std::vector<double>& values) { return tensor({3, 7}, values); };
  std::vector<double> sum = numbers(x);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(sum[i] + numbers(r)[i]);
  const auto plain = run1(Normalization{{1}}, make(sum), tensor({1}, {2}), tensor({1}, {3}));
  Normalization op{{1}, 1e-5, 1, true, true};
  EXPECT_EQ(numbers(run1(op, make(numbers(x)), tensor({1}, {2}), tensor({1}, {3}), make(numbers(r)))), numbers(plain));
  op.keepSum = true;
  const auto both = run(op, list(make(numbers(x)), tensor({1}, {2}), tensor({1}, {3}), make(numbers(r))));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(numbers(both[0]), numbers(plain));
  EXPECT_EQ(numbers(both[1]), sum);
}

TEST(Normalization, SumsAreOfTheType) {
  // 2048 + 1 is 2048 in a half: the row is then constant.
  const Normalization op{{1}, 1e-5, 1, true, true, true};
  const auto half = [](const Dims& dims, const std::vector<double>& values) {
    return tensor(dims, values, DataType::kF16);
  };
  const auto both = run(op, list(half({1, 2}, {2048, 2048}), half({1}, {1}), half({1}, {0}), half({1, 2}, {1, 0})));
  EXPECT_EQ(numbers(both[0]), (std::vector<double>{0, 0}));
  EXPECT_EQ(numbers(both[1]), (std::vector<double>{2048, 2048}));
}

TEST(Normalization, ErrorsOfSums) {
  const auto infer = [](bool skip, bool keepSum, const std::vector<TensorType>& more) {
    std::vector<TensorType> inputs{typed({2, 3}), typed({3}), typed({3})};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return inferOf(Normalization{{1}, 1e-5, 1, true, skip, keepSum}, inputs);
  };
  EXPECT_EQ(infer(true, true, {typed({2, 3})}).size(), 2U);
  EXPECT_THROW(infer(true, false, {}), UserError);
  EXPECT_THROW(infer(false, true, {typed({2, 3})}), UserError);
  EXPECT_THROW(infer(true, false, {typed({3})}), UserError);
  EXPECT_THROW(infer(true, false, {typed({1, 3})}), UserError);
  EXPECT_THROW(infer(true, false, {typed({2, 3}, DataType::kF16)}), UserError);
}

TEST(Normalization, Errors) {
  const auto infer = [](const Normalization& op, const TensorType& scale) {
    return inferOf(op, {typed({2, 6, 3}), scale, scale});
  };
  EXPECT_THROW(infer({{}}, typed({3})), UserError);
  EXPECT_THROW(infer({{3}}, typed({3})), UserError);
  EXPECT_THROW(infer({{2}}, typed({4})), UserError);
  EXPECT_THROW(infer({{2}, 1e-5, 4}, typed({3})), UserError);
  EXPECT_THROW(infer({{2}}, typed({1, 2, 6, 3})), UserError);
  EXPECT_THROW(infer({{2}}, typed({3}, DataType::kI32)), UserError);
}

TEST(Lrn, AgreesWithItsDefinition) {
  Rng rng(35);
  for (const int64_t window : {1, 2, 3, 5, 9}) {
    const auto x = randomTensor(rng, {2, 7, 3});
    const Lrn op{window, 0.5, 0.75, 2};
    const auto y = run1(op, tensor({2, 7, 3}, numbers(x)));
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t c = 0; c < 7; ++c) {
        for (int64_t i = 0; i < 3; ++i) {
          double sum = 0;
          for (int64_t d = -((window - 1) / 2); d <= window / 2; ++d) {
            if (c + d < 0 || c + d >= 7) continue;
            sum += std::pow(x.view().loadDouble((n * 7 + c + d) * 3 + i), 2);
          }
          const int64_t at = (n * 7 + c) * 3 + i;
          EXPECT_NEAR(y.view().loadDouble(at),
                      x.view().loadDouble(at) * std::pow(2 + 0.5 * sum / static_cast<double>(window), -0.75), 1e-6);
        }
      }
    }
  }
  EXPECT_THROW(inferOf(Lrn{0}, {typed({1, 2})}), UserError);
  EXPECT_THROW(inferOf(Lrn{}, {typed({2})}), UserError);
}

}  // namespace
}  // namespace tenon::ops

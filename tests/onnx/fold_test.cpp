// WeightBytes folding against straightforward loops, on random inputs.
#include "common/fold.h"

#include <gtest/gtest.h>

#include <random>

#include "graph_import.h"
#include "model_maker.h"
#include "topology.h"

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

std::mt19937 random_(3);

std::vector<int64_t> numbers(int64_t count, int64_t low = -9, int64_t high = 9) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& value : values) {
    value = std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  return values;
}

TEST(Fold, BinaryBroadcasts) {
  WeightStore store;
  const std::vector<std::pair<Dimensions, Dimensions>> cases{{{}, {}},      {{3}, {}},           {{1}, {7}},
                                                             {{2, 3}, {3}}, {{4, 1, 5}, {3, 1}}, {{0, 3}, {1, 3}}};
  for (const auto& [left, right] : cases) {
    const Dimensions shape = broadcastShape(left, right);
    const WeightBytes& a = store.ofInts(DataType::kINT64, left, numbers(elementCount(left)));
    const WeightBytes& b = store.ofInts(DataType::kINT64, right, numbers(elementCount(right)));
    const WeightBytes* sum = foldBinary(store, a, b, ElementWiseOperation::kSUB);
    ASSERT_NE(sum, nullptr);
    EXPECT_EQ(sum->shape, shape);
    const auto at = [&](const WeightBytes& constant, int64_t flat) {
      int64_t index = 0;
      int64_t stride = 1;
      for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) {
        const auto own = static_cast<int64_t>(d) - static_cast<int64_t>(shape.size() - constant.shape.size());
        if (own >= 0) {
          const int64_t extent = constant.shape[static_cast<size_t>(own)];
          index += (extent == 1 ? 0 : flat % shape[d]) * stride;
          stride *= extent;
        }
      }
      return toInts(constant)[static_cast<size_t>(index)];
    };
    for (int64_t i = 0; i < elementCount(shape); ++i) {
      EXPECT_EQ(toInts(*sum)[static_cast<size_t>(i)], at(a, i) - at(b, i));
    }
  }
  EXPECT_NE(messageOf([] { broadcastShape({2, 3}, {2, 4}); }).find("extents 3 and 4"), std::string::npos);
}

TEST(Fold, IntegerOperations) {
  WeightStore store;
  const auto fold = [&](int64_t a, int64_t b, ElementWiseOperation operation) {
    return toInts(*foldBinary(store, store.ofInts(DataType::kINT64, {}, {a}), store.ofInts(DataType::kINT64, {}, {b}),
                              operation))[0];
  };
  EXPECT_EQ(fold(-7, 2, ElementWiseOperation::kDIV), -3);
  EXPECT_EQ(fold(-7, 2, ElementWiseOperation::kFLOOR_DIV), -4);
  EXPECT_EQ(fold(7, -2, ElementWiseOperation::kFLOOR_DIV), -4);
  EXPECT_EQ(fold(-8, 2, ElementWiseOperation::kFLOOR_DIV), -4);
  EXPECT_EQ(fold(3, 4, ElementWiseOperation::kPOW), 81);
  EXPECT_EQ(fold(2, -1, ElementWiseOperation::kPOW), 0);
  EXPECT_EQ(fold(-1, 63, ElementWiseOperation::kPOW), -1);
  EXPECT_EQ(fold(INT64_MAX, 1, ElementWiseOperation::kSUM), INT64_MIN);
  EXPECT_EQ(fold(1, 2, ElementWiseOperation::kLESS), 1);
  EXPECT_NE(messageOf([&] { fold(1, 0, ElementWiseOperation::kDIV); }), "");
  EXPECT_NE(messageOf([&] { fold(INT64_MIN, -1, ElementWiseOperation::kDIV); }), "");
}

TEST(Fold, TransposeGatherSliceConcat) {
  WeightStore store;
  const Dimensions shape{2, 3, 5};
  const WeightBytes& input = store.ofInts(DataType::kINT32, shape, numbers(30));
  const std::vector<int64_t> in = toInts(input);
  const auto element = [&](int64_t i, int64_t j, int64_t k) { return in[static_cast<size_t>((i * 3 + j) * 5 + k)]; };

  const std::vector<int64_t> moved = toInts(*foldTranspose(store, input, {2, 0, 1}));
  const std::vector<int64_t> picked =
      toInts(*foldGather(store, input, store.ofInts(DataType::kINT64, {2}, {-1, 0}), 1));
  const std::vector<int64_t> reversed = toInts(*foldSlice(store, input, {1, 2, 4}, {1, 2, 3}, {1, -2, -2}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 5; ++k) {
        EXPECT_EQ(moved[static_cast<size_t>((k * 2 + i) * 3 + j)], element(i, j, k));
      }
    }
  }
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 5; ++k) {
      EXPECT_EQ(picked[static_cast<size_t>((i * 2 + 0) * 5 + k)], element(i, 2, k));
      EXPECT_EQ(picked[static_cast<size_t>((i * 2 + 1) * 5 + k)], element(i, 0, k));
    }
  }
  for (int64_t j = 0; j < 2; ++j) {
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(reversed[static_cast<size_t>(j * 3 + k)], element(1, 2 - 2 * j, 4 - 2 * k));
    }
  }
  const WeightBytes& other = store.ofInts(DataType::kINT32, {2, 1, 5}, numbers(10));
  const WeightBytes* joined = foldConcat(store, {&input, &other}, 1);
  EXPECT_EQ(joined->shape, (Dimensions{2, 4, 5}));
  EXPECT_EQ(toInts(*foldSlice(store, *joined, {0, 0, 0}, shape, {1, 1, 1})), in);
  EXPECT_EQ(toInts(*foldSlice(store, *joined, {0, 3, 0}, {2, 1, 5}, {1, 1, 1})), toInts(other));
  EXPECT_NE(messageOf([&] { foldGather(store, input, store.ofInts(DataType::kINT64, {}, {3}), 1); }), "");
  EXPECT_NE(messageOf([&] { foldSlice(store, input, {0, 0, 0}, {3, 3, 5}, {1, 1, 1}); }), "");
}

TEST(Fold, ReduceAndCast) {
  WeightStore store;
  const WeightBytes& input = store.ofInts(DataType::kINT64, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(toInts(*foldReduce(store, input, ReduceOperation::kSUM, 1u, false)), (std::vector<int64_t>{5, 7, 9}));
  EXPECT_EQ(toInts(*foldReduce(store, input, ReduceOperation::kPROD, 2u, true)), (std::vector<int64_t>{6, 120}));
  EXPECT_EQ(toInts(*foldReduce(store, input, ReduceOperation::kMAX, 3u, false)), (std::vector<int64_t>{6}));
  const WeightBytes& reals = store.ofReals(DataType::kFLOAT, {4}, {-1.5, 2.9, 0.0, 1e30});
  EXPECT_EQ(toInts(*foldCast(store, reals, DataType::kBOOL)), (std::vector<int64_t>{1, 1, 0, 1}));
  const std::vector<int64_t> integers = toInts(*foldCast(store, reals, DataType::kINT64));
  EXPECT_EQ(integers[0], -1);
  EXPECT_EQ(integers[1], 2);
  EXPECT_EQ(toReals(*foldUnary(store, reals, UnaryOperation::kFLOOR))[0], -2.0);
}

TEST(Order, SortsStablyAndFindsCycles) {
  ModelMaker maker;
  maker.node("Relu", {"b"}, {"c"});
  maker.node("Relu", {"a"}, {"b"});
  maker.node("Relu", {"x"}, {"d"});
  maker.node("Relu", {"x"}, {"a"});
  EXPECT_EQ(topologicalOrder(maker.graph()), (std::vector<int>{2, 3, 1, 0}));
  maker.graph().mutable_node(3)->set_input(0, "c");
  EXPECT_NE(messageOf([&] { topologicalOrder(maker.graph()); }).find("cycle"), std::string::npos);
  maker.graph().mutable_node(3)->set_output(0, "c");
  EXPECT_NE(messageOf([&] { topologicalOrder(maker.graph()); }).find("unique"), std::string::npos);
}

}  // namespace
}  // namespace tenon::parsers::onnx

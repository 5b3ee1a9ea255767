// Scatter against its definition, element of the result by element.
#include "ops/op/scatter.h"
#include "core/error.h"
#include "support.h"

namespace tenon::ops {
namespace {

const Extent kN = Extent::symbol("N");

// The last update whose place is `at`, else the data there.
template <typename PlaceOf>
double expectedAt(const Dims& dims, int64_t at, const HostTensor& data, const HostTensor& updates, PlaceOf placeOf) {
  double value = data.view().loadDouble(at);
  int64_t position = 0;
  for (IndexIterator j(updates.view().dims); j.valid(); j.next(), ++position) {
    auto place = placeOf(j);
    for (int k = 0; k < dims.rank; ++k)
      place[static_cast<size_t>(k)] += place[static_cast<size_t>(k)] < 0 ? dims[k] : 0;
    int64_t offset = 0;
    for (int k = 0; k < dims.rank; ++k)
      offset += place[static_cast<size_t>(k)] * dims.strides()[static_cast<size_t>(k)];
    if (offset == at) value = updates.view().loadDouble(position);
  }
  return value;
}

TEST(Scatter, ElementsAgreeWithTheDefinition) {
  Rng rng(31);
  for (int round = 0; round < 200; ++round) {
    const Dims dims{pickOf(rng, std::vector<int64_t>{1, 2, 5}), pickOf(rng, std::vector<int64_t>{1, 3, 7})};
    const int64_t axis = pick(rng, -2, 1);
    const int at = static_cast<int>(axis < 0 ? axis + 2 : axis);
    Dims some = dims;
    for (int k = 0; k < 2; ++k) some[k] = pick(rng, 0, k == at ? 9 : dims[k]);
    const auto type = pickOf(rng, std::vector{DataType::kF32, DataType::kF16, DataType::kI8, DataType::kI64});
    const auto data = randomTensor(rng, dims, type);
    const auto updates = randomTensor(rng, some, type);
    std::vector<double> places;
    for (int64_t i = 0; i < some.count(); ++i)
      places.push_back(static_cast<double>(pick(rng, -dims[at], dims[at] - 1)));
    const auto out = run1(Scatter{ScatterMode::kElement, axis}, tensor(dims, numbers(data), type),
                          tensor(some, places, round % 2 == 0 ? DataType::kI32 : DataType::kI64),
                          tensor(some, numbers(updates), type));
    for (int64_t i = 0; i < dims.count(); ++i) {
      const double expected = expectedAt(dims, i, data, updates, [&](const IndexIterator& j) {
        auto place = j.index;
        place[static_cast<size_t>(at)] = static_cast<int64_t>(places[static_cast<size_t>(j.dot(some.strides()))]);
        return place;
      });
      ASSERT_EQ(out.view().loadDouble(i), expected) << "round " << round << " at " << i;
    }
  }
}

TEST(Scatter, RowsAgreeWithTheDefinition) {
  Rng rng(32);
  for (int round = 0; round < 200; ++round) {
    const Dims dims{pick(rng, 1, 4), pick(rng, 1, 5), pick(rng, 0, 3)};
    const int length = static_cast<int>(pick(rng, 1, dims[2] == 0 ? 2 : 3));
    const int64_t rows = pick(rng, 0, 6);
    Dims some{rows};
    for (int k = length; k < 3; ++k) some.push(dims[k]);
    std::vector<double> places;
    for (int64_t i = 0; i < rows; ++i) {
      for (int k = 0; k < length; ++k) places.push_back(static_cast<double>(pick(rng, -dims[k], dims[k] - 1)));
    }
    const auto data = randomTensor(rng, dims, DataType::kF32);
    const auto updates = randomTensor(rng, some, DataType::kF32);
    const auto out = run1(Scatter{ScatterMode::kNd}, tensor(dims, numbers(data)),
                          tensor({rows, length}, places, DataType::kI64), tensor(some, numbers(updates)));
    for (int64_t i = 0; i < dims.count(); ++i) {
      const double expected = expectedAt(dims, i, data, updates, [&](const IndexIterator& j) {
        std::array<int64_t, kMaxRank> place{};
        for (int k = 0; k < length; ++k)
          place[static_cast<size_t>(k)] = static_cast<int64_t>(places[static_cast<size_t>(j.index[0] * length + k)]);
        for (int k = length; k < 3; ++k) place[static_cast<size_t>(k)] = j.index[static_cast<size_t>(1 + k - length)];
        return place;
      });
      ASSERT_EQ(out.view().loadDouble(i), expected) << "round " << round << " at " << i;
    }
  }
}

TEST(Scatter, ContentsGoThrough) {
  const TensorType shape{DataType::kI64, {3}, std::vector<Extent>{1, 2, 3}};
  const TensorType index{DataType::kI64, {1}, std::vector<Extent>{-1}};
  const TensorType update{DataType::kI64, {1}, std::vector<Extent>{kN}};
  EXPECT_EQ(*inferOf(Scatter{ScatterMode::kElement, 0}, {shape, index, update})[0].contents,
            (std::vector<Extent>{1, 2, kN}));
  const TensorType coordinate{DataType::kI64, {1, 1}, std::vector<Extent>{0}};
  EXPECT_EQ(*inferOf(Scatter{ScatterMode::kNd}, {shape, coordinate, update})[0].contents,
            (std::vector<Extent>{kN, 2, 3}));
  EXPECT_FALSE(
      inferOf(Scatter{ScatterMode::kElement, 0}, {shape, typed({1}, DataType::kI64), update})[0].contents.has_value());
}

TEST(Scatter, Refusals) {
  const auto message = [](const Scatter& op, const std::vector<TensorType>& inputs) {
    try {
      inferOf(op, inputs);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Scatter element{ScatterMode::kElement, 1};
  has(message(element, {typed({2, 3}), typed({2, 3}), typed({2, 3})}), "indices have type f32");
  has(message(element, {typed({2, 3}), typed({2, 3}, DataType::kI32), typed({2, 3}, DataType::kF16)}),
      "updates have type f16");
  has(message(element, {typed({2, 3}), typed({3}, DataType::kI32), typed({3})}), "different ranks");
  has(message(element, {typed({2, 3}), typed({3, 3}, DataType::kI32), typed({3, 3})}), "exceed the data");
  has(message(element, {typed({2, 3}), typed({2, 3}, DataType::kI32), typed({2, 2})}), "indices and updates");
  has(message(Scatter{ScatterMode::kElement, 2}, {typed({2, 3}), typed({2, 3}, DataType::kI32), typed({2, 3})}),
      "axis");
  const Scatter nd{ScatterMode::kNd};
  has(message(nd, {typed({2, 3}), typed({4, 3}, DataType::kI32), typed({4})}), "an index names 3 axes");
  has(message(nd, {typed({2, 3}), typed({4, kN}, DataType::kI32), typed({4})}),
      "last extent that is known while building");
  has(message(nd, {typed({2, 3}), typed({4, 1}, DataType::kI32), typed({4})}), "updates have shape");
  has(message(nd, {typed({2, 3}), typed({4, 1}, DataType::kI32), typed({4, 2})}), "what the indices name");
  EXPECT_THROW(run1(nd, tensor({2}, {1, 2}), tensor({1, 1}, {2}, DataType::kI32), tensor({1}, {5})), UserError);
}

}  // namespace
}  // namespace tenon::ops

// Layouts: names, sizes, and copies between them, beside places counted one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/layout.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "core/strided.h"

namespace tenon {
namespace {

Layout last(int axis, int multiple = 1, int rows = 1) {
  return {static_cast<int8_t>(axis), -1, 1, static_cast<int16_t>(multiple), static_cast<int16_t>(rows)};
}
Layout blocks(int axis, int block) { return {-1, static_cast<int8_t>(axis), static_cast<int16_t>(block)}; }

// Where each element lies, in the order of indices, by walking memory: every place is given to the element of the index
// that the loops over the stored axes have reached, or to padding. `size` becomes the number of places.
std::vector<int64_t> placesByWalking(const Dims& dims, Layout layout, int64_t& size) {
  struct Loop {
    int axis;
    int64_t extent, step, limit;
  };
  const auto up = [](int64_t value, int64_t by) { return (value + by - 1) / by * by; };
  std::vector<Loop> loops;
  for (int axis = 0; axis < dims.rank; ++axis) {
    if (axis == layout.innermost) continue;
    const int64_t step = axis == layout.blockedAxis ? layout.block : 1;
    loops.push_back({axis, (dims[axis] + step - 1) / step, step, dims[axis]});
  }
  if (layout.innermost >= 0) {
    const int axis = layout.innermost;
    loops.push_back({axis, up(dims[axis], layout.multiple), 1, dims[axis]});
  }
  if (layout.blockedAxis >= 0) loops.push_back({layout.blockedAxis, layout.block, 1, dims[layout.blockedAxis]});
  const auto strides = dims.strides();
  std::vector<int64_t> places(static_cast<size_t>(dims.count()), -1);
  const size_t rowLoop = loops.size() - (layout.innermost >= 0 && loops.size() > 1 ? 2 : 1);
  size = 0;
  const auto walk = [&](const auto& self, size_t depth, std::vector<int64_t>& index) -> void {
    if (depth == loops.size()) {
      int64_t flat = 0;
      bool inside = true;
      for (int axis = 0; axis < dims.rank; ++axis) {
        inside = inside && index[static_cast<size_t>(axis)] < dims[axis];
        flat += index[static_cast<size_t>(axis)] * strides[static_cast<size_t>(axis)];
      }
      if (inside) places[static_cast<size_t>(flat)] = size;
      ++size;
      return;
    }
    const auto& loop = loops[depth];
    const auto at = static_cast<size_t>(loop.axis);
    const int64_t before = index[at];
    for (int64_t i = 0; i < loop.extent; ++i) {
      index[at] = before + i * loop.step;
      self(self, depth + 1, index);
    }
    index[at] = before;
    if (depth == rowLoop) size = up(size, layout.rowMultiple);
  };
  std::vector<int64_t> index(static_cast<size_t>(dims.rank), 0);
  walk(walk, 0, index);
  return places;
}

std::vector<Layout> layoutsOf(int rank) {
  std::vector<Layout> result{Layout::kLinear, {-1, -1, 1, 1, 8}};
  for (int axis = 0; axis < rank; ++axis) {
    for (const int count : {2, 4, 8, 32}) {
      result.push_back(blocks(axis, count));
      result.push_back(last(axis, count));
    }
    result.push_back(last(axis));
    result.push_back(last(axis, 4, 16));
  }
  return result;
}

class RandomDims {
 public:
  Dims next() {
    Dims dims;
    const int rank = 1 + static_cast<int>(random_() % 5);
    for (int axis = 0; axis < rank; ++axis) {
      constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 8, 9, 17};
      dims.push(kExtents[random_() % (rank > 3 ? 5 : 8)]);
    }
    return dims;
  }
  size_t below(size_t count) { return random_() % count; }

 private:
  std::mt19937 random_{7};
};

TEST(Layouts, NamesAreReadBack) {
  for (const auto& layout : layoutsOf(5)) {
    const auto text = name(layout);
    ASSERT_TRUE(parseLayout(text).has_value()) << text;
    EXPECT_EQ(*parseLayout(text), layout) << text;
    TextReader in(text, "a layout");
    EXPECT_EQ(FieldText<Layout>::read(in), layout);
  }
  EXPECT_EQ(name(Layout::kChannelsLast), "channels_last");
  EXPECT_EQ(name(Layout::kBlocked16), "blocked16");
  EXPECT_EQ(name(last(1, 8)), "axis1_last_by8");
  EXPECT_EQ(name(blocks(2, 32)), "axis2_blocked32");
}

TEST(Layouts, OtherTextIsNoLayout) {
  for (const char* text : {"",
                           "linea",
                           "linear_",
                           "axis",
                           "axis1",
                           "axis1_",
                           "axis8_last",
                           "axis-1_last",
                           "axis1_last_by0",
                           "axis1_last_by1",
                           "axis01_last_by8",
                           "axis1_blocked0",
                           "axis1_blocked1",
                           "axis1_blocked8",
                           "axis2_blocked99999999999",
                           "axis2_blocked4097",
                           "axis2_blocked32_rows8",
                           "axis1_last_rows",
                           "axis1_last",
                           "channels_last ",
                           "linear_rows1"}) {
    EXPECT_FALSE(parseLayout(text).has_value()) << text;
  }
}

TEST(Layouts, SizesAreThoseOfTheWalk) {
  RandomDims dimsOf;
  for (int i = 0; i < 300; ++i) {
    const Dims dims = dimsOf.next();
    Shape shape;
    for (int axis = 0; axis < dims.rank; ++axis) shape.push_back(Extent::symbol(fmt::format("s{}", axis)));
    SymbolValues values;
    for (int axis = 0; axis < dims.rank; ++axis) values[fmt::format("s{}", axis)] = dims[axis];
    for (const auto& layout : layoutsOf(dims.rank)) {
      int64_t size = 0;
      (void)placesByWalking(dims, layout, size);
      ASSERT_EQ(storageBytes(DataType::kF32, dims, layout), static_cast<uint64_t>(size) * 4)
          << dims.text() << " " << name(layout);
      ASSERT_EQ(storedCount(shape, layout).evaluate(values), size) << dims.text() << " " << name(layout);
    }
  }
}

TEST(Layouts, HugeExtentsHaveNoSize) {
  for (const auto& layout : layoutsOf(4)) {
    EXPECT_EQ(storageBytes(DataType::kF32, {int64_t{1} << 62, 4, 4, 4}, layout), UINT64_MAX) << name(layout);
    EXPECT_EQ(storageBytes(DataType::kF32, {2, INT64_MAX, 4, 4}, layout), UINT64_MAX) << name(layout);
    EXPECT_EQ(storageBytes(DataType::kF32, {2, 3, 4, -1}, layout), UINT64_MAX) << name(layout);
    EXPECT_EQ(storageBytes(DataType::kF32, {2, 3, 0, 5}, layout), 0u) << name(layout);
  }
}

TEST(Layouts, CopiesPutEachElementWhereItBelongs) {
  RandomDims dimsOf;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    const Dims dims = dimsOf.next();
    const auto all = layoutsOf(dims.rank);
    const Layout from = all[dimsOf.below(all.size())];
    const Layout to = all[dimsOf.below(all.size())];
    SCOPED_TRACE(fmt::format("{} from {} to {}", dims.text(), name(from), name(to)));
    int64_t fromSize = 0, toSize = 0;
    const auto source = placesByWalking(dims, from, fromSize);
    const auto target = placesByWalking(dims, to, toSize);
    std::vector<int16_t> x(static_cast<size_t>(fromSize)), y(static_cast<size_t>(toSize), -5);
    for (auto& value : x) value = static_cast<int16_t>(1 + random() % 30000);
    copyTo(to, {x.data(), DataType::kF16, dims}, from, y.data());
    std::vector<int16_t> wanted(y.size(), 0);
    if (from == to) wanted = x;
    for (size_t e = 0; e < source.size(); ++e)
      wanted[static_cast<size_t>(target[e])] = x[static_cast<size_t>(source[e])];
    ASSERT_EQ(y, wanted);
  }
}

TEST(Layouts, WhatMakesNoDifferenceIsLeftOut) {
  RandomDims dimsOf;
  int alike = 0;
  for (int i = 0; i < 3000; ++i) {
    const Dims dims = dimsOf.next();
    Shape shape;
    for (int axis = 0; axis < dims.rank; ++axis) shape.push_back(Extent(dims[axis]));
    const auto all = layoutsOf(dims.rank);
    const Layout a = all[dimsOf.below(all.size())];
    const Layout b = all[dimsOf.below(all.size())];
    int64_t sizeA = 0, sizeB = 0;
    const bool same = placesByWalking(dims, a, sizeA) == placesByWalking(dims, b, sizeB) && sizeA == sizeB;
    if (withoutPadding(shape, a) == withoutPadding(shape, b)) {
      EXPECT_TRUE(same) << dims.text() << " " << name(a) << " " << name(b);
      alike += a != b ? 1 : 0;
    }
  }
  EXPECT_GT(alike, 20);
  // Open extents: only what holds for all of them.
  const Shape open{Extent::symbol("N"), 8, Extent::symbol("H"), Extent::symbol("W")};
  EXPECT_EQ(withoutPadding(open, last(1, 8)), Layout::kChannelsLast);
  EXPECT_EQ(withoutPadding(open, blocks(1, 8)), Layout::kChannelsLast);
  EXPECT_EQ(withoutPadding(open, blocks(1, 4)), blocks(1, 4));
  EXPECT_EQ(withoutPadding(open, last(1, 16)), last(1, 16));
}

TEST(Layouts, SmallElementsStayRowMajor) {
  std::vector<uint8_t> bytes(4), result(4);
  EXPECT_THROW(copyTo(last(0), {bytes.data(), DataType::kI4, {2, 4}}, Layout::kLinear, result.data()), Unsupported);
}

}  // namespace
}  // namespace tenon

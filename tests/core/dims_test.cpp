// Concrete extents, index iteration and owned tensors.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <new>

#include "core/dims.h"
#include "core/error.h"

namespace tenon {
namespace {

TEST(Dims, CountsAndStrides) {
  const Dims dims{2, 3, 5};
  EXPECT_EQ(dims.count(), 30);
  EXPECT_EQ(dims.count(1, 3), 15);
  EXPECT_EQ(dims.count(1, 1), 1);
  EXPECT_EQ(dims.strides()[0], 15);
  EXPECT_EQ(dims.strides()[2], 1);
  EXPECT_EQ(Dims{}.count(), 1);
  EXPECT_EQ((Dims{4, 0}).count(), 0);
  EXPECT_EQ(dims.text(), "2x3x5");
  EXPECT_EQ(Dims{}.text(), "scalar");
  EXPECT_FALSE(dims == (Dims{2, 3}));
  EXPECT_EQ(evaluate(toShape(dims), {}), dims);
}

TEST(Dims, AbsurdCountsDoNotOverflow) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ((Dims{big, big}).count(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((Dims{big, big, 0}).count(), 0);
  EXPECT_THROW(HostTensor(DataType::kF32, Dims{big, big}), std::bad_alloc);
  EXPECT_THROW(HostTensor(DataType::kF32, Dims{-1}), UserError);
}

TEST(Dims, RankIsLimited) {
  Dims dims;
  for (int i = 0; i < kMaxRank; ++i) dims.push(1);
  EXPECT_THROW(dims.push(1), InternalError);
}

TEST(IndexIterator, VisitsRowMajor) {
  const Dims dims{2, 1, 3};
  int64_t expected = 0;
  for (IndexIterator i(dims); i.valid(); i.next()) EXPECT_EQ(i.dot(dims.strides()), expected++);
  EXPECT_EQ(expected, 6);
}

TEST(IndexIterator, EmptyAndScalar) {
  EXPECT_FALSE(IndexIterator(Dims{3, 0}).valid());
  int visits = 0;
  for (IndexIterator i(Dims{}); i.valid(); i.next()) ++visits;
  EXPECT_EQ(visits, 1);
}

TEST(HostTensor, IsAlignedAndZero) {
  const HostTensor tensor(DataType::kI4, Dims{7});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.view().data) % 64, 0u);
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(tensor.view().loadInt(i), 0);
  const HostTensor empty(DataType::kF32, Dims{0});
  EXPECT_NE(empty.view().data, nullptr);
  EXPECT_EQ(empty.view().bytes(), 0u);
}

}  // namespace
}  // namespace tenon

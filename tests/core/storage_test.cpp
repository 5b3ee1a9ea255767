// Bytes of tensors, at the ends of the range.
#include "core/storage.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

constexpr int64_t kLarge = int64_t{1} << 40;

TEST(Storage, BytesOfSmallTensors) {
  EXPECT_EQ(storageBytes(DataType::kF32, {}, Layout::kLinear), 4U);
  EXPECT_EQ(storageBytes(DataType::kF32, {3, 5}, Layout::kLinear), 60U);
  EXPECT_EQ(storageBytes(DataType::kI4, {7}, Layout::kLinear), 4U);  // two to a byte, rounded up
  EXPECT_EQ(storageBytes(DataType::kF32, {3, 0, 5}, Layout::kLinear), 0U);
}

// A product that does not fit is refused in whatever order the extents come, also where one of them is zero.
TEST(Storage, ProductsThatDoNotFitAreRefused) {
  EXPECT_EQ(storageBytes(DataType::kBool, {kLarge, kLarge}, Layout::kLinear), UINT64_MAX);
  EXPECT_EQ(storageBytes(DataType::kBool, {kLarge, kLarge, 0}, Layout::kLinear), UINT64_MAX);
  EXPECT_EQ(storageBytes(DataType::kBool, {0, kLarge, kLarge}, Layout::kLinear), UINT64_MAX);
  EXPECT_EQ(storageBytes(DataType::kF32, {kLarge, int64_t{1} << 23}, Layout::kLinear), UINT64_MAX);
  EXPECT_EQ(storageBytes(DataType::kF32, {kLarge, 1 << 10}, Layout::kLinear), uint64_t{1} << 52);
}

TEST(Storage, SumsAndProductsSaturate) {
  EXPECT_EQ(addBytes(3, 4), 7U);
  EXPECT_EQ(addBytes(UINT64_MAX, 512), UINT64_MAX);
  EXPECT_EQ(addBytes(UINT64_MAX - 1, 1), UINT64_MAX);
  EXPECT_EQ(multiplyBytes(1 << 20, 1 << 20), uint64_t{1} << 40);
  EXPECT_EQ(multiplyBytes(uint64_t{1} << 40, uint64_t{1} << 40), UINT64_MAX);
  EXPECT_EQ(multiplyBytes(UINT64_MAX, 0), 0U);
  EXPECT_EQ(multiplyBytes(0, UINT64_MAX), 0U);
  EXPECT_EQ(alignBytes(0, 256), 0U);
  EXPECT_EQ(alignBytes(257, 256), 512U);
  EXPECT_EQ(alignBytes(UINT64_MAX, 256), UINT64_MAX);
  EXPECT_EQ(alignBytes(UINT64_MAX - 100, 256), UINT64_MAX);
}

}  // namespace
}  // namespace tenon

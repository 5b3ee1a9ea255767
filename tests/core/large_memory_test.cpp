// Copies of what is large, by several threads.
#include "core/large_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tenon {
namespace {

TEST(LargeMemory, CopiesEveryByteAndNoOther) {
  constexpr size_t kMargin = 64;
  std::mt19937 random(1);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4} << 20, (size_t{4} << 20) + 1, (size_t{33} << 20) - 3}) {
    std::vector<unsigned char> from(bytes), to(bytes + 2 * kMargin, 0xab);
    for (auto& byte : from) byte = static_cast<unsigned char>(random());
    copyLarge(to.data() + kMargin, from.data(), bytes);
    EXPECT_TRUE(bytes == 0 || std::memcmp(to.data() + kMargin, from.data(), bytes) == 0) << bytes;
    for (size_t i = 0; i < kMargin; ++i) {
      ASSERT_EQ(to[i], 0xab) << bytes;
      ASSERT_EQ(to[kMargin + bytes + i], 0xab) << bytes;
    }
  }
}

}  // namespace
}  // namespace tenon

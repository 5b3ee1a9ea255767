// Layouts against their contract: no overlap, alignment, closeness to the lower bound, the same result each time.
#include "memory/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"

namespace tenon::memory {
namespace {

void expectSound(const std::vector<Block>& blocks, const Layout& result) {
  ASSERT_EQ(result.offsets.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const uint64_t end = result.offsets[i] + blocks[i].bytes;
    EXPECT_LE(end, result.bytes) << "block " << i;
    EXPECT_EQ(result.offsets[i] % blocks[i].alignment, 0u) << "block " << i;
    for (size_t j = 0; j < i; ++j) {
      const bool sameTime = blocks[i].firstStep <= blocks[j].lastStep && blocks[j].firstStep <= blocks[i].lastStep;
      const bool samePlace = result.offsets[i] < result.offsets[j] + blocks[j].bytes && result.offsets[j] < end;
      EXPECT_FALSE(sameTime && samePlace && blocks[i].bytes != 0 && blocks[j].bytes != 0)
          << "blocks " << j << " and " << i;
    }
  }
}

std::vector<Block> chainLike(std::mt19937_64& random, int count) {
  std::vector<Block> blocks;
  for (int step = 0; step < count; ++step) {
    const int far = random() % 8 == 0 ? static_cast<int>(random() % 40) : static_cast<int>(random() % 3);
    blocks.push_back({step, step + 1 + far, (1 + random() % 64) << (6 + random() % 8), 64});
  }
  return blocks;
}

std::vector<Block> scattered(std::mt19937_64& random, int count) {
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    const int first = static_cast<int>(random() % 100);
    blocks.push_back({first, first + static_cast<int>(random() % 20), 64 * (1 + random() % 1000), 64});
  }
  return blocks;
}

TEST(Layout, NoBlocks) {
  const auto result = layout({});
  EXPECT_TRUE(result.offsets.empty());
  EXPECT_EQ(result.bytes, 0u);
}

TEST(Layout, OneBlock) {
  const std::vector<Block> blocks{{3, 3, 100, 64}};
  const auto result = layout(blocks);
  EXPECT_EQ(result.offsets[0], 0u);
  EXPECT_EQ(result.bytes, 100u);
}

TEST(Layout, BlocksThatNeverMeetShareMemory) {
  const std::vector<Block> blocks{{0, 0, 128, 64}, {1, 1, 128, 64}, {2, 2, 64, 64}};
  EXPECT_EQ(layout(blocks).bytes, 128u);
}

TEST(Layout, EmptyBlocksTakeNoMemory) {
  const std::vector<Block> blocks{{0, 5, 0, 64}, {0, 5, 64, 64}, {0, 5, 0, 256}};
  const auto result = layout(blocks);
  expectSound(blocks, result);
  EXPECT_EQ(result.bytes, 64u);
}

TEST(Layout, HugeBlocks) {
  const std::vector<Block> blocks{{0, 1, 1ull << 60, 256}, {1, 2, 1ull << 60, 256}, {2, 3, 1ull << 60, 256}};
  const auto result = layout(blocks);
  expectSound(blocks, result);
  EXPECT_EQ(result.bytes, 2ull << 60);
}

TEST(Layout, RefusesWhatMakesNoSense) {
  EXPECT_THROW(layout(std::vector<Block>{{2, 1, 1, 64}}), UserError);
  EXPECT_THROW(layout(std::vector<Block>{{0, 1, 1, 0}}), UserError);
  EXPECT_THROW(layout(std::vector<Block>{{0, 1, 1, 48}}), UserError);
  EXPECT_THROW(layout(std::vector<Block>{{0, 1, UINT64_MAX, 64}}), UserError);
  EXPECT_THROW(layout(std::vector<Block>{{0, 1, 1ull << 61, 64}, {0, 1, 1ull << 61, 64}, {0, 1, 1ull << 61, 64}}),
               UserError);
}

TEST(Layout, MixedAlignmentsAndOddSizes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 30);
      blocks.push_back({first, first + static_cast<int>(random() % 10), random() % 5000, 1ull << (random() % 9)});
    }
    expectSound(blocks, layout(blocks));
  }
}

// Lifetimes of networks (short, in a chain, some long) and random ones.
TEST(Layout, CloseToTheLowerBound) {
  std::mt19937_64 random(11);
  double worst = 0;
  for (int round = 0; round < 60; ++round) {
    const int count = 1 + static_cast<int>(random() % 300);
    const auto blocks = round % 2 == 0 ? chainLike(random, count) : scattered(random, count);
    const auto result = layout(blocks);
    expectSound(blocks, result);
    const double excess = static_cast<double>(result.bytes) / static_cast<double>(lowerBound(blocks)) - 1;
    EXPECT_LE(excess, round % 2 == 0 ? 0.05 : 0.10) << "round " << round << ", " << count << " blocks";
    worst = std::max(worst, excess);
  }
  RecordProperty("worst_excess_percent", std::to_string(worst * 100));
}

TEST(Layout, SameBlocksSameLayout) {
  std::mt19937_64 random(13);
  const auto blocks = scattered(random, 200);
  EXPECT_EQ(layout(blocks).offsets, layout(blocks).offsets);
}

TEST(Layout, ThousandsOfBlocksInLittleTime) {
  std::mt19937_64 random(17);
  const auto blocks = chainLike(random, 5000);
  const auto result = layout(blocks);
  EXPECT_LE(static_cast<double>(result.bytes), 1.05 * static_cast<double>(lowerBound(blocks)));
}

}  // namespace
}  // namespace tenon::memory

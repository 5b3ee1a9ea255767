// Pieces on several threads: all run, and what one throws arrives.
#include <gtest/gtest.h>

#include <atomic>

#include "core/error.h"
#include "runtime/preparation.h"

namespace tenon::test {
namespace {

TEST(Preparation, WhatAPieceThrowsArrivesAfterAllHaveRun) {
  for (const size_t count : {0, 1, 2, 37}) {
    std::atomic<size_t> ran{0};
    std::vector<std::function<void()>> pieces;
    for (size_t i = 0; i < count; ++i) {
      pieces.push_back([&ran, i] {
        ++ran;
        if (i % 2 == 1) throw OutOfMemory("piece {}", i);
      });
    }
    if (count < 2) EXPECT_NO_THROW(runtime::runTogetherOrThrow(std::move(pieces)));
    else EXPECT_THROW(runtime::runTogetherOrThrow(std::move(pieces)), OutOfMemory);
    EXPECT_EQ(ran, count);
  }
}

TEST(Preparation, WhatRunsBesideEndsWithItsHolder) {
  std::atomic<int> ran{0};
  {
    const runtime::Beside beside({[&] { ++ran; }, [] { throw Unsupported("nobody hears it"); }, [&] { ++ran; }});
  }
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace tenon::test

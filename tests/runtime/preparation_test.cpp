// Work of several instances at once.
#include "runtime/preparation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace tenon::runtime {
namespace {

TEST(Preparation, EveryPieceRunsOnceWhateverTheOthersDo) {
  for (const size_t count : {0u, 1u, 2u, 7u, 100u}) {
    std::vector<std::atomic<int>> runs(count);
    std::vector<std::function<void()>> pieces;
    for (size_t i = 0; i < count; ++i) {
      pieces.emplace_back([&runs, i] {
        ++runs[i];
        if (i % 3 == 1) throw std::runtime_error("a library refuses");
      });
    }
    runTogether(std::move(pieces));
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(runs[i], 1) << i << " of " << count;
  }
}

}  // namespace
}  // namespace tenon::runtime

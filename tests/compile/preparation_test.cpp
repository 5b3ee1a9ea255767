// Work beside the building thread: all of it is done once, in order, whatever is thrown or given up.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include "compile/preparation.h"

namespace tenon::test {
namespace {

using compile::Preparation;

TEST(Preparation, DoesEachPartOnce) {
  for (const size_t count : {0u, 1u, 2u, 3u, 37u, 1000u}) {
    Preparation preparation;
    std::vector<std::atomic<int>> done(2 * count);
    const auto first = preparation.begin(count, [&](size_t i) { ++done[i]; });
    const auto second = preparation.begin(count, [&](size_t i) { ++done[count + i]; });
    preparation.wait(second);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(done[count + i], 1) << i;
    preparation.wait(first);
    preparation.wait(first);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i;
  }
}

TEST(Preparation, KnowsWhoMakesWhat) {
  Preparation preparation;
  EXPECT_EQ(preparation.makerOf(1), nullptr);
  const auto ticket = preparation.begin(1, [](size_t) {});
  preparation.noteMaker(1, ticket);
  EXPECT_EQ(preparation.makerOf(1), ticket);
  EXPECT_EQ(preparation.makerOf(2), nullptr);
  preparation.wait(preparation.makerOf(1));
}

TEST(Preparation, NoTicketIsNoWork) {
  Preparation preparation;
  preparation.wait(nullptr);
}

TEST(Preparation, ThrowsWhereItIsWaitedFor) {
  Preparation preparation;
  std::atomic<int> done{0};
  const auto bad = preparation.begin(100, [&](size_t i) {
    if (i == 3) throw std::runtime_error("the third");
    ++done;
  });
  const auto good = preparation.begin(5, [&](size_t) { ++done; });
  preparation.wait(good);
  EXPECT_THROW(preparation.wait(bad), std::runtime_error);
  EXPECT_GE(done, 5);
  EXPECT_LT(done, 105);
}

TEST(Preparation, AbandonedWorkDoesNotBegin) {
  std::atomic<int> running{0};
  std::atomic<int> begun{0};
  Preparation preparation;
  const auto work = [&](size_t) {
    ++running;
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --running;
  };
  const auto ticket = preparation.begin(100'000, work);
  preparation.abandon();
  EXPECT_EQ(running, 0);
  const int before = begun;
  EXPECT_LT(before, 100'000);
  preparation.wait(ticket);
  EXPECT_EQ(begun, before);
  const auto next = preparation.begin(3, work);  // it goes on being of use
  preparation.wait(next);
  EXPECT_EQ(begun, before + 3);
}

TEST(Preparation, EndsWithItsWork) {
  std::atomic<int> running{0};
  {
    Preparation preparation;
    (void)preparation.begin(100'000, [&](size_t) {
      ++running;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --running;
    });
  }
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace tenon::test

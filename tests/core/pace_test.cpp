// A worker's pace beside other programs: full where there are none, a share of its core where they stall its callers.
#include "core/platform/pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::platform {
namespace {

constexpr int64_t kMicro = 1'000;
constexpr int64_t kMilli = 1'000'000;

// A worker that computes pieces without end on a core of which another program takes `turn` of time after each `turn`
// of the worker's, unless the worker has rested: the other one has had its turn then.
struct Simulation {
  Pace pace;
  int64_t wall = 0;
  int64_t used = 0;
  int64_t sinceOther = 0;  // computed since the other program last ran
  int64_t stalled = 0;
  int64_t rested = 0;

  void run(int64_t until, int64_t piece, int64_t turn) {
    while (wall < until) {
      const int64_t left = turn > 0 ? turn - sinceOther : piece + 1;
      const bool isTaken = left < piece;
      wall += piece + (isTaken ? turn : 0);
      used += piece;
      stalled += isTaken ? turn : 0;
      sinceOther = isTaken ? piece - left : sinceOther + piece;
      if (!pace.isDue(wall)) continue;
      const int64_t rest = pace.pieceDone(wall, used, isTaken);
      if (rest == 0) continue;
      wall += rest;
      rested += rest;
      sinceOther = std::max<int64_t>(0, sinceOther - rest);
      pace.wakes(wall, used);
    }
  }
  void forget() { stalled = rested = 0; }
};

TEST(Pace, NobodyRestsAlone) {
  for (const int64_t piece : {kMicro, 30 * kMicro, 300 * kMicro, 20 * kMilli}) {
    Simulation alone;
    alone.run(5'000 * kMilli, piece, 0);
    EXPECT_EQ(alone.rested, 0) << piece;
    EXPECT_NEAR(static_cast<double>(alone.used), 5e9, 3e7) << piece;
  }
}

TEST(Pace, ATurnLostNowAndThenIsNoReason) {
  Simulation worker;
  for (int i = 1; i <= 100; ++i) {
    worker.run(worker.wall + 30 * kMilli, 50 * kMicro, 0);
    worker.wall += 4 * kMilli;
    EXPECT_EQ(worker.pace.pieceDone(worker.wall, worker.used, true), 0);
  }
  EXPECT_EQ(worker.rested, 0);
}

TEST(Pace, OnlyStallsThatACallerWaitsForCount) {
  Pace pace;
  int64_t wall = 0;
  int64_t used = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(pace.pieceDone(wall += 8 * kMilli, used += 4 * kMilli, false), 0);
  }
}

TEST(Pace, RestsTakeThePlaceOfStalls) {
  for (const int64_t piece : {5 * kMicro, 30 * kMicro, 300 * kMicro}) {
    for (const int64_t turn : {1 * kMilli, 4 * kMilli}) {
      Simulation worker;
      worker.run(100 * kMilli, piece, turn);
      EXPECT_GT(worker.rested, 0) << "within 0.1 s";
      worker.forget();
      const int64_t start = worker.wall;
      const int64_t before = worker.used;
      worker.run(start + 2'000 * kMilli, piece, turn);
      const auto passed = static_cast<double>(worker.wall - start);
      EXPECT_LT(static_cast<double>(worker.stalled), 0.15 * passed) << piece << " of " << turn;
      EXPECT_GT(static_cast<double>(worker.used - before), 0.35 * passed) << piece << " of " << turn;
    }
  }
}

TEST(Pace, IsFullAgainWhenTheOtherProgramHasEnded) {
  Simulation worker;
  worker.run(10'000 * kMilli, 30 * kMicro, 4 * kMilli);
  EXPECT_GT(worker.rested, 0);
  worker.run(worker.wall + 3'000 * kMilli, 30 * kMicro, 0);
  worker.forget();
  worker.run(worker.wall + 5'000 * kMilli, 30 * kMicro, 0);
  EXPECT_EQ(worker.rested, 0);
}

// Whatever the worker does, stalls go on: it is all but left out, and never asked to rest long.
TEST(Pace, SharesBecomeSmallWhereStallsGoOn) {
  Pace pace;
  int64_t wall = 0;
  int64_t used = 0;
  int64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    last = pace.pieceDone(wall += 5 * kMilli, used += kMilli, true);
    EXPECT_GE(last, 0);
    EXPECT_LE(last, 20 * kMilli);
    pace.wakes(wall += last, used);
  }
  EXPECT_GT(last, 5 * kMilli);
}

}  // namespace
}  // namespace tenon::platform

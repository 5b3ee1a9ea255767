// Which number of threads short executions keep, by times that are made up.
#include <gtest/gtest.h>

#include "core/platform/alone_scope.h"
#include "core/platform/threads.h"
#include "runtime/thread_choice.h"

namespace tenon::test {
namespace {

// How many of `count` executions ran alone, where one takes `together` or `alone` nanoseconds.
int runAll(runtime::ThreadChoice& choice, int count, int64_t together, int64_t alone) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    const bool isAlone = choice.isAlone();
    found += isAlone ? 1 : 0;
    choice.note(isAlone ? alone : together);
  }
  return found;
}

TEST(ThreadChoice, KeepsTheFasterAndTriesTheOther) {
  runtime::ThreadChoice choice;
  EXPECT_EQ(runAll(choice, 40, 700'000, 400'000), 4);  // of a trial of four and four
  EXPECT_TRUE(choice.isAlone());
  EXPECT_GE(runAll(choice, 10'000, 700'000, 400'000), 9'900);
  // The cores are near each other again.
  runAll(choice, 10'000, 250'000, 400'000);
  EXPECT_FALSE(choice.isAlone());
  EXPECT_LE(runAll(choice, 10'000, 250'000, 400'000), 80);
  EXPECT_LE(runAll(choice, 100'000, 250'000, 400'000), 100);  // ever less often
}

TEST(ThreadChoice, LeavesLongExecutionsAndSmallDifferences) {
  runtime::ThreadChoice longer, close;
  EXPECT_EQ(runAll(longer, 5'000, 5'000'000, 1'000'000), 0);
  runAll(close, 5'000, 100'000, 97'000);
  EXPECT_FALSE(close.isAlone());
}

// Where one thread is many times as slow, the first execution of a trial says so.
TEST(ThreadChoice, ManyCoresAreNotLeftForLong) {
  runtime::ThreadChoice choice;
  EXPECT_EQ(runAll(choice, 600, 3'900'000, 200'000'000), 1);
  EXPECT_FALSE(choice.isAlone());
}

TEST(ThreadChoice, OneDisturbedExecutionDecidesNothing) {
  runtime::ThreadChoice choice;
  for (int i = 0; i < 40; ++i) choice.note(i == 34 ? 9'000'000 : choice.isAlone() ? 150'000 : 100'000);
  EXPECT_FALSE(choice.isAlone());
}

TEST(ThreadChoice, AloneScopeLeavesOneThreadOfAllCores) {
  const int cores = platform::coreCount();
  const int threads = platform::teamSize();
  {
    const platform::AloneScope alone(true), nothing(false);
    EXPECT_EQ(platform::teamSize(), 1);
    EXPECT_EQ(platform::coreCount(), cores);
  }
  EXPECT_EQ(platform::teamSize(), threads);
}

}  // namespace
}  // namespace tenon::test

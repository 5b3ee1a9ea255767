// Times of calls beside threads that keep cores busy.
#include "core/platform/measured_call.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/platform/usage.h"
#include "pool_loops.h"

namespace tenon::platform {
namespace {

template <typename Body>
CallTime measured(Body&& body) {
  using Callable = std::remove_reference_t<Body>;
  return measureCall([](void* argument) { (*static_cast<Callable*>(argument))(); }, &body);
}

void useProcessor(double seconds) {
  const int64_t end = processorTimeOfThread() + static_cast<int64_t>(seconds * 1e9);
  while (processorTimeOfThread() < end) {
  }
}

cpu_set_t maskOfThread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  return mask;
}

// Threads with the mask of who makes them.
class Busy {
 public:
  explicit Busy(size_t count) {
    for (size_t i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!ends_) {
        }
      });
  }
  ~Busy() {
    ends_ = true;
    for (auto& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

// Forty milliseconds are ten turns.
TEST(MeasuredCall, ACallOfOneThreadTakesItsProcessorTime) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const Busy busy(3);
    const auto start = std::chrono::steady_clock::now();
    const auto time = measured([] { useProcessor(0.04); });
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(time.isDisturbed);
    EXPECT_GE(time.seconds, 0.04);
    EXPECT_LT(time.seconds, 0.05);
    EXPECT_GT(passed.count(), 0.05) << "the busy threads did not run";
  }).join();
}

TEST(MeasuredCall, ACallThatWaitsTakesTheTimeOfTheClock) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const Busy busy(1);
    const auto time = measured([] {
      useProcessor(0.02);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    EXPECT_GE(time.seconds, 0.04);
  }).join();
}

TEST(MeasuredCall, ASharedLoopIsDisturbedWhereOthersHaveTheCores) {
  const cpu_set_t mask = maskOfThread();
  if (CPU_COUNT(&mask) < 2) GTEST_SKIP() << "needs two cores";
  noteExecutions(1, true);
  checkLoop(1000, 40, 2);
  const Busy busy(static_cast<size_t>(3 * CPU_COUNT(&mask)));
  int disturbed = 0;
  for (int i = 0; i < 5; ++i) {
    const auto time = measured([] { loop(20, 20, 2, [](int64_t, int64_t, int) { useProcessor(0.001); }); });
    disturbed += time.isDisturbed ? 1 : 0;
  }
  EXPECT_GE(disturbed, 4);
  noteExecutions(0, true);
}

// A worker that looks for the next loop is there.
TEST(MeasuredCall, ALoopThatAWorkerAwaitsIsUndisturbed) {
  const cpu_set_t mask = maskOfThread();
  if (CPU_COUNT(&mask) < 2) GTEST_SKIP() << "needs two cores";
  noteExecutions(1, true);
  bool isSeen = false;
  for (int i = 0; i < 20'000 && !isSeen; ++i) {  // other programs leave a moment now and then
    const auto time = measured([] {
      for (int k = 0; k < 10; ++k) loop(4, 4, 2, [](int64_t, int64_t, int) { useProcessor(0.00002); });
    });
    isSeen = !time.isDisturbed;
  }
  EXPECT_TRUE(isSeen);
  noteExecutions(0, true);
}

// The caller looks at more threads than one only in loops that were shared since it last asked.
TEST(MeasuredCall, LoopsOfBeforeDoNotCount) {
  checkLoop(1000, 40, 2);
  static_cast<void>(takeMostThreads());
  EXPECT_EQ(takeMostThreads(), 1);
  checkLoop(1000, 40, 2);
  EXPECT_EQ(takeMostThreads(), 2);
  checkLoop(1000, 1, 2);
  EXPECT_EQ(takeMostThreads(), 1);
}

}  // namespace
}  // namespace tenon::platform

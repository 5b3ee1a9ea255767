// Loops on the pool of threads: every element once, whatever cuts it, who calls it and what goes wrong.
#include "core/platform/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/platform/cores.h"
#include "core/platform/threads.h"
#include "pool_loops.h"

// Asked by the thread sanitizer, which otherwise ends forked processes that make threads.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace tenon::platform {
namespace {

// More threads than there may be cores, before anything asks how many there are.
const bool kWide = setenv("TENON_THREADS", "6", 1) == 0 && coreCount() == 6;

TEST(Pool, RandomLoopsMeetEachElementOnce) {
  std::mt19937 random(7);
  const auto in = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int i = 0; i < 3000; ++i) {
    const int count = in(0, 9) == 0 ? in(0, 70'000) : in(0, 100);
    ASSERT_NO_FATAL_FAILURE(checkLoop(count, in(0, 9) == 0 ? count : in(0, 40), in(1, 9)));
  }
}

TEST(Pool, SumsAreThoseOfOneThread) {
  std::mt19937_64 random(11);
  std::vector<uint64_t> values(100'003);
  for (auto& value : values) value = random();
  const uint64_t wanted = std::accumulate(values.begin(), values.end(), uint64_t{0});
  for (int round = 0; round < 500; ++round) {
    std::atomic<uint64_t> sum{0};
    loop(static_cast<int64_t>(values.size()), 1 + round % 61, 2 + round % 5, [&](int64_t begin, int64_t end, int) {
      sum += std::accumulate(values.begin() + begin, values.begin() + end, uint64_t{0});
    });
    ASSERT_EQ(sum, wanted) << "round " << round;
  }
}

TEST(Pool, HugeCountsAreCutWithoutOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const int64_t pieces : {int64_t{1}, int64_t{7}, kMostPieces, kHuge}) {
    std::atomic<uint64_t> covered{0};
    loop(kHuge + 5, pieces, 4, [&](int64_t begin, int64_t end, int) {
      covered += static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
    });
    EXPECT_EQ(covered, static_cast<uint64_t>(kHuge) + 5);
  }
  std::atomic<uint64_t> covered{0};
  parallelFor(kHuge, 3, [&](int64_t begin, int64_t end) { covered += static_cast<uint64_t>(end - begin); });
  EXPECT_EQ(covered, static_cast<uint64_t>(kHuge));
}

TEST(Pool, NothingIsCalledForNothing) {
  for (const int64_t count : {int64_t{0}, int64_t{-1}}) {
    loop(count, 4, 4, [](int64_t, int64_t, int) { ADD_FAILURE() << "called"; });
    parallelFor(count, 1, [](int64_t, int64_t) { ADD_FAILURE() << "called"; });
  }
}

TEST(Pool, LoopsWithinLoopsRunOnTheirThread) {
  std::atomic<int64_t> sum{0};
  loop(64, 64, 6, [&](int64_t begin, int64_t, int) {
    EXPECT_TRUE(isInLoop());
    EXPECT_EQ(teamSize(), 1);
    const auto self = std::this_thread::get_id();
    loop(1000, 10, 6, [&](int64_t from, int64_t to, int place) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(place, 0);
      sum += (to - from) * (begin + 1);
    });
  });
  EXPECT_FALSE(isInLoop());
  EXPECT_EQ(sum, 1000 * 64 * 65 / 2);
}

TEST(Pool, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 80; ++caller) {  // more than there are slots
    callers.emplace_back([] {
      for (int i = 0; i < 60; ++i) ASSERT_NO_FATAL_FAILURE(checkLoop(501, 17, 3));
    });
  }
  for (auto& caller : callers) caller.join();
}

TEST(Pool, AnExceptionReachesTheCallerAndTheNextLoopRuns) {
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> thrown{0};
    try {
      loop(100, 100, 4, [&](int64_t begin, int64_t, int) {
        if (begin % 10 == round % 10) {
          ++thrown;
          throw std::runtime_error("element");
        }
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "element");
    }
    EXPECT_GE(thrown, 1);
    EXPECT_FALSE(isInLoop());
    ASSERT_NO_FATAL_FAILURE(checkLoop(97, 12, 4));
  }
}

TEST(Pool, WorkersTakePart) {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> hasHelped{false};
  // The caller's piece ends when a worker has begun one; it gives up after ten seconds.
  loop(2, 2, 2, [&](int64_t, int64_t, int) {
    if (std::this_thread::get_id() != caller) hasHelped = true;
    for (int i = 0; i < 10'000 && !hasHelped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_TRUE(hasHelped);
  EXPECT_GE(workerCount(), 1);
}

TEST(Pool, SleepingWorkersAreWokenEachTime) {
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // longer than they spin
    std::atomic<bool> hasHelped{false};
    loop(2, 2, 2, [&](int64_t, int64_t, int) {
      if (std::this_thread::get_id() != caller) hasHelped = true;
      for (int i = 0; i < 10'000 && !hasHelped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    ASSERT_TRUE(hasHelped) << "round " << round;
  }
}

TEST(Pool, AForkedChildMakesWorkersOfItsOwn) {
  checkLoop(1000, 40, 4);
  std::atomic<bool> ends{false};
  std::thread other([&] {  // has a loop under way at the fork
    while (!ends) checkLoop(300, 30, 3);
  });
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      const bool startsAlone = workerCount() == 0;
      checkLoop(1000, 40, 4);
      _exit(startsAlone && workerCount() > 0 && !testing::Test::HasFailure() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    checkLoop(1000, 40, 4);
  }
  ends = true;
  other.join();
}

TEST(Threads, TeamsShareTheCores) {
  ASSERT_TRUE(kWide);
  const RunningThread one;
  EXPECT_EQ(teamSize(), 6);
  std::thread([] {
    const RunningThread two;
    EXPECT_EQ(teamSize(), 3);
  }).join();
  EXPECT_EQ(teamSize(), 6);
  {
    const SerialScope scope(true);
    EXPECT_EQ(teamSize(), 1);
    EXPECT_EQ(coreCount(), 1);
  }
  const SerialScope none(false);
  EXPECT_EQ(teamSize(), 6);
}

// A file system of control groups.
class CoreQuotas : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("tenon_quota_" + std::to_string(getpid()));
    write("proc/self/cgroup", "");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  CoreQuota find() const { return CoreQuota(root_.string()); }
  std::filesystem::path root_;
};

TEST_F(CoreQuotas, NoGroupIsNoQuota) { EXPECT_EQ(find().read(), 0); }

TEST_F(CoreQuotas, UnifiedGroupsAndThoseAboveThem) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(find().read(), 0);
  write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  const auto quota = find();
  EXPECT_EQ(quota.read(), 1.5);
  write("sys/fs/cgroup/outer/inner/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota.read(), 0.5);
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(quota.read(), 1.5) << "a change is noticed";
}

TEST_F(CoreQuotas, GroupsOfVersionOne) {
  write("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/box\n0::/\n");
  write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  const auto quota = find();
  EXPECT_EQ(quota.read(), 0);
  write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(quota.read(), 3);
}

TEST_F(CoreQuotas, AGroupOfTheHostThatIsNotHere) {
  write("proc/self/cgroup", "0::/docker/0123456789\n");
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(find().read(), 2);
}

TEST_F(CoreQuotas, DamagedFilesAreNoQuota) {
  for (const char* text : {"", "x", "100", "0 0", "-5 100", "100 -5", "max", "100000 max"}) {
    write("proc/self/cgroup", "junk\n0::\n::\n0::/a\n");
    write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(find().read(), 0) << text;
  }
}

}  // namespace
}  // namespace tenon::platform

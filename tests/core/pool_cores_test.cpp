// Where workers run and when they give way, beside threads that keep cores busy.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "core/platform/cores.h"
#include "core/platform/pool.h"
#include "pool_loops.h"

namespace tenon::platform {
namespace {

// In a thread of its own, whose mask ends with it.
class Cores : public testing::Test {
 protected:
  Cores() {
    EXPECT_EQ(sched_getaffinity(0, sizeof whole_, &whole_), 0);
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &whole_)) cores_.push_back(core);
    }
  }
  static cpu_set_t set(std::initializer_list<size_t> some) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const size_t core : some) CPU_SET(core, &mask);
    EXPECT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    return mask;
  }
  static bool isMask(const cpu_set_t& wanted) {
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &wanted);
  }
  cpu_set_t whole_;
  std::vector<size_t> cores_;
};

TEST_F(Cores, AThreadLeavesACoreAndKeepsItsMask) {
  if (cores_.size() < 2) GTEST_SKIP() << "needs two cores";
  std::thread([&] {
    int left = 0;
    for (int round = 0; round < 20; ++round) {
      set({cores_[0]});
      ASSERT_EQ(sched_setaffinity(0, sizeof whole_, &whole_), 0);
      leaveCore(static_cast<int>(cores_[0]));
      left += sched_getcpu() != static_cast<int>(cores_[0]) ? 1 : 0;  // until the system moves it again
      EXPECT_TRUE(isMask(whole_));
    }
    EXPECT_GE(left, 15);
  }).join();
}

TEST_F(Cores, AThreadOfOneCoreStays) {
  std::thread([&] {
    for (const int core : {-1, CPU_SETSIZE, 1'000'000}) leaveCore(core);
    EXPECT_TRUE(isMask(whole_));
    const cpu_set_t one = set({cores_[0]});
    leaveCore(static_cast<int>(cores_[0]));
    EXPECT_TRUE(isMask(one));
    EXPECT_EQ(sched_getcpu(), static_cast<int>(cores_[0]));
  }).join();
}

TEST_F(Cores, AMaskThatIsNotWholeStaysAsItIs) {
  if (cores_.size() < 3) GTEST_SKIP() << "needs three cores";
  std::thread([&] {
    const cpu_set_t two = set({cores_[0], cores_[2]});
    leaveCore(static_cast<int>(cores_[0]));
    EXPECT_TRUE(isMask(two));
  }).join();
}

void moveWorkers(const cpu_set_t& mask) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "tenon-worker") continue;
    EXPECT_EQ(sched_setaffinity(std::stoi(task.path().filename().string()), sizeof mask, &mask), 0);
  }
}

// All other cores are busy, so that the system has no reason to move a worker that woke on the caller's.
TEST_F(Cores, AWorkerLeavesTheCallers) {
  if (cores_.size() < 2) GTEST_SKIP() << "needs two cores";
  noteExecutions(1, true);
  checkLoop(1000, 40, 2);  // workers have the mask of who makes them
  std::atomic<bool> ends{false};
  std::vector<std::thread> busy;
  for (size_t i = 1; i < cores_.size(); ++i) {
    set({cores_[i]});
    busy.emplace_back([&] {
      while (!ends) {
      }
    });
  }
  const cpu_set_t callers = set({cores_[0]});
  const auto self = std::this_thread::get_id();
  int away = 0;
  int looked = 0;
  for (int round = 0; round < 30; ++round) {
    moveWorkers(callers);
    moveWorkers(whole_);
    std::atomic<bool> hasHelped{false};
    loop(2, 2, 2, [&](int64_t, int64_t, int) {
      if (std::this_thread::get_id() == self) {  // until a worker takes part, ten seconds at most
        for (int i = 0; i < 10'000 && !hasHelped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      away += sched_getcpu() != static_cast<int>(cores_[0]) ? 1 : 0;
      ++looked;
      hasHelped = true;
    });
  }
  ends = true;
  for (auto& thread : busy) thread.join();
  EXPECT_EQ(sched_setaffinity(0, sizeof whole_, &whole_), 0);
  noteExecutions(0, true);
  EXPECT_GE(away, looked * 6 / 10) << "of " << looked;
  EXPECT_GE(looked, 5);
}

bool isLinuxBefore(int major, int minor) {
  utsname system{};
  int ours[2] = {};
  return uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &ours[0], &ours[1]) != 2 || ours[0] < major ||
         (ours[0] == major && ours[1] < minor);
}

int64_t timesTakenOff() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

struct TakenOff {
  int64_t within;  // pieces
  int64_t between;
};

// Of workers that compute nearly all the time on the core of a busy thread.
TakenOff timesWorkersAreTakenOff() {
  std::atomic<int64_t> within{0};
  std::atomic<int64_t> between{0};
  const auto self = std::this_thread::get_id();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (const auto end = now() + std::chrono::seconds(20); now() < end && within + between < 20;) {
    loop(16, 16, 2, [&](int64_t, int64_t, int) {
      thread_local int64_t last = 0;
      const bool isWorker = std::this_thread::get_id() != self;
      const int64_t first = isWorker ? timesTakenOff() : 0;
      for (const auto done = now() + std::chrono::microseconds(50); now() < done;) {
      }
      if (!isWorker) return;
      if (last > 0) between += first - last;
      last = timesTakenOff();
      within += last - first;
    });
  }
  return {within, between};
}

// Programs of other groups may still take a worker off within a piece: it is tried again then.
TEST_F(Cores, WorkersGiveWayBetweenPieces) {
  if (cores_.size() < 2) GTEST_SKIP() << "needs two cores";
  if (isLinuxBefore(6, 6)) GTEST_SKIP() << "needs Linux 6.6";
  noteExecutions(1, true);
  checkLoop(1000, 40, 2);
  set({cores_[1]});
  std::atomic<bool> ends{false};
  std::thread busy([&] {  // has the mask of who makes it
    while (!ends) {
    }
  });
  set({cores_[0]});
  cpu_set_t other;
  CPU_ZERO(&other);
  CPU_SET(cores_[1], &other);
  moveWorkers(other);
  TakenOff times{};
  for (int attempt = 0; attempt < 3 && times.within * 2 >= times.between; ++attempt) times = timesWorkersAreTakenOff();
  EXPECT_LT(times.within * 2, times.between);
  moveWorkers(whole_);
  EXPECT_EQ(sched_setaffinity(0, sizeof whole_, &whole_), 0);
  ends = true;
  busy.join();
  noteExecutions(0, true);
}

}  // namespace
}  // namespace tenon::platform

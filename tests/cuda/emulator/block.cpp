// Threads are contexts with a stack of their own; a thread that reaches a barrier gives way until all others are there.
#include "block.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace {

constexpr size_t kStackBytes = 128 << 10;

enum class Waits { kNo, kBlock, kWarp, kCluster, kPause, kDone };

struct Thread {
  std::unique_ptr<char[]> stack;
  ucontext_t context;
  jmp_buf resume;
  bool started = false;
  Waits waits = Waits::kNo;
  char word[32];                      // what it shows to its warp
  unsigned arrivals = 0, passed = 0;  // at the barrier of the cluster
};

struct Block {
  EmulatedKernel kernel = nullptr;
  EmulatedState* state = nullptr;
  const void* parameters = nullptr;
  std::vector<Thread> threads;  // of all blocks of a cluster
  size_t perBlock = 0;
  size_t current = 0;
  jmp_buf scheduler;
  ucontext_t start;
};
Block block;

void giveWay(Waits why) {
  auto& self = block.threads[block.current];
  self.waits = why;
  if (_setjmp(self.resume) == 0) _longjmp(block.scheduler, 1);
}

void barrier() { giveWay(Waits::kBlock); }
void pause() { giveWay(Waits::kPause); }
void arriveAtCluster() { ++block.threads[block.current].arrivals; }
void waitForCluster() {
  ++block.threads[block.current].passed;
  giveWay(Waits::kCluster);
}

void show(const void* mine, size_t bytes) {
  std::memcpy(block.threads[block.current].word, mine, bytes);
  giveWay(Waits::kWarp);
}

void read(int lane, void* other, size_t bytes) {
  const size_t self = block.current;
  const size_t from = self / 32 * 32 + static_cast<size_t>(lane);
  if (from >= block.threads.size() || block.threads[from].waits == Waits::kDone) {
    std::fprintf(stderr, "emulator: thread %zu reads from lane %d, which has ended\n", self, lane);
    std::abort();
  }
  std::memcpy(other, block.threads[from].word, bytes);
}

void exchange(const void* mine, void* other, size_t bytes, int lane) {
  show(mine, bytes);
  read(lane, other, bytes);
  giveWay(Waits::kWarp);  // nobody may overwrite its word before all have read
}

void collect(const void* mine, void* all, size_t bytes) {
  show(mine, bytes);
  for (int lane = 0; lane < 32; ++lane) read(lane, static_cast<char*>(all) + static_cast<size_t>(lane) * bytes, bytes);
  giveWay(Waits::kWarp);
}

// Stays for the next block: to make a context costs system calls.
void threadMain() {
  for (;;) {
    block.kernel(block.parameters);
    giveWay(Waits::kDone);
  }
}

void resume(size_t index, EmulatedSize size) {
  block.current = index;
  auto& thread = block.threads[index];
  const auto flat = static_cast<unsigned>(index % block.perBlock);
  const auto inCluster = static_cast<unsigned>(index / block.perBlock);
  block.state->block.x = block.state->block.x / block.state->blocksOfCluster * block.state->blocksOfCluster + inCluster;
  block.state->blockOfCluster = inCluster;
  block.state->thread = {flat % size.x, flat / size.x % size.y, flat / size.x / size.y};
  if (_setjmp(block.scheduler) != 0) return;
  if (thread.started) _longjmp(thread.resume, 1);
  thread.started = true;
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  makecontext(&thread.context, threadMain, 0);
  setcontext(&thread.context);
}

// Lets those go on whose partners have all arrived; whether there were any.
bool releaseWarps() {
  bool any = false;
  for (size_t first = 0; first < block.threads.size(); first += 32) {
    const size_t last = std::min(first + 32, block.threads.size());
    bool all = true;
    bool some = false;
    for (size_t i = first; i < last; ++i) {
      some = some || block.threads[i].waits == Waits::kWarp;
      all = all && (block.threads[i].waits == Waits::kWarp || block.threads[i].waits == Waits::kDone);
    }
    if (!some || !all) continue;
    any = true;
    for (size_t i = first; i < last; ++i) {
      if (block.threads[i].waits == Waits::kWarp) block.threads[i].waits = Waits::kNo;
    }
  }
  return any;
}

bool releaseBlock(size_t first) {
  bool some = false;
  for (size_t i = first; i < first + block.perBlock; ++i) {
    const auto waits = block.threads[i].waits;
    if (waits != Waits::kBlock && waits != Waits::kDone) return false;
    some = some || waits == Waits::kBlock;
  }
  for (size_t i = first; i < first + block.perBlock; ++i) {
    if (block.threads[i].waits == Waits::kBlock) block.threads[i].waits = Waits::kNo;
  }
  return some;
}

bool releaseBlocks() {
  bool any = false;
  for (size_t first = 0; first < block.threads.size(); first += block.perBlock) any = releaseBlock(first) || any;
  return any;
}

bool releaseCluster() {
  unsigned least = ~0u;
  for (const auto& thread : block.threads) {
    if (thread.waits != Waits::kDone) least = std::min(least, thread.arrivals);
  }
  bool any = false;
  for (auto& thread : block.threads) {
    if (thread.waits != Waits::kCluster || thread.passed > least) continue;
    thread.waits = Waits::kNo;
    any = true;
  }
  return any;
}

// Those that paused look again; whether there were any.
bool goOn() {
  bool any = false;
  for (auto& thread : block.threads) {
    if (thread.waits != Waits::kPause) continue;
    thread.waits = Waits::kNo;
    any = true;
  }
  return any;
}

void runCluster(EmulatedSize size) {
  constexpr int kMostPauses = 1 << 16;  // in which nobody else goes on
  for (auto& thread : block.threads) {
    thread.waits = Waits::kNo;
    thread.arrivals = thread.passed = 0;
  }
  for (int pauses = 0; pauses < kMostPauses;) {
    bool done = true;
    for (size_t i = 0; i < block.threads.size(); ++i) {
      if (block.threads[i].waits == Waits::kNo) resume(i, size);
      done = done && block.threads[i].waits == Waits::kDone;
    }
    if (done) return;
    const bool warps = releaseWarps();
    const bool blocks = releaseBlocks();
    const bool cluster = releaseCluster();
    const bool paused = goOn();
    if (!warps && !blocks && !cluster && !paused) break;
    pauses = warps || blocks || cluster ? 0 : pauses + 1;
  }
  std::fprintf(stderr, "emulator: the threads of a block wait for each other\n");
  std::abort();
}

}  // namespace

void runGrid(EmulatedKernel kernel, EmulatedState& state, EmulatedSize grid, EmulatedSize size, const void* parameters,
             unsigned cluster) {
  block.kernel = kernel;
  block.state = &state;
  block.parameters = parameters;
  block.perBlock = size_t{size.x} * size.y * size.z;
  const size_t count = block.perBlock * cluster;
  if (block.threads.size() != count) {
    block.threads.clear();
    block.threads.resize(count);
    for (auto& thread : block.threads) thread.stack.reset(new char[kStackBytes]);
  }
  state.blockSize = size;
  state.gridSize = grid;
  state.barrier = &barrier;
  state.exchange = &exchange;
  state.collect = &collect;
  state.pause = &pause;
  state.arriveAtCluster = &arriveAtCluster;
  state.waitForCluster = &waitForCluster;
  state.blocksOfCluster = cluster;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; x += cluster) {
        state.block = {x, y, z};
        runCluster(size);
      }
    }
  }
}

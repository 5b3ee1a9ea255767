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
constexpr size_t kWordBytes = 64;  // kEmulatedWord of intrinsics.cuh

enum class Waits { kNo, kBlock, kWarp, kCluster, kPause, kDone };

struct Thread {
  std::unique_ptr<char[]> stack;
  ucontext_t context;
  jmp_buf resume;
  EmulatedSize index{};
  bool started = false;
  Waits waits = Waits::kNo;
  unsigned shown = 0;                 // words so far
  unsigned arrivals = 0, passed = 0;  // at the barrier of the cluster
};
struct Warp {
  unsigned waiting = 0, ended = 0;  // of its threads
  bool isWhole = false;             // all 32 had shown a word when they were released last
};

struct Block {
  EmulatedKernel kernel = nullptr;
  EmulatedState* state = nullptr;
  const void* parameters = nullptr;
  std::vector<Thread> threads;       // of all blocks of a cluster come first; those of larger ones wait for the next
  size_t count = 0;                  // of the former
  std::vector<Warp> warps;           // each 32 of those
  std::unique_ptr<char[]> words[2];  // what each thread shows to its warp, the next one while others read the last one
  size_t perBlock = 0;
  size_t current = 0;
  size_t ended = 0;
  jmp_buf scheduler;

  Warp& warp() { return warps[current / 32]; }
};
Block block;

void threadMain();

[[noreturn]] void start(Thread& thread) {
  const auto index = static_cast<size_t>(&thread - block.threads.data());
  // Frames at equal places of a page would share a few lines of the L1 cache.
  const size_t shift = index * 37 % 64 * 64;
  thread.started = true;
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes - shift;
  makecontext(&thread.context, threadMain, 0);
  setcontext(&thread.context);
  std::abort();
}

// Goes on with the next thread from there on that waits for nothing; without one, with the scheduler.
[[noreturn]] void goOnFrom(size_t index) {
  while (index < block.count && block.threads[index].waits != Waits::kNo) ++index;
  if (index == block.count) _longjmp(block.scheduler, 1);
  block.current = index;
  auto& thread = block.threads[index];
  auto& state = *block.state;
  const auto inCluster = static_cast<unsigned>(index / block.perBlock);
  state.block.x = state.block.x / state.blocksOfCluster * state.blocksOfCluster + inCluster;
  state.blockOfCluster = inCluster;
  state.thread = thread.index;
  if (thread.started) _longjmp(thread.resume, 1);
  start(thread);
}

void giveWay(Waits why) {
  auto& self = block.threads[block.current];
  self.waits = why;
  if (_setjmp(self.resume) == 0) goOnFrom(block.current + 1);
}

void barrier() { giveWay(Waits::kBlock); }
void pause() { giveWay(Waits::kPause); }
void arriveAtCluster() { ++block.threads[block.current].arrivals; }
void waitForCluster() {
  ++block.threads[block.current].passed;
  giveWay(Waits::kCluster);
}

// Ends the program where a lane has ended before it showed what the current one reads.
void checkShown(size_t lane) {
  const size_t from = block.current / 32 * 32 + lane;
  if (from < block.count && block.threads[from].shown >= block.threads[block.current].shown) return;
  std::fprintf(stderr, "emulator: thread %zu reads from lane %zu, which has ended\n", block.current, lane);
  std::abort();
}

// Shows a word and waits for the warp; the words of the warp. Nobody shows the next but one before all have read.
const char* show(const void* mine, size_t bytes) {
  char* const words = block.words[block.threads[block.current].shown++ % 2].get();
  std::memcpy(words + block.current * kWordBytes, mine, bytes);
  ++block.warp().waiting;
  giveWay(Waits::kWarp);
  return words + block.current / 32 * 32 * kWordBytes;
}

void exchange(const void* mine, void* other, size_t bytes, int lane) {
  const char* const words = show(mine, bytes);
  checkShown(static_cast<size_t>(lane));
  std::memcpy(other, words + static_cast<size_t>(lane) * kWordBytes, bytes);
}

const char* collect(const void* mine, size_t bytes) {
  const char* const words = show(mine, bytes);
  for (size_t lane = 0; lane < 32 && !block.warp().isWhole; ++lane) checkShown(lane);
  return words;
}

// Stays for the next block: to make a context costs system calls.
void threadMain() {
  for (;;) {
    block.kernel(block.parameters);
    ++block.warp().ended;
    ++block.ended;
    giveWay(Waits::kDone);
  }
}

// Lets those go on whose partners have all arrived; whether there were any.
bool releaseWarps() {
  bool any = false;
  for (size_t w = 0; w < block.warps.size(); ++w) {
    const size_t first = w * 32;
    const size_t last = std::min(first + 32, block.count);
    auto& warp = block.warps[w];
    if (warp.waiting == 0 || warp.waiting + warp.ended < last - first) continue;
    any = true;
    warp.isWhole = warp.waiting == 32;
    warp.waiting = 0;
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
  for (size_t first = 0; first < block.count; first += block.perBlock) any = releaseBlock(first) || any;
  return any;
}

bool releaseCluster() {
  unsigned least = ~0u;
  for (size_t i = 0; i < block.count; ++i) {
    const auto& thread = block.threads[i];
    if (thread.waits != Waits::kDone) least = std::min(least, thread.arrivals);
  }
  bool any = false;
  for (size_t i = 0; i < block.count; ++i) {
    auto& thread = block.threads[i];
    if (thread.waits != Waits::kCluster || thread.passed > least) continue;
    thread.waits = Waits::kNo;
    any = true;
  }
  return any;
}

// Those that paused look again; whether there were any.
bool goOn() {
  bool any = false;
  for (size_t i = 0; i < block.count; ++i) {
    auto& thread = block.threads[i];
    if (thread.waits != Waits::kPause) continue;
    thread.waits = Waits::kNo;
    any = true;
  }
  return any;
}

void runCluster() {
  constexpr int kMostPauses = 1 << 16;  // in which nobody else goes on
  for (size_t i = 0; i < block.count; ++i) {
    auto& thread = block.threads[i];
    thread.waits = Waits::kNo;
    thread.shown = thread.arrivals = thread.passed = 0;
  }
  for (auto& warp : block.warps) warp = {};
  block.ended = 0;
  for (volatile int pauses = 0; pauses < kMostPauses;) {
    if (_setjmp(block.scheduler) == 0) goOnFrom(0);
    if (block.ended == block.count) return;
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

void needThreads(size_t count) {
  block.count = count;
  block.warps.resize((count + 31) / 32);
  if (count <= block.threads.size()) return;
  const size_t before = block.threads.size();
  block.threads.resize(count);
  for (size_t i = before; i < count; ++i) block.threads[i].stack.reset(new char[kStackBytes]);
  for (auto& words : block.words) words.reset(new char[count * kWordBytes]);
}

}  // namespace

void runGrid(EmulatedKernel kernel, EmulatedState& state, EmulatedSize grid, EmulatedSize size, const void* parameters,
             unsigned cluster) {
  block.kernel = kernel;
  block.state = &state;
  block.parameters = parameters;
  block.perBlock = size_t{size.x} * size.y * size.z;
  const size_t count = block.perBlock * cluster;
  needThreads(count);
  for (size_t i = 0; i < count; ++i) {
    const auto flat = static_cast<unsigned>(i % block.perBlock);
    block.threads[i].index = {flat % size.x, flat / size.x % size.y, flat / size.x / size.y};
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
        runCluster();
      }
    }
  }
}

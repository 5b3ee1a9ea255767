// Counts and times what a program asks NVIDIA's libraries for, of those functions that it finds by dlsym.
//
//   LD_PRELOAD=libdriver_calls.so DRIVER_CALLS=FILE PROGRAM ...
//
// Stands in front of dlopen and dlsym and gives a wrapper for each function of the driver, the runtime, NVRTC, cuBLASLt
// and cuDNN. At the end FILE has a line `stage milliseconds calls name` for each function that was called, longest
// first; what several threads wait for at once is added up. A program that wants stages calls driverCallsStage(), where
// it is there.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace {

constexpr size_t kMostFunctions = 384;
constexpr size_t kMostStages = 8;

struct Count {
  std::atomic<long> calls{0};
  std::atomic<long long> nanoseconds{0};
};

// cublasLtMatmul has sixteen arguments, none of them a floating-point number; what a function does not take is ignored.
using Function = long (*)(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                          long);

struct Slot {
  const char* name = nullptr;
  Function real = nullptr;
  std::array<Count, kMostStages> counts;
};

constinit std::array<Slot, kMostFunctions> slots;
std::array<const char*, kMostStages> stages{"start"};
std::atomic<size_t> stage{0};
std::mutex mutex;
size_t used = 1;  // the first one is dlopen

struct Timed {
  explicit Timed(size_t which) : slot(slots[which]), at(stage.load()), begin(std::chrono::steady_clock::now()) {}
  ~Timed() {
    const auto spent = std::chrono::steady_clock::now() - begin;
    slot.counts[at].calls += 1;
    slot.counts[at].nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  Slot& slot;
  size_t at;
  std::chrono::steady_clock::time_point begin;
};

template <size_t I>
long wrapper(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m,
             long n, long o, long p) {
  const Timed timed(I);
  return slots[I].real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}

template <size_t... I>
constexpr std::array<Function, sizeof...(I)> wrappers(std::index_sequence<I...>) {
  return {&wrapper<I>...};
}
constexpr auto kWrappers = wrappers(std::make_index_sequence<kMostFunctions>());

bool isCounted(const char* name) { return std::strncmp(name, "cu", 2) == 0 || std::strncmp(name, "nvrtc", 5) == 0; }

template <typename F>
F original(const char* name) {
  return reinterpret_cast<F>(dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5"));
}

void report() {
  const char* file = std::getenv("DRIVER_CALLS");
  std::FILE* to = file == nullptr ? stderr : std::fopen(file, "w");
  if (to == nullptr) return;
  for (size_t s = 0; s <= stage.load(); ++s) {
    std::vector<const Slot*> called;
    for (size_t i = 0; i < used; ++i) {
      if (slots[i].counts[s].calls.load() != 0) called.push_back(&slots[i]);
    }
    std::sort(called.begin(), called.end(), [s](const Slot* a, const Slot* b) {
      return a->counts[s].nanoseconds.load() > b->counts[s].nanoseconds.load();
    });
    for (const auto* slot : called) {
      std::fprintf(to, "%s %.3f %ld %s\n", stages[s], static_cast<double>(slot->counts[s].nanoseconds.load()) * 1e-6,
                   slot->counts[s].calls.load(), slot->name);
    }
  }
  std::fclose(to);
}

struct AtEnd {
  AtEnd() {
    slots[0].name = "dlopen";
    std::atexit(report);
  }
} atEnd;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void driverCallsStage(const char* name) {
  const std::lock_guard lock(mutex);
  const size_t next = stage.load() + 1;
  if (next >= kMostStages) return;
  stages[next] = strdup(name);
  stage = next;
}

void* dlopen(const char* name, int flags) noexcept {
  static const auto kReal = original<void* (*)(const char*, int)>("dlopen");
  const Timed timed(0);
  return kReal(name, flags);
}

void* dlsym(void* __restrict library, const char* __restrict name) noexcept {
  static const auto kReal = original<void* (*)(void*, const char*)>("dlsym");
  void* const found = kReal(library, name);
  if (found == nullptr || !isCounted(name)) return found;
  const std::lock_guard lock(mutex);
  size_t slot = 1;
  while (slot < used &&
         (slots[slot].real != reinterpret_cast<Function>(found) || std::strcmp(slots[slot].name, name) != 0))
    ++slot;
  if (slot == kMostFunctions) return found;
  if (slot == used) {
    slots[slot].name = strdup(name);
    slots[slot].real = reinterpret_cast<Function>(found);
    ++used;
  }
  return reinterpret_cast<void*>(kWrappers[slot]);
}
}
#pragma GCC visibility pop

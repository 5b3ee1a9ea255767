// Counts and times what a program asks NVIDIA's libraries for, of those functions that it finds by dlsym.
//
//   LD_PRELOAD=libdriver_calls.so DRIVER_CALLS=FILE PROGRAM ...
//
// Stands in front of dlopen and dlsym and gives a wrapper for each function of the driver, the runtime, NVRTC, cuBLASLt
// and cuDNN. At the end FILE has a line `stage milliseconds calls name` for each function that was called, longest
// first; what several threads wait for at once is added up. A program that wants stages calls driverCallsStage(), where
// it is there. FILE.line has `thread begin milliseconds name` for each call of half a millisecond and more, from the
// first stage on, as they began: what libraries ask the driver for is among it.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr size_t kMostFunctions = 1024;
constexpr size_t kMostLines = 32768;
constexpr double kLeastLine = 0.5;  // milliseconds
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

using Clock = std::chrono::steady_clock;
const Clock::time_point theStart = Clock::now();

double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

struct Line {
  int thread = 0;
  double begin = 0, spent = 0;
  std::array<char, 64> name{};
};
constinit std::array<Line, kMostLines> lines;
std::atomic<size_t> lineCount{0};

void addLine(Clock::time_point begin, Clock::duration spent, const char* name) {
  const size_t at = lineCount++;
  if (at >= kMostLines) return;
  auto& line = lines[at];
  line.thread = gettid();
  line.begin = milliseconds(begin - theStart);
  line.spent = milliseconds(spent);
  std::snprintf(line.name.data(), line.name.size(), "%s", name);
}

struct Timed {
  explicit Timed(size_t which, const char* its = nullptr)
      : slot(slots[which]), name(its), at(stage.load()), begin(Clock::now()) {}
  ~Timed() {
    const auto spent = Clock::now() - begin;
    slot.counts[at].calls += 1;
    slot.counts[at].nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
    if (milliseconds(spent) >= kLeastLine) addLine(begin, spent, name != nullptr ? name : slot.name);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  Slot& slot;
  const char* name;
  size_t at;
  Clock::time_point begin;
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

void reportLines(const char* file) {
  std::FILE* to = std::fopen((std::string(file) + ".line").c_str(), "w");
  if (to == nullptr) return;
  const auto end = lines.begin() + static_cast<std::ptrdiff_t>(std::min(lineCount.load(), kMostLines));
  std::sort(lines.begin(), end, [](const Line& a, const Line& b) { return a.begin < b.begin; });
  for (auto line = lines.begin(); line != end; ++line)
    std::fprintf(to, "%d %.3f %.3f %s\n", line->thread, line->begin, line->spent, line->name.data());
  std::fclose(to);
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
  if (file != nullptr) reportLines(file);
}

void* counted(void* found, const char* name);

// By which the runtime within each library finds the driver's functions.
int (*realProcAddress)(const char*, void**, int, unsigned long, void*) = nullptr;
int procAddress(const char* name, void** found, int version, unsigned long flags, void* status) {
  const int result = realProcAddress(name, found, version, flags, status);
  if (result == 0 && found != nullptr && *found != nullptr) *found = counted(*found, name);
  return result;
}

// The wrapper of a function, or itself where there is no room for one.
void* counted(void* found, const char* name) {
  const std::lock_guard lock(mutex);
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0 || std::strcmp(name, "cuGetProcAddress") == 0) {
    if (std::strcmp(name, "cuGetProcAddress_v2") != 0 && realProcAddress == nullptr) return found;
    if (realProcAddress == nullptr) realProcAddress = reinterpret_cast<decltype(realProcAddress)>(found);
    return reinterpret_cast<void*>(&procAddress);
  }
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
  addLine(Clock::now(), {}, stages[next]);
}

void* dlopen(const char* name, int flags) noexcept {
  static const auto kReal = original<void* (*)(const char*, int)>("dlopen");
  const Timed timed(0, name);
  return kReal(name, flags);
}

void* dlsym(void* __restrict library, const char* __restrict name) noexcept {
  static const auto kReal = original<void* (*)(void*, const char*)>("dlsym");
  void* const found = kReal(library, name);
  return found == nullptr || !isCounted(name) ? found : counted(found, name);
}
}
#pragma GCC visibility pop

// What this machine's arithmetic and memory give at most, as JSON:
//
//   machine_bounds [THREADS]
//
// gflops: fused multiply-adds of f32 in registers, all threads together. gbs: rows of the working set of all threads in
// bytes, and the gigabytes per second at which it is read; each thread reads a part of its own. The best of several
// turns counts, because whatever else the machine does only slows them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine/bounds.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace machine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains hide the latency of a multiply-add on every processor of today. The number of operations.
double multiplyAdd(int64_t rounds, float* result) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 0.001F);
  // All differ, or a compiler would compute equal ones once.
  auto a = hn::Set(d, 1.0F), b = hn::Add(a, a), c = hn::Add(b, a), e = hn::Add(c, a), f = hn::Add(e, a);
  auto g = hn::Add(f, a), h = hn::Add(g, a), i = hn::Add(h, a), j = hn::Add(i, a), k = hn::Add(j, a);
  auto l = hn::Add(k, a), m = hn::Add(l, a);
  for (int64_t n = 0; n < rounds; ++n) {
    a = hn::MulAdd(a, factor, term);
    b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term);
    g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term);
    i = hn::MulAdd(i, factor, term);
    j = hn::MulAdd(j, factor, term);
    k = hn::MulAdd(k, factor, term);
    l = hn::MulAdd(l, factor, term);
    m = hn::MulAdd(m, factor, term);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  *result = hn::GetLane(hn::Add(sum, hn::Add(hn::Add(j, k), hn::Add(l, m))));
  return static_cast<double>(rounds) * 12 * 2 * static_cast<double>(hn::Lanes(d));
}

// Sums `count` floats, a multiple of four vectors.
void readAll(const float* data, size_t count, float* result) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (size_t at = 0; at + 4 * lanes <= count; at += 4 * lanes) {
    a = hn::Add(a, hn::Load(d, data + at));
    b = hn::Add(b, hn::Load(d, data + at + lanes));
    c = hn::Add(c, hn::Load(d, data + at + 2 * lanes));
    e = hn::Add(e, hn::Load(d, data + at + 3 * lanes));
  }
  *result = hn::GetLane(hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

}  // namespace machine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace machine {

HWY_EXPORT(multiplyAdd);
HWY_EXPORT(readAll);

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTurns = 21;
constexpr double kTurnSeconds = 0.03;

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};

// Seconds that the slowest of the threads takes for work(thread), all of them started together; the best turn.
double best(int threads, const std::function<void(int)>& work) {
  double least = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    std::atomic<int> ready{0};
    std::vector<double> seconds(static_cast<size_t>(threads));
    const auto run = [&](int thread) {
      ++ready;
      while (ready < threads) std::this_thread::yield();
      const auto begin = Clock::now();
      work(thread);
      seconds[static_cast<size_t>(thread)] = std::chrono::duration<double>(Clock::now() - begin).count();
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    for (auto& other : others) other.join();
    least = std::min(least, *std::max_element(seconds.begin(), seconds.end()));
  }
  return least;
}

double gigaflops(int threads) {
  constexpr int64_t kRounds = 4'000'000;
  std::vector<float> results(static_cast<size_t>(threads) * 32);
  std::atomic<double> operations{0};
  const double seconds = best(threads, [&](int thread) {
    operations = HWY_DYNAMIC_DISPATCH(multiplyAdd)(kRounds, &results[static_cast<size_t>(thread) * 32]);
  });
  return operations * threads / seconds * 1e-9;
}

double gigabytesPerSecond(int threads, size_t bytes) {
  const size_t each = bytes / static_cast<size_t>(threads) / 4096 * 4096;
  const auto passes = std::max<int64_t>(1, static_cast<int64_t>(kTurnSeconds * 3e10 / static_cast<double>(each)));
  std::vector<std::unique_ptr<float, Free>> parts;
  for (int i = 0; i < threads; ++i) {
    parts.emplace_back(static_cast<float*>(std::aligned_alloc(4096, each)));
    std::fill_n(parts.back().get(), each / sizeof(float), 0.5F);
  }
  std::vector<float> results(static_cast<size_t>(threads) * 32);
  const double seconds = best(threads, [&](int thread) {
    const auto part = static_cast<size_t>(thread);
    for (int64_t pass = 0; pass < passes; ++pass) {
      HWY_DYNAMIC_DISPATCH(readAll)(parts[part].get(), each / sizeof(float), &results[part * 32]);
    }
  });
  return static_cast<double>(each) * threads * static_cast<double>(passes) / seconds * 1e-9;
}

}  // namespace
}  // namespace machine

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  if (threads < 1 || threads > 1024) {
    std::fprintf(stderr, "error: machine_bounds [THREADS], 1 to 1024; got '%s'\n", argc > 1 ? argv[1] : "");
    return 1;
  }
  std::printf("{\"threads\": %d, \"gflops\": %.1f, \"gbs\": [", threads, machine::gigaflops(threads));
  const char* comma = "";
  for (size_t bytes = 16 << 10; bytes <= size_t{128} << 20; bytes *= 2) {
    const size_t all = bytes * static_cast<size_t>(threads);
    std::printf("%s[%zu, %.1f]", comma, all, machine::gigabytesPerSecond(threads, all));
    comma = ", ";
  }
  std::printf("]}\n");
  return 0;
}
#endif

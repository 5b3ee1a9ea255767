// Builds whose kernels are made beside the measurements, and ends of such builds. The emulated GPU's counted clock
// gives each launch a time of its own, so that nothing but an order of measurements, or what is measured, can change a
// plan.
#include <dlfcn.h>
#include <sched.h>

#include <thread>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/compilers.h"
#include "compile/tune/timing_cache.h"
#include "core/error.h"
#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

using SetClock = void (*)(int);

SetClock countedClock() {
  void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<SetClock>(dlsym(handle, "emulatedCountedClock"));
}

// The threads of this one's builds run on its first core alone.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

// Rows that are normalized before products, products of one operand, and what no join touches.
constexpr const char* kNetwork = R"g(graph "g" {
  input %x : f32[3,20,64]
  const %s : f32[64] = random(1)
  const %c : f32[64] = random(2)
  const %v : f32[64,40] = random(3)
  const %w : f32[64,24] = random(4)
  %n : f32[3,20,64] = normalization{axes=[-1]}(%x, %s, %c) "n"
  %a : f32[3,20,40] = matmul{}(%n, %v) "a"
  %b : f32[3,20,24] = matmul{}(%n, %w) "b"
  %y : f32[3,20,40] = softmax{axis=2}(%a) "y"
  %z : f32[3,20,1] = reduce{op=sum axes=[2] keepDims=true}(%b) "z"
  output %y
  output %z
})g";

struct Built {
  LargeVector<std::byte> plan;
  std::vector<std::byte> times;
};

Built build(compile::Progress* progress = nullptr) {
  RecordingLog log;
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.timingCache = &cache;
  options.progress = progress;
  const auto plan = compile::build(graph::parse(kNetwork), options);
  EXPECT_TRUE(log.contains("candidates of"));
  EXPECT_FALSE(log.contains("Tactics: 0 timed"));
  return {runtime::Engine::make(plan, {}, log)->serialize(), cache.serialize()};
}

TEST_F(OnGpu, PreparationChangesNoPlan) {
  const auto setClock = countedClock();
  if (setClock == nullptr) GTEST_SKIP() << "only the emulated GPU has a clock that counts";
  setClock(1);
  const auto expected = [] {
    const OneCore one;
    return build();
  }();
  for (int round = 0; round < 3; ++round) {
    const auto built = build();
    EXPECT_TRUE(built.plan == expected.plan) << round;
    EXPECT_TRUE(built.times == expected.times) << round;
  }
  setClock(0);
}

// Threads that want what another one makes would wait for it.
TEST_F(OnGpu, PreparationMakesCodeOnce) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  const auto plan = compile::build(graph::parse(R"g(graph "g" {
  input %x : f32[1,8,6,6]
  input %y : f32[1,8,5,5]
  %a : f32[1,8,6,6] = softmax{axis=1}(%x) "a"
  %b : f32[1,8,5,5] = softmax{axis=1}(%y) "b"
  output %a
  output %b
})g"),
                                   options);
  EXPECT_TRUE(log.contains("preparing 4 candidates of 2 problems, 3 of which share their code"));
  EXPECT_EQ(plan.programs.size(), 1u);
}

TEST_F(OnGpu, PreparationOfBuildsSideBySide) {
  if (emulated()) GTEST_SKIP() << "the emulated GPU runs the kernels of a module one after another";
  std::vector<Built> beside(4);
  std::vector<std::thread> threads;
  for (auto& built : beside) threads.emplace_back([&] { built = build(); });
  for (auto& thread : threads) thread.join();
  for (const auto& built : beside) EXPECT_FALSE(built.plan.empty());
}

// Wants to stop at the given step of all.
class Impatient final : public compile::Progress {
 public:
  explicit Impatient(int patience) : left_(patience) {}
  void begin(const std::string&, const std::string&, int) override {}
  bool step(const std::string&, int) override { return --left_ >= 0; }
  void end(const std::string&) override {}
  int left() const { return left_; }

 private:
  int left_;
};

TEST_F(OnGpu, PreparationEndsWithBuildsThatAreStopped) {
  Impatient patient(1 << 20);
  (void)build(&patient);
  const int steps = (1 << 20) - patient.left();
  ASSERT_GT(steps, 10);
  for (int patience = 0; patience < steps; patience += 1 + steps / 12) {
    Impatient impatient(patience);
    EXPECT_THROW(build(&impatient), Cancelled) << patience;
  }
  (void)build();
}

// Where all kernels of a kind are refused, each is so once, and the others do the work.
TEST_F(OnGpu, PreparationWithoutAKindOfKernels) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  void* const library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
  auto* const again =
      library == nullptr ? nullptr : reinterpret_cast<unsigned long (*)()>(dlsym(library, "emulatedRefusals"));
  if (again == nullptr) GTEST_SKIP() << "only the emulated GPU's compiler refuses what it is told to refuse";
  const Variable uncached("TENON_CACHE_DIR", "");
  const Variable refuses("TENON_EMULATED_REFUSES", "tenon_mma90");
  const auto before = again();
  for (int round = 0; round < 2; ++round)
    EXPECT_THROW((void)backends::cuda::compile("// tenon_mma90", 90), Unsupported) << round;
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  (void)compile::build(graph::parse(R"g(graph "g" {
  input %x : f32[60,64]
  const %w : f32[64,40] = random(3)
  %y : f32[60,40] = matmul{epilogue="tanh(x0);add(t0,0.3203125);mul(t1,t0)"}(%x, %w) "y"
  output %y
})g"),
                       options);  // whose kernels no other test has made
  EXPECT_TRUE(log.contains("refuses a kernel"));
  EXPECT_EQ(again(), before);
}

}  // namespace
}  // namespace tenon::test

// A launch of a library that may begin early and does not wait, behind a kernel that lets its successor come early and
// writes what the launch reads.
#include "backends/cuda/driver/in_order.h"

#include <array>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/libraries.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;

constexpr const char* kSource = R"(
extern "C" __global__ void slow(int* x, int value, long long cycles) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
  *x = value;
}
extern "C" __global__ void hasty(const volatile int* x, int* y) { *y = *x; }
)";

class Chain {
 public:
  Chain() : module_(cuda::compile(kSource, cuda::computeCapability())) {
    cuda::check(cuda::driver().memAlloc(&x_, 2 * sizeof(int)), "cuMemAlloc");
    cuda::check(cuda::driver().streamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  ~Chain() {
    cuda::driver().streamDestroy(stream_);
    cuda::driver().memFree(x_);
  }
  CUstream stream() const { return stream_; }
  void launch(int value) {
    CUdeviceptr y = x_ + sizeof(int);
    long long cycles = 1000000;
    run("slow", {&x_, &value, &cycles}, false);
    cuda::InOrder order(stream_);
    run("hasty", {&x_, &y}, true);
    order.end();
  }
  int result() {
    std::array<int, 2> values{};
    cuda::check(cuda::driver().memcpyAsync(reinterpret_cast<CUdeviceptr>(values.data()), x_, sizeof(values), stream_),
                "cuMemcpyAsync");
    cuda::check(cuda::driver().streamSynchronize(stream_), "cuStreamSynchronize");
    return values[1];
  }

 private:
  void run(const char* name, std::vector<void*> arguments, bool early) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    cuda::check(cuda::driver().launchKernelEx(&config, module_.function(name), arguments.data(), nullptr), name);
  }
  cuda::Module module_;
  CUdeviceptr x_ = 0;
  CUstream stream_ = nullptr;
};

class InOrderLaunches : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (emulated()) GTEST_SKIP() << "launches of the emulated GPU do not overlap";
    if (cuda::computeCapability() < 90) GTEST_SKIP() << "launches of this GPU do not overlap";
  }
};

TEST_F(InOrderLaunches, OneByOne) {
  Chain chain;
  for (int value = 1; value <= 20; ++value) {
    chain.launch(value);
    ASSERT_EQ(chain.result(), value);
  }
}

TEST_F(InOrderLaunches, InAGraph) {
  const auto& d = cuda::driver();
  Chain chain;
  for (int value = 1; value <= 20; ++value) {
    ASSERT_EQ(d.streamBeginCapture(chain.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    chain.launch(value);
    CUgraph graph = nullptr;
    ASSERT_EQ(d.streamEndCapture(chain.stream(), &graph), CUDA_SUCCESS);
    CUgraphExec executable = nullptr;
    ASSERT_EQ(d.graphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(d.graphLaunch(executable, chain.stream()), CUDA_SUCCESS);
    EXPECT_EQ(chain.result(), value);
    d.graphExecDestroy(executable);
    d.graphDestroy(graph);
  }
}

}  // namespace
}  // namespace tenon::test

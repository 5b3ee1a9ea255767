// Executions on a GPU on streams of their own: contexts side by side, graphs of the caller, independent steps.
#include <random>
#include <set>

#include "backends/cuda/driver/libraries.h"
#include "cuda/execution.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;

TEST_F(Execution, ContextsOnStreamsOfTheirOwn) {
  RowsEngine e(kRows);
  auto& device = e.engine->device();
  CUstream streams[2] = {};
  std::vector<std::unique_ptr<runtime::Context>> contexts;
  std::vector<std::unique_ptr<RowsBuffers>> buffers;
  for (auto& stream : streams) {
    ASSERT_EQ(cuda::driver().streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    contexts.push_back(std::make_unique<runtime::Context>(e.engine, runtime::ContextOptions{}, e.log));
    buffers.push_back(std::make_unique<RowsBuffers>(device, 9));
    point(*contexts.back(), *buffers.back());
  }
  for (int round = 0; round < 5; ++round) {
    for (size_t k = 0; k < 2; ++k) fill(e, *buffers[k], static_cast<uint64_t>(round) * 2 + k);
    for (int repeat = 0; repeat < 20; ++repeat) {
      for (size_t k = 0; k < 2; ++k) contexts[k]->enqueue(streams[k]);
    }
    for (auto* stream : streams) device.synchronize(stream);
    for (size_t k = 0; k < 2; ++k) expectRight(e, *buffers[k], fmt::format("round {}, context {}", round, k));
  }
  for (auto* stream : streams) cuda::driver().streamDestroy(stream);
}

TEST_F(Execution, GraphOfTheCaller) {
  RowsEngine e(kRows);
  auto& device = e.engine->device();
  const auto& d = cuda::driver();
  runtime::Context context(e.engine, {}, e.log);
  RowsBuffers b(device, 8);
  point(context, b);
  fill(e, b, 1);
  for (int warm = 0; warm < 3; ++warm) context.enqueue(nullptr);
  CUstream stream = nullptr;
  ASSERT_EQ(d.streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  if (d.streamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS)
    GTEST_SKIP() << "this driver captures nothing";
  context.enqueue(stream);
  CUgraph graph = nullptr;
  ASSERT_EQ(d.streamEndCapture(stream, &graph), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(d.graphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  for (uint64_t seed = 2; seed < 5; ++seed) {
    fill(e, b, seed);
    ASSERT_EQ(d.graphLaunch(executable, stream), CUDA_SUCCESS);
    device.synchronize(stream);
    expectRight(e, b, fmt::format("seed {}", seed));
  }
  d.graphExecDestroy(executable);
  d.graphDestroy(graph);
  d.streamDestroy(stream);
}

// A caller whose input comes by another stream, for which his own one waits: the first kernel must not begin before,
// however it is launched.
TEST_F(Execution, FirstLaunchWaitsForAnotherStream) {
  const int64_t count = emulated() ? 1 << 10 : 1 << 23;
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  const auto graph = graph::parse(fmt::format(
      R"g(graph "twice" {{
        input %x : f32[{0}]
        %y : f32[{0}] = pointwise{{expr="mul(x0,2)"}}(%x) "y"
        output %y
      }})g",
      count));
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  auto& device = engine->device();
  const auto& d = cuda::driver();
  const HostTensor zeros(DataType::kF32, {count});
  const HostTensor got(DataType::kF32, {count});
  const DeviceTensor x(device, zeros.view());
  const DeviceTensor y(device, got.view());
  CUstream streams[2] = {};
  for (auto& stream : streams) ASSERT_EQ(d.streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUevent event = nullptr;
  ASSERT_EQ(d.eventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  void* pinned = nullptr;
  const auto bytes = static_cast<size_t>(count) * sizeof(float);
  ASSERT_EQ(d.memHostAlloc(&pinned, bytes, 0), CUDA_SUCCESS);
  for (int round = 1; round <= 20; ++round) {
    std::fill_n(static_cast<float*>(pinned), count, static_cast<float>(round));
    runtime::Context context(engine, {}, log);  // whose steps are launched one by one
    context.setAddress(0, x.data());
    context.setAddress(1, y.data());
    device.copy(x.data(), pinned, bytes, runtime::CopyKind::kHostToDevice, streams[0]);
    device.recordEvent(event, streams[0]);
    ASSERT_EQ(d.streamWaitEvent(streams[1], event, 0), CUDA_SUCCESS);
    context.enqueue(streams[1]);
    device.synchronize(streams[1]);
    y.readBack();
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) wrong += got.view().loadDouble(i) != 2 * round ? 1 : 0;
    EXPECT_EQ(wrong, 0) << "round " << round;
  }
  d.memFreeHost(pinned);
  d.eventDestroy(event);
  for (auto* stream : streams) d.streamDestroy(stream);
}

// A network whose layers read up to two earlier ones, taken at random.
std::string randomBranches(uint64_t seed, int layers) {
  std::mt19937_64 random(seed);
  std::string text = "graph \"branches\" {\n  symbol \"N\" = extent(%x, 0)\n  input %x : f32[N,33]\n";
  std::vector<bool> isRead(static_cast<size_t>(layers) + 1);
  const auto earlier = [&](int below) {
    const auto index = random() % static_cast<uint64_t>(below + 1);
    isRead[index] = true;
    return index == 0 ? std::string("%x") : fmt::format("%v{}", index);
  };
  const auto add = [&](int i, const std::string& what) {
    text += fmt::format("  %v{} : f32[N,33] = {} \"l{}\" from(\"l{}\")\n", i, what, i, i);
  };
  for (int i = 1; i <= layers; ++i) {
    const auto a = earlier(i - 1);
    add(i, random() % 3 == 0 ? fmt::format("pointwise{{expr=\"add(x0,x1);abs(t0)\"}}({}, {})", a, earlier(i - 1))
                             : fmt::format("softmax{{axis={}}}({})", random() % 2, a));
  }
  std::string sum = "%x";
  for (int i = 1; i <= layers; ++i) {
    if (isRead[static_cast<size_t>(i)]) continue;
    text += fmt::format("  %s{} : f32[N,33] = pointwise{{expr=\"add(x0,x1)\"}}({}, %v{}) \"s{}\" from(\"s{}\")\n", i,
                        sum, i, i, i);
    sum = fmt::format("%s{}", i);
  }
  return text + "  output " + sum + "\n}";
}

// Launched, replayed, in a graph of the caller where there are some, with streams of the context's and of the caller's.
TEST_F(Execution, IndependentStepsOnStreamsOfTheirOwn) {
  const auto& d = cuda::driver();
  int spread = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    compile::BuildOptions options;
    options.auxStreams = 1 + static_cast<int>(seed % 4);
    const auto text = randomBranches(seed, 6 + static_cast<int>(seed) * 2);
    RowsEngine e(text.c_str(), options);
    EXPECT_LE(e.engine->auxStreams(), options.auxStreams);
    spread += e.engine->auxStreams() > 0;
    auto& device = e.engine->device();
    CUstream own[2] = {};
    for (auto& stream : own) ASSERT_EQ(d.streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (const auto strategy : {runtime::MemoryStrategy::kStatic, runtime::MemoryStrategy::kUserManaged}) {
      runtime::Context context(e.engine, {strategy, 0}, e.log);
      RowsBuffers b(device, strategy == runtime::MemoryStrategy::kStatic ? 40 : 7);
      point(context, b);
      void* memory = nullptr;
      if (strategy == runtime::MemoryStrategy::kUserManaged) {
        const auto bytes = context.memoryBytes();
        memory = device.allocate(bytes, 256);
        context.setMemory(memory, bytes);
      }
      for (uint64_t round = 0; round < 8; ++round) {
        if (round == 5) context.setAuxStreams(std::vector<runtime::StreamHandle>{own[0]});
        fill(e, b, seed * 100 + round);
        context.enqueue(round % 2 == 0 ? nullptr : own[1]);
        device.synchronize(round % 2 == 0 ? nullptr : own[1]);
        expectRight(e, b, fmt::format("seed {}, round {}: {}", seed, round, text));
      }
      CUgraph graph = nullptr;
      if (d.streamBeginCapture(own[1], CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
        context.enqueue(own[1]);
        ASSERT_EQ(d.streamEndCapture(own[1], &graph), CUDA_SUCCESS) << "a stream was left behind in the capture";
        CUgraphExec executable = nullptr;
        ASSERT_EQ(d.graphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
        fill(e, b, seed + 1000);
        ASSERT_EQ(d.graphLaunch(executable, own[1]), CUDA_SUCCESS);
        device.synchronize(own[1]);
        expectRight(e, b, fmt::format("seed {}, in a graph of the caller", seed));
        d.graphExecDestroy(executable);
        d.graphDestroy(graph);
      }
      device.free(memory);
    }
    for (auto* stream : own) d.streamDestroy(stream);
  }
  EXPECT_GT(spread, 8) << "or nothing was tested";
}

}  // namespace
}  // namespace tenon::test

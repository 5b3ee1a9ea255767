// Executions on a GPU: replays of what was seen before, graphs of the caller, two contexts, halves by the builder.
#include <random>
#include <set>

#include "backends/cuda/driver/libraries.h"
#include "cuda/on_gpu.h"
#include "cuda/regions.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;

constexpr const char* kRows = R"g(graph "rows" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,33]
  const %b : f32[33] = random(5)
  %a : f32[N,33] = pointwise{expr="add(x0,x1);relu(t0)"}(%x, %b) "first" from("first")
  %s : f32[N,33] = softmax{axis=1}(%a) "second" from("second")
  %y : f32[N,33] = pointwise{expr="mul(x0,x1)"}(%s, %x) "third" from("third")
  output %y
})g";

struct Engine {
  explicit Engine(const char* text, compile::BuildOptions options = {}) : graph(graph::parse(text)) {
    options.device = "cuda";
    options.optimizationLevel = 0;
    options.log = &log;
    if (options.profiles.empty()) {
      plan::InputRange range;
      range.min = {1, 33};
      range.opt = {8, 33};
      range.max = {40, 33};
      options.profiles = {{{"x", range}}};
    }
    engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  }
  RecordingLog log;
  graph::Graph graph;
  std::shared_ptr<const runtime::Engine> engine;
};

// Input and output of one row count, filled anew for each seed.
struct Buffers {
  Buffers(runtime::Device& device, int64_t rows)
      : in(DataType::kF32, {rows, 33}), out(DataType::kF32, {rows, 33}), x(device, in.view()), y(device, out.view()) {}
  HostTensor in, out;
  DeviceTensor x, y;
};

void fill(Engine& e, Buffers& b, uint64_t seed) {
  const auto values = randomTensor(DataType::kF32, b.in.view().dims, seed);
  std::memcpy(b.in.view().data, values.view().data, values.view().bytes());
  e.engine->device().copy(b.x.data(), b.in.view().data, b.in.view().bytes(), runtime::CopyKind::kHostToDevice, nullptr);
  e.engine->device().synchronize(nullptr);
}

void expectRight(Engine& e, Buffers& b, const std::string& what) {
  b.y.readBack();
  const TensorView inputs[] = {b.in.view()};
  const auto expected = graph::evaluate(e.graph, inputs);
  EXPECT_LE(relativeError(b.out.view(), expected[0].view()), 1e-5) << what;
}

void point(runtime::Context& context, Buffers& b) {
  context.setInputShape(0, b.in.view().dims);
  context.setAddress(0, b.x.data());
  context.setAddress(1, b.y.data());
}

class Execution : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& reason = cuda::unavailableReason();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(Execution, ReplaysFollowDataAddressesAndShapes) {
  Engine e(kRows);
  auto& device = e.engine->device();
  runtime::Context context(e.engine, {}, e.log);
  std::vector<std::unique_ptr<Buffers>> buffers;
  for (const int64_t rows : {8, 8, 1, 40, 7, 8}) buffers.push_back(std::make_unique<Buffers>(device, rows));
  uint64_t seed = 0;
  // More sets of buffers than are remembered, each several times in a row and in turn.
  for (int round = 0; round < 6; ++round) {
    for (size_t k = 0; k < buffers.size(); ++k) {
      point(context, *buffers[k]);
      for (int repeat = 0; repeat < (round % 2 == 0 ? 1 : 3); ++repeat) {
        fill(e, *buffers[k], ++seed);
        context.enqueue(nullptr);
        device.synchronize(nullptr);
        expectRight(e, *buffers[k], fmt::format("round {}, buffers {}, repeat {}", round, k, repeat));
      }
    }
  }
}

// What touches neither inputs nor outputs is one graph, whatever these are.
TEST_F(Execution, AnyNumberOfAddressesReplaysTheStepsBetween) {
  std::string text = R"g(graph "chain" {
  input %x : f32[8,33]
  %t0 : f32[8,33] = softmax{axis=1}(%x) "first"
)g";
  constexpr int kInner = 6;
  for (int i = 0; i < kInner; ++i)
    text += fmt::format("  %t{} : f32[8,33] = softmax{{axis={}}}(%t{}) \"s{}\"\n", i + 1, i % 2, i, i);
  text += fmt::format("  %y : f32[8,33] = softmax{{axis=1}}(%t{}) \"last\"\n  output %y\n}}", kInner);
  compile::BuildOptions options;
  options.profiles.emplace_back();
  Engine e(text.c_str(), options);
  auto& device = e.engine->device();
  runtime::Context context(e.engine, {}, e.log);
  std::vector<std::unique_ptr<Buffers>> buffers;
  for (int i = 0; i < 7; ++i) buffers.push_back(std::make_unique<Buffers>(device, 8));
  uint64_t seed = 0;
  for (int round = 0; round < 4; ++round) {
    for (size_t k = 0; k < buffers.size(); ++k) {
      context.setAddress(0, buffers[k]->x.data());
      context.setAddress(1, buffers[k]->y.data());
      fill(e, *buffers[k], ++seed);
      const auto launches = emulatedNumber("emulatedDirectLaunches");
      const auto graphs = emulatedNumber("emulatedGraphLaunches");
      context.enqueue(nullptr);
      device.synchronize(nullptr);
      expectRight(e, *buffers[k], fmt::format("round {}, buffers {}", round, k));
      if (!launches || round < 2) continue;
      EXPECT_EQ(*emulatedNumber("emulatedDirectLaunches") - *launches, 2u) << "round " << round;
      EXPECT_EQ(*emulatedNumber("emulatedGraphLaunches") - *graphs, 1u) << "round " << round;
    }
  }
  // A set that stays is one graph after a while.
  for (int repeat = 0; repeat < 6; ++repeat) {
    fill(e, *buffers[2], ++seed);
    const auto launches = emulatedNumber("emulatedDirectLaunches");
    context.setAddress(0, buffers[2]->x.data());
    context.setAddress(1, buffers[2]->y.data());
    context.enqueue(nullptr);
    device.synchronize(nullptr);
    expectRight(e, *buffers[2], fmt::format("repeat {}", repeat));
    if (!launches || repeat < 4) continue;
    EXPECT_EQ(*emulatedNumber("emulatedDirectLaunches"), *launches);
  }
}

// Tables of kernels are written without the legacy stream, on which others may have work.
TEST_F(Execution, NewShapesWaitForNoStreamOfTheCaller) {
  if (!emulatedNumber("emulatedLegacyWaits")) GTEST_SKIP() << "only the emulated GPU counts waits";
  constexpr const char* kText = R"g(graph "resized" {
  symbol "N" = extent(%x, 3)
  input %x : f32[1,2,5,N]
  %y : f32[1,2,10,2*N] = resize{mode=linear shape=[1,2,10,2*N] scales=[1,1,2,2]}(%x) "resized"
  output %y
})g";
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 2, 5, 1};
  range.opt = {1, 2, 5, 8};
  range.max = {1, 2, 5, 40};
  options.profiles = {{{"x", range}}};
  Engine e(kText, options);
  runtime::Context context(e.engine, {}, e.log);
  for (const int64_t width : {8, 40, 7}) {
    const auto input = randomTensor(DataType::kF32, {1, 2, 5, width}, 3);
    HostTensor output(DataType::kF32, {1, 2, 10, 2 * width});
    DeviceTensor x(e.engine->device(), input.view()), y(e.engine->device(), output.view());
    context.setInputShape(0, input.view().dims);
    context.setAddress(0, x.data());
    context.setAddress(1, y.data());
    const auto waits = emulatedNumber("emulatedLegacyWaits");
    context.enqueue(nullptr);
    EXPECT_EQ(*emulatedNumber("emulatedLegacyWaits"), *waits) << width;
    y.readBack();
    const TensorView inputs[] = {input.view()};
    EXPECT_LE(relativeError(output.view(), graph::evaluate(e.graph, inputs)[0].view()), 1e-6) << width;
  }
}

TEST_F(Execution, ContextsOnStreamsOfTheirOwn) {
  Engine e(kRows);
  auto& device = e.engine->device();
  CUstream streams[2] = {};
  std::vector<std::unique_ptr<runtime::Context>> contexts;
  std::vector<std::unique_ptr<Buffers>> buffers;
  for (auto& stream : streams) {
    ASSERT_EQ(cuda::driver().streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    contexts.push_back(std::make_unique<runtime::Context>(e.engine, runtime::ContextOptions{}, e.log));
    buffers.push_back(std::make_unique<Buffers>(device, 9));
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
  Engine e(kRows);
  auto& device = e.engine->device();
  const auto& d = cuda::driver();
  runtime::Context context(e.engine, {}, e.log);
  Buffers b(device, 8);
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
    Engine e(text.c_str(), options);
    EXPECT_LE(e.engine->auxStreams(), options.auxStreams);
    spread += e.engine->auxStreams() > 0;
    auto& device = e.engine->device();
    CUstream own[2] = {};
    for (auto& stream : own) ASSERT_EQ(d.streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (const auto strategy : {runtime::MemoryStrategy::kStatic, runtime::MemoryStrategy::kUserManaged}) {
      runtime::Context context(e.engine, {strategy, 0}, e.log);
      Buffers b(device, strategy == runtime::MemoryStrategy::kStatic ? 40 : 7);
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

TEST_F(Execution, MemoryRefusedAndLaterGranted) {
  Engine e(kRows);
  auto& device = e.engine->device();
  runtime::Context context(e.engine, {runtime::MemoryStrategy::kUserManaged, 0}, e.log);
  Buffers b(device, 40);
  point(context, b);
  fill(e, b, 7);
  const uint64_t bytes = context.memoryBytes();
  ASSERT_GT(bytes, 0u);
  EXPECT_THROW(context.enqueue(nullptr), UserError) << "there is no memory yet";
  void* memory = device.allocate(bytes, 256);
  EXPECT_THROW(
      {
        context.setMemory(memory, bytes / 2);
        context.enqueue(nullptr);
      },
      UserError);
  context.setMemory(memory, bytes);
  for (int repeat = 0; repeat < 4; ++repeat) context.enqueue(nullptr);
  device.synchronize(nullptr);
  expectRight(e, b, "after memory was given");
  device.free(memory);
}

// Without workspace other kernels win, and the results stay.
TEST_F(Execution, NoWorkspaceForKernels) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[2,32,14,14]
    const %w : f32[48,32,3,3] = random(4)
    %c : f32[2,48,14,14] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %w) "conv" from("conv")
    output %c
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 32, 14, 14}, 3));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const uint64_t limit : {uint64_t{0}, uint64_t{64} << 20}) {
    compile::BuildOptions options;
    options.workspaceLimit = limit;
    const auto run = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), 1e-5) << limit << " bytes";
  }
}

TEST_F(Execution, PlanOfAnotherChipIsRefusedByName) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  plan::InputRange range;
  range.min = range.opt = range.max = {8, 33};
  options.profiles = {{{"x", range}}};
  auto plan = compile::build(graph::parse(kRows), options);
  plan.target.deviceName = "GPU of the past";
  plan.target.requirements = {"sm:61"};
  try {
    runtime::Engine::make(std::move(plan), {}, log);
    FAIL() << "a plan for sm_61 was loaded";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    for (const char* part : {"GPU of the past", "sm:61", "build it again here"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST_F(Execution, HalvesWhereTheBuilderMay) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[2,8,12,12]
    const %w1 : f32[16,8,3,3] = random(4)
    const %b1 : f32[16] = random(5)
    const %w2 : f32[16,16,1,1] = random(6)
    const %w3 : f32[24,16] = random(7)
    const %b3 : f32[24] = random(8)
    %c : f32[2,16,12,12] = convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue="relu(x0)"}(%x, %w1, %b1) "conv1" from("conv1")
    %d : f32[2,16,12,12] = convolution(%c, %w2) "conv2" from("conv2")
    %s : f32[2,16,12,12] = pointwise{expr="add(x0,x1);relu(t0)"}(%d, %c) "add" from("add")
    %p : f32[2,16,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%s) "pool" from("pool")
    %f : f32[2,16] = reshape{shape=[2,16]}(%p) "flat" from("flat")
    %m : f32[2,24] = matmul{transposeB=true}(%f, %w3) "fc" from("fc")
    %y : f32[2,24] = pointwise{expr="add(x0,x1)"}(%m, %b3) "bias" from("bias")
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 8, 12, 12}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const auto half : {DataType::kF16, DataType::kBF16}) {
    for (const int level : {0, 3, 4}) {
      compile::BuildOptions options;
      options.types.halves = {half};
      options.optimizationLevel = level;
      const auto run = runOnGpu(graph, inputs, options);
      const double error = relativeError(run.outputs[0].view(), expected[0].view());
      std::cout << name(half) << " at level " << level << ": error " << error << "\n";
      EXPECT_LE(error, half == DataType::kF16 ? 5e-3 : 4e-2);
      if (level < 4) {  // above, times decide
        EXPECT_GT(error, 0);
      }
    }
  }
}

// A layer that normalizes its sums: they are the normalizations', one of which keeps what it adds up.
TEST_F(Execution, NormalizationsAddResiduals) {
  const Variable off("TENON_CUDA_NORMALIZED_PRODUCTS", "0");  // they would be part of the products
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[3,5,64]
    const %w : f32[64,64] = random(4)
    const %v : f32[64,64] = random(5)
    const %b : f32[64] = random(6)
    const %s : f32[64] = random(7)
    %m : f32[3,5,64] = matmul(%x, %w) "m" from("m")
    %c : f32[3,5,64] = pointwise{expr="add(x0,x1)"}(%m, %b) "c" from("c")
    %r : f32[3,5,64] = pointwise{expr="add(x0,x1)"}(%c, %x) "r" from("r")
    %n : f32[3,5,64] = normalization{axes=[-1]}(%r, %s, %b) "n" from("n")
    %p : f32[3,5,64] = matmul(%n, %v) "p" from("p")
    %q : f32[3,5,64] = pointwise{expr="add(x0,x1)"}(%r, %p) "q" from("q")
    %y : f32[3,5,64] = normalization{axes=[2]}(%q, %b, %s) "y" from("y")
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {3, 5, 64}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const bool halves : {false, true}) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cuda";
    options.log = &log;
    options.optimizationLevel = 0;
    if (halves) options.types.halves = {DataType::kF16};
    std::set<std::string> found;
    const auto plan = compile::build(graph, options);
    for (const auto& step : plan.programs[0].steps) {
      if (step.kernel.name == "normalization") found.insert(step.kernel.op);
    }
    const std::set<std::string> wanted{"normalization{axes=[-1] skip=true keepSum=true}",
                                       "normalization{axes=[2] skip=true}"};
    EXPECT_EQ(found, wanted);
    const auto run = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), halves ? 1e-2 : 1e-4);
  }
}

}  // namespace
}  // namespace tenon::test

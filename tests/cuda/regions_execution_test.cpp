// Loops and conditionals of a GPU: launches, when the host waits, graphs of the caller, speed.
#include "backends/cuda/driver/libraries.h"
#include "cuda/regions.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

// Three kernels of our own in each iteration; all values of the state and the last one.
std::string pointwise(int64_t width, const std::string& count) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[20,{0}]
  {1}
  const %h : f32[{0}] = random(5)
  %last : f32[{0}], %all : f32[20,{0}] = loop{{states=1 counted=true next={{2 [{{softmax{{axis=0}} [0] 1 "s"}},{{cumulative{{axis=0}} [2] 1 "c"}},{{pointwise{{expr="sub(x0,x1)"}} [3,1] 1 "d"}}] [4,4]}} slices=[{{0 false -1}}] stacks=[{{0 true 20}}]}}(%n, %h, %x) "loop"
  output %last
  output %all
}})g",
                     width, count);
}

TEST_F(OnGpu, LoopsOfKnownLengthWaitForNothing) {
  if (!emulatedNumber("emulatedWaits")) GTEST_SKIP() << "only the emulated GPU counts launches and waits";
  for (const int64_t width : {64, 5}) {
    const auto inputs = list({{20, width}});
    const auto few = effortOf(pointwise(width, constantCount(10)), inputs);
    const auto many = effortOf(pointwise(width, constantCount(20)), inputs);
    EXPECT_EQ(few.waits, 0u);
    EXPECT_EQ(many.waits, 0u);
    // Three kernels in each iteration, and nothing that only copies; rows of 5 numbers are set apart before.
    EXPECT_EQ(many.launches - few.launches, 30u);
    EXPECT_EQ(few.launches, width == 64 ? 31u : 32u);

    auto counted = list({{20, width}});
    counted.push_back(scalar(DataType::kI64, 10));
    const Variable byHost("TENON_CUDA_CONDITIONAL_NODES", "0");
    const auto byDevice = effortOf(pointwise(width, "input %n : i64[]"), counted);
    EXPECT_EQ(byDevice.waits, 1u) << "for the count";
    EXPECT_EQ(byDevice.launches, few.launches);
  }
}

// A build without the library that a body would call says so.
TEST_F(OnGpu, LoopsWithoutALibraryAreRefused) {
  const LoopsStay loopsStay;
  RecordingLog log;
  auto options = unmeasured();
  options.device = "cuda";
  options.log = &log;
  options.excludedLibraries = {"cublaslt"};
  try {
    compile::build(graph::parse(recurrent(3, 1, 8, constantCount(3))), options);
    FAIL() << "a loop was built with a library that is left out";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    for (const char* part : {"cuda.regions", "kernel 'cublaslt_matmul'", "tactic sources"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST_F(OnGpu, ConditionsAreReadOncePerIteration) {
  if (!emulatedNumber("emulatedWaits")) GTEST_SKIP() << "only the emulated GPU counts launches and waits";
  const auto inputs = list({{4}});
  const auto expected = graph::evaluate(graph::parse(untilLarge()), views(inputs));
  unsigned long iterations = 0;  // rows that are not zero
  for (int64_t row = 0; row < 40; ++row) iterations += expected[1].view().loadDouble(row * 4 + 3) != 0;
  ASSERT_GT(iterations, 4u);
  {
    const Variable byDevice("TENON_CUDA_CONDITIONAL_NODES", "1");
    EXPECT_EQ(effortOf(untilLarge(), inputs).waits, 0u) << "nodes of a graph decide";
  }
  const Variable byHost("TENON_CUDA_CONDITIONAL_NODES", "0");
  EXPECT_EQ(effortOf(untilLarge(), inputs).waits, 2 * iterations + 1) << "a condition of the loop and one of a branch";
}

TEST_F(OnGpu, LoopsOverLengthsThatShapesSay) {
  const auto graph = graph::parse(R"g(graph "g" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,8]
  const %w : f32[8,8] = random(3)
  const %h : f32[8] = random(5)
  %shape : i64[2] = shape(%x)
  %n : i64[1] = slice{start=[0] size=[1]}(%shape)
  %h1 : f32[1,8] = reshape{shape=[1,8]}(%h)
  %last : f32[1,8], %all : f32[N,1,8] = loop{states=1 counted=true next={3 [{matmul [0,2] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [3,1] 1 "a"}] [4,4]} slices=[{0 false -1}] stacks=[{0 true N}]}(%n, %h1, %x, %w) "loop"
  output %last
  output %all
})g");
  auto options = unmeasured();
  options.profiles = {{{"x", {{1, 8}, {4, 8}, {9, 8}}}}};
  for (const int64_t n : {4, 1, 9}) {
    const auto inputs = list({{n, 8}});
    const auto got = runOnGpu(graph, inputs, options).outputs;
    const auto expected = graph::evaluate(graph, views(inputs));
    for (size_t i = 0; i < got.size(); ++i) EXPECT_LT(relativeError(got[i].view(), expected[i].view()), 1e-5) << n;
    if (emulatedNumber("emulatedWaits")) {
      EXPECT_EQ(effortOf(graph, inputs, options).waits, 0u);
    }
  }
}

// Into a graph of the caller: all iterations where their number is known; else it is refused, and the stream stays
// usable.
TEST_F(OnGpu, LoopsInGraphsOfTheCaller) {
  const auto& d = backends::cuda::driver();
  CUstream stream = nullptr;
  ASSERT_EQ(d.streamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const auto counted = graph::parse(recurrent(6, 1, 64, constantCount(6)));
  const auto inputs = list({{6, 1, 64}});
  Ready ready(counted, inputs, unmeasured());
  ready.context->enqueue(stream);
  ASSERT_EQ(d.streamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ready.context->enqueue(stream);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(d.streamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(d.graphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  const auto other = randomTensor(DataType::kF32, {6, 1, 64}, 99);
  auto& device = ready.engine->device();
  device.copy(ready.buffers[0]->data(), other.view().data, other.view().bytes(), runtime::CopyKind::kHostToDevice,
              stream);
  ASSERT_EQ(d.graphLaunch(executable, stream), CUDA_SUCCESS);
  device.synchronize(stream);
  const TensorView views[] = {other.view()};
  const auto expected = graph::evaluate(counted, views);
  for (size_t i = 0; i < expected.size(); ++i) {
    ready.buffers[1 + i]->readBack();
    EXPECT_LE(relativeError(ready.outputs[i].view(), expected[i].view()), 1e-5) << i;
  }
  d.graphExecDestroy(executable);
  d.graphDestroy(graph);

  const Variable byHost("TENON_CUDA_CONDITIONAL_NODES", "0");
  Ready until(graph::parse(untilLarge()), list({{4}}), unmeasured());
  until.context->enqueue(stream);
  ASSERT_EQ(d.streamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  try {
    until.context->enqueue(stream);
    ADD_FAILURE() << "a loop whose condition the device computes was captured";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    for (const char* part : {"being captured", "layer 'until'", "outside of the capture"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  ASSERT_EQ(d.streamEndCapture(stream, &graph), CUDA_SUCCESS);
  d.graphDestroy(graph);
  until.context->enqueue(stream);
  device.synchronize(stream);
  d.streamDestroy(stream);
}

// No check of correctness: a loop over small kernels, replayed and launched, and one whose condition the host reads.
TEST_F(OnGpu, SpeedOfLoops) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  constexpr int64_t kTrips = 100;
  const auto show = [](const char* what, const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                       int64_t kernels) {
    const double seconds = runOnGpu(graph, inputs, unmeasured(), true).seconds;
    std::printf("loop %-44s %9.2f us, %6.3f us per iteration, %6.3f us per kernel\n", what, seconds * 1e6,
                seconds * 1e6 / kTrips, seconds * 1e6 / static_cast<double>(kTrips * kernels));
  };
  for (const int64_t width : {64, 512}) {
    const auto graph = graph::parse(recurrent(kTrips, 1, width, constantCount(kTrips)));
    const auto inputs = list({{kTrips, 1, width}});
    const auto what = fmt::format("tanh(h * W + x), {} columns, ", width);
    show((what + "replayed").c_str(), graph, inputs, 2);
    setenv("TENON_CUDA_GRAPH", "0", 1);
    show((what + "launched").c_str(), graph, inputs, 2);
    unsetenv("TENON_CUDA_GRAPH");
  }
  show("LSTM of 256, replayed", graph::parse(lstm(kTrips, 1, 256, "f32")), list({{kTrips, 1, 1024}}), 3);
  const auto until = graph::parse(fmt::format(R"g(graph "g" {{
  input %x : f32[64]
  const %limit : f32[] = {{{}}}
  const %one : f32[] = {{1}}
  %y : f32[64] = loop{{states=1 test={{3 [{{reduce{{op=max axes=[0]}} [0] 1 "s"}},{{pointwise{{expr="less(x0,x1)"}} [3,1] 1 "l"}}] [4]}} next={{3 [{{pointwise{{expr="add(x0,x1)"}} [0,2] 1 "a"}}] [3]}}}}(%x, %limit, %one) "until"
  output %y
}})g",
                                              kTrips - 1));
  HostTensor zeros(DataType::kF32, {64});
  for (int64_t i = 0; i < 64; ++i) zeros.view().storeDouble(i, -0.5);
  std::vector<HostTensor> inputs;
  inputs.push_back(std::move(zeros));
  show("until a sum is large, condition read back", until, inputs, 3);
}

}  // namespace
}  // namespace tenon::test

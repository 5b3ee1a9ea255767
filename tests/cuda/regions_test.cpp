// Loops and conditionals in engines of a GPU, by the kernels of their operators: answers, launches, and when the host
// waits.
#include <dlfcn.h>

#include "backends/cuda/driver/libraries.h"
#include "core/error.h"
#include "cuda/variable.h"
#include "on_gpu.h"
#include "support/random_regions.h"

namespace tenon::test {
namespace {

compile::BuildOptions unmeasured() {
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  return options;
}

void expectRight(const graph::Graph& graph, const std::vector<HostTensor>& inputs, double tolerance = 1e-5) {
  const auto got = runOnGpu(graph, inputs, unmeasured()).outputs;
  const auto expected = graph::evaluate(graph, views(inputs));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (tolerance == 0) {
      ASSERT_EQ(got[i].view().bytes(), expected[i].view().bytes());
      EXPECT_EQ(std::memcmp(got[i].view().data, expected[i].view().data, got[i].view().bytes()), 0)
          << "output " << i << "\n"
          << graph::text(graph);
    } else {
      EXPECT_LE(relativeError(got[i].view(), expected[i].view()), tolerance) << "output " << i << "\n"
                                                                             << graph::text(graph);
    }
  }
}

void expectRight(const std::string& text, const std::vector<HostTensor>& inputs, double tolerance = 1e-5) {
  SCOPED_TRACE(text);
  expectRight(graph::parse(text), inputs, tolerance);
}

std::vector<HostTensor> list(const std::vector<Dims>& dims, DataType type = DataType::kF32) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < dims.size(); ++i) inputs.push_back(randomTensor(type, dims[i], i + 3));
  return inputs;
}

HostTensor scalar(DataType type, int64_t value) {
  HostTensor tensor(type, Dims{});
  tensor.view().storeInt(0, value);
  return tensor;
}

// A number that the emulated driver keeps; none on a GPU.
std::optional<unsigned long> emulatedNumber(const char* what) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* const function = driver == nullptr ? nullptr : reinterpret_cast<unsigned long (*)()>(dlsym(driver, what));
  if (driver != nullptr) dlclose(driver);
  if (function == nullptr) return std::nullopt;
  return function();
}

struct Effort {
  unsigned long launches = 0;
  unsigned long waits = 0;
};

// An engine with a context and memory for all that it reads and writes.
struct Ready {
  Ready(const graph::Graph& graph, const std::vector<HostTensor>& inputs, compile::BuildOptions options) {
    options.device = "cuda";
    options.log = &log;
    engine = runtime::Engine::make(compile::build(graph, options), {}, log);
    context.emplace(engine, runtime::ContextOptions{}, log);
    const auto& io = engine->io();
    for (size_t i = 0; i < io.size(); ++i) {
      const auto at = static_cast<int>(i);
      if (io[i].isInput && !isConstant(io[i].shape)) context->setInputShape(at, inputs.at(i).view().dims);
      if (!io[i].isInput) outputs.emplace_back(io[i].dtype, context->shape(at));
      const auto& view = io[i].isInput ? inputs.at(i).view() : outputs.back().view();
      buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), view));
      context->setAddress(at, buffers.back()->data());
    }
  }

  RecordingLog log;
  std::shared_ptr<const runtime::Engine> engine;
  std::optional<runtime::Context> context;
  std::vector<std::unique_ptr<DeviceTensor>> buffers;
  std::deque<HostTensor> outputs;
};

// Of an enqueue; on the emulated GPU.
Effort effortOf(const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                const compile::BuildOptions& options = unmeasured()) {
  Ready ready(graph, inputs, options);
  ready.context->enqueue(nullptr);
  const auto launches = emulatedNumber("emulatedLaunches");
  const auto waits = emulatedNumber("emulatedWaits");
  ready.context->enqueue(nullptr);
  return {*emulatedNumber("emulatedLaunches") - *launches, *emulatedNumber("emulatedWaits") - *waits};
}
Effort effortOf(const std::string& text, const std::vector<HostTensor>& inputs) {
  return effortOf(graph::parse(text), inputs);
}

// h = tanh(h * W + x[k]), all h and the last one.
std::string recurrent(int64_t steps, int64_t batch, int64_t width, const std::string& count, bool reverse = false) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[{0},{1},{2}]
  const %w : f32[{2},{2}] = random(7)
  {3}
  const %h : f32[{1},{2}] = random(5)
  %last : f32[{1},{2}], %all : f32[{0},{1},{2}] = loop{{states=1 counted=true next={{3 [{{matmul [0,2] 1 "m"}},{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [3,1] 1 "a"}}] [4,4]}} slices=[{{0 {4} -1}}] stacks=[{{0 {4} {0}}}]}}(%n, %h, %x, %w) "loop"
  output %last
  output %all
}})g",
                     steps, batch, width, count, reverse);
}
std::string constantCount(int64_t count) { return fmt::format("const %n : i64[] = {{{}}}", count); }

TEST_F(OnGpu, LoopsOfSeveralLengths) {
  // Rows of 64 lie where kernels take them; those of 33 and 1 do not.
  for (const auto& [steps, batch, width] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {7, 1, 64}, {6, 1, 64}, {5, 3, 33}}) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, steps / 2, steps}) {
      for (const bool reverse : {false, true})
        expectRight(recurrent(steps, batch, width, constantCount(count), reverse), list({{steps, batch, width}}));
    }
  }
}

TEST_F(OnGpu, LoopsCountedByTheDevice) {
  for (const auto type : {DataType::kI64, DataType::kI32}) {
    for (const int64_t count : {-2, 0, 1, 4}) {
      auto inputs = list({{5, 2, 8}});
      inputs.push_back(scalar(type, count));
      for (const bool reverse : {false, true})
        expectRight(recurrent(5, 2, 8, fmt::format("input %n : {}[]", name(type)), reverse), inputs);
    }
  }
}

// Slices and parts along an axis that is not the first one, of one element, and of halves.
TEST_F(OnGpu, LoopsAlongOtherAxes) {
  for (const int64_t width : {1, 5, 64}) {
    expectRight(fmt::format(R"g(graph "g" {{
  input %x : f32[3,4,{0}]
  const %n : i64[] = {{4}}
  const %h : f32[3,{0}] = random(5)
  %last : f32[3,{0}], %all : f32[3,{0},5], %back : f32[3,6,{0}] = loop{{states=1 counted=true next={{2 [{{pointwise{{expr="add(x0,x1)"}} [0,1] 1 "a"}},{{pointwise{{expr="abs(x0)"}} [1] 1 "b"}}] [2,2,3]}} slices=[{{1 true -1}}] stacks=[{{2 false 5}},{{1 true 6}}]}}(%n, %h, %x) "loop"
  output %last
  output %all
  output %back
}})g",
                            width),
                list({{3, 4, width}}), 0);
  }
  expectRight(R"g(graph "g" {
  input %x : f16[7]
  const %n : i64[] = {7}
  const %h : f16[] = {0.25}
  %last : f16[], %all : f16[7] = loop{states=1 counted=true next={2 [{pointwise{expr="max(x0,x1)"} [0,1] 1 "a"}] [2,2]} slices=[{0 false -1}] stacks=[{0 true 7}]}(%n, %h, %x) "loop"
  output %last
  output %all
})g",
              list({{7}}, DataType::kF16), 0);
}

TEST_F(OnGpu, LoopsWhoseStatesChangePlaces) {
  for (const int count : {0, 1, 2, 5}) {
    expectRight(fmt::format(R"g(graph "g" {{
  input %a : f32[5]
  input %b : f32[5]
  const %n : i64[] = {{{}}}
  const %c : f32[5] = random(4)
  const %k : f32[5] = random(8)
  %x : f32[5], %y : f32[5], %z : f32[5], %u : f32[5], %v : f32[5], %w : f32[5] = loop{{states=6 counted=true next={{7 [{{reshape{{shape=[5]}} [2] 1 "v"}},{{pointwise{{expr="neg(x0)"}} [3] 1 "g"}},{{reshape{{shape=[5]}} [8] 1 "r"}}] [1,7,0,8,9,6]}}}}(%n, %a, %b, %c, %a, %b, %c, %k) "loop"
  output %x
  output %y
  output %z
  output %u
  output %v
  output %w
}})g",
                            count),
                list({{5}, {5}}), 0);
  }
}

// Grows until its sum passes a limit; the branch is chosen anew in each iteration.
std::string untilLarge(const std::string& more = "") {
  const std::string branch =
      R"g(if{then={2 [{pointwise{expr="mul(x0,1.5)"} [0] 1 "t"}] [2]} otherwise={2 [{pointwise{expr="add(x0,x1)"} [0,1] 1 "e"}] [2]}})g";
  return fmt::format(
      R"g(graph "g" {{
  input %x : f32[4]
  const %step : f32[4] = {{1,2,3,4}}
  const %limit : f32[] = {{150}}
  %y : f32[4], %all : f32[40,4] = loop{{states=1 test={} next={} stacks=[{{0 {} 40}}]}}(%x, %step, %limit) "until"
  output %y
  output %all
}})g",
      R"g({3 [{reduce{op=sum axes=[0]} [0] 1 "s"},{pointwise{expr="less(x0,x1)"} [3,2] 1 "l"}] [4]})g",
      R"g({3 [{reduce{op=sum axes=[0]} [0] 1 "s"},{pointwise{expr="greater(x0,30)"} [3] 1 "g"},{)g" + branch +
          R"g( [4,0,1] 1 "i"}] [5,5]})g",
      more.empty() ? "false" : more);
}

TEST_F(OnGpu, LoopsUntilTheDeviceSaysStop) {
  expectRight(untilLarge(), list({{4}}));
  expectRight(untilLarge("true"), list({{4}}));
}

TEST_F(OnGpu, ConditionalsBothWays) {
  for (const int holds : {0, 1}) {
    std::vector<HostTensor> inputs = list({{9, 17}});
    inputs.push_back(scalar(DataType::kBool, holds));
    expectRight(R"g(graph "g" {
  input %x : f32[9,17]
  input %c : bool[]
  const %w : f32[17,17] = random(3)
  %y : f32[9,17], %z : f32[9,17], %k : f32[17,17] = if{then={2 [{matmul [0,1] 1 "m"}] [2,2,1]} otherwise={2 [{pointwise{expr="neg(x0)"} [1] 1 "n"}] [0,0,2]}}(%c, %x, %w) "choice"
  output %y
  output %z
  output %k
})g",
                inputs);
  }
}

TEST_F(OnGpu, LoopsAndConditionals) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {3, 2, 5}, 1));
  for (const int holds : {0, 1}) {
    inputs.push_back(scalar(DataType::kBool, holds));
    expectRight(R"g(graph "g" {
      input %x : f32[3,2,5]
      input %c : bool[]
      const %n : i64[] = {3}
      const %w : f32[5,5] = random(3)
      const %h : f32[2,5] = random(5)
      %last : f32[2,5], %all : f32[2,3,5] = loop{states=1 counted=true next={3 [{matmul [0,2] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [3,1] 1 "a"}] [4,4]} slices=[{0 true -1}] stacks=[{1 false 3}]}(%n, %h, %x, %w) "loop"
      %y : f32[2,5] = if{then={2 [{matmul [0,1] 1 "m"}] [2]} otherwise={2 [] [0]}}(%c, %last, %w) "choice"
      %z : f32[2,5] = pointwise{expr="mul(x0,2)"}(%y) "double"
      output %z
      output %all
    })g",
                inputs);
    inputs.pop_back();
  }
}

// An operator that has no kernel of the GPU runs on the host, the others do not.
TEST_F(OnGpu, LoopsWithAnOperatorOfTheHost) {
  auto inputs = list({{3, 4}});
  inputs.push_back(randomTensor(DataType::kI64, {3, 4}, 4));
  for (int64_t i = 0; i < 12; ++i) inputs[1].view().storeInt(i, i % 3);
  expectRight(R"g(graph "g" {
  input %x : f32[3,4]
  input %i : i64[3,4]
  const %n : i64[] = {3}
  %y : f32[3,4] = loop{states=1 counted=true next={2 [{pointwise{expr="mul(x0,0.5)"} [0] 1 "p"},{scatter_reduce{op=max axis=0} [0,1,2] 1 "u"}] [3]}}(%n, %x, %i) "loop"
  output %y
})g",
              inputs, 0);
}

// A weight that one kernel reads packed and another as it is.
TEST_F(OnGpu, LoopsWithAWeightThatIsReadInTwoWays) {
  for (const char* type : {"f32", "f16"}) {
    const auto text = fmt::format(R"g(graph "g" {{
  input %x : {0}[16,16]
  const %n : i64[] = {{3}}
  const %w : {0}[16,16] = random(9)
  %y : {0}[16,16] = loop{{states=1 counted=true next={{2 [{{matmul [0,1] 1 "m"}},{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [2,1] 1 "a"}}] [3]}}}}(%n, %x, %w) "loop"
  output %y
}})g",
                                  type);
    const bool half = std::string(type) == "f16";
    expectRight(text, list({{16, 16}}, half ? DataType::kF16 : DataType::kF32), half ? 5e-3 : 1e-5);
  }
}

TEST_F(OnGpu, LoopsOfTooManyIterationsAreAnError) {
  Ready ready(graph::parse(recurrent(3, 1, 4, constantCount(4))), list({{3, 1, 4}}), unmeasured());
  try {
    ready.context->enqueue(nullptr);
    FAIL() << "four iterations over three slices were run";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("iteration 3 reads beyond the 3 slices of a tensor 3x1x4"),
              std::string::npos)
        << error.what();
  }
}

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
  EXPECT_EQ(effortOf(untilLarge(), inputs).waits, 0u) << "nodes of a graph decide";
  const Variable byHost("TENON_CUDA_CONDITIONAL_NODES", "0");
  EXPECT_EQ(effortOf(untilLarge(), inputs).waits, 2 * iterations + 1) << "a condition of the loop and one of a branch";
}

// One of 70 iterations, as networks that are exported have it: four gates from one product, states in and out.
std::string lstm(int64_t steps, int64_t batch, int64_t hidden, const char* type) {
  std::string gates;
  for (int64_t i = 0; i < 4; ++i)
    gates += fmt::format(R"({{slice{{start=[0,{}] size=[{},{}]}} [6] 1 "g"}},)", i * hidden, batch, hidden);
  return fmt::format(R"g(graph "g" {{
  input %x : {3}[{0},{1},{4}]
  const %n : i64[] = {{{0}}}
  const %r : {3}[{2},{4}] = random(7)
  const %h : {3}[{1},{2}] = random(5)
  const %c : {3}[{1},{2}] = random(6)
  %hl : {3}[{1},{2}], %cl : {3}[{1},{2}], %all : {3}[{0},{1},{2}] = loop{{states=2 counted=true next={{4 [{{matmul [0,3] 1 "m"}},{{pointwise{{expr="add(x0,x1)"}} [4,2] 1 "a"}},{{reshape{{shape=[{1},{4}]}} [5] 1 "v"}},{5}{{pointwise{{expr="sigmoid(x0);mul(t0,x1)"}} [7,1] 1 "f"}},{{pointwise{{expr="sigmoid(x0);tanh(x1);mul(t0,t1);add(t2,x2)"}} [8,9,11] 1 "c"}},{{pointwise{{expr="sigmoid(x0);tanh(x1);mul(t0,t1)"}} [10,12] 1 "h"}}] [13,12,13]}} slices=[{{0 false -1}}] stacks=[{{0 false {0}}}]}}(%n, %h, %c, %x, %r) "lstm"
  output %hl
  output %cl
  output %all
}})g",
                     steps, batch, hidden, type, 4 * hidden, gates);
}

TEST_F(OnGpu, LoopsOfSeventyIterations) {
  expectRight(lstm(70, 1, 64, "f32"), list({{70, 1, 256}}), 1e-4);
  expectRight(lstm(70, 2, 10, "f32"), list({{70, 2, 40}}), 1e-4);
  expectRight(lstm(70, 1, 32, "f16"), list({{70, 1, 128}}, DataType::kF16), 2e-2);
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

// As detectors of voices are: a rate chooses between two networks, each of a convolution, a loop and a head.
TEST_F(OnGpu, LoopsWithinConditionals) {
  const auto branch = [](int64_t hidden, int64_t kernel) {
    return fmt::format(
        R"g({{6 [{{convolution{{prePadding=[{1}] postPadding=[{1}] epilogue="relu(x0)"}} [0,{2}] 1 "conv"}},{{transpose{{permutation=[2,0,1]}} [6] 1 "t"}},{{loop{{states=1 counted=true next={{3 [{{matmul [0,2] 1 "m"}},{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [3,1] 1 "a"}}] [4,4]}} slices=[{{0 false -1}}] stacks=[{{0 false 12}}]}} [5,1,7,4] 2 "lstm"}},{{reduce{{op=max axes=[0]}} [9] 1 "head"}}] [10,8]}})g",
        hidden, kernel / 2, kernel == 3 ? 2 : 3);
  };
  for (const int rate : {0, 1}) {
    auto inputs = list({{1, 6, 12}, {1, 8}});
    inputs.push_back(scalar(DataType::kBool, rate));
    inputs.push_back(scalar(DataType::kI64, 9));
    expectRight(fmt::format(R"g(graph "g" {{
  input %x : f32[1,6,12]
  input %h : f32[1,8]
  input %c : bool[]
  input %n : i64[]
  const %w3 : f32[8,6,3] = random(3)
  const %w5 : f32[8,6,5] = random(4)
  const %r : f32[8,8] = random(5)
  %y : f32[1,8], %next : f32[1,8] = if{{then={} otherwise={}}}(%c, %x, %h, %w3, %w5, %r, %n) "rate"
  output %y
  output %next
}})g",
                            branch(8, 3), branch(8, 5)),
                inputs);
  }
}

int regionCount() {
  const char* const wanted = std::getenv("TENON_RANDOM_REGIONS");
  return wanted != nullptr ? std::atoi(wanted) : 40;
}

TEST_F(OnGpu, LoopsAndConditionalsAtRandom) {
  for (int seed = 1; seed <= regionCount() && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const bool exact = seed % 3 != 0;
    const auto graph = RandomRegions(static_cast<uint64_t>(seed), exact).make();
    if (graph.outputs().empty()) continue;
    const auto inputs = RandomRegions::inputsOf(graph, static_cast<uint64_t>(seed));
    expectRight(graph, inputs, exact ? 0 : 1e-4);
  }
}

}  // namespace
}  // namespace tenon::test

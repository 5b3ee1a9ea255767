// Loops and conditionals in graphs, where the device decides: graphs of the caller and our own replays, beside the same
// work driven by the host.
#include <functional>

#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/regions/decisions.h"
#include "core/error.h"
#include "cuda/variable.h"
#include "on_gpu.h"
#include "support/random_regions.h"

namespace tenon::test {
namespace {

// A graph that is captured once and launched with other inputs.
class Captured {
 public:
  Captured(const graph::Graph& graph, const std::vector<HostTensor>& inputs) : graph_(graph) {
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.device = "cuda";
    options.log = &log_;
    engine_ = runtime::Engine::make(compile::build(graph, options), {}, log_);
    context_.emplace(engine_, runtime::ContextOptions{}, log_);
    const auto& io = engine_->io();
    for (size_t i = 0; i < io.size(); ++i) {
      const auto at = static_cast<int>(i);
      if (!io[i].isInput) outputs_.emplace_back(io[i].dtype, context_->shape(at));
      auto& view = io[i].isInput ? inputs.at(i).view() : outputs_.back().view();
      if (!io[i].isInput) std::memset(view.data, 0x7b, view.bytes());
      buffers_.push_back(std::make_unique<DeviceTensor>(engine_->device(), view));
      context_->setAddress(at, buffers_.back()->data());
    }
    const auto& d = backends::cuda::driver();
    EXPECT_EQ(d.streamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    context_->enqueue(stream_);
    EXPECT_EQ(d.streamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    context_->enqueue(stream_);
    CUgraph captured = nullptr;
    EXPECT_EQ(d.streamEndCapture(stream_, &captured), CUDA_SUCCESS);
    EXPECT_EQ(d.graphInstantiate(&executable_, captured, 0), CUDA_SUCCESS);
    d.graphDestroy(captured);
  }
  ~Captured() {
    backends::cuda::driver().graphExecDestroy(executable_);
    backends::cuda::driver().streamDestroy(stream_);
  }

  std::vector<HostTensor>& launch(const std::vector<HostTensor>& inputs) {
    auto& device = engine_->device();
    for (size_t i = 0; i < inputs.size(); ++i)
      device.copy(buffers_[i]->data(), inputs[i].view().data, inputs[i].view().bytes(),
                  runtime::CopyKind::kHostToDevice, stream_);
    EXPECT_EQ(backends::cuda::driver().graphLaunch(executable_, stream_), CUDA_SUCCESS);
    device.synchronize(stream_);
    for (size_t i = inputs.size(); i < buffers_.size(); ++i) buffers_[i]->readBack();
    return outputs_;
  }
  void expectRight(const std::vector<HostTensor>& inputs, double tolerance) {
    const auto& got = launch(inputs);
    const auto expected = graph::evaluate(graph_, views(inputs));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(relativeError(got[i].view(), expected[i].view()), tolerance) << "output " << i;
  }
  runtime::Context& context() { return *context_; }
  CUstream stream() const { return stream_; }

 private:
  const graph::Graph& graph_;
  RecordingLog log_;
  std::shared_ptr<const runtime::Engine> engine_;
  std::optional<runtime::Context> context_;
  std::vector<std::unique_ptr<DeviceTensor>> buffers_;
  std::vector<HostTensor> outputs_;
  CUstream stream_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

std::vector<HostTensor> withNumber(const Dims& dims, uint64_t seed, DataType type, int64_t number) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, dims, seed));
  inputs.emplace_back(type, Dims{});
  inputs.back().view().storeInt(0, number);
  return inputs;
}

class OnGpuGraphs : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && backends::cuda::decisionModule() == nullptr)
      GTEST_SKIP() << "the driver has no conditional nodes";
  }
};

// A count, slices and parts along two axes, both ways; rows that lie well and rows that do not.
std::string counted(int64_t width, bool reverse) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[5,{0}]
  input %n : i32[]
  const %h : f32[{0}] = random(5)
  %last : f32[{0}], %all : f32[5,{0}], %across : f32[{0},7] = loop{{states=1 counted=true next={{2 [{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [0,1] 1 "a"}},{{pointwise{{expr="abs(x0)"}} [2] 1 "b"}}] [2,3,1]}} slices=[{{0 {1} -1}}] stacks=[{{0 {1} 5}},{{1 false 7}}]}}(%n, %h, %x) "loop"
  output %last
  output %all
  output %across
}})g",
                     width, reverse);
}

TEST_F(OnGpuGraphs, LoopsThatTheDeviceCounts) {
  for (const int64_t width : {1, 33, 64}) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", width, reverse));
      const auto graph = graph::parse(counted(width, reverse));
      Captured captured(graph, withNumber({5, width}, 1, DataType::kI32, 2));
      for (const int64_t count : {0, 1, 5, 3, -1})
        captured.expectRight(withNumber({5, width}, 10 + static_cast<uint64_t>(count + 1), DataType::kI32, count),
                             1e-5);
    }
  }
}

// States that become one another, a slice, and an operand; a condition; parts whose first place is known at the end.
TEST_F(OnGpuGraphs, LoopsUntilTheDeviceSaysStop) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[12,3]
  input %limit : f32[]
  const %a : f32[3] = {1,2,3}
  const %b : f32[3] = {-1,0,1}
  const %k : f32[3] = random(8)
  const %s : f32[3] = {0,0,0}
  %y : f32[3], %z : f32[3], %u : f32[3], %v : f32[3], %w : f32[3], %all : f32[12,3], %back : f32[3,12], %old : f32[12,3] = loop{states=5 test={8 [{reduce{op=sum axes=[0]} [2] 1 "s"},{pointwise{expr="less(x0,x1)"} [8,6] 1 "l"}] [9]} next={8 [{pointwise{expr="abs(x1);add(x0,t0);add(t1,1)"} [2,5] 1 "g"}] [1,0,8,5,7,8,8,0]} slices=[{0 true -1}] stacks=[{0 false 12},{1 true 12},{0 true 12}]}(%a, %b, %s, %a, %b, %x, %limit, %k) "until"
  output %y
  output %z
  output %u
  output %v
  output %w
  output %all
  output %back
  output %old
})g");
  Captured captured(graph, withNumber({12, 3}, 1, DataType::kF32, 9));
  for (const int64_t limit : {9, 0, 1, 20, 33})
    captured.expectRight(withNumber({12, 3}, static_cast<uint64_t>(limit), DataType::kF32, limit), 1e-6);
}

TEST_F(OnGpuGraphs, ConditionalsBothWaysAndNested) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[9,17]
  input %c : bool[]
  const %n : i64[] = {3}
  const %w : f32[17,17] = random(3)
  %y : f32[9,17], %z : f32[9,17], %k : f32[17,17] = if{then={2 [{matmul [0,1] 1 "m"}] [2,2,1]} otherwise={2 [{pointwise{expr="neg(x0)"} [1] 1 "n"}] [0,0,2]}}(%c, %x, %w) "choice"
  %r : f32[9,17] = loop{states=1 counted=true next={3 [{if{then={2 [{pointwise{expr="mul(x0,0.5)"} [0] 1 "t"}] [2]} otherwise={2 [{pointwise{expr="add(x0,x1)"} [0,1] 1 "e"}] [2]}} [2,0,1] 1 "i"}] [3]}}(%n, %y, %x, %c) "loop"
  output %y
  output %z
  output %k
  output %r
})g");
  Captured captured(graph, withNumber({9, 17}, 1, DataType::kBool, 1));
  for (const int64_t holds : {0, 1, 1, 0}) captured.expectRight(withNumber({9, 17}, 7, DataType::kBool, holds), 1e-5);
}

// What the host would have said before any work, the next call on the context says.
TEST_F(OnGpuGraphs, LoopsOfTooManyIterationsAreReportedLater) {
  const auto graph = graph::parse(counted(8, false));
  Captured captured(graph, withNumber({5, 8}, 1, DataType::kI32, 5));
  captured.launch(withNumber({5, 8}, 2, DataType::kI32, 6));
  try {
    captured.context().enqueue(captured.stream());
    ADD_FAILURE() << "six iterations over five slices went unnoticed";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("iteration 5 reads beyond the 5 slices of a tensor 5x8"),
              std::string::npos)
        << error.what();
  }
  captured.expectRight(withNumber({5, 8}, 3, DataType::kI32, 4), 1e-5);
}

// Driven by the host, and as a node, whose end the next call reports.
TEST_F(OnGpuGraphs, LoopsThatDoNotEndAreEnded) {
  const Variable limit("TENON_LOOP_LIMIT", "50");
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[4]
  input %n : i64[]
  %y : f32[4] = loop{states=1 test={2 [{pointwise{expr="greater(x0,-1)"} [1] 1 "l"}] [2]} next={2 [{pointwise{expr="mul(x0,0.5)"} [0] 1 "h"}] [2]}}(%x, %n) "endless"
  output %y
})g");
  const auto expectEnd = [](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "an endless loop ended by itself";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("loop: more than 50 iterations"), std::string::npos) << error.what();
    }
  };
  Captured captured(graph, withNumber({4}, 1, DataType::kI64, -1));
  captured.launch(withNumber({4}, 2, DataType::kI64, 1));
  expectEnd([&] { captured.context().enqueue(captured.stream()); });
  captured.expectRight(withNumber({4}, 3, DataType::kI64, -1), 0);
  const auto inputs = withNumber({4}, 1, DataType::kI64, 1);
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  expectEnd([&] { (void)runOnGpu(graph, inputs, options); });
}

// Longer ones than a graph is given kernels for, one by one.
TEST_F(OnGpuGraphs, LongLoopsAreOneNode) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[3]
  input %c : bool[]
  const %n : i64[] = {2050}
  %y : f32[3] = loop{states=1 counted=true next={2 [{softmax{axis=0} [0] 1 "s"},{cumulative{axis=0} [2] 1 "c"},{pointwise{expr="sub(x0,x1)"} [3,1] 1 "d"}] [4]}}(%n, %x, %x) "loop"
  output %y
})g");
  Captured captured(graph, withNumber({3}, 1, DataType::kBool, 1));
  captured.expectRight(withNumber({3}, 4, DataType::kBool, 1), 1e-4);
}

// No node may hold what calls the host: that is said before anything is captured.
TEST_F(OnGpuGraphs, LoopsThatCallTheHostAreRefused) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[4]
  input %n : i32[]
  %y : f32[4] = loop{states=1 counted=true next={1 [{random{shape=[4]} [] 1 "r"},{pointwise{expr="add(x0,x1)"} [0,1] 1 "a"}] [2]}}(%n, %x) "loop"
  output %y
})g");
  try {
    Captured captured(graph, withNumber({4}, 1, DataType::kI32, 5));
    ADD_FAILURE() << "random numbers were captured in a loop about which the device decides";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("layer 'loop'"), std::string::npos) << error.what();
  }
}

// The same bits as driven by the host.
TEST_F(OnGpuGraphs, RandomRegionsAsDrivenByTheHost) {
  const auto [first, count] = randomSeeds();
  const Variable loopsStay("TENON_DISABLE", "unroll_loops");
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto graph = RandomRegions(static_cast<uint64_t>(seed), false).make();
    if (graph.outputs().empty()) continue;
    const auto inputs = RandomRegions::inputsOf(graph, static_cast<uint64_t>(seed));
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    const auto decided = runOnGpu(graph, inputs, options).outputs;
    const Variable byHost("TENON_CUDA_GRAPH", "0");
    const auto driven = runOnGpu(graph, inputs, options).outputs;
    for (size_t i = 0; i < decided.size(); ++i)
      EXPECT_EQ(std::memcmp(decided[i].view().data, driven[i].view().data, driven[i].view().bytes()), 0)
          << "output " << i << "\n"
          << graph::text(graph);
  }
}

}  // namespace
}  // namespace tenon::test

// Loops and conditionals for tests of a GPU: networks, engines of them, and what an execution costs.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <optional>

#include "core/error.h"
#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {

// Short loops stay loops: these tests are about those.
struct LoopsStay {
  const Variable passes{"TENON_DISABLE", "unroll_loops"};
};

inline compile::BuildOptions unmeasured() {
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  return options;
}

// The same values to the bit, but for the sign of a zero: which of 0 and -0 is the greater depends on the order in
// which a maximum meets them, and no standard says.
inline bool sameValues(const TensorView& got, const TensorView& expected) {
  if (got.dtype != expected.dtype || got.dims != expected.dims) return false;
  if (std::memcmp(got.data, expected.data, expected.bytes()) == 0) return true;
  if (!isFloating(expected.dtype)) return false;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = got.loadDouble(i);
    const double b = expected.loadDouble(i);
    if (a != b && !(std::isnan(a) && std::isnan(b))) return false;
  }
  return true;
}

// A tolerance of 0 asks for the same values.
inline void expectRight(const graph::Graph& graph, const std::vector<HostTensor>& inputs, double tolerance = 1e-5) {
  const LoopsStay loopsStay;
  const auto got = runOnGpu(graph, inputs, unmeasured()).outputs;
  const auto expected = graph::evaluate(graph, views(inputs));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (tolerance == 0) {
      EXPECT_TRUE(sameValues(got[i].view(), expected[i].view())) << "output " << i << "\n" << graph::text(graph);
    } else {
      EXPECT_LE(relativeError(got[i].view(), expected[i].view()), tolerance) << "output " << i << "\n"
                                                                             << graph::text(graph);
    }
  }
}

inline void expectRight(const std::string& text, const std::vector<HostTensor>& inputs, double tolerance = 1e-5) {
  SCOPED_TRACE(text);
  expectRight(graph::parse(text), inputs, tolerance);
}

inline std::vector<HostTensor> list(const std::vector<Dims>& dims, DataType type = DataType::kF32) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < dims.size(); ++i) inputs.push_back(randomTensor(type, dims[i], i + 3));
  return inputs;
}

inline HostTensor scalar(DataType type, int64_t value) {
  HostTensor tensor(type, Dims{});
  tensor.view().storeInt(0, value);
  return tensor;
}

// A number that the emulated driver keeps; none on a GPU.
inline std::optional<unsigned long> emulatedNumber(const char* what) {
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
    const LoopsStay loopsStay;
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
inline Effort effortOf(const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                       const compile::BuildOptions& options = unmeasured()) {
  Ready ready(graph, inputs, options);
  ready.context->enqueue(nullptr);
  const auto launches = emulatedNumber("emulatedLaunches");
  const auto waits = emulatedNumber("emulatedWaits");
  ready.context->enqueue(nullptr);
  return {*emulatedNumber("emulatedLaunches") - *launches, *emulatedNumber("emulatedWaits") - *waits};
}

inline Effort effortOf(const std::string& text, const std::vector<HostTensor>& inputs) {
  return effortOf(graph::parse(text), inputs);
}

// h = tanh(h * W + x[k]), all h and the last one.
inline std::string recurrent(int64_t steps, int64_t batch, int64_t width, const std::string& count,
                             bool reverse = false) {
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

inline std::string constantCount(int64_t count) { return fmt::format("const %n : i64[] = {{{}}}", count); }

// Grows until its sum passes a limit; the branch is chosen anew in each iteration.
inline std::string untilLarge(const std::string& more = "") {
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

// One of 70 iterations, as networks that are exported have it: four gates from one product, states in and out.
inline std::string lstm(int64_t steps, int64_t batch, int64_t hidden, const char* type) {
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

}  // namespace tenon::test

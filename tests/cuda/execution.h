// What the tests of executions on a GPU share: an engine of rows, its buffers, the right answer.
#pragma once

#include "cuda/on_gpu.h"

namespace tenon::test {

inline constexpr const char* kRows = R"g(graph "rows" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,33]
  const %b : f32[33] = random(5)
  %a : f32[N,33] = pointwise{expr="add(x0,x1);relu(t0)"}(%x, %b) "first" from("first")
  %s : f32[N,33] = softmax{axis=1}(%a) "second" from("second")
  %y : f32[N,33] = pointwise{expr="mul(x0,x1)"}(%s, %x) "third" from("third")
  output %y
})g";

struct RowsEngine {
  explicit RowsEngine(const char* text, compile::BuildOptions options = {}) : graph(graph::parse(text)) {
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
struct RowsBuffers {
  RowsBuffers(runtime::Device& device, int64_t rows)
      : in(DataType::kF32, {rows, 33}), out(DataType::kF32, {rows, 33}), x(device, in.view()), y(device, out.view()) {}
  HostTensor in, out;
  DeviceTensor x, y;
};

inline void fill(RowsEngine& e, RowsBuffers& b, uint64_t seed) {
  const auto values = randomTensor(DataType::kF32, b.in.view().dims, seed);
  std::memcpy(b.in.view().data, values.view().data, values.view().bytes());
  e.engine->device().copy(b.x.data(), b.in.view().data, b.in.view().bytes(), runtime::CopyKind::kHostToDevice, nullptr);
  e.engine->device().synchronize(nullptr);
}

inline void expectRight(RowsEngine& e, RowsBuffers& b, const std::string& what) {
  b.y.readBack();
  const TensorView inputs[] = {b.in.view()};
  const auto expected = graph::evaluate(e.graph, inputs);
  EXPECT_LE(relativeError(b.out.view(), expected[0].view()), 1e-5) << what;
}

inline void point(runtime::Context& context, RowsBuffers& b) {
  context.setInputShape(0, b.in.view().dims);
  context.setAddress(0, b.x.data());
  context.setAddress(1, b.y.data());
}

class Execution : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& reason = backends::cuda::unavailableReason();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace tenon::test

// Inputs and outputs in every layout that a TensorFormat is.
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

Layout last(int axis, int multiple, int rows = 1) {
  return {static_cast<int8_t>(axis), -1, 1, static_cast<int16_t>(multiple), static_cast<int16_t>(rows)};
}
Layout blocks(int axis, int count) { return {-1, static_cast<int8_t>(axis), static_cast<int16_t>(count)}; }

class Layouts : public OnGpu {};

TEST_F(Layouts, AreReadAndWritten) {
  struct Case {
    std::string shape;
    std::vector<Layout> layouts;
  };
  const std::vector<Case> cases{
      {"2,3,5,7",
       {last(1, 8), last(1, 16), last(1, 4, 8), blocks(1, 2), blocks(1, 4), blocks(1, 32), {-1, -1, 1, 1, 32}}},
      {"1,48,6,5", {last(1, 8), last(1, 16), blocks(1, 16), blocks(1, 32), last(1, 1)}},
      {"2,35,2,3,4", {last(1, 8), blocks(1, 32), last(2, 8), blocks(2, 4), last(2, 1)}},
      {"5,4,9", {last(0, 1), last(0, 8), blocks(0, 2)}},
      {"1,1,1,1", {last(1, 8), blocks(1, 32)}},
      {"0,3,4,4", {last(1, 8), blocks(1, 32)}},
  };
  for (const std::string type : {"f32", "f16", "i8"}) {
    for (const auto& c : cases) {
      for (const Layout layout : c.layouts) {
        SCOPED_TRACE(fmt::format("{}[{}] {}", type, c.shape, name(layout)));
        auto graph = graph::parse(fmt::format(
            "graph \"g\" {{\n  input %x : {0}[{1}]\n  %y : {0}[{1}] = pointwise{{expr=\"max(x0,x0)\"}}(%x) \"n\"\n  output %y\n}}\n",
            type, c.shape));
        graph.value(graph.inputs()[0]).constraints.layouts = {layout};
        graph.value(graph.outputs()[0]).constraints.layouts = {layout};
        const auto& declared = graph.value(graph.inputs()[0]).type;
        std::vector<HostTensor> inputs;
        inputs.push_back(randomTensor(declared.dtype, evaluate(declared.shape, {}), 3));
        compile::BuildOptions options;
        options.optimizationLevel = 0;
        const auto run = runOnGpu(graph, inputs, options);
        EXPECT_EQ(relativeError(run.outputs.at(0).view(), inputs[0].view()), 0);
      }
    }
  }
}

// By tiles, or where there are few channels by elements; kDIRECT_IO refuses a reformat of its own.
TEST_F(Layouts, ChangeInOneLaunchWithACast) {
  for (const auto& [shape, from, to] : {std::tuple{"2,64,9,7", "f32", "f16"}, {"1,3,20,16", "f16", "f32"}}) {
    for (const bool toLast : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {} to {}, {}", shape, from, to, toLast ? "to channels-last" : "to planes"));
      auto graph = graph::parse(fmt::format(
          "graph \"g\" {{\n  input %x : {0}[{2}]\n  %y : {1}[{2}] = pointwise{{expr=\"cast.{1}(x0)\"}}(%x) \"n\"\n  output %y\n}}\n",
          from, to, shape));
      auto& x = graph.value(graph.inputs()[0]);
      x.constraints.layouts = {toLast ? Layout::kLinear : Layout::kChannelsLast};
      graph.value(graph.outputs()[0]).constraints.layouts = {toLast ? Layout::kChannelsLast : Layout::kLinear};
      std::vector<HostTensor> inputs;
      inputs.push_back(randomTensor(x.type.dtype, evaluate(x.type.shape, {}), 3));
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      options.directIo = true;
      const auto run = runOnGpu(graph, inputs, options);
      EXPECT_LT(relativeError(run.outputs.at(0).view(), inputs[0].view()), 1e-3);
    }
  }
}

}  // namespace
}  // namespace tenon::test

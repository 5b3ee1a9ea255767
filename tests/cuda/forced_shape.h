// Graphs of one product by warpgroups on the GPU, in a tile of the test's choice.
#pragma once

#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {

struct ShapeError {
  double norm = 0;  // of the difference from the reference over that of the reference
  double bias = 0;  // the factor, less 1, by which the results are larger as a whole
};

// `shape` is forced.
inline ShapeError errorsOfShape(const graph::Graph& graph, const std::string& shape) {
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  std::vector<HostTensor> inputs;
  for (const auto input : graph.inputs()) {
    const auto& type = graph.value(input).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), inputs.size() + 1));
  }
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.tf32 = true;
  bool offered = false;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    const auto kind = node.op.name();
    if (kind != "matmul" && kind != "convolution" && kind != "deconvolution" && kind != "composite") return candidates;
    std::erase_if(candidates,
                  [](const auto& candidate) { return candidate.tactic.find("cuda.mma90_") == std::string::npos; });
    if (candidates.empty()) return candidates;
    candidates.resize(1);
    candidates[0].variant = shape;
    offered = true;
    return candidates;
  };
  const auto run = runOnGpu(graph, inputs, options);
  EXPECT_TRUE(offered);
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto& got = run.outputs[0].view();
  const auto& wanted = expected[0].view();
  double products = 0;
  double squares = 0;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    products += (got.loadDouble(i) - wanted.loadDouble(i)) * wanted.loadDouble(i);
    squares += wanted.loadDouble(i) * wanted.loadDouble(i);
  }
  return {relativeError(got, wanted), products / squares};
}
inline double errorOfShape(const graph::Graph& graph, const std::string& shape) {
  return errorsOfShape(graph, shape).norm;
}

// Composites are computed by this tactic, in this shape or, where that is empty, in the first one that it proposes.
inline GpuRun runInShape(const graph::Graph& graph, const std::vector<HostTensor>& inputs, std::string_view tactic,
                         const std::string& shape) {
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  bool offered = false;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "composite") return candidates;
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != tactic; });
    if (candidates.empty()) return candidates;
    candidates.resize(1);
    if (!shape.empty()) candidates[0].variant = shape;
    offered = true;
    return candidates;
  };
  auto run = runOnGpu(graph, inputs, options);
  EXPECT_TRUE(offered) << tactic << " " << shape;
  return run;
}
// The greatest of the outputs' relative errors.
inline double worstErrorInShape(const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                                std::string_view tactic, const std::string& shape) {
  const auto run = runInShape(graph, inputs, tactic, shape);
  const auto expected = graph::evaluate(graph, views(inputs));
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, relativeError(run.outputs[i].view(), expected[i].view()));
  return worst;
}

}  // namespace tenon::test

// What a kernel of cuDNN computes: a graph whose tensors are operands of a step, and how much of the epilogue it holds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/cudnn/cudnn_epilogue.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda::dnn {

// With the epilogue inside, or the bare product and a generated epilogue over it in place.
enum class Fusion : uint8_t { kWhole, kBare };

// What a plan is made from, as records and candidates' variants write it: "whole,any,17:2=1".
struct Choice {
  Fusion fusion = Fusion::kWhole;
  Math math = Math::kAny;
  EngineChoice engine;
  std::string text() const;
  static Choice parse(std::string_view text);
};

// Where a tensor's address comes from.
struct Source {
  int input = -1;  // of the step; -1: its output
  int64_t offsetBytes = 0;
  int deviceScalar = -1;  // index of SourcedGraph::deviceScalars instead
};

struct SourcedGraph {
  explicit SourcedGraph(const Chip& chip) : graph(chip) {}
  // Adds a tensor that is stored.
  OperationGraph::Id give(const Tensor& tensor, const Source& source) {
    const auto id = graph.tensor(tensor);
    ids.push_back(id + 1);
    sources.push_back(source);
    return id;
  }
  // A scalar [1,1,...] that is read from the device, for engines that take none from the host.
  OperationGraph::Id giveScalar(float value, size_t rank) {
    const std::vector<int64_t> ones(rank, 1);
    deviceScalars.push_back(value);
    return give({ElementType::kF32, ones, ones}, {-1, 0, static_cast<int>(deviceScalars.size()) - 1});
  }
  // After the last tensor.
  void finish() {
    for (const auto id : scalars.ids) ids.push_back(id + 1);
    graph.finish();
  }

  OperationGraph graph;
  std::vector<int64_t> ids;  // of all tensors to give, in order of `sources`, then of the scalars
  std::vector<Source> sources;
  Scalars scalars;
  std::vector<float> deviceScalars;
};

struct Program {
  // Throws Unsupported where there is no such graph.
  std::function<SourcedGraph(const Chip& chip, const runtime::Shapes& shapes, Fusion fusion)> graph;
  ops::ScalarExpr epilogue;  // of kBare: x0 = the result, x1, ... = the step's inputs from the third on
  bool channelBias = false;  // the third input is a bias along axis 1
  bool hasFilters = false;   // the second input are filters, laid out as the result is
};

}  // namespace tenon::backends::cuda::dnn

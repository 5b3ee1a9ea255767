// Evaluation with noise in the last place of every value.
#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "graph/phases.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"
#include "support/build_and_run.h"

namespace tenon::passes {
namespace {

bool isExactExpression(const ops::ScalarExpr& expr) {
  static const std::set<std::string_view> kExact{
      "identity", "cast", "neg", "abs", "sign", "relu", "min",   "max",   "clip", "select", "equal",
      "greater",  "less", "and", "or",  "xor",  "not",  "isnan", "isinf", "ceil", "floor",  "round"};
  return std::all_of(expr.instructions.begin(), expr.instructions.end(),
                     [](const auto& i) { return kExact.count(row(i.op).name) > 0; });
}

double unitOfLastPlace(DataType dtype) {
  switch (dtype) {
    case DataType::kF16: return 0x1p-10;
    case DataType::kBF16: return 0x1p-7;
    case DataType::kF8E4M3: return 0x1p-3;
    default: return 0x1p-23;
  }
}

void addNoise(const TensorView& view, std::mt19937_64& random) {
  const double unit = unitOfLastPlace(view.dtype);
  for (int64_t i = 0; i < view.count(); ++i) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    view.storeDouble(i, view.loadDouble(i) * (1 + share * unit));
  }
}

}  // namespace

bool isExactNode(const graph::Graph& graph, const graph::Node& node) {
  static const std::set<std::string_view> kExact{"topk", "shape", "quantize", "padded_nms", "pillars"};
  if (node.op.facts().movement || kExact.count(node.op.name()) > 0) return true;
  const auto isWhole = [&](graph::ValueId id) { return !isFloating(graph.value(id).type.dtype); };
  if (std::all_of(node.inputs.begin(), node.inputs.end(), isWhole) && isWhole(node.outputs[0])) return true;
  const auto* pointwise = node.op.as<ops::Pointwise>();
  return pointwise != nullptr && isExactExpression(pointwise->expr);
}

std::vector<HostTensor> evaluateWithNoise(const graph::Graph& graph, std::span<const TensorView> inputs,
                                          uint64_t seed) {
  std::mt19937_64 random(seed);
  SymbolValues symbols = graph::bindSymbols(graph, inputs);
  std::vector<HostTensor> values(graph.valueCount());
  std::vector<TensorView> views(graph.valueCount());
  std::vector<bool> exact(graph.valueCount());
  for (size_t i = 0; i < inputs.size(); ++i) {
    views[graph.inputs()[i]] = inputs[i];
    exact[graph.inputs()[i]] = true;
  }
  for (graph::ValueId id = 0; id < graph.valueCount(); ++id) {
    if (graph.value(id).constant == nullptr) continue;
    views[id] = graph.value(id).constant->view();
    exact[id] = true;
  }
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    std::vector<TensorView> in;
    std::vector<TensorView> out;
    for (const auto input : node.inputs) in.push_back(views[input]);
    for (const auto output : node.outputs) {
      values[output] = HostTensor(graph.value(output).type.dtype, evaluate(graph.value(output).type.shape, symbols));
      out.push_back(views[output] = values[output].view());
    }
    node.op.evaluate({in, out, &symbols});
    if (node.op.as<ops::Size>() != nullptr) graph::bindSize(graph, node, out[0], symbols);
    const bool isExact = isExactNode(graph, node) &&
                         std::all_of(node.inputs.begin(), node.inputs.end(), [&](auto id) { return exact[id]; });
    for (const auto output : node.outputs) exact[output] = isExact;
    if (isExact || node.op.facts().movement) continue;
    for (const auto& view : out) {
      // What rounds a value that is off may come to the value beside; a choice among f32 values is off no more than
      // they.
      if (isFloating(view.dtype) && (bits(view.dtype) < 32 || !isExactNode(graph, node))) addNoise(view, random);
    }
  }
  std::vector<HostTensor> results;
  for (const auto id : graph.outputs()) {
    results.emplace_back(views[id].dtype, views[id].dims);
    std::copy_n(static_cast<const char*>(views[id].data), views[id].bytes(),
                static_cast<char*>(results.back().view().data));
  }
  return results;
}

double narrowestUnit(const graph::Graph& graph) {
  double result = unitOfLastPlace(DataType::kF32);
  // Values of a body are rounded in every iteration, and the noise above adds none to them.
  constexpr double kIterations = 4;
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    for (const auto output : node.outputs) {
      const auto dtype = graph.value(output).type.dtype;
      if (dtype == DataType::kF16 || dtype == DataType::kBF16) result = std::max(result, unitOfLastPlace(dtype));
    }
    if (node.op.as<ops::Loop>() == nullptr && node.op.as<ops::If>() == nullptr) continue;
    for (const auto dtype : {DataType::kF16, DataType::kBF16}) {
      const bool isInside = node.op.text().find(fmt::format("cast.{}(", name(dtype))) != std::string::npos;
      if (isInside) result = std::max(result, kIterations * unitOfLastPlace(dtype));
    }
  }
  return result;
}

std::vector<double> noiseOfOutputs(const graph::Graph& graph, std::span<const TensorView> inputs,
                                   const std::vector<HostTensor>& expected) {
  std::vector<double> result(expected.size());
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const auto got = evaluateWithNoise(graph, inputs, seed);
    for (size_t i = 0; i < got.size(); ++i) {
      const double error = test::relativeError(got[i].view(), expected[i].view());
      if (std::isfinite(error)) result[i] = std::max(result[i], error);
    }
  }
  return result;
}

}  // namespace tenon::passes

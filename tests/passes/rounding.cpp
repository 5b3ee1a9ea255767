// Evaluation with noise in the last place of every value.
#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>

#include "graph/phases.h"
#include "graph/region.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
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

// The distance of f16 values below the normal ones.
double leastStep(DataType dtype) { return dtype == DataType::kF16 ? 0x1p-24 : 0; }

// `terms`: the size of what the operator adds up for each element, or nothing.
void addNoise(const TensorView& view, const std::optional<HostTensor>& terms, std::mt19937_64& random,
              DataType narrow) {
  const DataType type = view.dtype == DataType::kF32 ? narrow : view.dtype;
  const double unit = unitOfLastPlace(type);
  for (int64_t i = 0; i < view.count(); ++i) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    const double value = view.loadDouble(i);
    const double size = terms ? std::max(std::fabs(value), terms->view().loadDouble(i)) : std::fabs(value);
    const double noise = std::isfinite(size) ? std::max(size * unit, leastStep(type)) : 0;
    view.storeDouble(i, value + share * noise);
  }
}

// What the type holds stays: an exponent of 2 is 2.
void addRoundingNoise(const TensorView& view, DataType narrow, std::mt19937_64& random) {
  const HostTensor before(view.dtype, view.dims);
  const HostTensor rounded(narrow, view.dims);
  std::copy_n(static_cast<const char*>(view.data), view.bytes(), static_cast<char*>(before.view().data));
  addNoise(view, std::nullopt, random, narrow);
  for (int64_t i = 0; i < view.count(); ++i) {
    const double value = before.view().loadDouble(i);
    rounded.view().storeDouble(i, value);
    if (rounded.view().loadDouble(i) == value) view.storeDouble(i, value);
  }
}

HostTensor absolute(const TensorView& view) {
  HostTensor result(view.dtype, view.dims);
  for (int64_t i = 0; i < view.count(); ++i) result.view().storeDouble(i, std::fabs(view.loadDouble(i)));
  return result;
}

// What a sum or mean adds up, where it may cancel, and the gelu, x (1 + erf(x)) / 2, of numbers far below 0.
std::optional<HostTensor> termsOf(const graph::Node& node, const TensorView& in, const TensorView& out) {
  const auto* reduce = node.op.as<ops::Reduce>();
  if (reduce != nullptr && (reduce->op == ops::ReduceOp::kSum || reduce->op == ops::ReduceOp::kAvg)) {
    const HostTensor terms = absolute(in);
    HostTensor result(out.dtype, out.dims);
    const TensorView from = terms.view();
    TensorView to = result.view();
    node.op.evaluate({{&from, 1}, {&to, 1}, nullptr});
    return result;
  }
  const auto* pointwise = node.op.as<ops::Pointwise>();
  const bool isGelu = pointwise != nullptr && pointwise->expr.instructions.size() == 1 &&
                      pointwise->expr.instructions[0].op == ops::ScalarOp::k_gelu_erf && in.dims == out.dims;
  return isGelu ? std::optional(absolute(in)) : std::nullopt;
}

// What rounds a value that is off may come to the value beside; a choice among f32 values is off no more than they.
bool hasNoise(const graph::Graph& graph, const graph::Node& node, bool isExact, DataType dtype) {
  return !isExact && !node.op.facts().movement && isFloating(dtype) && (bits(dtype) < 32 || !isExactNode(graph, node));
}

// The same noise as an operator: a factor that follows from the value by a function without rhyme.
ops::Pointwise noiseOf(DataType dtype, std::mt19937_64& random) {
  return {ops::parseScalarExpr(
      fmt::format("mul(x0,{}.7);add(t0,{});clip(t1,-1000000,1000000);sin(t2);mul(t3,{:.12f});add(t4,1);mul(x0,t5)",
                  100 + random() % 10000, random() % 100, unitOfLastPlace(dtype)))};
}

ops::Operator withNoiseInside(const ops::Operator& op, std::span<const ops::TensorType> types,
                              const std::vector<bool>& exact, std::mt19937_64& random);

// The region with noise behind each of its nodes.
ops::Region withNoise(const ops::Region& region, std::span<const ops::TensorType> types, const std::vector<bool>& exact,
                      std::mt19937_64& random) {
  graph::Graph graph("noise");
  std::vector<graph::ValueId> inputs, values;  // by number within the region
  std::vector<bool> isExact = exact;           // the same
  for (size_t i = 0; i < types.size(); ++i) inputs.push_back(graph.addInput(fmt::format("input {}", i), types[i]));
  values = inputs;
  for (const auto& inner : region->nodes) {
    std::vector<graph::ValueId> operands;
    std::vector<ops::TensorType> operandTypes;
    std::vector<bool> operandExact;
    for (const auto input : inner.inputs) {
      operands.push_back(values[static_cast<size_t>(input)]);
      operandTypes.push_back(graph.value(operands.back()).type);
      operandExact.push_back(isExact[static_cast<size_t>(input)]);
    }
    const auto id =
        graph.addNode(withNoiseInside(inner.op, operandTypes, operandExact, random), inner.name, operands, {});
    const bool keeps = isExactNode(graph, graph.node(id)) &&
                       std::all_of(operandExact.begin(), operandExact.end(), [](bool is) { return is; });
    const auto outputs = graph.node(id).outputs;
    for (const auto output : outputs) {
      const auto dtype = graph.value(output).type.dtype;
      const bool isOff = hasNoise(graph, graph.node(id), keeps, dtype);
      values.push_back(isOff ? graph.add(noiseOf(dtype, random), inner.name, {output}, {}) : output);
      isExact.push_back(keeps);
    }
  }
  std::vector<graph::ValueId> results;
  for (const auto output : region->outputs) results.push_back(values[static_cast<size_t>(output)]);
  return graph::closeRegion(graph, inputs, results);
}

// A loop or conditional with noise in its bodies, another operator as it is. States and slices are never exact.
ops::Operator withNoiseInside(const ops::Operator& op, std::span<const ops::TensorType> types,
                              const std::vector<bool>& exact, std::mt19937_64& random) {
  const auto* loop = op.as<ops::Loop>();
  const auto* choice = op.as<ops::If>();
  if (loop == nullptr && choice == nullptr) return op;
  const size_t first = choice != nullptr || loop->counted ? 1 : 0;
  std::vector<ops::TensorType> inside(types.begin() + static_cast<std::ptrdiff_t>(first), types.end());
  std::vector<bool> insideExact(exact.begin() + static_cast<std::ptrdiff_t>(first), exact.end());
  if (choice != nullptr) {
    ops::If changed = *choice;
    changed.then = withNoise(choice->then, inside, insideExact, random);
    changed.otherwise = withNoise(choice->otherwise, inside, insideExact, random);
    return changed;
  }
  const auto states = static_cast<size_t>(loop->states);
  for (size_t i = 0; i < states + loop->slices.size(); ++i) {
    inside[i].contents.reset();
    insideExact[i] = false;
    if (i >= states) inside[i].shape.erase(inside[i].shape.begin() + loop->slices[i - states].axis);
  }
  ops::Loop changed = *loop;
  changed.next = withNoise(loop->next, inside, insideExact, random);  // the condition decides as it did
  return changed;
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

std::vector<HostTensor> evaluateWithNoise(const graph::Graph& graph, std::span<const TensorView> inputs, uint64_t seed,
                                          DataType narrow) {
  std::mt19937_64 random(seed);
  SymbolValues symbols = graph::bindSymbols(graph, inputs);
  std::vector<HostTensor> values(graph.valueCount());
  std::vector<TensorView> views(graph.valueCount());
  std::vector<bool> exact(graph.valueCount());
  for (size_t i = 0; i < inputs.size(); ++i) {
    views[graph.inputs()[i]] = inputs[i];
    exact[graph.inputs()[i]] = narrow == DataType::kF32 || inputs[i].dtype != DataType::kF32;
  }
  for (graph::ValueId id = 0; id < graph.valueCount(); ++id) {
    if (graph.value(id).constant == nullptr) continue;
    views[id] = graph.value(id).constant->view();
    exact[id] = narrow == DataType::kF32 || views[id].dtype != DataType::kF32;
  }
  for (graph::ValueId id = 0; id < graph.valueCount(); ++id) {
    if (views[id].data == nullptr || exact[id]) continue;
    values[id] = HostTensor(views[id].dtype, views[id].dims);
    std::copy_n(static_cast<const char*>(views[id].data), views[id].bytes(),
                static_cast<char*>(values[id].view().data));
    views[id] = values[id].view();
    addRoundingNoise(views[id], narrow, random);
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
    std::vector<ops::TensorType> types;
    std::vector<bool> exactInputs;
    for (const auto input : node.inputs) {
      types.push_back(graph.value(input).type);
      exactInputs.push_back(exact[input]);
    }
    withNoiseInside(node.op, types, exactInputs, random).evaluate({in, out, &symbols});
    if (node.op.as<ops::Size>() != nullptr) graph::bindSize(graph, node, out[0], symbols);
    const bool isExact = isExactNode(graph, node) &&
                         std::all_of(node.inputs.begin(), node.inputs.end(), [&](auto id) { return exact[id]; });
    for (const auto output : node.outputs) exact[output] = isExact;
    for (const auto& view : out) {
      if (hasNoise(graph, node, isExact, view.dtype))
        addNoise(view, termsOf(node, in.empty() ? TensorView{} : in[0], view), random, narrow);
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

double narrowestUnit(const graph::Graph& graph, DataType narrow) {
  double result = unitOfLastPlace(narrow);
  // Expressions of a body round between their steps, too, in every iteration; the noise stands behind whole nodes.
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
                                   const std::vector<HostTensor>& expected, uint64_t times, DataType narrow) {
  std::vector<double> result(expected.size());
  for (uint64_t seed = 1; seed <= times; ++seed) {
    const auto got = evaluateWithNoise(graph, inputs, seed, narrow);
    for (size_t i = 0; i < got.size(); ++i) {
      const double error = test::relativeError(got[i].view(), expected[i].view());
      if (std::isfinite(error)) result[i] = std::max(result[i], error);
    }
  }
  return result;
}

}  // namespace tenon::passes

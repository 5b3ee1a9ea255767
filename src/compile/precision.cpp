// Copies the graph node by node, in the type that each can have.
#include "compile/precision.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ops/op/attention.h"
#include "ops/op/cache_update.h"
#include "ops/op/cumulative.h"
#include "ops/op/dequantize.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/matmul.h"
#include "ops/op/nms.h"
#include "ops/op/padded_nms.h"
#include "ops/op/pointwise.h"
#include "ops/op/quantize.h"
#include "ops/op/reduce.h"
#include "ops/scalar_facts.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::ScalarOp;

constexpr double kGreatestHalf = 65504;

// Operators whose results leave the range or the accuracy of a half for ordinary operands.
bool isSensitive(const ops::Operator& op) {
  if (op.as<ops::Cumulative>() != nullptr || op.as<ops::Quantize>() != nullptr || op.as<ops::Dequantize>() != nullptr)
    return true;
  // A cache that is updated in place is the caller's memory, in the caller's type.
  if (op.as<ops::CacheUpdate>() != nullptr) return true;
  // Coordinates, and decisions by them.
  if (op.as<ops::PaddedNms>() != nullptr || op.as<ops::Nms>() != nullptr) return true;
  // The region inside would have to be lowered as well; rounding adds up from one iteration to the next.
  if (op.as<ops::Loop>() != nullptr || op.as<ops::If>() != nullptr) return true;
  if (const auto* reduce = op.as<ops::Reduce>())
    return reduce->op == ops::ReduceOp::kSum || reduce->op == ops::ReduceOp::kProd;
  const auto* pointwise = op.as<ops::Pointwise>();
  return pointwise != nullptr && !ops::isSafeInHalf(pointwise->expr);
}

// Casts to f32 inside an expression mean "to the type of the network's floating values". A product's gelu takes its
// form by tanh, which libraries compute within the product: they differ by 5e-4 at most, and the form by erf would read
// the product rounded to a half, which costs as much.
ops::Operator inHalf(const ops::Operator& op, DataType half) {
  if (const auto* product = op.as<ops::MatMul>()) {
    ops::MatMul changed = *product;
    for (auto& instruction : changed.epilogue.instructions) {
      if (instruction.op == ScalarOp::k_gelu_erf) instruction.op = ScalarOp::k_gelu_tanh;
    }
    return changed;
  }
  const auto* pointwise = op.as<ops::Pointwise>();
  if (pointwise == nullptr) return op;
  ops::Pointwise changed = *pointwise;
  for (auto& instruction : changed.expr.instructions) {
    if (instruction.op == ScalarOp::k_cast && instruction.castTo == DataType::kF32) instruction.castTo = half;
  }
  return changed;
}

ops::ScalarExpr castExpression(DataType to, bool keepInfinities = false) {
  if (to != DataType::kF16) return ops::ScalarExpr::castTo(to);
  using ops::ScalarArgument;
  auto expr = ops::ScalarExpr::of(ScalarOp::k_clip, {ScalarArgument::input(0), ScalarArgument::constant(-kGreatestHalf),
                                                     ScalarArgument::constant(kGreatestHalf)});
  if (keepInfinities) {
    expr.instructions.push_back({ScalarOp::k_isinf, {ScalarArgument::input(0)}});
    expr.instructions.push_back(
        {ScalarOp::k_select, {ScalarArgument::result(1), ScalarArgument::input(0), ScalarArgument::result(0)}});
  }
  auto cast = ops::ScalarExpr::castTo(to).instructions[0];
  cast.arguments[0] = ScalarArgument::result(static_cast<int>(expr.instructions.size()) - 1);
  expr.instructions.push_back(cast);
  return expr;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const PrecisionOptions& options, const SymbolValues& symbols,
           const std::function<bool(const Node&, const Problem&)>& supported)
      : old_(graph),
        options_(options),
        half_(*options.half),
        symbols_(symbols),
        supported_(supported),
        result_(graph.name()) {}

  Graph run() {
    own_.assign(old_.valueCount(), graph::kNone);
    halved_.assign(old_.valueCount(), graph::kNone);
    masks_.assign(old_.valueCount(), graph::kNone);
    for (const auto& [name, source] : old_.symbols()) result_.addSymbol(name, source);
    result_.setShapes(old_.shapes());
    for (const ValueId id : old_.inputs()) {
      const auto& value = old_.value(id);
      own_[id] = result_.addInput(value.name, value.type);
      result_.value(own_[id]).constraints = value.constraints;
    }
    for (const NodeId id : old_.order()) copy(old_.node(id));
    for (size_t i = 0; i < old_.outputs().size(); ++i) {
      const ValueId id = old_.outputs()[i];
      const ValueId output = own(id);
      result_.value(output).constraints = old_.value(id).constraints;
      result_.addOutput(output, old_.outputName(i));
    }
    return std::move(result_);
  }

 private:
  // The value in its own type, in the new graph.
  ValueId own(ValueId id) {
    auto& place = own_[id];
    if (place != graph::kNone) return place;
    const auto& value = old_.value(id);
    if (value.constant != nullptr) return place = result_.addConstant(value.constant, value.name);
    return place = cast(halved_[id], value.type.dtype, value.name);
  }
  // The value in the half type. The mask of an attention keeps its infinities: they leave keys out.
  ValueId halved(ValueId id, bool isMask = false) {
    auto& place = isMask ? masks_[id] : halved_[id];
    if (place != graph::kNone) return place;
    const auto& value = old_.value(id);
    if (value.constant != nullptr) return place = result_.addConstant(halfConstant(value.constant), value.name);
    return place = cast(own_[id], half_, value.name, isMask);
  }
  ValueId cast(ValueId id, DataType to, const std::string& name, bool keepInfinities = false) {
    return result_.add(ops::Pointwise{castExpression(to, keepInfinities)},
                       fmt::format("Cast {} to {}", name, tenon::name(to)), {id});
  }

  graph::ConstantPtr halfConstant(const graph::ConstantPtr& constant) {
    if (options_.keepRecipes) return graph::Constant::recipe(ops::Pointwise{castExpression(half_)}, {constant});
    const auto from = constant->view();
    HostTensor to(half_, from.dims);
    const auto* values = from.as<float>();
    auto* bits = to.view().as<uint16_t>();
    const int64_t count = from.count();
    const auto limit = static_cast<float>(kGreatestHalf);
    for (int64_t i = 0; i < count; ++i) {
      const float held = std::isinf(values[i]) ? values[i] : std::clamp(values[i], -limit, limit);
      bits[i] = half_ == DataType::kBF16 ? floatToBfloat(values[i]) : floatToHalf(held);
    }
    return graph::Constant::own(std::move(to));
  }

  void copy(const Node& node) {
    const bool half = wantsHalf(node) && tryHalf(node);
    if (!half && demandsHalf(node)) reportUnmet(node);
    if (half) return;
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(own(id));
    const NodeId copied = add(node.op, node, std::move(inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i) own_[node.outputs[i]] = result_.node(copied).outputs[i];
  }

  // Demands of the user are on the value in its own type.
  NodeId add(const ops::Operator& op, const Node& node, std::vector<ValueId> inputs) {
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) names.push_back(old_.value(id).name);
    const NodeId id = result_.addNode(op, node.name, std::move(inputs), node.origins, std::move(names));
    result_.node(id).device = node.device;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      auto& value = result_.value(result_.node(id).outputs[i]);
      if (value.type.dtype == old_.value(node.outputs[i]).type.dtype)
        value.constraints = old_.value(node.outputs[i]).constraints;
    }
    return id;
  }

  std::optional<DataType> demandOf(const std::string& layer) const {
    const auto found = options_.layers.find(layer);
    return found == options_.layers.end() ? std::nullopt : std::optional(found->second);
  }
  // Of a node with floating results, which the user wants in the half type.
  bool demandsHalf(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return isFloat(id); }) &&
           std::any_of(node.origins.begin(), node.origins.end(),
                       [&](const auto& layer) { return demandOf(layer) == half_; });
  }
  // The device has no implementation, passes joined the layer with one that stays in f32, or a debug listener reads it.
  void reportUnmet(const Node& node) const {
    const auto text = fmt::format("layer '{}': its precision {} cannot be met: {} ({}) stays in f32",
                                  fmt::join(node.origins, "', '"), name(half_), node.name, node.op.name());
    if (options_.obey)
      throw Unsupported("{}: clear BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, or the precision of the layer", text);
    if (options_.log != nullptr) options_.log->warning("{}", text);
  }

  bool isFloat(ValueId id) const { return old_.value(id).type.dtype == DataType::kF32; }

  bool wantsHalf(const Node& node) const {
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return isFloat(id); })) return false;
    for (const ValueId id : node.outputs) {
      const auto& demands = old_.value(id).constraints;
      if (demands.dtype || demands.debug || demands.hostShape) return false;
    }
    if (std::any_of(node.origins.begin(), node.origins.end(),
                    [&](const auto& layer) { return demandOf(layer) == DataType::kF32; }))
      return false;
    if (demandsHalf(node)) return true;
    if (isSensitive(node.op)) return false;
    const auto facts = node.op.facts();
    if (facts.contraction) return true;
    bool follows = false;
    for (const ValueId id : node.inputs) {
      if (!isFloat(id)) continue;
      follows = follows || halved_[id] != graph::kNone;
      // Tables are read where they are: a gather from half the bytes.
      follows = follows || (facts.movement && old_.value(id).constant != nullptr);
    }
    return follows;
  }

  // Adds the node in half, when inference and the device have it.
  bool tryHalf(const Node& node) {
    const auto op = inHalf(node.op, half_);
    std::vector<ops::TensorType> types;
    for (const ValueId id : node.inputs) {
      types.push_back(old_.value(id).type);
      if (isFloat(id)) types.back().dtype = half_;
    }
    std::vector<ops::TensorType> outputs;
    try {
      outputs = op.infer(node.name, types);
    } catch (const UserError&) {
      return false;  // the operator takes no halves
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto expected = isFloat(node.outputs[i]) ? half_ : old_.value(node.outputs[i]).type.dtype;
      if (outputs[i].dtype != expected) return false;
    }
    Problem problem{op, {}, {}, symbols_};
    for (size_t i = 0; i < types.size(); ++i) {
      problem.inputs.push_back(
          {types[i].dtype, evaluate(types[i].shape, symbols_), old_.value(node.inputs[i]).constant});
    }
    for (const auto& output : outputs)
      problem.outputs.push_back({output.dtype, evaluate(output.shape, symbols_), nullptr});
    if (!supported_(node, problem)) return false;
    std::vector<ValueId> inputs;
    const auto* attention = node.op.as<ops::Attention>();
    for (const ValueId id : node.inputs) {
      const bool isMask = attention != nullptr && inputs.size() == attention->maskInput();
      inputs.push_back(isFloat(id) ? halved(id, isMask && halved_[id] == graph::kNone) : own(id));
    }
    const NodeId added = add(op, node, std::move(inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      auto& place = isFloat(node.outputs[i]) ? halved_ : own_;
      place[node.outputs[i]] = result_.node(added).outputs[i];
    }
    return true;
  }

  const Graph& old_;
  const PrecisionOptions& options_;
  const DataType half_;
  const SymbolValues& symbols_;
  const std::function<bool(const Node&, const Problem&)>& supported_;
  Graph result_;
  std::vector<ValueId> own_;     // by old value: in its own type
  std::vector<ValueId> halved_;  // by old value: in the half type
  std::vector<ValueId> masks_;   // by old value: in the half type, with its infinities
};

}  // namespace

graph::Graph lowerPrecision(const graph::Graph& graph, const PrecisionOptions& options, const SymbolValues& symbols,
                            const std::function<bool(const graph::Node& node, const Problem& problem)>& supported) {
  if (!options.half) return graph;
  return Lowering(graph, options, symbols, supported).run();
}

}  // namespace tenon::compile

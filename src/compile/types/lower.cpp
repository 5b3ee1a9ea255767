// Copies the graph node by node, in the type that each has.
#include "compile/types/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compile/types/casts.h"
#include "core/error.h"
#include "core/half_types.h"
#include "ops/op/attention.h"
#include "ops/op/pointwise.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::ScalarOp;

// A value of the old graph in the new one, in each type that something reads it in.
struct Forms {
  static constexpr size_t kMasks = 3;  // behind the plain ones: halves with their infinities
  std::array<ValueId, 6> ids;
  size_t first = 0;  // the one that others are cast from
  Forms() { ids.fill(graph::kNone); }
};

size_t formOf(DataType type) { return type == DataType::kF16 ? 1 : type == DataType::kBF16 ? 2 : 0; }

class Lowering {
 public:
  Lowering(const Graph& graph, const TypeOptions& options, const NodeTypes& types, bool keepRecipes)
      : old_(graph), options_(options), types_(types), keepRecipes_(keepRecipes), result_(graph.name()) {}

  Graph run() {
    forms_.resize(old_.valueCount());
    for (const auto& [name, source] : old_.symbols()) result_.addSymbol(name, source);
    result_.setShapes(old_.shapes());
    for (const ValueId id : old_.inputs()) {
      const auto& value = old_.value(id);
      forms_[id].ids[0] = result_.addInput(value.name, value.type);
      result_.value(forms_[id].ids[0]).constraints = value.constraints;
    }
    for (const NodeId id : old_.order()) copy(old_.node(id), types_[id]);
    for (size_t i = 0; i < old_.outputs().size(); ++i) {
      const ValueId id = old_.outputs()[i];
      const ValueId output = own(id);
      result_.value(output).constraints = old_.value(id).constraints;
      result_.addOutput(output, old_.outputName(i));
    }
    return std::move(result_);
  }

 private:
  ValueId own(ValueId id) { return as(id, old_.value(id).type.dtype); }

  // The value in a type: its own, or, of f32, a half. The mask of an attention keeps its infinities: they leave keys
  // out.
  ValueId as(ValueId id, DataType type, bool isMask = false) {
    const auto& value = old_.value(id);
    auto& forms = forms_[id];
    const bool isOwn = type == value.type.dtype;
    const size_t plain = isOwn ? 0 : formOf(type);
    // What was computed in the half has no infinities to keep.
    const bool keeps = isMask && !isOwn && value.constant == nullptr && forms.first != plain;
    ValueId& place = forms.ids[plain + (keeps ? Forms::kMasks : 0)];
    if (place != graph::kNone) return place;
    if (value.constant != nullptr) {
      const auto constant = isOwn ? value.constant : halfConstant(value.constant, type, keepRecipes_);
      return place = result_.addConstant(constant, value.name);
    }
    return place = cast(forms.ids[forms.first], type, value.name, keeps);
  }

  ValueId cast(ValueId id, DataType to, const std::string& name, bool keepInfinities = false) {
    return result_.add(ops::Pointwise{castExpression(to, keepInfinities)},
                       fmt::format("Cast {} to {}", name, tenon::name(to)), {id});
  }

  void copy(const Node& node, DataType type) {
    const bool isHalf = type != DataType::kF32;
    const auto typed = isHalf ? inHalf(old_, node, type) : std::nullopt;
    checkInternal(!isHalf || typed, "node '{}' does not take {}", node.name, tenon::name(type));
    std::vector<ValueId> inputs;
    const auto* attention = node.op.as<ops::Attention>();
    for (const ValueId id : node.inputs) {
      const bool isMask = attention != nullptr && inputs.size() == attention->maskInput();
      inputs.push_back(isHalf && isFloat(id) ? as(id, type, isMask) : own(id));
    }
    const NodeId added = add(isHalf ? typed->op : node.op, node, std::move(inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      auto& forms = forms_[node.outputs[i]];
      forms.first = isFloat(node.outputs[i]) ? formOf(type) : 0;
      forms.ids[forms.first] = result_.node(added).outputs[i];
      store(node.outputs[i]);
    }
    share(node, type);
  }

  // What reads a tensor whose type the user demands gets it rounded to that type, whatever it was computed in.
  void store(ValueId id) {
    const auto demand = options_.tensors.find(old_.value(id).name);
    if (demand == options_.tensors.end() || !isFloat(id)) return;
    auto& forms = forms_[id];
    const size_t wanted = formOf(demand->second);
    if (forms.first == wanted) return;
    forms.ids[wanted] = cast(forms.ids[forms.first], demand->second, old_.value(id).name);
    forms.ids[forms.first] = graph::kNone;
    forms.first = wanted;
  }

  // A half at the border of the network that was cast to f32 is that half where a half is wanted again.
  void share(const Node& node, DataType type) {
    const auto* pointwise = node.op.as<ops::Pointwise>();
    if (type != DataType::kF32 || pointwise == nullptr || node.inputs.size() != 1 ||
        pointwise->expr != ops::ScalarExpr::castTo(DataType::kF32))
      return;
    const DataType from = old_.value(node.inputs[0]).type.dtype;
    auto& forms = forms_[node.outputs[0]];
    const bool isHalf = from == DataType::kF16 || from == DataType::kBF16;
    if (!isHalf || forms.first != 0) return;
    forms.ids[formOf(from)] = own(node.inputs[0]);
    forms.ids[formOf(from) + Forms::kMasks] = own(node.inputs[0]);
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

  bool isFloat(ValueId id) const { return old_.value(id).type.dtype == DataType::kF32; }

  const Graph& old_;
  const TypeOptions& options_;
  const NodeTypes& types_;
  const bool keepRecipes_;
  Graph result_;
  std::vector<Forms> forms_;  // by old value
};

}  // namespace

ops::ScalarExpr castExpression(DataType to, bool keepInfinities) {
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

graph::Graph lowerPrecision(const graph::Graph& graph, const TypeOptions& options, const NodeTypes& types,
                            bool keepRecipes) {
  const bool changes = std::any_of(types.begin(), types.end(), isHalf) ||
                       std::any_of(options.tensors.begin(), options.tensors.end(),
                                   [](const auto& demand) { return isHalf(demand.second); });
  return changes ? Lowering(graph, options, types, keepRecipes).run() : graph;
}

}  // namespace tenon::compile

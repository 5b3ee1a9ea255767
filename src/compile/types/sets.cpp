// What an operator keeps in a half, what the user demands, and the rule that decides where nothing is measured.
#include "compile/types/sets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "compile/proposals.h"
#include "compile/types/casts.h"
#include "core/error.h"
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
#include "ops/op/recurrent.h"
#include "ops/op/reduce.h"
#include "ops/op/resize.h"
#include "ops/scalar_facts.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::ScalarOp;

// Operators whose results leave the range or the accuracy of a half for ordinary operands.
bool isSensitive(const ops::Operator& op) {
  if (op.as<ops::Cumulative>() != nullptr || op.as<ops::Quantize>() != nullptr || op.as<ops::Dequantize>() != nullptr)
    return true;
  // A cache that is updated in place is the caller's memory, in the caller's type.
  if (op.as<ops::CacheUpdate>() != nullptr) return true;
  // Coordinates, and decisions by them.
  if (op.as<ops::PaddedNms>() != nullptr || op.as<ops::Nms>() != nullptr) return true;
  // States are rounded once for each step, and the next step goes on from there.
  if (op.as<ops::Recurrent>() != nullptr) return true;
  // The region inside would have to be lowered as well; rounding adds up from one iteration to the next.
  if (op.as<ops::Loop>() != nullptr || op.as<ops::If>() != nullptr) return true;
  if (const auto* reduce = op.as<ops::Reduce>())
    return reduce->op == ops::ReduceOp::kSum || reduce->op == ops::ReduceOp::kProd;
  const auto* pointwise = op.as<ops::Pointwise>();
  return pointwise != nullptr && !ops::isSafeInHalf(pointwise->expr);
}

constexpr double kLeastHalf = 0x1p-24;  // above zero in f16

// Whether a scalar operator keeps its results at or above a number that f16 takes for zero, so that they may divide.
bool hasTinyFloor(const ops::Operator& op) {
  const auto* pointwise = op.as<ops::Pointwise>();
  if (pointwise == nullptr) return false;
  const auto& list = pointwise->expr.instructions;
  return std::any_of(list.begin(), list.end(), [](const auto& instruction) {
    if (instruction.op != ScalarOp::k_max && instruction.op != ScalarOp::k_clip) return false;
    const auto& arguments = instruction.arguments;
    return std::any_of(arguments.begin(), arguments.begin() + 2, [](const auto& argument) {
      return argument.kind == ops::ScalarArgument::Kind::kLiteral && argument.literal > 0 &&
             argument.literal < kLeastHalf;
    });
  });
}

// Whether a value has such a floor, as it is or moved.
bool hasTinyFloor(const Graph& graph, ValueId value) {
  while (graph.value(value).producer != graph::kNone) {
    const auto& node = graph.node(graph.value(value).producer);
    if (hasTinyFloor(node.op)) return true;
    if (!node.op.facts().movement || node.inputs.empty()) return false;
    value = node.inputs[0];
  }
  return false;
}

// Casts to f32 inside an expression mean "to the type of the network's floating values". A product's gelu takes its
// form by tanh, which libraries compute within the product: they differ by 5e-4 at most, and the form by erf would read
// the product rounded to a half, which costs as much.
ops::Operator operatorInHalf(const ops::Operator& op, DataType half) {
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

// Which values have a form in the half type when a node is looked at.
class Rule {
 public:
  explicit Rule(const TypeSets& sets) : sets_(sets), graph_(sets.graph()), halved_(graph_.valueCount()) {}

  NodeTypes run(bool demandedOnly) {
    NodeTypes types(graph_.nodeCount(), DataType::kF32);
    if (sets_.options().halves.empty()) return types;
    const DataType preferred = sets_.options().halves.front();
    for (const NodeId id : graph_.order()) {
      const auto demand = sets_.demand(id);
      const DataType half = demand.value_or(preferred);
      const bool isLeft = demandedOnly || !follows(graph_.node(id)) || enlargesForOutput(graph_.node(id));
      if (half == DataType::kF32 || (!demand && isLeft) || !sets_.may(id, half)) continue;
      types[id] = half;
      for (const ValueId value : graph_.node(id).inputs) mark(value);
      for (const ValueId value : graph_.node(id).outputs) mark(value);
    }
    return types;
  }

 private:
  void mark(ValueId id) {
    if (sets_.isFree(id)) halved_[id] = true;
  }
  bool follows(const Node& node) const {
    const auto facts = node.op.facts();
    if (facts.contraction) return true;
    // Tables are read where they are: a gather from half the bytes.
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return sets_.isFree(id) && (halved_[id] || (facts.movement && graph_.value(id).constant != nullptr));
    });
  }

  // A resize whose result is an output of the network and nothing else: a cast of what it reads is less than one of
  // what it writes.
  bool enlargesForOutput(const Node& node) const {
    if (node.op.as<ops::Resize>() == nullptr) return false;
    const ValueId result = node.outputs[0];
    const auto countOf = [&](ValueId id) { return evaluate(graph_.value(id).type.shape, sets_.symbols()).count(); };
    return graph_.isOutput(result) && graph_.uses(result).empty() && countOf(result) > countOf(node.inputs[0]);
  }

  const TypeSets& sets_;
  const Graph& graph_;
  std::vector<bool> halved_;
};

}  // namespace

std::optional<TypedNode> inHalf(const Graph& graph, const Node& node, DataType half) {
  TypedNode typed{operatorInHalf(node.op, half), {}, {}};
  for (const ValueId id : node.inputs) {
    typed.inputs.push_back(graph.value(id).type);
    if (typed.inputs.back().dtype == DataType::kF32) typed.inputs.back().dtype = half;
  }
  try {
    typed.outputs = typed.op.infer(node.name, typed.inputs);
  } catch (const UserError&) {
    return std::nullopt;
  }
  for (size_t i = 0; i < typed.outputs.size(); ++i) {
    const DataType own = graph.value(node.outputs[i]).type.dtype;
    if (typed.outputs[i].dtype != (own == DataType::kF32 ? half : own)) return std::nullopt;
  }
  return typed;
}

graph::ConstantPtr halfConstant(const graph::ConstantPtr& constant, DataType half, bool keepRecipes) {
  if (keepRecipes) return graph::Constant::recipe(ops::Pointwise{castExpression(half)}, {constant});
  const auto from = constant->view();
  HostTensor to(half, from.dims);
  const auto* values = from.as<float>();
  auto* bits = to.view().as<uint16_t>();
  const int64_t count = from.count();
  const auto limit = static_cast<float>(kGreatestHalf);
  constexpr int64_t kPiece = 1 << 17;  // for a thread: weights are many millions
  inParallel(static_cast<size_t>((count + kPiece - 1) / kPiece), [&](size_t piece) {
    const int64_t first = static_cast<int64_t>(piece) * kPiece;
    for (int64_t i = first; i < std::min(first + kPiece, count); ++i) {
      const float held = std::isinf(values[i]) ? values[i] : std::clamp(values[i], -limit, limit);
      bits[i] = half == DataType::kBF16 ? floatToBfloat(values[i]) : floatToHalf(held);
    }
  });
  return graph::Constant::own(std::move(to));
}

TypeSets::TypeSets(const Graph& graph, const TypeOptions& options, const SymbolValues& symbols,
                   const KernelExists& hasKernel)
    : graph_(graph), options_(options), symbols_(symbols), hasKernel_(hasKernel) {
  for (auto& refusals : refusals_) refusals.resize(graph.nodeCount());
}

const std::string& TypeSets::refusal(NodeId id, DataType half) const {
  auto& known = refusals_[half == DataType::kF16 ? 0 : 1][id];
  if (!known) known = whyNot(graph_.node(id), half);
  return *known;
}

std::string TypeSets::whyNot(const Node& node, DataType half) const {
  if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return isFree(id); }))
    return "it has no f32 results";
  for (const ValueId id : node.outputs) {
    const auto& marks = graph_.value(id).constraints;
    if (marks.debug) return "a debug listener reads its result";
    if (marks.hostShape) return "its result is a shape tensor";
  }
  const auto found = std::find_if(node.origins.begin(), node.origins.end(),
                                  [&](const auto& layer) { return demandOf(layer) == DataType::kF32; });
  if (found != node.origins.end()) return fmt::format("layer '{}', which it computes too, shall be in f32", *found);
  const bool isDemanded =
      std::any_of(node.origins.begin(), node.origins.end(), [&](const auto& layer) { return demandOf(layer) == half; });
  if (!isDemanded && isSensitive(node.op)) return "its results may leave the range or the accuracy of a half";
  const bool isFloored = hasTinyFloor(node.op) || (node.op.as<ops::Pointwise>() != nullptr &&
                                                   std::any_of(node.inputs.begin(), node.inputs.end(),
                                                               [&](ValueId id) { return hasTinyFloor(graph_, id); }));
  if (!isDemanded && half == DataType::kF16 && isFloored)
    return "it keeps a value above a number that f16 takes for zero, or reads such a value";
  const auto typed = inHalf(graph_, node, half);
  if (!typed) return fmt::format("the operator does not take {}", name(half));
  Problem problem{typed->op, {}, {}, symbols_};
  for (size_t i = 0; i < typed->inputs.size(); ++i) {
    const auto& type = typed->inputs[i];
    problem.inputs.push_back({type.dtype, evaluate(type.shape, symbols_), graph_.value(node.inputs[i]).constant});
  }
  for (const auto& output : typed->outputs)
    problem.outputs.push_back({output.dtype, evaluate(output.shape, symbols_), nullptr});
  if (!hasKernel_(node, problem)) return fmt::format("the device has no kernel for it in {}", name(half));
  return {};
}

std::optional<DataType> TypeSets::demandOf(const std::string& layer) const {
  const auto found = options_.layers.find(layer);
  return found == options_.layers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<DataType> TypeSets::demand(NodeId id) const {
  std::optional<DataType> result;
  for (const auto& layer : graph_.node(id).origins) {
    const auto demand = demandOf(layer);
    if (demand == DataType::kF32) return demand;
    if (demand && !result) result = demand;
  }
  return result;
}

void TypeSets::reportUnmet(const NodeTypes& types, Log& log) const {
  for (const NodeId id : graph_.order()) {
    const auto& node = graph_.node(id);
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId value) { return isFree(value); })) continue;
    for (const auto& layer : node.origins) {
      const auto demand = demandOf(layer);
      if (!demand || *demand == DataType::kF32 || *demand == types[id]) continue;
      const auto reason = types[id] != DataType::kF32
                              ? fmt::format("another layer that it computes is in {}", name(types[id]))
                              : refusal(id, *demand);
      if (options_.obey) {
        throw Unsupported(
            "Could not find any implementation for node {} ({}) that obeys the requested constraints: layer '{}' "
            "shall compute in {}, and {}. Clear BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, or the precision of the layer",
            node.name, node.op.name(), layer, name(*demand), reason);
      }
      log.warning(
          "No implementation of layer {} obeys the requested constraints: the requested precision {} is ignored, {} "
          "({}) computes in {}: {}",
          layer, name(*demand), node.name, node.op.name(), name(types[id]), reason);
    }
  }
}

NodeTypes typesByRule(const TypeSets& sets, bool demandedOnly) { return Rule(sets).run(demandedOnly); }

}  // namespace tenon::compile

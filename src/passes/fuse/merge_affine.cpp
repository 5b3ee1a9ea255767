// ((x * a + b) * c) + d => x * (a c) + (b c + d) along one axis; (x * s + t) w => x (s w) + t w.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "passes/common/affine.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

// The input that the first instruction's chain can run over: the only one that is no constant, of the shape of the
// result.
std::optional<ValueId> runningInput(const Graph& graph, const graph::Node& node) {
  std::optional<ValueId> running;
  for (const auto input : node.inputs) {
    if (graph.value(input).constant != nullptr) continue;
    if (running) return std::nullopt;
    running = input;
  }
  if (!running || graph.value(*running).type.shape != graph.value(node.outputs[0]).type.shape) return std::nullopt;
  return running;
}

bool isFloatNode(const Graph& graph, const graph::Node& node) {
  const auto dtype = graph.value(node.outputs[0]).type.dtype;
  return isFloating(dtype) && std::all_of(node.inputs.begin(), node.inputs.end(),
                                          [&](ValueId id) { return graph.value(id).type.dtype == dtype; });
}

// The instructions from `first` on over x0 = the chain's result, other inputs in their places behind it.
ops::ScalarExpr restOf(const ops::ScalarExpr& expr, size_t first, const std::vector<int>& places, int results) {
  ops::ScalarExpr rest;
  for (size_t k = first; k < expr.instructions.size(); ++k) {
    auto instruction = expr.instructions[k];
    for (auto& argument : instruction.arguments) {
      if (argument.kind == ScalarArgument::Kind::kInput) argument.index = places[static_cast<size_t>(argument.index)];
      if (argument.kind == ScalarArgument::Kind::kResult) argument.index += results - static_cast<int>(first);
    }
    rest.instructions.push_back(instruction);
  }
  return rest;
}

bool mergeChain(Graph& graph, NodeId id, int axis) {
  const auto& node = graph.node(id);
  const auto& expr = node.op.as<ops::Pointwise>()->expr;
  const auto running = runningInput(graph, node);
  if (!running) return false;
  Affine affine;
  const size_t length = readAffine(graph, node, *running, axis, affine);
  const size_t wanted = (affine.scale ? 1 : 0) + (affine.shift ? 1 : 0);
  if (length <= wanted || wanted == 0 || looksInside(expr, length, node.inputs, *running)) return false;
  const int rank = graph.value(node.outputs[0]).type.rank();
  const auto name = node.name;
  const auto output = node.outputs[0];
  std::vector<ValueId> inputs{*running};
  ops::ScalarExpr merged;
  graph::Patch patch(graph);
  const auto append = [&](ScalarOp op, const ConstantPtr& constant, std::string_view suffix) {
    const auto laid = constant->count() == 1 ? constant : laidAlong(constant, axis, rank);
    const auto last = merged.empty() ? ScalarArgument::input(0) : ScalarArgument::result(0);
    merged.instructions.push_back(
        ops::ScalarExpr::of(op, {last, ScalarArgument::input(static_cast<int>(inputs.size()))}).instructions[0]);
    inputs.push_back(patch.addConstant(laid, name + std::string(suffix)));
  };
  if (affine.scale) append(ScalarOp::k_mul, affine.scale, "_scale");
  if (affine.shift) append(ScalarOp::k_add, affine.shift, "_shift");
  std::vector<int> places;
  const auto before = graph.node(id).inputs;
  const auto rest = graph.node(id).op.as<ops::Pointwise>()->expr;
  for (const auto input : before) {
    const auto found = std::find(inputs.begin(), inputs.end(), input);
    places.push_back(static_cast<int>(found - inputs.begin()));
    if (found == inputs.end()) inputs.push_back(input);
  }
  auto tail = restOf(rest, length, places, static_cast<int>(wanted));
  merged.instructions.insert(merged.instructions.end(), tail.instructions.begin(), tail.instructions.end());
  // Constants that only the chain read stay behind.
  std::vector<int> map(inputs.size(), -1);
  std::vector<ValueId> used;
  for (auto& instruction : merged.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind != ScalarArgument::Kind::kInput) continue;
      auto& place = map[static_cast<size_t>(argument.index)];
      if (place < 0) {
        place = static_cast<int>(used.size());
        used.push_back(inputs[static_cast<size_t>(argument.index)]);
      }
      argument.index = place;
    }
  }
  const NodeId from[] = {id};
  patch.replace(output, patch.add(ops::Pointwise{std::move(merged)}, name, std::move(used), from));
  patch.commit();
  return true;
}

// The weights of a product as a matrix: rank 2, or more with leading extents of 1.
bool isMatrix(const ConstantPtr& weights) {
  return weights != nullptr &&
         weights->count() == weights->dims()[weights->dims().rank - 1] * weights->dims()[weights->dims().rank - 2];
}

bool takesScale(const Graph& graph, const graph::Use& use) {
  const auto& node = graph.node(use.node);
  const auto* op = node.op.as<ops::MatMul>();
  return op != nullptr && use.input == 0 && !op->transposeA && isMatrix(graph.value(node.inputs[1]).constant) &&
         graph.value(node.inputs[1]).type.dtype == graph.value(node.inputs[0]).type.dtype &&
         hasRoom(op->epilogue, node.inputs.size());
}

// Adds a bias to the product in front of its epilogue: to the bias that the epilogue begins with, or as one more
// operand.
void addBias(const Graph& graph, graph::Patch& patch, ops::MatMul& op, std::vector<ValueId>& inputs,
             const ConstantPtr& bias, const ops::TensorType& type, const std::string& name) {
  const int own = 2;  // operand x1 of the epilogue is input 2 of the node
  const auto& first = op.epilogue.empty() ? ops::ScalarInstruction{} : op.epilogue.instructions[0];
  for (size_t i = 0; i < 2 && first.op == ScalarOp::k_add; ++i) {
    const auto& other = first.arguments[1 - i];
    if (!(first.arguments[i] == ScalarArgument::input(0)) || other.kind != ScalarArgument::Kind::kInput ||
        other.index == 0)
      continue;
    const auto constant = graph.value(inputs[static_cast<size_t>(other.index + own - 1)]).constant;
    const auto rest = ops::ScalarExpr{{op.epilogue.instructions.begin() + 1, op.epilogue.instructions.end()}};
    const bool again =
        std::any_of(rest.instructions.begin(), rest.instructions.end(), [&](const ops::ScalarInstruction& instruction) {
          return std::any_of(instruction.arguments.begin(), instruction.arguments.begin() + row(instruction.op).arity,
                             [&](const ScalarArgument& argument) {
                               return argument.kind == ScalarArgument::Kind::kInput &&
                                      (argument.index == 0 || argument.index == other.index);
                             });
        });
    if (again || constant == nullptr || !variesAlong(constant->dims(), type.shape, type.rank() - 1)) continue;
    inputs[static_cast<size_t>(other.index + own - 1)] =
        patch.addConstant(combineConstants(ScalarOp::k_add, bias, asVector(constant)), name + "_bias");
    return;
  }
  const int place = static_cast<int>(inputs.size()) - own + 1;
  const auto sum = ops::ScalarExpr::of(ScalarOp::k_add, {ScalarArgument::input(0), ScalarArgument::input(place)});
  op.epilogue = op.epilogue.empty() ? sum : op.epilogue.compose(0, sum);
  inputs.push_back(patch.addConstant(bias, name + "_bias"));
}

// The product of x with the scaled weights; what the shift gives is added to it.
void foldIntoProduct(Graph& graph, NodeId id, NodeId pointwise, ValueId x, const Affine& affine) {
  const auto node = graph.node(id);
  auto op = *node.op.as<ops::MatMul>();
  const auto type = graph.value(node.outputs[0]).type;
  const auto weights = graph.value(node.inputs[1]).constant;
  const int rank = weights->dims().rank;
  const int depthAxis = op.transposeB ? rank - 1 : rank - 2;
  const NodeId from[] = {pointwise, id};
  graph::Patch patch(graph);
  auto inputs = node.inputs;
  inputs[0] = x;
  if (affine.scale) {
    const auto laid = laidAlong(affine.scale, affine.scale->count() == 1 ? 0 : depthAxis, rank);
    inputs[1] =
        patch.addConstant(combineConstants(ScalarOp::k_mul, weights, laid), graph.value(inputs[1]).name + "_scaled");
  }
  if (affine.shift) {
    const auto row = laidAlong(stretchedTo(affine.shift, weights->dims()[depthAxis], weights->dtype()), rank - 1, rank);
    const auto product = Constant::recipe(ops::MatMul{false, op.transposeB, {}}, {row, weights});
    addBias(graph, patch, op, inputs, asVector(product), type, node.name);
  }
  patch.replace(node.outputs[0], patch.add(std::move(op), node.name, std::move(inputs), from));
  patch.commit();
}

bool foldForward(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto running = runningInput(graph, node);
  const ValueId output = node.outputs[0];
  if (!running || graph.isOutput(output) || graph.value(output).constraints != graph::Constraints{} ||
      graph.uses(output).empty())
    return false;
  const int rank = graph.value(output).type.rank();
  Affine affine;
  if (rank < 2 ||
      readAffine(graph, node, *running, rank - 1, affine) != node.op.as<ops::Pointwise>()->expr.instructions.size())
    return false;
  if (!affine.scale && !affine.shift) return false;
  // One number costs nothing in the expression that it ends, which may be an activation as a whole.
  const NodeId before = graph.value(*running).producer;
  const bool ends =
      before != graph::kNone && onlyUser(graph, *running) &&
      (graph.node(before).op.as<ops::Pointwise>() != nullptr || graph.node(before).op.facts().contraction);
  if (ends && !affine.shift && affine.scale->count() == 1) return false;
  const bool all = std::all_of(graph.uses(output).begin(), graph.uses(output).end(),
                               [&](const graph::Use& use) { return takesScale(graph, use); });
  if (!all) return false;
  const ValueId x = *running;
  std::vector<NodeId> products;
  for (const auto& use : graph.uses(output)) products.push_back(use.node);
  for (const auto product : products) foldIntoProduct(graph, product, id, x, affine);
  return true;
}

}  // namespace

int pass_merge_affine(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editUntilDone(graph, [&](NodeId id) {
    const auto& node = graph.node(id);
    if (node.op.as<ops::Pointwise>() == nullptr || !isFloatNode(graph, node)) return false;
    const int rank = graph.value(node.outputs[0]).type.rank();
    const bool merged = (rank > 1 && mergeChain(graph, id, 1)) || (rank > 0 && mergeChain(graph, id, rank - 1));
    return merged || foldForward(graph, id);
  });
}

}  // namespace tenon::passes

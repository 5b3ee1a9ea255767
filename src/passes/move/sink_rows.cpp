// matmul(reshape(x), w) => reshape(matmul(x, w)) and matmul(transpose(x), w) => transpose(matmul(x, w)) where w is one
// matrix and the rows stay whole: reshapes into [batch * rows, columns] and back meet, and so do transposes of batch
// and rows. Between products also normalization(reshape(x)) => reshape(normalization(x)), and on GPUs, of heads that
// are normalized each, normalization(transpose(x)) => transpose(normalization(x)).
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

// One matrix, behind axes of one element if it is constant.
bool isMatrix(const graph::Value& weights) {
  const Shape& shape = weights.type.shape;
  if (weights.constant == nullptr || shape.size() < 2) return shape.size() == 2;
  return std::all_of(shape.begin(), shape.end() - 2, [](const Extent& e) { return e.isConstant(1); });
}

// A product of rows with one matrix whose epilogue reads constants along the columns.
bool isProductOfRows(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  const auto& type = graph.value(node.outputs[0]).type;
  if (op == nullptr || op->transposeA || type.rank() < 2 || !isMatrix(graph.value(node.inputs[1]))) return false;
  return std::all_of(node.inputs.begin() + 2, node.inputs.end(), [&](ValueId extra) {
    const auto& constant = graph.value(extra).constant;
    return constant != nullptr &&
           (constant->count() == 1 || variesAlong(constant->dims(), type.shape, type.rank() - 1));
  });
}

// Whether scalar work and reshapes behind a value, if any, lead to a transpose, which may cancel the one before it.
bool leadsToTranspose(const Graph& graph, ValueId value, int depth = 8) {
  const auto user = onlyUser(graph, value);
  if (!user || depth == 0) return false;
  const auto& op = graph.node(user->node).op;
  if (op.as<ops::Transpose>() != nullptr) return true;
  const bool passes = op.as<ops::Pointwise>() != nullptr || op.as<ops::Reshape>() != nullptr;
  return passes && leadsToTranspose(graph, graph.node(user->node).outputs[0], depth - 1);
}

bool sink(Graph& graph, NodeId id) {
  if (!isProductOfRows(graph, id)) return false;
  const auto& node = graph.node(id);
  const ValueId rows = node.inputs[0];
  const NodeId movement = graph.value(rows).producer;
  if (movement == graph::kNone || graph.value(rows).constraints != graph::Constraints{} || !onlyUse(graph, rows))
    return false;
  if (graph.node(movement).inputs.empty()) return false;
  const ValueId source = graph.node(movement).inputs[0];
  const Shape before = graph.value(source).type.shape;
  const Shape after = graph.value(rows).type.shape;
  const Shape out = graph.value(node.outputs[0]).type.shape;
  if (before.size() < 2 || after.size() < 2) return false;
  ops::Operator moved = graph.node(movement).op;
  if (moved.as<ops::Reshape>() != nullptr) {
    if (!(before.back() == after.back())) return false;
    moved = ops::Reshape{out};
  } else if (const auto* transpose = moved.as<ops::Transpose>()) {
    const bool wholeRows = transpose->permutation.back() + 1 == static_cast<int64_t>(before.size());
    const bool grows =
        !out.back().isConstant() || !after.back().isConstant() || out.back().constant() > after.back().constant();
    if (!wholeRows || (grows && !leadsToTranspose(graph, node.outputs[0]))) return false;
  } else {
    return false;
  }
  const auto op = node.op;
  const auto name = node.name;
  const auto output = node.outputs[0];
  auto inputs = node.inputs;
  const NodeId self[] = {id};
  const NodeId from[] = {movement};
  const auto movedName = graph.node(movement).name;
  graph::Patch patch(graph);
  inputs[0] = source;
  if (const auto& weights = graph.value(inputs[1]); weights.type.rank() > 2) {
    const Shape matrix(weights.type.shape.end() - 2, weights.type.shape.end());
    inputs[1] = patch.addConstant(graph::Constant::recipe(ops::Reshape{matrix}, {weights.constant}), weights.name);
  }
  for (size_t i = 2; i < inputs.size(); ++i) {
    const auto constant = graph.value(inputs[i]).constant;
    if (constant->dims().rank > 1) inputs[i] = patch.addConstant(asVector(constant), graph.value(inputs[i]).name);
  }
  const ValueId product = patch.add(op, name, std::move(inputs), self);
  patch.replace(output, patch.add(std::move(moved), movedName, {product}, from));
  patch.commit();
  return true;
}

// A reshape of a sum or product, which meets its normalization; others may read it, as it costs nothing.
bool reshapesSum(const Graph& graph, ValueId rows) {
  if (producerOp<ops::Reshape>(graph, rows) == nullptr) return false;
  const ValueId source = graph.node(graph.value(rows).producer).inputs[0];
  return producerOp<ops::MatMul>(graph, source) != nullptr || producerOp<ops::Pointwise>(graph, source) != nullptr;
}

// A transpose of whole rows that only their normalization reads: behind it the one of the attention's heads takes it.
bool movesRows(const Graph& graph, ValueId rows, const Options& options) {
  const auto* transpose = producerOp<ops::Transpose>(graph, rows);
  return transpose != nullptr && factsOf(options.device).launchesAreDear && onlyUse(graph, rows) &&
         transpose->permutation.back() + 1 == static_cast<int64_t>(transpose->permutation.size());
}

bool sinkBehindNormalization(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Normalization>();
  if (op == nullptr || op->skip || op->groups != 1 || op->axes.size() != 1) return false;
  const auto& rows = graph.value(node.inputs[0]);
  if (rows.constraints != graph::Constraints{}) return false;
  const bool isReshaped = reshapesSum(graph, node.inputs[0]);
  if (!isReshaped && !movesRows(graph, node.inputs[0], options)) return false;
  const int rank = rows.type.rank();
  const ValueId source = graph.node(rows.producer).inputs[0];
  const Shape& before = graph.value(source).type.shape;
  const bool isLast = op->axes[0] == -1 || op->axes[0] == rank - 1;
  if (!isLast || before.empty() || !(before.back() == rows.type.shape.back())) return false;
  const bool isAlike = std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId parameter) {
    const auto& constant = graph.value(parameter).constant;
    return constant != nullptr && (constant->count() == 1 || variesAlong(constant->dims(), rows.type.shape, rank - 1));
  });
  if (!isAlike) return false;
  auto moved = *op;
  moved.axes = {-1};
  auto inputs = node.inputs;
  inputs[0] = source;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const auto movedName = graph.node(rows.producer).name;
  const ops::Operator movement =
      isReshaped ? ops::Operator(ops::Reshape{graph.value(output).type.shape}) : graph.node(rows.producer).op;
  const NodeId self[] = {id};
  const NodeId from[] = {rows.producer};
  graph::Patch patch(graph);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto constant = graph.value(inputs[i]).constant;
    if (constant->dims().rank > 1) inputs[i] = patch.addConstant(asVector(constant), graph.value(inputs[i]).name);
  }
  const ValueId normal = patch.add(std::move(moved), name, std::move(inputs), self);
  patch.replace(output, patch.add(movement, movedName, {normal}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_sink_rows(Graph& graph, const Options& options) {
  return editUntilDone(graph,
                       [&](NodeId id) { return sink(graph, id) || sinkBehindNormalization(graph, id, options); });
}

}  // namespace tenon::passes

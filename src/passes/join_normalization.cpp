// Normalizations of rows become part of the products in front of them and behind them.
#include <algorithm>

#include "ops/op/composite.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/normalize_rows.h"
#include "ops/op/row_moments.h"
#include "passes/common/match.h"
#include "passes/composites.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool isConstant(const Graph& graph, ValueId value) { return graph.value(value).constant != nullptr; }
bool isFree(const Graph& graph, ValueId value) { return graph.value(value).constraints == graph::Constraints{}; }

const ops::MatMul* productOf(const graph::Graph& graph, NodeId id) {
  if (id == graph::kNone) return nullptr;
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  return op != nullptr && !op->transposeA && isConstant(graph, node.inputs[1]) ? op : nullptr;
}

// A product, the normalization of its result or of a sum with it, and a product that reads that.
class Join {
 public:
  Join(const Graph& graph, NodeId second) : graph_(graph), second_(second) {}

  bool fits() {
    if (productOf(graph_, second_) == nullptr) return false;
    const auto& product = graph_.node(second_);
    rows_ = product.inputs[0];
    const auto* op = producerOp<ops::Normalization>(graph_, rows_);
    if (op == nullptr || !isFree(graph_, rows_) || !isOfRows(*op)) return false;
    norm_ = graph_.value(rows_).producer;
    if (graph_.node(norm_).device != product.device) return false;
    keeps_ = graph_.isOutput(rows_) || graph_.uses(rows_).size() > 1;
    // What reads the normalized rows must not be needed by the product.
    const bool isAlone = std::all_of(product.inputs.begin() + 2, product.inputs.end(), [&](ValueId input) {
      return isConstant(graph_, input) || graph_.value(input).isInput;
    });
    if (!isAlone && keeps_) return false;
    return findSum(kRows, kSkipped) || (op->skip && findSum(kSkipped, kRows));
  }

  bool replace(Graph& graph, const Pays& pays) const {
    const auto norm = graph.node(norm_);
    const auto product = graph.node(second_);
    const auto& op = *norm.op.as<ops::Normalization>();
    graph::Patch patch(graph);
    const auto add = [&](const ops::Composite& composite, const std::string& name, std::vector<ValueId> inputs,
                         std::span<const NodeId> from) {
      const NodeId made = patch.addNode(composite, name, std::move(inputs), from);
      graph.node(made).device = product.device;
      return made;
    };
    const auto vectorOf = [&](ValueId value) {
      const auto& constant = graph.value(value).constant;
      return constant->dims().rank == 1 ? value : patch.addConstant(asVector(constant));
    };
    ops::CompositePart firstPart{sum_, {}};
    for (size_t i = 0; i < inputs_.size(); ++i) firstPart.inputs.push_back(static_cast<int32_t>(i));
    const NodeId firstFrom[] = {first_};
    const NodeId measured =
        add({{std::move(firstPart), {ops::RowMoments{}, {-1}}}, {0, 1}}, graph.node(first_).name, inputs_, firstFrom);
    const auto sums = graph.node(measured).outputs;
    std::vector<ValueId> inputs{sums[0], sums[1], vectorOf(norm.inputs[1]), vectorOf(norm.inputs[2])};
    ops::CompositePart secondPart{product.op, {-1}};
    for (size_t i = 1; i < product.inputs.size(); ++i) {
      secondPart.inputs.push_back(static_cast<int32_t>(inputs.size()));
      inputs.push_back(product.inputs[i]);
    }
    const ops::NormalizeRows rows{op.epsilon, op.centered};
    const std::vector<int32_t> outputs = keeps_ ? std::vector<int32_t>{1, 0} : std::vector<int32_t>{1};
    const NodeId secondFrom[] = {norm_, second_};
    const NodeId made = add({{{rows, {0, 1, 2, 3}}, std::move(secondPart)}, outputs},
                            fmt::format("{} + {}", norm.name, product.name), std::move(inputs), secondFrom);
    const NodeId both[] = {measured, made};
    const NodeId instead[] = {first_, norm_, second_};
    if (!pays(graph, both, instead)) {
      patch.discard();
      return false;
    }
    if (!op.skip) patch.replace(norm.inputs[0], sums[0]);
    else if (op.keepSum) patch.replace(norm.outputs[1], sums[0]);
    patch.replace(product.outputs[0], graph.node(made).outputs[0]);
    if (keeps_) patch.replace(rows_, graph.node(made).outputs[1]);
    patch.commit();
    return true;
  }

 private:
  bool isOfRows(const ops::Normalization& op) const {
    const auto& shape = graph_.value(rows_).type.shape;
    const auto& node = graph_.node(graph_.value(rows_).producer);
    const bool isLast =
        op.axes.size() == 1 && (op.axes[0] == -1 || op.axes[0] == static_cast<int64_t>(shape.size()) - 1);
    return op.groups == 1 && isLast &&
           std::all_of(node.inputs.begin() + 1, node.inputs.begin() + 3, [&](ValueId input) {
             const auto& constant = graph_.value(input).constant;
             return constant != nullptr && shape.back().isConstant(constant->dims().count()) &&
                    constant->dims()[constant->dims().rank - 1] == constant->dims().count();
           });
  }

  static constexpr size_t kRows = 0, kSkipped = 3;  // inputs of the normalization

  // The product in front, which is input `part`, with the sum in its epilogue where the normalization computes one.
  bool findSum(size_t part, size_t other) {
    const auto& norm = graph_.node(norm_);
    const auto& op = *norm.op.as<ops::Normalization>();
    const ValueId value = norm.inputs[part];
    first_ = graph_.value(value).producer;
    if (productOf(graph_, first_) == nullptr || !isFree(graph_, value)) return false;
    const auto& product = graph_.node(first_);
    if (product.device != norm.device) return false;
    auto changed = *product.op.as<ops::MatMul>();
    inputs_ = product.inputs;
    if (op.skip) {
      if (graph_.isOutput(value) || graph_.uses(value).size() != 1) return false;
      if (op.keepSum && !isFree(graph_, norm.outputs[1])) return false;
      auto& instructions = changed.epilogue.instructions;
      const auto whole = instructions.empty() ? ops::ScalarArgument::input(0)
                                              : ops::ScalarArgument::result(static_cast<int>(instructions.size()) - 1);
      const auto added = ops::ScalarArgument::input(static_cast<int>(inputs_.size()) - 1);
      instructions.push_back({ops::ScalarOp::k_add, {whole, added}});
      inputs_.push_back(norm.inputs[other]);
    }
    sum_ = std::move(changed);
    const auto made = sum_.infer(product.name, graph_.inputTypes(inputs_));
    const auto& type = graph_.value(value).type;
    return made[0].dtype == type.dtype && made[0].shape == type.shape;
  }

  const Graph& graph_;
  NodeId second_, norm_ = graph::kNone, first_ = graph::kNone;
  ValueId rows_ = graph::kNone;
  bool keeps_ = false;
  ops::Operator sum_ = ops::MatMul{};
  std::vector<ValueId> inputs_;  // of it
};

}  // namespace

int joinNormalization(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    Join join(graph, id);
    if (join.fits() && join.replace(graph, pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes

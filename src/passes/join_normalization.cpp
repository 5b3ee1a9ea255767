// Normalizations of rows become part of the products in front of them and behind them.
#include <algorithm>

#include "ops/op/composite.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/normalize_rows.h"
#include "ops/op/row_moments.h"
#include "passes/common/match.h"
#include "passes/common/row_sum.h"
#include "passes/composites.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool isConstant(const Graph& graph, ValueId value) { return graph.value(value).constant != nullptr; }
bool isFree(const Graph& graph, ValueId value) { return graph.value(value).constraints == graph::Constraints{}; }

// A product, the normalization of its result or of a sum with it, and a product that reads that.
class Join {
 public:
  Join(const Graph& graph, NodeId second) : graph_(graph), second_(second) {}

  bool fits() {
    if (productWithWeights(graph_, second_) == nullptr) return false;
    const auto& product = graph_.node(second_);
    rows_ = product.inputs[0];
    norm_ = graph_.value(rows_).producer;
    if (norm_ == graph::kNone || !isFree(graph_, rows_) || !normalizesRows(graph_, norm_)) return false;
    if (graph_.node(norm_).device != product.device) return false;
    keeps_ = graph_.isOutput(rows_) || graph_.uses(rows_).size() > 1;
    // What reads the normalized rows must not be needed by the product.
    const bool isAlone = std::all_of(product.inputs.begin() + 2, product.inputs.end(), [&](ValueId input) {
      return isConstant(graph_, input) || graph_.value(input).isInput;
    });
    if (!isAlone && keeps_) return false;
    auto sum = rowSumOf(graph_, norm_);
    if (sum) sum_ = std::move(*sum);
    return sum.has_value();
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
    ops::CompositePart firstPart{sum_.op, {}};
    for (size_t i = 0; i < sum_.inputs.size(); ++i) firstPart.inputs.push_back(static_cast<int32_t>(i));
    const NodeId firstFrom[] = {sum_.product};
    const NodeId measured = add({{std::move(firstPart), {ops::RowMoments{}, {-1}}}, {0, 1}},
                                graph.node(sum_.product).name, sum_.inputs, firstFrom);
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
    const NodeId instead[] = {sum_.product, norm_, second_};
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
  const Graph& graph_;
  NodeId second_, norm_ = graph::kNone;
  ValueId rows_ = graph::kNone;
  bool keeps_ = false;
  RowSum sum_;
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

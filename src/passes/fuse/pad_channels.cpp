// conv(p(conv(x, v)), w) with channels between that are no whole packs of 16 bytes => the same with some of them twice:
// the rows of v are repeated and the columns of w halved, so that sums stay, of infinities as well. Kernels of halves
// read whole packs of channels, and move tensors only whose rows are.
#include "passes/common/pass.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/op/concat_gather.h"
#include "ops/op/convolution.h"
#include "ops/op/gather.h"
#include "ops/op/pointwise.h"

namespace tenon::passes {
namespace {

constexpr int64_t kPack = 8;            // halves of 16 bytes
constexpr int64_t kLeastChannels = 16;  // with fewer too much of the work would be that of repeated ones

int64_t channelsOf(const Graph& graph, ValueId value) { return graph.value(value).type.shape[1].constant(); }
int64_t paddedOf(const Graph& graph, ValueId value) { return (channelsOf(graph, value) + kPack - 1) / kPack * kPack; }

bool isDepthwise(const Graph& graph, const graph::Node& node) {
  const auto* op = node.op.as<ops::Convolution>();
  if (op == nullptr || op->groups == 1) return false;
  const Shape& x = graph.value(node.inputs[0]).type.shape;
  const Shape& y = graph.value(node.outputs[0]).type.shape;
  return x[1].isConstant(op->groups) && y[1].isConstant(op->groups);
}

// Whether channels of the operands can be repeated, whatever the convolution's other operands are.
bool isKnown(const Graph& graph, const graph::Node& node, const Options& options) {
  const auto constant = [&](size_t input) {
    const auto& given = graph.value(node.inputs[input]).constant;
    return given != nullptr && !(options.refittable && !given->weights().empty());
  };
  if (node.op.as<ops::ConcatGather>() != nullptr)
    return node.op.as<ops::ConcatGather>()->axis == 1 && constant(ops::ConcatGather::kIndices);
  const auto* op = node.op.as<ops::Convolution>();
  return op != nullptr && constant(1) && (op->groups == 1 || isDepthwise(graph, node));
}

// Whether the node can give some of its channels twice.
bool givesMore(const Graph& graph, const graph::Node& node, const Options& options) {
  if (!isKnown(graph, node, options)) return false;
  if (node.op.as<ops::Convolution>() == nullptr) return true;
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId input) {
    const auto& constant = graph.value(input).constant;
    const bool isBias = constant != nullptr && input == node.inputs[std::min<size_t>(2, node.inputs.size() - 1)];
    return constant != nullptr &&
           (input == node.inputs[1] || constant->count() == 1 || isBias || variesAlong(constant->dims(), shape, 1));
  });
}

bool takesMore(const Graph& graph, const graph::Use& use, const Options& options) {
  const auto& node = graph.node(use.node);
  if (!isKnown(graph, node, options)) return false;
  if (node.op.as<ops::ConcatGather>() != nullptr) return use.input != ops::ConcatGather::kIndices;
  return use.input == 0 && std::count(node.inputs.begin(), node.inputs.end(), node.inputs[0]) == 1;
}

bool isWorthIt(const Graph& graph, ValueId id, const Options& options) {
  const auto& value = graph.value(id);
  const auto& type = value.type;
  if (value.producer == graph::kNone || type.rank() != 4 || !isFloating(type.dtype) || bits(type.dtype) != 16 ||
      !type.shape[1].isConstant() || graph.isOutput(id) || value.constraints != graph::Constraints{})
    return false;
  const int64_t channels = type.shape[1].constant();
  if (channels < kLeastChannels || channels % kPack == 0) return false;
  if (!givesMore(graph, graph.node(value.producer), options)) return false;
  const auto& uses = graph.uses(id);
  const auto convolves = [&](NodeId node) { return graph.node(node).op.as<ops::Convolution>() != nullptr; };
  return (convolves(value.producer) ||
          std::any_of(uses.begin(), uses.end(), [&](const graph::Use& use) { return convolves(use.node); })) &&
         std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) { return takesMore(graph, use, options); });
}

// The values whose channels become more: what a depthwise convolution reads and gives belongs together.
std::set<ValueId> valuesOf(const Graph& graph, const Options& options) {
  std::set<ValueId> result;
  for (const NodeId id : graph.order()) {
    for (const ValueId output : graph.node(id).outputs) {
      if (isWorthIt(graph, output, options)) result.insert(output);
    }
  }
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (const NodeId id : graph.order()) {
      const auto& node = graph.node(id);
      if (!isDepthwise(graph, node) || result.contains(node.inputs[0]) == result.contains(node.outputs[0])) continue;
      result.erase(node.inputs[0]);
      result.erase(node.outputs[0]);
      isDone = false;
    }
  }
  return result;
}

ConstantPtr tableOf(const std::vector<int64_t>& indices) {
  HostTensor table(DataType::kI32, {static_cast<int64_t>(indices.size())});
  for (size_t i = 0; i < indices.size(); ++i) table.view().storeInt(static_cast<int64_t>(i), indices[i]);
  return Constant::own(std::move(table));
}

class Padder {
 public:
  Padder(Graph& graph, std::set<ValueId> values) : graph_(graph), values_(std::move(values)), patch_(graph) {}

  int run() {
    const auto order = graph_.order();
    int edits = 0;
    for (const NodeId id : order) {
      const auto& node = graph_.node(id);
      const auto isOne = [&](ValueId value) { return values_.contains(value); };
      if (std::none_of(node.inputs.begin(), node.inputs.end(), isOne) &&
          std::none_of(node.outputs.begin(), node.outputs.end(), isOne))
        continue;
      ++edits;
      const ValueId result = node.op.as<ops::Convolution>() != nullptr ? convolution(id) : gather(id);
      if (isOne(node.outputs[0])) {
        more_[node.outputs[0]] = result;
      } else {
        patch_.replace(node.outputs[0], result);
      }
    }
    patch_.commit();
    return edits;
  }

 private:
  // The channels of the value as it becomes, by those that it has.
  std::vector<int64_t> sources(ValueId value) const {
    const int64_t channels = channelsOf(graph_, value);
    std::vector<int64_t> result(static_cast<size_t>(paddedOf(graph_, value)));
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int64_t>(i) % channels;
    return result;
  }

  ConstantPtr repeated(const ConstantPtr& constant, ValueId value, int axis) const {
    return Constant::recipe(ops::Gather{ops::GatherMode::kDefault, axis, 0}, {constant, tableOf(sources(value))});
  }

  // Columns of weights for channels that are there twice are half.
  ConstantPtr shared(const ConstantPtr& weights, ValueId value) const {
    const int64_t channels = channelsOf(graph_, value), all = paddedOf(graph_, value);
    HostTensor factors(weights->dtype(), {1, all, 1, 1});
    for (int64_t i = 0; i < all; ++i) factors.view().storeDouble(i, i < all - channels || i >= channels ? 0.5 : 1.0);
    return Constant::recipe(ops::Pointwise{ops::ScalarExpr::of(ops::ScalarOp::k_mul)},
                            {repeated(weights, value, 1), Constant::own(std::move(factors))});
  }

  ValueId convolution(NodeId id) {
    const auto node = graph_.node(id);
    auto op = *node.op.as<ops::Convolution>();
    const ValueId y = node.outputs[0];
    auto inputs = node.inputs;
    auto weights = graph_.value(inputs[1]).constant;
    if (values_.contains(inputs[0])) {
      if (op.groups == 1) weights = shared(weights, inputs[0]);
      inputs[0] = more_.at(inputs[0]);
    }
    if (values_.contains(y)) {
      weights = repeated(weights, y, 0);
      if (op.groups != 1) op.groups = paddedOf(graph_, y);
      for (size_t i = 2; i < inputs.size(); ++i) {
        const auto given = graph_.value(inputs[i]).constant;
        if (given->count() == 1) continue;
        int axis = 0;
        while (given->dims()[axis] == 1) ++axis;
        inputs[i] = patch_.addConstant(repeated(given, y, axis), graph_.value(inputs[i]).name + "_repeated");
      }
    }
    inputs[1] = patch_.addConstant(weights, graph_.value(inputs[1]).name + "_repeated");
    const NodeId from[] = {id};
    return patch_.add(std::move(op), node.name, std::move(inputs), from);
  }

  ValueId gather(NodeId id) {
    const auto node = graph_.node(id);
    const auto& given = graph_.value(node.inputs[ops::ConcatGather::kIndices]).constant->view();
    auto inputs = node.inputs;
    std::vector<int64_t> places;  // of each channel, in what is read now
    int64_t before = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == ops::ConcatGather::kIndices) continue;
      const bool isMore = values_.contains(inputs[i]);
      for (int64_t k = 0; k < channelsOf(graph_, inputs[i]); ++k) places.push_back(before + k);
      before += isMore ? paddedOf(graph_, inputs[i]) : channelsOf(graph_, inputs[i]);
      if (isMore) inputs[i] = more_.at(inputs[i]);
    }
    std::vector<int64_t> indices;
    const ValueId y = node.outputs[0];
    const auto all = static_cast<int64_t>(places.size());
    const auto add = [&](int64_t i) {
      const int64_t at = given.loadInt(i);
      indices.push_back(places[static_cast<size_t>(at < 0 ? at + all : at)]);
    };
    for (int64_t i = 0; i < given.count(); ++i) add(i);
    if (values_.contains(y)) {
      for (int64_t i = 0; i < paddedOf(graph_, y) - channelsOf(graph_, y); ++i) add(i);
    }
    inputs[ops::ConcatGather::kIndices] = patch_.addConstant(tableOf(indices), node.name + "_picks");
    const NodeId from[] = {id};
    return patch_.add(node.op, node.name, std::move(inputs), from);
  }

  Graph& graph_;
  const std::set<ValueId> values_;
  graph::Patch patch_;
  std::map<ValueId, ValueId> more_;
};

}  // namespace

int pass_pad_channels(Graph& graph, const Options& options) {
  auto values = valuesOf(graph, options);
  return values.empty() ? 0 : Padder(graph, std::move(values)).run();
}

}  // namespace tenon::passes

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
#include "ops/op/slice.h"

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

// Whether a slice takes neighbouring channels, and everything of them.
bool takesChannels(const ops::Slice& slice, const Shape& in) {
  if (slice.mode != ops::SliceMode::kStrict || !slice.start[1].isConstant() || !slice.size[1].isConstant())
    return false;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!slice.stride.empty() && !slice.stride[i].isConstant(1)) return false;
    if (i != 1 && !(slice.start[i].isConstant(0) && slice.size[i] == in[i])) return false;
  }
  return true;
}

// Whether channels of the node's operands can be repeated.
bool isKnown(const Graph& graph, const graph::Node& node, const Options& options) {
  const auto constant = [&](size_t input) {
    const auto& given = graph.value(node.inputs[input]).constant;
    return given != nullptr && !(options.refittable && !given->weights().empty());
  };
  if (node.op.as<ops::ConcatGather>() != nullptr)
    return node.op.as<ops::ConcatGather>()->axis == 1 && constant(ops::ConcatGather::kIndices);
  if (const auto* slice = node.op.as<ops::Slice>())
    return takesChannels(*slice, graph.value(node.inputs[0]).type.shape);
  if (node.op.as<ops::Pointwise>() != nullptr) return true;
  const auto* op = node.op.as<ops::Convolution>();
  return op != nullptr && constant(1) && (op->groups == 1 || isDepthwise(graph, node)) &&
         std::count(node.inputs.begin(), node.inputs.end(), node.inputs[0]) == 1;
}

// The operands whose channels belong together with those of the result.
std::vector<ValueId> operandsOf(const Graph& graph, const graph::Node& node) {
  const bool convolves = node.op.as<ops::Convolution>() != nullptr;
  if (!convolves && node.op.as<ops::Pointwise>() == nullptr) return {};
  const auto begin = node.inputs.begin() + (convolves ? 2 : 0);
  std::vector<ValueId> result(begin, node.inputs.end());
  if (convolves && isDepthwise(graph, node)) result.push_back(node.inputs[0]);
  return result;
}

// Whether the node can give some of its channels twice, where its operands do.
bool givesMore(const Graph& graph, const graph::Node& node, const Options& options) {
  if (!isKnown(graph, node, options)) return false;
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  const auto* op = node.op.as<ops::Convolution>();
  const auto operands = operandsOf(graph, node);
  return std::all_of(operands.begin(), operands.end(), [&](ValueId operand) {
    const auto& value = graph.value(operand);
    if (value.constant == nullptr) return value.type.rank() == 4 && value.type.shape[1] == shape[1];
    const bool isBias = op != nullptr && op->hasBias && operand == node.inputs[2];
    return value.constant->count() == 1 || isBias || variesAlong(value.constant->dims(), shape, 1);
  });
}

bool takesMore(const Graph& graph, const graph::Use& use, const Options& options) {
  const auto& node = graph.node(use.node);
  if (node.op.as<ops::ConcatGather>() != nullptr && use.input == ops::ConcatGather::kIndices) return false;
  return isKnown(graph, node, options);
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
  return std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) { return takesMore(graph, use, options); });
}

bool isByConvolution(const Graph& graph, ValueId id) {
  const auto convolves = [&](NodeId node) { return graph.node(node).op.as<ops::Convolution>() != nullptr; };
  const auto& uses = graph.uses(id);
  return convolves(graph.value(id).producer) ||
         std::any_of(uses.begin(), uses.end(), [&](const graph::Use& use) { return convolves(use.node); });
}

// The values whose channels a node brings together.
std::vector<ValueId> togetherAt(const Graph& graph, const graph::Node& node) {
  auto result = operandsOf(graph, node);
  if (result.empty()) return result;
  std::erase_if(result, [&](ValueId value) { return graph.value(value).constant != nullptr; });
  result.push_back(node.outputs[0]);
  return result;
}

using Groups = std::vector<std::vector<ValueId>>;

// What nodes bring together, in order and back, so that a walk follows chains in both directions.
Groups groupsOf(const Graph& graph) {
  Groups groups;
  for (const NodeId id : graph.order()) {
    auto together = togetherAt(graph, graph.node(id));
    if (!together.empty()) groups.push_back(std::move(together));
  }
  const Groups back(groups.rbegin(), groups.rend());
  groups.insert(groups.end(), back.begin(), back.end());
  return groups;
}

// The values whose channels become more: what scalar work and depthwise convolutions read and give belongs together.
std::set<ValueId> valuesOf(const Graph& graph, const Groups& groups, const Options& options) {
  std::set<ValueId> result;
  for (const NodeId id : graph.order()) {
    for (const ValueId output : graph.node(id).outputs) {
      if (isWorthIt(graph, output, options)) result.insert(output);
    }
  }
  const auto isOne = [&](ValueId value) { return result.contains(value); };
  for (size_t before = 0; before != result.size();) {
    before = result.size();
    for (const auto& group : groups) {
      if (std::all_of(group.begin(), group.end(), isOne)) continue;
      for (const ValueId value : group) result.erase(value);
    }
  }
  return result;
}

// Those of them that a convolution gives or reads, and what belongs together with such.
std::set<ValueId> worthwhile(const Graph& graph, const Groups& groups, const std::set<ValueId>& values) {
  std::set<ValueId> result;
  for (const ValueId value : values) {
    if (isByConvolution(graph, value)) result.insert(value);
  }
  const auto isOne = [&](ValueId value) { return result.contains(value); };
  for (size_t before = 0; before != result.size();) {
    before = result.size();
    for (const auto& group : groups) {
      if (std::any_of(group.begin(), group.end(), isOne)) result.insert(group.begin(), group.end());
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
      const ValueId result = node.op.as<ops::Convolution>() != nullptr    ? convolution(id)
                             : node.op.as<ops::ConcatGather>() != nullptr ? gather(id)
                             : node.op.as<ops::Pointwise>() != nullptr    ? pointwise(id)
                                                                          : slice(id);
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
      for (size_t i = 2; i < inputs.size(); ++i) inputs[i] = operand(inputs[i], y);
    }
    inputs[1] = patch_.addConstant(weights, graph_.value(inputs[1]).name + "_repeated");
    const NodeId from[] = {id};
    return patch_.add(std::move(op), node.name, std::move(inputs), from);
  }

  // Of scalar work whose result is y.
  ValueId operand(ValueId given, ValueId y) {
    const auto constant = graph_.value(given).constant;
    if (constant == nullptr) return more_.at(given);
    if (constant->count() == 1) return given;
    int axis = 0;
    while (constant->dims()[axis] == 1) ++axis;
    return patch_.addConstant(repeated(constant, y, axis), graph_.value(given).name + "_repeated");
  }

  ValueId pointwise(NodeId id) {
    const auto node = graph_.node(id);
    auto inputs = node.inputs;
    for (auto& input : inputs) input = operand(input, node.outputs[0]);
    const NodeId from[] = {id};
    return patch_.add(node.op, node.name, std::move(inputs), from);
  }

  ValueId slice(NodeId id) {
    const auto node = graph_.node(id);
    const ValueId x = values_.contains(node.inputs[0]) ? more_.at(node.inputs[0]) : node.inputs[0];
    const NodeId from[] = {id};
    if (!values_.contains(node.outputs[0])) return patch_.add(node.op, node.name, {x}, from);
    auto indices = sources(node.outputs[0]);
    for (auto& index : indices) index += node.op.as<ops::Slice>()->start[1].constant();
    const ValueId table = patch_.addConstant(tableOf(indices), node.name + "_picks");
    return patch_.add(ops::ConcatGather{1}, node.name, {x, table}, from);
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
  const auto groups = groupsOf(graph);
  auto values = worthwhile(graph, groups, valuesOf(graph, groups, options));
  return values.empty() ? 0 : Padder(graph, std::move(values)).run();
}

}  // namespace tenon::passes

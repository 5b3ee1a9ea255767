// concat(a c - b s, a s + b c) of two slices of x, halves or every other column, => rotate_pairs(x, c, s): rotary
// embedding in one step, which no slice stands in front of. A transpose of other axes in front of it comes to stand
// behind it, where another one or attention takes it in.
#include "passes/common/pass.h"

#include <utility>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/rotate_pairs.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

using Pair = std::pair<ValueId, ValueId>;

// The operands of a node of one scalar operator.
std::optional<Pair> operandsOf(const Graph& graph, ValueId value, std::string_view expression) {
  const auto* pointwise = producerOp<ops::Pointwise>(graph, value);
  if (pointwise == nullptr || ops::text(pointwise->expr) != expression) return std::nullopt;
  const auto& inputs = graph.node(graph.value(value).producer).inputs;
  return inputs.size() == 2 ? std::optional(Pair{inputs[0], inputs[1]}) : std::nullopt;
}

bool isProductOf(const Pair& product, ValueId a, ValueId b) { return product == Pair{a, b} || product == Pair{b, a}; }

struct Rotation {
  ValueId x = graph::kNone, cosines = graph::kNone, sines = graph::kNone;
  bool interleaved = false;
};

// Which columns of what a slice takes: the first one, and their step.
struct Columns {
  ValueId x;
  int64_t first, step;
};

std::optional<Columns> columnsOf(const Graph& graph, ValueId value, const Extent& pairs) {
  const auto* slice = producerOp<ops::Slice>(graph, value);
  if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || !(slice->size.back() == pairs)) return std::nullopt;
  const ValueId x = graph.node(graph.value(value).producer).inputs[0];
  const auto& shape = graph.value(x).type.shape;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    const bool isWhole = slice->start[i].isConstant(0) && slice->size[i] == shape[i] &&
                         (slice->stride.empty() || slice->stride[i].isConstant(1));
    if (!isWhole) return std::nullopt;
  }
  const Extent step = slice->stride.empty() ? Extent(1) : slice->stride.back();
  if (!slice->start.back().isConstant() || !step.isConstant()) return std::nullopt;
  return Columns{x, slice->start.back().constant(), step.constant()};
}

// a c - b s and a s + b c.
std::optional<Rotation> rotationOf(const Graph& graph, ValueId real, ValueId imaginary) {
  const auto difference = operandsOf(graph, real, "sub(x0,x1)");
  const auto sum = operandsOf(graph, imaginary, "add(x0,x1)");
  if (!difference || !sum) return std::nullopt;
  const auto ac = operandsOf(graph, difference->first, "mul(x0,x1)");
  const auto bs = operandsOf(graph, difference->second, "mul(x0,x1)");
  const auto left = operandsOf(graph, sum->first, "mul(x0,x1)");
  const auto right = operandsOf(graph, sum->second, "mul(x0,x1)");
  if (!ac || !bs || !left || !right) return std::nullopt;
  const Extent pairs = graph.value(real).type.shape.empty() ? Extent(0) : graph.value(real).type.shape.back();
  if (!pairs.isConstant() || pairs.isConstant(0)) return std::nullopt;
  for (const auto& [a, c] : {*ac, Pair{ac->second, ac->first}}) {
    for (const auto& [b, s] : {*bs, Pair{bs->second, bs->first}}) {
      const bool isTurned = (isProductOf(*left, a, s) && isProductOf(*right, b, c)) ||
                            (isProductOf(*left, b, c) && isProductOf(*right, a, s));
      const auto first = isTurned ? columnsOf(graph, a, pairs) : std::nullopt;
      const auto second = isTurned ? columnsOf(graph, b, pairs) : std::nullopt;
      if (!first || !second || first->x != second->x || first->step != second->step || first->first != 0) continue;
      const bool interleaved = first->step == 2 && second->first == 1;
      if (!interleaved && !(first->step == 1 && pairs.isConstant(second->first))) continue;
      return Rotation{first->x, c, s, interleaved};
    }
  }
  return std::nullopt;
}

// The tensor behind a reshape that adds a last axis of one element.
ValueId withoutLastAxis(const Graph& graph, ValueId value) {
  if (producerOp<ops::Reshape>(graph, value) == nullptr) return graph::kNone;
  const ValueId source = graph.node(graph.value(value).producer).inputs[0];
  Shape shape = graph.value(source).type.shape;
  shape.push_back(Extent(1));
  return shape == graph.value(value).type.shape ? source : graph::kNone;
}

bool find(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* concat = node.op.as<ops::Concat>();
  if (concat == nullptr || node.inputs.size() != 2) return false;
  const ValueId output = node.outputs[0];
  const Shape shape = graph.value(output).type.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (concat->axis != rank - 1 && concat->axis != -1) return false;
  auto rotation = rotationOf(graph, node.inputs[0], node.inputs[1]);
  const bool isHalves = rotation && !rotation->interleaved;
  if (!isHalves) {
    const ValueId real = withoutLastAxis(graph, node.inputs[0]);
    const ValueId imaginary = withoutLastAxis(graph, node.inputs[1]);
    if (real == graph::kNone || imaginary == graph::kNone) return false;
    rotation = rotationOf(graph, real, imaginary);
    if (!rotation || !rotation->interleaved) return false;
  }
  const ops::RotatePairs op{rotation->interleaved};
  std::vector<ValueId> inputs{rotation->x, rotation->cosines, rotation->sines};
  const auto types = graph.inputTypes(inputs);
  const auto isReal = [](const auto& type) { return type.dtype == DataType::kF32; };
  if (!std::all_of(types.begin(), types.end(), isReal)) return false;
  const Shape& x = types[0].shape;
  if (!(types[1].shape == types[2].shape) || types[1].shape.empty() || types[1].shape.size() > x.size()) return false;
  for (size_t i = 1; i <= types[1].shape.size(); ++i) {
    const Extent& extent = types[1].shape[types[1].shape.size() - i];
    const bool fits = i == 1 ? extent * 2 == (isHalves ? shape.back() : shape[shape.size() - 2] * 2)
                             : extent.isConstant(1) || extent == x[x.size() - i];
    if (!fits) return false;
  }
  if (!x.back().isConstant() || (options.computes && !options.computes(op, types))) return false;
  const NodeId from[] = {id};
  const std::string name = node.name;
  graph::Patch patch(graph);
  const auto* const turned = producerOp<ops::Transpose>(graph, inputs[0]);
  const bool isMoved = turned != nullptr && turned->permutation.back() == static_cast<int64_t>(x.size()) - 1 &&
                       types[1].shape.size() == x.size();
  const ops::Transpose behind = isMoved ? *turned : ops::Transpose{};
  if (isMoved) {
    ops::Transpose back = behind;
    for (size_t i = 0; i < x.size(); ++i)
      back.permutation[static_cast<size_t>(behind.permutation[i])] = static_cast<int64_t>(i);
    inputs[0] = graph.node(graph.value(inputs[0]).producer).inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) inputs[i] = patch.add(back, name, {inputs[i]}, from);
  }
  ValueId y = patch.add(op, name, std::move(inputs), from);
  if (isMoved) y = patch.add(behind, name, {y}, from);
  if (!isHalves) {
    ops::Reshape reshape;
    reshape.shape = shape;
    y = patch.add(std::move(reshape), name, {y}, from);
  }
  patch.replace(output, y);
  patch.commit();
  return true;
}

}  // namespace

int pass_find_rotation(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return find(graph, id, options); });
}

}  // namespace tenon::passes

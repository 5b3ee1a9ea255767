// scatter(x, i, u) whose constant indices i are all those of a box of x, in order => x with u in the box's place, a
// concatenation of slices; where u = x's own box + r => x + r with zeros around it. Exporters write so what is assigned
// to a slice.
#include "passes/common/pass.h"

#include <optional>
#include <vector>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/scatter.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// Along the axes of x.
struct Box {
  std::vector<int64_t> start, size, extent;

  bool operator==(const Box&) const = default;
  bool isWhole(size_t axis) const { return start[axis] == 0 && size[axis] == extent[axis]; }
};

// One of the numbers that an index of several axes has, for each place of the updates.
struct Coordinate {
  TensorView view;
  int64_t first = 0, step = 1;  // of its elements

  int64_t at(int64_t place) const {
    const int64_t element = first + place * step;
    return view.dtype == DataType::kI64 ? static_cast<const int64_t*>(view.data)[element]
                                        : static_cast<const int32_t*>(view.data)[element];
  }
};

// Those of indices that are a constant, or constants side by side.
std::vector<Coordinate> coordinatesOf(const Graph& graph, ValueId indices, const Options& options) {
  std::vector<Coordinate> result;
  const auto append = [&](ValueId value) {
    const auto& constant = graph.value(value).constant;
    if (constant == nullptr || (options.refittable && !constant->weights().empty())) return false;
    if (constant->dtype() != DataType::kI64 && constant->dtype() != DataType::kI32) return false;
    const auto view = constant->view();
    const int64_t step = view.dims[view.dims.rank - 1];
    for (int64_t k = 0; k < step; ++k) result.push_back({view, k, step});
    return true;
  };
  if (append(indices)) return result;
  const auto producer = graph.value(indices).producer;
  const auto* concat = producer == graph::kNone ? nullptr : graph.node(producer).op.as<ops::Concat>();
  const auto rank = static_cast<int64_t>(graph.value(indices).type.shape.size());
  if (concat == nullptr || (concat->axis != -1 && concat->axis != rank - 1)) return {};
  for (const auto input : graph.node(producer).inputs) {
    if (!append(input)) return {};
  }
  return result;
}

// Whether each place has, beside a number for all, the position along its axis, or none (-1).
bool followsAxes(const Coordinate& coordinate, int axis, const std::vector<int64_t>& extents) {
  const int64_t start = coordinate.at(0);
  int64_t outer = 1, own = 1, inner = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    auto& part = static_cast<int>(i) < axis ? outer : static_cast<int>(i) == axis ? own : inner;
    part *= extents[i];
  }
  int64_t place = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < own; ++k) {
      for (int64_t i = 0; i < inner; ++i, ++place) {
        if (coordinate.at(place) != start + k) return false;
      }
    }
  }
  return true;
}

std::optional<Box> boxOf(const Graph& graph, const Node& node, const Options& options) {
  const auto* scatter = node.op.as<ops::Scatter>();
  if (scatter == nullptr || scatter->mode != ops::ScatterMode::kNd) return std::nullopt;
  Box box;
  for (const auto& extent : graph.value(node.inputs[0]).type.shape) {
    if (!extent.isConstant()) return std::nullopt;
    box.extent.push_back(extent.constant());
  }
  box.start.assign(box.extent.size(), 0);
  box.size = box.extent;
  const auto coordinates = coordinatesOf(graph, node.inputs[1], options);
  if (coordinates.empty() || coordinates.size() > box.extent.size()) return std::nullopt;
  std::vector<int64_t> places;
  int64_t count = 1;
  for (const auto& extent : graph.value(node.inputs[1]).type.shape) {
    if (!extent.isConstant()) return std::nullopt;
    places.push_back(extent.constant());
  }
  places.pop_back();
  for (const int64_t extent : places) count *= extent;
  if (count == 0) return std::nullopt;
  // Axes of the updates belong to those of x in order, and each of more than one place to one of them.
  int next = 0;
  for (size_t k = 0; k < coordinates.size(); ++k) {
    const auto& coordinate = coordinates[k];
    if (coordinate.at(0) < -box.extent[k] || coordinate.at(0) >= box.extent[k]) return std::nullopt;
    int axis = -1;
    while (next < static_cast<int>(places.size()) && places[static_cast<size_t>(next)] == 1) ++next;
    if (next < static_cast<int>(places.size())) {
      int64_t step = 1;
      for (size_t i = static_cast<size_t>(next) + 1; i < places.size(); ++i) step *= places[i];
      if (coordinate.at(step) == coordinate.at(0) + 1) axis = next++;
    }
    box.size[k] = axis < 0 ? 1 : places[static_cast<size_t>(axis)];
    box.start[k] = coordinate.at(0) + (coordinate.at(0) < 0 ? box.extent[k] : 0);
    if (box.start[k] > box.extent[k] - box.size[k] || !followsAxes(coordinate, axis, places)) return std::nullopt;
  }
  while (next < static_cast<int>(places.size())) {
    if (places[static_cast<size_t>(next++)] != 1) return std::nullopt;  // several updates of one element
  }
  return box;
}

Shape shapeOf(const std::vector<int64_t>& extents) { return {extents.begin(), extents.end()}; }

// r of a sum u = x's box + r; none where u is something else.
std::optional<ValueId> addedTo(const Graph& graph, ValueId x, ValueId u, const Box& box) {
  const auto producer = graph.value(u).producer;
  const auto* sum = producer == graph::kNone ? nullptr : graph.node(producer).op.as<ops::Pointwise>();
  if (sum == nullptr || graph.node(producer).inputs.size() != 2 ||
      !(sum->expr == ScalarExpr::of(ScalarOp::k_add, {ScalarArgument::input(0), ScalarArgument::input(1)})))
    return std::nullopt;
  if (graph.value(u).type.shape != shapeOf(box.size)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const auto piece = graph.value(graph.node(producer).inputs[i]).producer;
    const auto* slice = piece == graph::kNone ? nullptr : graph.node(piece).op.as<ops::Slice>();
    if (slice == nullptr || graph.node(piece).inputs[0] != x || slice->mode != ops::SliceMode::kStrict) continue;
    bool isBox = slice->start == shapeOf(box.start) && slice->size == shapeOf(box.size);
    for (const auto& stride : slice->stride) isBox = isBox && stride.isConstant(1);
    const ValueId other = graph.node(producer).inputs[1 - i];
    if (isBox && graph.value(other).type.shape == shapeOf(box.size)) return other;
  }
  return std::nullopt;
}

struct Writer {
  graph::Patch& patch;
  const Box& box;
  const std::string& name;
  std::span<const NodeId> from;

  // `x`: whole along this axis and those behind it, the box along those in front.
  ValueId replaced(ValueId x, std::vector<int64_t> size, ValueId u, size_t axis) const {
    while (axis < size.size() && box.isWhole(axis)) ++axis;
    if (axis == size.size()) return u;
    const auto piece = [&](int64_t first, int64_t count) {
      ops::Slice slice{Shape(size.size(), 0), shapeOf(size), {}, ops::SliceMode::kStrict};
      slice.start[axis] = first;
      slice.size[axis] = count;
      return patch.add(std::move(slice), name, {x}, from);
    };
    const int64_t end = box.start[axis] + box.size[axis];
    std::vector<ValueId> parts;
    if (box.start[axis] > 0) parts.push_back(piece(0, box.start[axis]));
    auto middle = size;
    middle[axis] = box.size[axis];
    bool isLast = true;
    for (size_t i = axis + 1; i < size.size(); ++i) isLast = isLast && box.isWhole(i);
    parts.push_back(isLast ? u : replaced(piece(box.start[axis], box.size[axis]), middle, u, axis + 1));
    if (end < box.extent[axis]) parts.push_back(piece(end, box.extent[axis] - end));
    return patch.add(ops::Concat{static_cast<int64_t>(axis)}, name, parts, from);
  }
};

bool toBox(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto box = boxOf(graph, node, options);
  if (!box) return false;
  // The last one of several that write the same box is the one that counts.
  for (const auto& use : graph.uses(node.outputs[0])) {
    if (use.input == 0 && boxOf(graph, graph.node(use.node), options) == box) return false;
  }
  ValueId x = node.inputs[0];
  for (auto before = graph.value(x).producer;
       before != graph::kNone && boxOf(graph, graph.node(before), options) == box; before = graph.value(x).producer)
    x = graph.node(before).inputs[0];
  const auto name = node.name;
  const auto output = node.outputs[0];
  const auto u = node.inputs[2];
  const auto added = addedTo(graph, x, u, *box);
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  if (added) {
    ops::Slice around{Shape(box->size.size(), 0), shapeOf(box->extent), {}, ops::SliceMode::kFill};
    for (size_t i = 0; i < box->start.size(); ++i) around.start[i] = -box->start[i];
    const ValueId padded = patch.add(std::move(around), name, {*added}, from);
    const auto sum = ScalarExpr::of(ScalarOp::k_add, {ScalarArgument::input(0), ScalarArgument::input(1)});
    patch.replace(output, patch.add(ops::Pointwise{sum}, name, {x, padded}, from));
  } else {
    const ValueId whole = graph.value(u).type.shape == shapeOf(box->size)
                              ? u
                              : patch.add(ops::Reshape{shapeOf(box->size)}, name, {u}, from);
    patch.replace(output, Writer{patch, *box, name, from}.replaced(x, box->extent, whole, 0));
  }
  patch.commit();
  return true;
}

}  // namespace

int pass_scatter_boxes(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return toBox(graph, id, options); });
}

}  // namespace tenon::passes

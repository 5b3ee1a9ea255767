// Factors of extents, followed back through movement.
#include "passes/common/movement_view.h"

#include <algorithm>

#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {

using graph::Graph;
using graph::ValueId;

namespace {

std::vector<int> flat(const std::vector<std::vector<int>>& groups) {
  std::vector<int> line;
  for (const auto& group : groups) line.insert(line.end(), group.begin(), group.end());
  return line;
}

}  // namespace

MovementView::MovementView(const Graph& graph, ValueId value) : source_(value) {
  for (const Extent& extent : graph.value(value).type.shape) {
    axes_.emplace_back();
    if (extent.isConstant(1)) continue;
    axes_.back().push_back(static_cast<int>(factors_.size()));
    factors_.push_back({extent, std::nullopt});
  }
  stored_ = axes_;
}

Extent MovementView::extent(const std::vector<int>& ids) const {
  Extent result = 1;
  for (const int id : ids) result = result * factor(id).extent;
  return result;
}

std::vector<int> MovementView::order() const { return flat(axes_); }

std::vector<int> MovementView::stored() const { return flat(stored_); }

std::vector<int> MovementView::seen() const {
  auto line = stored();
  std::erase_if(line, [&](int id) { return factor(id).index.has_value(); });
  return line;
}

// A factor becomes two; the second is new and stands behind the first wherever that stands.
void MovementView::split(int id, const Extent& outer, const Extent& inner) {
  const int added = static_cast<int>(factors_.size());
  factors_.push_back({inner, std::nullopt});
  auto& whole = factors_[static_cast<size_t>(id)];
  whole.extent = outer;
  if (whole.index) {
    factors_.back().index = *whole.index % inner.constant();
    whole.index = *whole.index / inner.constant();
  }
  for (auto* groups : {&axes_, &stored_}) {
    for (auto& group : *groups) {
      const auto found = std::find(group.begin(), group.end(), id);
      if (found != group.end()) group.insert(found + 1, added);
    }
  }
}

// The factors line[first..first + count) as these extents, whose product theirs is.
bool MovementView::divide(std::vector<int>& line, size_t first, std::span<const Extent> extents, size_t count,
                          std::vector<std::vector<int>>& groups) {
  if (extents.size() == 1) {
    groups[0].assign(line.begin() + static_cast<std::ptrdiff_t>(first),
                     line.begin() + static_cast<std::ptrdiff_t>(first + count));
    return true;
  }
  const auto cut = [&](const Extent& outer, const Extent& inner) {
    const bool countable = outer.isConstant() && inner.isConstant();
    if (factor(line[first]).index && !countable) return false;
    split(line[first], outer, inner);
    line.insert(line.begin() + static_cast<std::ptrdiff_t>(first) + 1, static_cast<int>(factors_.size()) - 1);
    return true;
  };
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis].isConstant(1)) continue;
    if (count == 1) {  // one factor, symbolic or not, is the product of what is left
      Extent rest = 1;
      for (size_t i = axis + 1; i < extents.size(); ++i) rest = rest * extents[i];
      if (!rest.isConstant(1) && !cut(extents[axis], rest)) return false;
      groups[axis].push_back(line[first++]);
      continue;
    }
    if (!extents[axis].isConstant()) return false;
    int64_t wanted = extents[axis].constant();
    while (wanted > 1) {
      if (count == 0 || !factor(line[first]).extent.isConstant()) return false;
      const int64_t here = factor(line[first]).extent.constant();
      if (here == 0 || (wanted % here != 0 && here % wanted != 0)) return false;
      if (here > wanted) {
        if (!cut(wanted, here / wanted)) return false;
        ++count;
      }
      groups[axis].push_back(line[first++]);
      --count;
      wanted /= std::min(here, wanted);
    }
  }
  return true;
}

// The source's factors as the axes of another shape of as many elements.
bool MovementView::regroup(const Shape& shape) {
  auto line = stored();
  std::vector<std::vector<int>> groups(shape.size());
  size_t axis = 0;
  size_t at = 0;
  const auto skipOnes = [&] {
    while (axis < shape.size() && shape[axis].isConstant(1)) ++axis;
  };
  for (skipOnes(); axis < shape.size(); skipOnes()) {
    // The shortest runs of axes and of factors with equal products.
    size_t axes = 0;
    size_t count = 0;
    for (size_t total = 2; axes == 0 && total <= shape.size() - axis + line.size() - at; ++total) {
      for (size_t n = 1; n < total && axes == 0; ++n) {
        if (axis + n > shape.size() || at + total - n > line.size()) continue;
        const std::vector<int> some(line.begin() + static_cast<std::ptrdiff_t>(at),
                                    line.begin() + static_cast<std::ptrdiff_t>(at + total - n));
        if (product(shape, axis, axis + n) == extent(some)) {
          axes = n;
          count = total - n;
        }
      }
    }
    if (axes == 0) return false;
    std::vector<std::vector<int>> run(axes);
    const size_t before = line.size();
    if (!divide(line, at, std::span(shape).subspan(axis, axes), count, run)) return false;
    std::move(run.begin(), run.end(), groups.begin() + static_cast<std::ptrdiff_t>(axis));
    axis += axes;
    at += count + line.size() - before;
  }
  if (at != line.size()) return false;
  stored_ = std::move(groups);
  return true;
}

// The piece [start, start + size) of each axis of the whole: everything, or one of equal parts.
bool MovementView::backThroughSlice(const Shape& whole, const Shape& start, const Shape& size) {
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    if (start[axis].isConstant(0) && size[axis] == whole[axis]) continue;
    if (!start[axis].isConstant() || !size[axis].isConstant() || !whole[axis].isConstant()) return false;
    const int64_t part = size[axis].constant();
    if (part < 1 || whole[axis].constant() % part != 0 || start[axis].constant() % part != 0) return false;
    const int added = static_cast<int>(factors_.size());
    factors_.push_back({whole[axis].constant() / part, start[axis].constant() / part});
    stored_[axis].insert(stored_[axis].begin(), added);
  }
  return true;
}

bool MovementView::stepBack(const Graph& graph) {
  const auto& value = graph.value(source_);
  return value.producer != graph::kNone && value.constraints == graph::Constraints{} &&
         stepBackFrom(graph, value.producer);
}

bool MovementView::stepBackFrom(const Graph& graph, graph::NodeId producer) {
  const auto& node = graph.node(producer);
  if (node.inputs.empty()) return false;
  const Shape& before = graph.value(node.inputs[0]).type.shape;
  MovementView stepped = *this;
  stepped.source_ = node.inputs[0];
  if (node.op.as<ops::Reshape>() != nullptr) {
    if (!stepped.regroup(before)) return false;
  } else if (const auto* transpose = node.op.as<ops::Transpose>()) {
    for (size_t i = 0; i < before.size(); ++i)
      stepped.stored_[static_cast<size_t>(transpose->permutation[i])] = stored_[i];
  } else if (const auto* slice = node.op.as<ops::Slice>()) {
    const bool steps =
        std::all_of(slice->stride.begin(), slice->stride.end(), [](const Extent& e) { return e.isConstant(1); });
    if (!steps || slice->mode != ops::SliceMode::kStrict ||
        !stepped.backThroughSlice(before, slice->start, slice->size))
      return false;
  } else {
    return false;
  }
  *this = std::move(stepped);
  return true;
}

// The order cut where neighbours are no neighbours in memory.
MovementView::Runs MovementView::longestRuns(const std::vector<int>& order) const {
  const auto line = seen();
  Runs result;
  for (const int id : order) {
    const auto at = std::find(line.begin(), line.end(), id);
    const bool follows = !result.empty() && at != line.begin() && *(at - 1) == result.back().back();
    if (!follows) result.emplace_back();
    result.back().push_back(id);
  }
  return result;
}

// The source's axes in the order given; empty where one of them comes apart.
MovementView::Runs MovementView::wholeAxes(const std::vector<int>& order) const {
  Runs result;
  for (size_t at = 0; at < order.size(); at += result.back().size()) {
    const auto axis = std::find_if(stored_.begin(), stored_.end(),
                                   [&](const auto& group) { return !group.empty() && group[0] == order[at]; });
    if (axis == stored_.end() || axis->size() > order.size() - at) return {};
    if (!std::equal(axis->begin(), axis->end(), order.begin() + static_cast<std::ptrdiff_t>(at))) return {};
    result.push_back(*axis);
  }
  return result;
}

// As few as possible, or the axes as they are where that saves reshapes.
MovementView::Runs MovementView::runs(const std::vector<int>& order, const Shape& before, const Shape& shape) const {
  auto longest = longestRuns(order);
  auto axes = wholeAxes(order);
  const bool better = !axes.empty() && costOf(axes, before, shape).nodes < costOf(longest, before, shape).nodes;
  return better ? axes : longest;
}

Shape MovementView::extentsOf(const Runs& runs) const {
  Shape result;
  for (const auto& run : runs) result.push_back(extent(run));
  return result;
}

MovementView::Cost MovementView::costOf(const Runs& runs, const Shape& before, const Shape& shape) const {
  const auto inMemory = asStored(runs);
  if (runs == inMemory) return {0, before == shape ? 0 : 1};
  return {1, 1 + (before == extentsOf(inMemory) ? 0 : 1) + (extentsOf(runs) == shape ? 0 : 1)};
}

// The runs in the order of memory.
MovementView::Runs MovementView::asStored(Runs runs) const {
  const auto line = seen();
  const auto place = [&](const std::vector<int>& run) {
    return std::find(line.begin(), line.end(), run[0]) - line.begin();
  };
  std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return runs;
}

ValueId MovementView::build(graph::Patch& patch, const Graph& graph, const std::vector<int>& order, const Shape& shape,
                            const std::string& name, std::span<const graph::NodeId> from) const {
  ValueId value = source_;
  const auto shapeOf = [&](ValueId id) { return graph.value(id).type.shape; };
  const auto reshape = [&](const Shape& wanted) {
    if (!(shapeOf(value) == wanted)) value = patch.add(ops::Reshape{wanted}, name, {value}, from);
  };
  if (!isWhole()) {
    // Parts that stand first in their axes are cut where they are.
    const bool first = std::all_of(stored_.begin(), stored_.end(), [&](const auto& group) {
      return std::none_of(group.begin() + (group.empty() ? 0 : 1), group.end(),
                          [&](int id) { return factor(id).index.has_value(); });
    });
    const auto line = stored();
    std::vector<std::vector<int>> groups = stored_;
    if (!first) {
      groups.clear();
      Shape factors;
      for (const int id : line) {
        groups.push_back({id});
        factors.push_back(factor(id).extent);
      }
      reshape(factors);
    }
    ops::Slice slice;
    slice.start.assign(groups.size(), 0);
    slice.size = shapeOf(value);
    for (size_t axis = 0; axis < groups.size(); ++axis) {
      if (groups[axis].empty() || !factor(groups[axis][0]).index) continue;
      slice.size[axis] = extent({groups[axis].begin() + 1, groups[axis].end()});
      slice.start[axis] = slice.size[axis] * Extent(*factor(groups[axis][0]).index);
    }
    value = patch.add(std::move(slice), name, {value}, from);
  }
  const auto moved = runs(order, shapeOf(value), shape);
  const auto inMemory = asStored(moved);
  if (moved != inMemory) {
    ops::Transpose transpose;
    for (const auto& run : moved)
      transpose.permutation.push_back(std::find(inMemory.begin(), inMemory.end(), run) - inMemory.begin());
    reshape(extentsOf(inMemory));
    value = patch.add(std::move(transpose), name, {value}, from);
  }
  reshape(shape);
  return value;
}

// Of a whole source.
MovementView::Cost MovementView::cost(const Graph& graph, const std::vector<int>& order, const Shape& shape) const {
  const Shape& before = graph.value(source_).type.shape;
  return costOf(runs(order, before, shape), before, shape);
}

}  // namespace tenon::passes

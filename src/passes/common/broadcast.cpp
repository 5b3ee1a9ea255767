// Runs of axes with equal products: an operand covers all of a run, or none of it.
#include "passes/common/broadcast.h"

#include <algorithm>

namespace tenon::passes {

std::optional<Shape> throughReshape(const Shape& operand, const Shape& before, const Shape& after) {
  Shape padded(before.size() - operand.size(), Extent(1));
  padded.insert(padded.end(), operand.begin(), operand.end());
  Shape result;
  size_t from = 0;
  while (from < before.size()) {
    // The shortest runs of both shapes that hold as many elements. Extents of one in the way belong to the run behind
    // them.
    const size_t to = result.size();
    size_t fromEnd = 0;
    size_t toEnd = 0;
    for (size_t end = from + 1; end <= before.size() && fromEnd == 0; ++end) {
      for (size_t other = to; other <= after.size(); ++other) {
        if (!(product(before, from, end) == product(after, to, other))) continue;
        fromEnd = end;
        toEnd = other;
        break;
      }
    }
    if (fromEnd == 0) return std::nullopt;
    bool whole = true;
    bool one = true;
    for (size_t axis = from; axis < fromEnd; ++axis) {
      whole = whole && padded[axis] == before[axis];
      one = one && padded[axis].isConstant(1);
    }
    if (!whole && !one) return std::nullopt;
    for (size_t axis = to; axis < toEnd; ++axis) result.push_back(one ? Extent(1) : after[axis]);
    from = fromEnd;
  }
  for (size_t axis = result.size(); axis < after.size(); ++axis) {
    if (!after[axis].isConstant(1)) return std::nullopt;
    result.push_back(Extent(1));
  }
  return result;
}

Shape broadcastShape(const std::vector<Shape>& shapes) {
  Shape result;
  for (const auto& shape : shapes) {
    if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), Extent(1));
    for (size_t i = 0; i < shape.size(); ++i) {
      auto& extent = result[i + result.size() - shape.size()];
      if (extent.isConstant(1)) extent = shape[i];
    }
  }
  return result;
}

}  // namespace tenon::passes

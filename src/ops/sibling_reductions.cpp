// Which operators are reductions of one tensor over the same axes.
#include "ops/sibling_reductions.h"

#include "ops/op/composite.h"

namespace tenon::ops {

bool areSiblings(const Reduce& a, const Reduce& b) { return a.axes == b.axes && a.keepDims == b.keepDims; }

std::vector<Reduce> siblingReductions(const Operator& op) {
  if (const auto* one = op.as<Reduce>()) return {*one};
  const auto* composite = op.as<Composite>();
  if (composite == nullptr || composite->outputs.size() != composite->parts.size()) return {};
  std::vector<Reduce> result;
  for (size_t p = 0; p < composite->parts.size(); ++p) {
    const auto& [part, operands] = composite->parts[p];
    const auto* reduce = part.as<Reduce>();
    if (reduce == nullptr || operands != std::vector<int32_t>{0} || composite->outputs[p] != static_cast<int32_t>(p))
      return {};
    if (!result.empty() && !areSiblings(result[0], *reduce)) return {};
    result.push_back(*reduce);
  }
  return result;
}

}  // namespace tenon::ops

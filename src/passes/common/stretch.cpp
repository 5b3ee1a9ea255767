// What only repeats a tensor, seen through.
#include "passes/common/stretch.h"

#include "ops/op/slice.h"
#include "passes/common/pass.h"

namespace tenon::passes {

ValueId unstretched(const Graph& graph, ValueId value) {
  const auto* slice = producerOp<ops::Slice>(graph, value);
  if (slice == nullptr || slice->stride.empty() || slice->mode != ops::SliceMode::kStrict ||
      graph.value(value).constraints != graph::Constraints{})
    return value;
  const ValueId source = graph.node(graph.value(value).producer).inputs[0];
  const Shape& shape = graph.value(source).type.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool repeats = slice->stride[axis].isConstant(0) && shape[axis].isConstant(1);
    const bool whole = slice->stride[axis].isConstant(1) && slice->size[axis] == shape[axis];
    if (!slice->start[axis].isConstant(0) || (!repeats && !whole)) return value;
  }
  return unstretched(graph, source);
}

}  // namespace tenon::passes

// Transposes seen from what is behind them.
#include "passes/common/transposed.h"

#include "passes/common/match.h"

namespace tenon::passes {

const ops::Transpose* transposeBehind(const graph::Graph& graph, graph::ValueId value) {
  const auto* transpose = producerOp<ops::Transpose>(graph, value);
  return transpose == nullptr || graph.value(value).constraints != graph::Constraints{} ? nullptr : transpose;
}

ops::Slice slicedBack(const ops::Slice& slice, const std::vector<int64_t>& permutation) {
  ops::Slice result = slice;
  for (size_t i = 0; i < permutation.size(); ++i) {
    const auto axis = static_cast<size_t>(permutation[i]);
    result.start[axis] = slice.start[i];
    result.size[axis] = slice.size[i];
    if (!slice.stride.empty()) result.stride[axis] = slice.stride[i];
  }
  return result;
}

}  // namespace tenon::passes

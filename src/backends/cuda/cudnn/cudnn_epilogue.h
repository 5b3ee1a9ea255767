// Scalar expressions as pointwise operations of a cuDNN graph.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/cudnn/cudnn_graph.h"
#include "ops/scalar.h"

namespace tenon::backends::cuda::dnn {

// Why the expression has no form as operations, or empty. Whether an engine takes them is for the heuristics to say.
std::string fusionRefusal(const ops::ScalarExpr& expr);

// Scalars that a graph reads when it is executed, with the tensors that stand for them.
struct Scalars {
  std::vector<OperationGraph::Id> ids;
  std::vector<float> values;
};

// Adds the operations of a non-empty expression. `inputs` are its x0, x1, ...; `like` has the extents and strides of
// the result, which is stored in `result`.
void addEpilogue(OperationGraph& graph, const ops::ScalarExpr& expr, const std::vector<OperationGraph::Id>& inputs,
                 const Tensor& like, OperationGraph::Id result, Scalars& scalars);

}  // namespace tenon::backends::cuda::dnn

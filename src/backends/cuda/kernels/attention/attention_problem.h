// Scaled dot-product attention as a kernel sees it: operands by strides, whatever the operator packs.
#pragma once

#include "backends/cuda/cudnn/cudnn_program.h"
#include "core/strided.h"
#include "ops/op/attention.h"

namespace tenon::backends::cuda::dnn {

// An operand [batch, heads, rows, width] by its strides in elements; the columns are neighbours in memory.
struct AttentionOperand {
  Source source;
  int64_t batchStride = 0, headStride = 0, rowStride = 0;
};

struct AttentionProblem {
  DataType type = DataType::kF16;
  int64_t sharing = 1;  // heads of queries that have the same keys
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, width = 0, valueWidth = 0;
  AttentionOperand q, k, v, output;
  float scale = 1;
  float softcap = 0;  // 0: none
  bool hasMask = false;
  bool causal = false;
  Dims mask;  // four extents, each one or that of the scores [batch, heads, queries, keys]; the first may be a divisor
              // of the batch: batch b has the mask b modulo it
  bool maskInOrder = true;  // false: the mask broadcasts over an axis behind one over which it does not; then the first
                            // extent of `mask` says nothing
  Dims batches;             // the axes that make up the batch,
  Strides maskBatches{};    // and the mask's strides along them in elements
  Source maskSource;
};

// Why kernels refuse a mask that is not in order.
constexpr std::string_view kMaskRefusal = "the mask broadcasts over a leading axis but not over the axis before it";

// The operator on linear operands of these shapes.
AttentionProblem attentionProblem(const ops::Attention& op, const runtime::Shapes& shapes);

}  // namespace tenon::backends::cuda::dnn

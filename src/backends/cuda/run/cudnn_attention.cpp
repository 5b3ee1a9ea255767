// softmax(scale * q k^T + mask) v, written as the operations that cuDNN knows as attention.
#include "backends/cuda/run/cudnn_attention.h"

#include "core/error.h"

namespace tenon::backends::cuda::dnn {
namespace {

constexpr int64_t kMostWidth = 256;  // of a head, on Hopper

Tensor stored(const AttentionProblem& p, const AttentionOperand& operand, int64_t rows, int64_t width) {
  return {elementType(p.type), {p.batch, p.heads, rows, width}, {operand.batchStride, operand.headStride, operand.rowStride, 1}};
}

Tensor intermediate(const AttentionProblem& p, int64_t columns) {
  return {ElementType::kF32, {p.batch, p.heads, p.queries, columns}, {p.heads * p.queries * columns, p.queries * columns, columns, 1}, true};
}

}  // namespace

std::string attentionRefusal(const AttentionProblem& p) {
  if (p.type != DataType::kF16 && p.type != DataType::kBF16) return fmt::format("operands of {}; it computes f16 and bf16", name(p.type));
  if (p.queries == 0 || p.keys == 0 || p.batch == 0 || p.heads == 0) return "an operand is empty";
  if (p.width % 8 != 0 || p.valueWidth % 8 != 0 || p.width > kMostWidth || p.valueWidth > kMostWidth || p.width == 0 || p.valueWidth == 0) {
    return fmt::format("heads of {} and {} columns; expected multiples of 8 up to {}", p.width, p.valueWidth, kMostWidth);
  }
  for (const auto* operand : {&p.q, &p.k, &p.v, &p.output}) {
    if (operand->rowStride % 8 != 0 || operand->headStride % 8 != 0 || operand->source.offsetBytes % 16 != 0) return "rows that are not aligned to 16 bytes";
  }
  return {};
}

SourcedGraph attentionGraph(const Chip& chip, const AttentionProblem& p) {
  if (const auto refusal = attentionRefusal(p); !refusal.empty()) throw Unsupported("cuDNN attention: {}", refusal);
  SourcedGraph result(chip);
  auto& graph = result.graph;
  const auto q = result.give(stored(p, p.q, p.queries, p.width), p.q.source);
  auto transposed = stored(p, p.k, p.keys, p.width);
  std::swap(transposed.dims[2], transposed.dims[3]);
  std::swap(transposed.strides[2], transposed.strides[3]);
  const auto k = result.give(transposed, p.k.source);
  const auto v = result.give(stored(p, p.v, p.keys, p.valueWidth), p.v.source);
  const auto scores = [&](PointwiseMode mode, OperationGraph::Id x, std::optional<OperationGraph::Id> b) {
    const auto y = graph.tensor(intermediate(p, p.keys));
    graph.pointwise({mode, {}, {}, {}, {}}, x, b, y);
    return y;
  };
  auto s = graph.tensor(intermediate(p, p.keys));
  graph.matmul(q, k, s);
  s = scores(PointwiseMode::kMul, s, result.giveScalar(p.scale, 4));
  if (p.hasMask) {
    Tensor mask{elementType(p.type), {}, {}};
    const auto strides = p.mask.strides();
    for (int axis = 0; axis < 4; ++axis) {
      mask.dims.push_back(p.mask[axis]);
      mask.strides.push_back(strides[static_cast<size_t>(axis)]);
    }
    s = scores(PointwiseMode::kAdd, s, result.give(mask, p.maskSource));
  }
  const auto greatest = graph.tensor(intermediate(p, 1));
  graph.reduce(ReductionOperator::kMax, s, greatest);
  s = scores(PointwiseMode::kExp, scores(PointwiseMode::kSub, s, greatest), {});
  const auto sum = graph.tensor(intermediate(p, 1));
  graph.reduce(ReductionOperator::kAdd, s, sum);
  // The second product takes its operand in the type of the values.
  auto weightsTensor = intermediate(p, p.keys);
  weightsTensor.type = elementType(p.type);
  const auto weights = graph.tensor(weightsTensor);
  graph.pointwise({PointwiseMode::kDiv, {}, {}, {}, {}}, s, sum, weights);
  const auto y = result.give(stored(p, p.output, p.queries, p.valueWidth), p.output.source);
  graph.matmul(weights, v, y);
  result.finish();
  return result;
}

}  // namespace tenon::backends::cuda::dnn

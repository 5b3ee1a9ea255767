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

AttentionProblem attentionProblem(const ops::Attention& op, const runtime::Shapes& shapes) {
  AttentionProblem p;
  const auto& q = shapes.inputs[0].dims;
  const auto& y = shapes.outputs[0].dims;
  p.type = shapes.outputs[0].dtype;
  p.scale = static_cast<float>(op.scale);
  p.queries = q[q.rank - 2];
  const auto elementBytes = static_cast<int64_t>(bytesOf(p.type, 1));
  const auto operand = [&](int input, int64_t offset, int64_t rows, int64_t row, int64_t head) {
    return AttentionOperand{{input, offset * elementBytes}, rows * row, head, row};
  };
  if (op.heads > 0) {
    const int64_t columns = y[y.rank - 1];
    p.batch = q[0];
    p.heads = op.heads;
    p.valueWidth = columns / op.heads;
    if (op.packed) {
      p.keys = p.queries;
      p.width = p.valueWidth;
      for (int part = 0; part < 3; ++part) {
        (part == 0 ? p.q : part == 1 ? p.k : p.v) = operand(0, part * columns, p.queries, 3 * columns, p.width);
      }
    } else {
      p.keys = shapes.inputs[1].dims[1];
      p.width = q[2] / op.heads;
      p.q = operand(0, 0, p.queries, q[2], p.width);
      p.k = operand(1, 0, p.keys, q[2], p.width);
      p.v = operand(2, 0, p.keys, columns, p.valueWidth);
    }
    p.output = operand(-1, 0, p.queries, columns, p.valueWidth);
  } else {
    // Leading axes but the last are batches, so that a mask of four axes fits.
    p.heads = q.rank > 2 ? q[q.rank - 3] : 1;
    p.batch = q.rank > 3 ? q.count(0, q.rank - 3) : 1;
    p.keys = shapes.inputs[1].dims[q.rank - 2];
    p.width = q[q.rank - 1];
    p.valueWidth = y[y.rank - 1];
    const auto apart = [&](int input, int64_t rows, int64_t width) {
      return AttentionOperand{{input, 0}, p.heads * rows * width, rows * width, width};
    };
    p.q = apart(0, p.queries, p.width);
    p.k = apart(1, p.keys, p.width);
    p.v = apart(2, p.keys, p.valueWidth);
    p.output = apart(-1, p.queries, p.valueWidth);
  }
  p.hasMask = op.hasMask;
  if (!op.hasMask) return p;
  const auto& mask = shapes.inputs[op.maskInput()].dims;
  p.maskSource = {static_cast<int>(op.maskInput()), 0};
  for (int axis = mask.rank; axis < 4; ++axis) p.mask.push(1);
  for (const int64_t extent : mask) p.mask.push(extent);
  return p;
}

std::string attentionRefusal(const AttentionProblem& p) {
  if (p.type != DataType::kF16 && p.type != DataType::kBF16) return fmt::format("operands of {}; it computes f16 and bf16", name(p.type));
  if (p.hasMask && p.mask.rank != 4) return "a mask of more than 4 axes";
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

Program attentionProgram(const ops::Attention& op) {
  const auto graph = [op](const Chip& chip, const runtime::Shapes& shapes, Fusion fusion) {
    if (fusion != Fusion::kWhole) throw Unsupported("cuDNN attention: there is no bare form of it");
    return attentionGraph(chip, attentionProblem(op, shapes));
  };
  return {graph, {}, false, false};
}

}  // namespace tenon::backends::cuda::dnn

// Operands of attention by their strides, from the operator's fields and shapes.
#include "backends/cuda/kernels/attention/attention_problem.h"

#include "core/error.h"

namespace tenon::backends::cuda::dnn {

namespace {

// The mask's axes over the batch, of which q has so many, as one: those that broadcast must stand in front of those
// that do not.
void setMask(AttentionProblem& p, const Dims& mask, const Dims& q, int batchAxes) {
  int64_t batches = 1;
  for (int axis = 0; axis < mask.rank - 3; ++axis) {
    p.maskInOrder = p.maskInOrder && (batches == 1 || mask[axis] == q[axis + batchAxes - (mask.rank - 3)]);
    batches *= mask[axis];
  }
  p.mask.push(batches);
  const auto strides = mask.strides();
  for (int axis = 0; axis < batchAxes; ++axis) {
    p.batches.push(q[axis]);
    const int own = axis - batchAxes + mask.rank - 3;
    if (own >= 0 && mask[own] != 1) p.maskBatches[static_cast<size_t>(axis)] = strides[static_cast<size_t>(own)];
  }
  for (int axis = 3; axis > 0; --axis) p.mask.push(axis > mask.rank ? 1 : mask[mask.rank - axis]);
}

// Heads that share keys stand one behind the other. Few queries of each, all under the same mask, are the rows of one
// head: tensor cores take so many rows at once, and what reads the keys for each head reads them once.
void joinHeads(AttentionProblem& p) {
  constexpr int64_t kRowsAtOnce = 16;
  const bool isAlike = !p.causal && (!p.hasMask || (p.mask[1] == 1 && p.mask[2] == 1));
  if (p.sharing == 1 || p.queries >= kRowsAtOnce || !isAlike) return;
  for (auto* operand : {&p.q, &p.output}) {
    if (operand->headStride == p.queries * operand->rowStride) continue;
    if (p.queries != 1) return;  // the rows of a head do not follow those of the one before it
    operand->rowStride = operand->headStride;
  }
  p.heads /= p.sharing;
  p.queries *= p.sharing;
  p.q.headStride *= p.sharing;
  p.output.headStride *= p.sharing;
  p.sharing = 1;
}

}  // namespace

AttentionProblem attentionProblem(const ops::Attention& op, const runtime::Shapes& shapes) {
  AttentionProblem p;
  const auto& q = shapes.inputs[0].dims;
  const auto& y = shapes.outputs[0].dims;
  p.type = shapes.outputs[0].dtype;
  p.scale = static_cast<float>(op.scale);
  p.softcap = static_cast<float>(op.softcap);
  p.queries = q[q.rank - 2];
  const auto elementBytes = static_cast<int64_t>(bytesOf(p.type, 1));
  const auto operand = [&](int input, int64_t offset, int64_t rows, int64_t row, int64_t head) {
    return AttentionOperand{{input, offset * elementBytes}, rows * row, head, row};
  };
  if (op.heads > 0) {
    const int64_t columns = y[y.rank - 1];
    p.batch = q.count(0, q.rank - 2);
    p.heads = op.heads;
    p.valueWidth = columns / op.heads;
    if (op.packed) {
      p.keys = p.queries;
      p.width = p.valueWidth;
      for (int part = 0; part < 3; ++part) {
        (part == 0 ? p.q : part == 1 ? p.k : p.v) = operand(0, part * columns, p.queries, 3 * columns, p.width);
      }
    } else {
      const int64_t qColumns = q[q.rank - 1];
      p.keys = shapes.inputs[1].dims[q.rank - 2];
      p.width = qColumns / op.heads;
      p.q = operand(0, 0, p.queries, qColumns, p.width);
      p.sharing = op.heads / op.headsOfKeys();
      p.k = operand(1, 0, p.keys, qColumns / p.sharing, p.width);
      p.v = operand(2, 0, p.keys, columns / p.sharing, p.valueWidth);
    }
    p.output = operand(-1, 0, p.queries, columns, p.valueWidth);
  } else {
    // Leading axes but the last are batches, so that a mask of four axes fits.
    p.heads = q.rank > 2 ? q[q.rank - 3] : 1;
    p.batch = q.rank > 3 ? q.count(0, q.rank - 3) : 1;
    p.keys = shapes.inputs[1].dims[q.rank - 2];
    p.width = q[q.rank - 1];
    p.valueWidth = y[y.rank - 1];
    p.sharing = op.queriesOfKeys(q, shapes.inputs[1].dims);
    const auto apart = [&](int input, int64_t heads, int64_t rows, int64_t width) {
      return AttentionOperand{{input, 0}, heads * rows * width, rows * width, width};
    };
    p.q = apart(0, p.heads, p.queries, p.width);
    p.k = apart(1, p.heads / p.sharing, p.keys, p.width);
    p.v = apart(2, p.heads / p.sharing, p.keys, p.valueWidth);
    p.output = apart(-1, p.heads, p.queries, p.valueWidth);
  }
  p.hasMask = op.hasMask;
  p.causal = op.causal;
  if (op.hasMask) {
    p.maskSource = {static_cast<int>(op.maskInput()), 0};
    setMask(p, shapes.inputs[op.maskInput()].dims, q, op.heads > 0 ? q.rank - 2 : q.rank - 3);
  }
  joinHeads(p);
  return p;
}

}  // namespace tenon::backends::cuda::dnn

// Attention: shape rule and plain reference in double.
#include "ops/op/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// Where the rows of one head of q, k or v stand in its operand (leading axes in one).
struct Heads {
  int64_t rows;
  int64_t heads;
  int64_t width;
  int64_t step;   // between rows
  int64_t first;  // column

  // `part` of a packed operand: 0 q, 1 k, 2 v.
  Heads(const Attention& op, const Dims& dims, int64_t part)
      : rows(dims[dims.rank - 2]),
        heads(std::max<int64_t>(part == 0 ? op.heads : op.headsOfKeys(), 1)),
        width(dims[dims.rank - 1] / heads / (op.packed ? 3 : 1)),
        step(dims[dims.rank - 1]),
        first(op.packed ? part * heads * width : 0) {}
  int64_t offset(int64_t batch, int64_t head, int64_t row) const {
    return (batch * rows + row) * step + first + head * width;
  }
};

// Whether each head of keys belongs to several heads of queries.
bool isShared(const Extent& queries, const Extent& keys) {
  return queries.isConstant() && keys.isConstant() && keys.constant() > 0 && queries.constant() > keys.constant() &&
         queries.constant() % keys.constant() == 0;
}

// Softmax in place; a row of -infinity has no answer and becomes NaN, as the softmax operator's does. Whether there is
// one.
bool softmax(std::vector<double>& row) {
  const double most = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - most);
  for (double& x : row) x /= sum;
  return sum > 0;
}

}  // namespace

Facts Attention::facts() const { return {}; }

double Attention::capped(double score) const { return softcap == 0 ? score : softcap * std::tanh(score / softcap); }

void Attention::infer(InferContext& context) const {
  const auto& q = context.input(0);
  const auto& k = packed ? q : context.input(1);
  const auto& v = packed ? q : context.input(2);
  for (size_t i = 0; i < maskInput() + (hasMask ? 1 : 0); ++i) {
    checkFloating(context, i);
    if (i > 0) checkSameType(context, 0, i);
  }
  context.check(heads >= 0, "heads = {}, expected 0 or more", heads);
  context.check(softcap >= 0 && std::isfinite(softcap), "softcap = {}, expected a finite number of 0 or more", softcap);
  context.check(q.rank() >= 2 && q.rank() == k.rank() && q.rank() == v.rank(),
                "q, k and v have shapes {}, {} and {}, expected one rank of 2 or more", text(q.shape), text(k.shape),
                text(v.shape));
  context.check(heads == 0 || q.rank() >= 3, "q has shape {}, expected 3 axes or more with heads = {}", text(q.shape),
                heads);
  context.check(heads > 0 || !packed, "a packed operand needs heads");
  context.check(keyHeads == 0 || (keyHeads > 0 && !packed && heads % keyHeads == 0 && heads > 0),
                "keyHeads = {} with heads = {}, expected a divisor, and operands apart", keyHeads, heads);
  const size_t rank = q.shape.size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (i + 3 == rank && heads == 0 && isShared(q.shape[i], k.shape[i])) {
      context.merge(k.shape[i], v.shape[i], "heads of k and v");
      continue;
    }
    context.merge(q.shape[i], k.shape[i], "leading extents of q and k");
    context.merge(q.shape[i], v.shape[i], "leading extents of q and v");
  }
  const Extent sharing(keyHeads > 0 ? heads / keyHeads : 1);
  context.merge(q.shape[rank - 1], k.shape[rank - 1] * sharing, "columns of q and k");
  context.merge(k.shape[rank - 2], v.shape[rank - 2], "rows of k and v");
  for (const auto* operand : {&q, &v}) {
    const Extent& columns = operand->shape[rank - 1];
    const int64_t parts = std::max<int64_t>(operand == &q ? heads : headsOfKeys(), 1) * (packed ? 3 : 1);
    context.check(!columns.isConstant() || columns.constant() % parts == 0, "{} columns are not a multiple of {}",
                  columns.text(), parts);
  }
  if (hasMask) checkMask(context, q.shape, k.shape[rank - 2]);
  Shape shape = q.shape;
  shape[rank - 1] = packed ? floorDiv(q.shape[rank - 1], 3) : v.shape[rank - 1] * sharing;
  context.output(q.dtype, std::move(shape));
}

void Attention::checkMask(const InferContext& context, const Shape& q, const Extent& keys) const {
  Shape scores(q.begin(), q.end() - 1);
  if (heads > 0) scores.insert(scores.end() - 1, Extent(heads));
  scores.push_back(keys);
  const Shape& mask = context.input(maskInput()).shape;
  context.check(mask.size() <= scores.size(), "the mask has shape {}, it does not broadcast to {}", text(mask),
                text(scores));
  for (size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i].isConstant(1)) context.merge(mask[i], scores[i + scores.size() - mask.size()], "mask and scores");
  }
}

int64_t Attention::queriesOfKeys(const Dims& q, const Dims& k) const {
  if (heads > 0) return heads / headsOfKeys();
  return q.rank < 3 || k[k.rank - 3] == 0 ? 1 : q[q.rank - 3] / k[k.rank - 3];
}

void Attention::evaluate(const EvalContext& context) const {
  const auto q = toDoubles(context.inputs[0]);
  const auto& keys = context.inputs[packed ? 0 : 1];
  const auto& values = context.inputs[packed ? 0 : 2];
  const auto k = toDoubles(keys);
  const auto v = toDoubles(values);
  const Heads qs(*this, context.inputs[0].dims, 0), ks(*this, keys.dims, 1), vs(*this, values.dims, 2);
  const Dims& out = context.outputs[0].dims;
  Dims scores;
  for (int i = 0; i + 2 < out.rank; ++i) scores.push(out[i]);
  if (heads > 0) scores.push(heads);
  scores.push(qs.rows);
  scores.push(ks.rows);
  const auto mask = hasMask ? toDoubles(context.inputs[maskInput()]) : std::vector<double>();
  const auto maskStrides = hasMask ? broadcastStrides(context.inputs[maskInput()].dims, scores) : Strides{};
  Dims rowSpace = scores;
  rowSpace.rank -= 1;
  int64_t position = 0;
  const int64_t sharing = queriesOfKeys(context.inputs[0].dims, keys.dims);
  for (IndexIterator i(rowSpace); i.valid(); i.next(), ++position) {
    const int64_t s = position % qs.rows;
    const int64_t head = position / qs.rows % qs.heads;
    const int64_t batch = position / qs.rows / qs.heads;
    const int64_t keyHead = position / qs.rows / sharing;
    const int64_t seen = causal ? std::min(s + 1, ks.rows) : ks.rows;
    std::vector<double> row(static_cast<size_t>(seen));
    for (int64_t t = 0; t < seen; ++t) {
      double sum = 0;
      for (int64_t d = 0; d < qs.width; ++d) {
        sum += q[static_cast<size_t>(qs.offset(batch, head, s) + d)] *
               k[static_cast<size_t>(ks.offset(keyHead / ks.heads, keyHead % ks.heads, t) + d)];
      }
      const int64_t at = i.dot(maskStrides) + t * maskStrides[static_cast<size_t>(rowSpace.rank)];
      row[static_cast<size_t>(t)] = capped(sum * scale) + (hasMask ? mask[static_cast<size_t>(at)] : 0);
    }
    if (!softmax(row) && emptyIsZero) std::fill(row.begin(), row.end(), 0);
    const int64_t target = ((batch * qs.rows + s) * qs.heads + head) * vs.width;
    for (int64_t e = 0; e < vs.width; ++e) {
      double sum = 0;
      for (int64_t t = 0; t < seen; ++t)
        sum += row[static_cast<size_t>(t)] *
               v[static_cast<size_t>(vs.offset(keyHead / vs.heads, keyHead % vs.heads, t) + e)];
      context.outputs[0].storeDouble(target + e, sum);
    }
  }
}

OperatorInfo operatorInfo_attention() { return describe<Attention>(); }

}  // namespace tenon::ops

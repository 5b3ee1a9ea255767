// Pairs of columns turned by angles: shape rule and reference in double.
#include "ops/op/rotate_pairs.h"

#include "ops/strides.h"

namespace tenon::ops {

Facts RotatePairs::facts() const { return {}; }

void RotatePairs::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto& cosines = context.input(1);
  const auto& sines = context.input(2);
  for (const auto* operand : {&x, &cosines, &sines})
    context.check(operand->dtype == DataType::kF32, "operand of type {}, expected f32", name(operand->dtype));
  context.check(cosines.shape == sines.shape && cosines.rank() >= 1 && cosines.rank() <= x.rank(),
                "cosines of shape {} and sines of {} for {}, expected equal shapes of no more axes",
                text(cosines.shape), text(sines.shape), text(x.shape));
  const Extent pairs = cosines.shape.back();
  const Extent width = x.shape.back();
  context.check(pairs.isConstant() && width.isConstant() && 2 * pairs.constant() <= width.constant(),
                "{} cosines for rows of {}, expected known extents and two columns for each", pairs.text(),
                width.text());
  const Shape leading(x.shape.begin(), x.shape.end() - 1);
  const Shape all = context.broadcast(leading, Shape(cosines.shape.begin(), cosines.shape.end() - 1));
  context.check(all == leading, "cosines of shape {} do not broadcast to {}", text(cosines.shape), text(x.shape));
  Shape shape = leading;
  shape.push_back(pairs * 2);
  context.output(DataType::kF32, std::move(shape));
}

void RotatePairs::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const Dims& dims = context.inputs[1].dims;
  const auto& out = context.outputs[0];
  const int64_t pairs = dims[dims.rank - 1];
  const int64_t width = x.dims[x.dims.rank - 1];
  Dims index = out.dims;
  index[index.rank - 1] = pairs;
  const auto strides = broadcastStrides(dims, index);
  int64_t at = 0;
  for (IndexIterator i(index); i.valid(); i.next(), ++at) {
    const int64_t row = at / pairs, p = at % pairs;
    const int64_t first = interleaved ? 2 * p : p, second = interleaved ? 2 * p + 1 : pairs + p;
    const double a = x.loadDouble(row * width + first), b = x.loadDouble(row * width + second);
    const double cosine = context.inputs[1].loadDouble(i.dot(strides));
    const double sine = context.inputs[2].loadDouble(i.dot(strides));
    out.storeDouble(row * 2 * pairs + first, a * cosine - b * sine);
    out.storeDouble(row * 2 * pairs + second, a * sine + b * cosine);
  }
}

OperatorInfo operatorInfo_rotate_pairs() { return describe<RotatePairs>(); }

}  // namespace tenon::ops

// Attention in the layers of the API; the builder finds the attention operator in them.
#include "attention_core.h"

#include <limits>

namespace tenon::parsers::onnx {

using nvinfer1::ActivationType;
using nvinfer1::UnaryOperation;

Term splitHeads(const Term& packed, int64_t heads) {
  const ParsedExtents in = packed.dims();
  if (in.size() != 3) {
    fail(FaultKind::kInvalidNode, fmt::format("an operand of attention has shape {}; expected rank 3 with the heads in "
                                              "its last axis",
                                              toString(packed.shape())));
  }
  const int64_t columns = packed.fixedDim(2, "the hidden size");
  if (heads < 1 || columns % heads != 0) {
    fail(FaultKind::kInvalidNode, fmt::format("{} heads for a hidden size of {}; expected a divisor of 1 or more. Set "
                                              "the attribute that gives the number of heads",
                                              heads, columns));
  }
  return packed.reshape({in[0], in[1], ParsedExtent::of(heads), ParsedExtent::of(columns / heads)})
      .transpose({0, 2, 1, 3});
}

Term joinHeads(const Term& split) {
  const Term turned = split.transpose({0, 2, 1, 3});
  const ParsedExtents in = turned.dims();
  const ParsedExtent columns = turned.writer().combine(in[2], in[3], nvinfer1::ElementWiseOperation::kPROD);
  return turned.reshape({in[0], in[1], columns});
}

Term repeatHeads(const Term& split, int64_t times) {
  if (times == 1) {
    return split;
  }
  const ParsedExtents in = split.dims();
  const int64_t heads = split.fixedDim(1, "the number of key heads");
  const Term repeated = split.unsqueeze({2}).expand({in[0], in[1], ParsedExtent::of(times), in[2], in[3]});
  return repeated.reshape({in[0], ParsedExtent::of(heads * times), in[2], in[3]});
}

AttentionCore::Result AttentionCore::run() const {
  const int64_t heads = query.fixedDim(1, "the number of query heads");
  const int64_t keyHeads = key.fixedDim(1, "the number of key heads");
  if (keyHeads < 1 || heads % keyHeads != 0) {
    fail(FaultKind::kInvalidNode, fmt::format("{} query heads for {} key heads; expected a multiple", heads, keyHeads));
  }
  const Term keys = repeatHeads(key, heads / keyHeads);
  const Term values = repeatHeads(value, heads / keyHeads);
  const Term product = query.multiply(keys, false, true);
  const Term raw = scale == 1 ? product : product * scale;
  const Term capped = softcap == 0 ? raw : (raw / softcap).activation(ActivationType::kTANH) * softcap;
  Term biased = capped;
  if (bias) {
    biased = biased + (bias->type() == biased.type() ? *bias : bias->cast(biased.type()));
  }
  for (const Term& mask : allowed) {
    biased = where(mask, biased, biased.number(-std::numeric_limits<double>::infinity()));
  }
  Term operand = softmaxType ? biased.cast(*softmaxType) : biased;
  if (sink) {
    ParsedExtents extents = operand.dims();
    extents[3] = ParsedExtent::of(1);
    operand = concat({operand, sink->cast(operand.type()).expand(extents)}, 3);
  }
  Term weights = operand.softmax(3);
  if (sink) {
    weights = weights.slice(3, ParsedExtent::of(0), biased.dim(3));
  }
  if (emptyIsZero && (bias || !allowed.empty())) {
    weights = where(weights.unary(UnaryOperation::kISNAN), weights.number(0), weights);
  }
  weights = weights.cast(values.type());
  return {weights.multiply(values), raw, capped, biased, weights};
}

Term rotate(const Term& x, const Term& cosines, const Term& sines, bool interleaved) {
  const int64_t width = x.fixedDim(-1, "the size of a head");
  const int64_t pairs = cosines.fixedDim(-1, "the width of the cosine cache");
  if (2 * pairs > width || sines.shape().back() != pairs) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the caches have {} cosines and {} sines for a head of {} columns; expected half as many, or "
                     "fewer for a part of the head",
                     pairs, sines.shape().back(), width));
  }
  const int64_t last = x.rank() - 1;
  const Term first = interleaved ? x.slice(last, 0, pairs, 2) : x.slice(last, 0, pairs);
  const Term second = interleaved ? x.slice(last, 1, pairs, 2) : x.slice(last, pairs, pairs);
  const Term real = first * cosines - second * sines;
  const Term imaginary = first * sines + second * cosines;
  Term turned = concat({real, imaginary}, last);
  if (interleaved) {
    ParsedExtents target = x.dims();
    target.back() = ParsedExtent::of(2 * pairs);
    turned = concat({real.unsqueeze({last + 1}), imaginary.unsqueeze({last + 1})}, last + 1).reshape(target);
  }
  return 2 * pairs == width ? turned : concat({turned, x.slice(last, 2 * pairs, width - 2 * pairs)}, last);
}

}  // namespace tenon::parsers::onnx

// Concatenation: shape rule, contents, reference.
#include "ops/op/concat.h"

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

Contents concatContents(const InferContext& context, const Shape& shape) {
  if (!followsContents(shape)) return std::nullopt;
  std::vector<Extent> result;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    const auto& contents = context.input(i).contents;
    if (!contents) return std::nullopt;
    result.insert(result.end(), contents->begin(), contents->end());
  }
  return result;
}

}  // namespace

Facts Concat::facts() const {
  Facts facts;
  facts.movement = true;
  return facts;
}

void Concat::infer(InferContext& context) const {
  Shape shape = context.input(0).shape;
  const auto at = static_cast<size_t>(context.axis(axis, static_cast<int>(shape.size())));
  for (size_t i = 1; i < context.inputCount(); ++i) {
    const auto& x = context.input(i).shape;
    checkSameType(context, 0, i);
    context.check(x.size() == shape.size(), "input {} has shape {}, input 0 has rank {}", i, text(x), shape.size());
    for (size_t k = 0; k < shape.size(); ++k) {
      shape[k] = k == at ? shape[k] + x[k] : context.merge(shape[k], x[k], fmt::format("axis {} of input {}", k, i));
    }
  }
  auto contents = concatContents(context, shape);
  context.output(context.input(0).dtype, std::move(shape), std::move(contents));
}

void Concat::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  const int at = positiveAxis(axis, out.dims.rank);
  const int64_t outer = out.dims.count(0, at);
  const int64_t row = out.dims.count(at, out.dims.rank);
  int64_t first = 0;
  for (const auto& x : context.inputs) {
    const int64_t run = x.dims.count(at, x.dims.rank);
    const ElementCopy copy(x, out);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < run; ++i) copy(o * run + i, o * row + first + i);
    }
    first += run;
  }
}

OperatorInfo operatorInfo_concat() { return describe<Concat>(); }

}  // namespace tenon::ops

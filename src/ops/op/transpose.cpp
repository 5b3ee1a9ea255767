// Transposition: shape rule and reference.
#include "ops/op/transpose.h"

#include "ops/strides.h"

namespace tenon::ops {

Facts Transpose::facts() const {
  Facts facts;
  facts.movement = true;
  return facts;
}

void Transpose::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(permutation.size() == x.shape.size(), "permutation [{}] has {} entries, the input {} has rank {}",
                fmt::join(permutation, ","), permutation.size(), text(x.shape), x.rank());
  std::vector<bool> seen(permutation.size());
  Shape shape;
  for (const auto axis : permutation) {
    context.check(axis >= 0 && axis < x.rank() && !seen[static_cast<size_t>(axis)],
                  "[{}] is not a permutation of 0 to {}", fmt::join(permutation, ","), x.rank() - 1);
    seen[static_cast<size_t>(axis)] = true;
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
  }
  context.output(x.dtype, std::move(shape), x.contents);
}

void Transpose::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  const auto inputStrides = x.dims.strides();
  Strides strides{};
  for (size_t i = 0; i < permutation.size(); ++i) strides[i] = inputStrides[static_cast<size_t>(permutation[i])];
  const ElementCopy copy(x, out);
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) copy(i.dot(strides), position);
}

OperatorInfo operatorInfo_transpose() { return describe<Transpose>(); }

}  // namespace tenon::ops

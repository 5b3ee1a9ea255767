// Reshape: count rule, contents pass through, evaluation copies.
#include "ops/op/reshape.h"

#include "core/lazy_text.h"
#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {

Facts Reshape::facts() const {
  Facts facts;
  facts.movement = true;
  facts.aliases = {{0, 0, true}};
  return facts;
}

void Reshape::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const Extent difference = product(x.shape) - product(shape);
  if (difference.isConstant() && !difference.isConstant(0)) {
    context.fail("shape {} has {} elements, the input {} has {}", text(shape), product(shape).text(), text(x.shape),
                 product(x.shape).text());
  }
  const bool follows = followsContents(shape);
  context.output(x.dtype, shape, follows ? x.contents : std::nullopt);
}

void Reshape::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  checkUser(x.count() == out.count(), "reshape: input {} has {} elements, the shape {} has {}", textOf(x.dims),
            x.count(), textOf(out.dims), out.count());
  copyAll(x, out);
}

OperatorInfo operatorInfo_reshape() { return describe<Reshape>(); }

}  // namespace tenon::ops

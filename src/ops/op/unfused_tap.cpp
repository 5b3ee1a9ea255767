// UnfusedTap: a Tap by another name.
#include "ops/op/unfused_tap.h"

#include "ops/op/tap.h"

namespace tenon::ops {

Facts UnfusedTap::facts() const { return Tap{}.facts(); }
void UnfusedTap::infer(InferContext& context) const { Tap{}.infer(context); }
void UnfusedTap::evaluate(const EvalContext& context) const { Tap{}.evaluate(context); }

OperatorInfo operatorInfo_unfused_tap() { return describe<UnfusedTap>(); }

}  // namespace tenon::ops

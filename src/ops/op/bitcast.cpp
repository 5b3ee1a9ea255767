// BitCast: type rule; evaluation copies bytes.
#include "ops/op/bitcast.h"

#include <cstring>

#include "ops/infer_util.h"

namespace tenon::ops {

Facts BitCast::facts() const { return {}; }

void BitCast::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(bits(x.dtype) % 8 == 0 && bits(x.dtype) == bits(type),
                "{} as the bits of {}; expected types of as many bits, in whole bytes", name(type), name(x.dtype));
  context.output(type, x.shape);
}

void BitCast::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  if (x.bytes() == 0) return;
  std::memcpy(out.data, x.data, x.bytes());
  if (type != DataType::kBool) return;
  auto* const bytes = static_cast<uint8_t*>(out.data);
  for (int64_t i = 0; i < out.count(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

OperatorInfo operatorInfo_bitcast() { return describe<BitCast>(); }

}  // namespace tenon::ops

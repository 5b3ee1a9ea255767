// Random numbers: shape rule and reference.
#include "ops/op/random.h"

#include "ops/infer_util.h"
#include "ops/philox.h"
#include "ops/random_draws.h"

namespace tenon::ops {

std::pair<uint64_t, uint64_t> Random::draw() const {
  const auto next = Draws::ofThread().next();
  return {seeded ? static_cast<uint64_t>(seed) : next.key, next.place + (static_cast<uint64_t>(stream) << 56)};
}

Facts Random::facts() const {
  Facts facts;
  facts.deterministic = false;
  return facts;
}

void Random::infer(InferContext& context) const {
  context.check(context.inputCount() == 0, "{} inputs, expected none", context.inputCount());
  context.check(stream >= 0 && stream < 128, "stream = {}, expected 0 to 127", stream);
  for (const Extent& extent : shape)
    context.check(!extent.isConstant() || extent.constant() >= 0, "shape {} has a negative extent", text(shape));
  context.output(DataType::kF32, shape);
}

void Random::evaluate(const EvalContext& context) const {
  const auto [key, place] = draw();
  const int64_t count = context.outputs[0].count();
  for (int64_t i = 0; i < count; ++i) {
    const auto four = uniformNumbers(key, place, static_cast<uint64_t>(i / 4));
    context.outputs[0].as<float>()[i] = four[static_cast<size_t>(i % 4)];
  }
}

OperatorInfo operatorInfo_random() { return describe<Random>(); }

}  // namespace tenon::ops

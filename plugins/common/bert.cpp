// Numbers of types, normalization, sequences.
#include "common/bert.h"

namespace tenon::plugins {
namespace {

enum TypeId : int64_t { kFloat, kHalf, kInt8 };
constexpr const char* kEpsilon = "1e-05";

}  // namespace

void checkTypeIdOrInt8(const Fields& f) {
  const int64_t type = f.integer("type_id");
  if (type != kFloat && type != kHalf && type != kInt8)
    throw PluginError(fmt::format("type_id is {}; expected 0, 1 or 2", type));
}

void checkTypeId(const Fields& f) {
  checkTypeIdOrInt8(f);
  if (f.integer("type_id") == kInt8)
    throw PluginError("type_id is 2 (INT8); this plugin computes in FP32 and FP16 (0 and 1)");
}

Value normalized(const Value& x, int axis, const std::vector<float>& scale, const std::vector<float>& bias) {
  Layers& layers = x.layers();
  const auto count = static_cast<int64_t>(scale.size());
  layers.check(bias.size() == scale.size() && (!x.dim(axis).isNumber() || x.dim(axis) == Size(count)),
               "gamma has {} numbers and beta {}; expected {}", scale.size(), bias.size(), x.dim(axis).text());
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[static_cast<size_t>(axis)] = count;
  return layers.add(fmt::format("normalization{{axes=[{}] epsilon={}}}", axis, kEpsilon),
                    {x, layers.constant(scale, dims).cast(x.type()), layers.constant(bias, dims).cast(x.type())});
}

Value sequenceOf(const Value& offsets, const Size& count) {
  Layers& layers = offsets.layers();
  const Value ends = offsets.slice(0, 1, offsets.dim(0) - Size(1)).unsqueeze(1);
  const Value token = layers.iota(count).unsqueeze(0);
  return layers.pointwise("less(x0,x1);not(t0);cast.i32(t1)", {token, ends}).reduce("sum", 0);
}

}  // namespace tenon::plugins

// Strided windows of a tensor, also beyond its bounds (padding).
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// What stands at indices outside the input: nothing (an error), the nearest element, the fill value, the input
// repeated, the input mirrored at its first and last element (which are not repeated).
enum class SliceMode : uint8_t { kStrict, kClamp, kFill, kWrap, kReflect };
constexpr std::array<std::string_view, 5> enumNames(SliceMode) {
  return {"strict", "clamp", "fill", "wrap", "reflect"};
}

// Inputs: x, optionally fill (one element of the type of x; without it 0 fills). out[i] = x[start + i * stride] per
// axis; start, size and stride have one entry per axis. start may be negative and stride may be zero or negative:
// indices are taken as they are, they do not count from the end.
struct Slice {
  static constexpr std::string_view kName = "slice";
  Shape start;
  Shape size;
  Shape stride;  // empty: 1
  SliceMode mode = SliceMode::kStrict;
  static constexpr auto fields = std::tuple{field("start", &Slice::start), field("size", &Slice::size),
                                            field("stride", &Slice::stride), field("mode", &Slice::mode)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

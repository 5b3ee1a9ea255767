// Boxes that no better box overlaps, in outputs of a fixed size.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// By how much a side counts longer than the difference of its ends: coordinates of pixels name the pixel's corner, and
// both ends belong to the box.
enum class PixelSides : uint8_t { kNone, kAreas, kAll };  // areas of boxes; those and the intersection
constexpr std::array<std::string_view, 3> enumNames(PixelSides) { return {"none", "areas", "all"}; }

// Inputs: boxes [N, B, 1 or C, 4] as two opposite corners, in any order; scores [N, B, C]; both floating, of one type.
// Outputs: count i32 [N]; boxes i32 [N, keep], which of the B; classes i32 [N, keep]; scores [N, keep]. Per image:
// 1. Candidates are the pairs of a box and a class whose score is above the threshold (inclusive: or equal to it; NaN
//    never is), but for the background class. They are ordered: higher score, then lower class, then lower box.
// 2. Of each class the first `perClass` stay, then of all the first `inAll` (0: no limit).
// 3. In this order a candidate is kept unless its overlap with a kept one of its class (agnostic: of any class) exceeds
// the
//    threshold (inclusiveOverlap: or equals it). The overlap is intersection over union, 0 where they do not meet; NaN
//    suppresses nothing.
// 4. Of the kept ones of each class the first `keepPerClass` (0: no limit) are written, and in all `keep`. Those beyond
//    still suppress. Behind the last one stand the box -1, the class -1 and the score 0.
struct PaddedNms {
  static constexpr std::string_view kName = "padded_nms";
  double scoreThreshold = 0;
  double overlapThreshold = 0.5;
  Extent keep = 1;
  int64_t perClass = 0;
  int64_t inAll = 0;
  int64_t keepPerClass = 0;
  int64_t background = -1;
  bool agnostic = false;
  bool inclusive = false;
  bool inclusiveOverlap = false;
  PixelSides pixels = PixelSides::kNone;
  static constexpr auto fields = std::tuple{field("scoreThreshold", &PaddedNms::scoreThreshold),
                                            field("overlapThreshold", &PaddedNms::overlapThreshold),
                                            field("keep", &PaddedNms::keep),
                                            field("perClass", &PaddedNms::perClass),
                                            field("inAll", &PaddedNms::inAll),
                                            field("keepPerClass", &PaddedNms::keepPerClass),
                                            field("background", &PaddedNms::background),
                                            field("agnostic", &PaddedNms::agnostic),
                                            field("inclusive", &PaddedNms::inclusive),
                                            field("inclusiveOverlap", &PaddedNms::inclusiveOverlap),
                                            field("pixels", &PaddedNms::pixels)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

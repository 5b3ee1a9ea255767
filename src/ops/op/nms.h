// Boxes by descending score, without those that overlap a better one.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// See Nms.
enum class BoxFormat : uint8_t { kCorners, kCenters };
constexpr std::array<std::string_view, 2> enumNames(BoxFormat) { return {"corners", "centers"}; }

// Inputs: boxes [batch, boxes, 4] or [batch, boxes, classes, 4], each two opposite corners (x1, y1, x2, y2) or
// (x, y of the center, width, height); scores [batch, boxes, classes] of the same floating type; three numbers: how
// many boxes of a class of a batch item are selected at most (integer), the highest allowed overlap, and what a score
// must exceed (f32). In each batch item the `limit` pairs of box and class with the highest scores above the threshold
// are gone through by descending score, of equal ones the lower box first, then the lower class. One is selected unless
// its intersection with a selected box of its class is more than the allowed part of their union. Outputs: rows (batch
// item, class, box) in the order of selection, [most, 3], zeros behind the last; their number, i32, rank 0. `most` is a
// bound that the caller knows; what exceeds it is left out.
struct Nms {
  static constexpr std::string_view kName = "nms";
  BoxFormat format = BoxFormat::kCorners;
  int64_t limit = 5000;
  Extent most = 0;
  DataType indexType = DataType::kI32;  // i32 or i64
  static constexpr auto fields = std::tuple{field("format", &Nms::format), field("limit", &Nms::limit),
                                            field("most", &Nms::most), field("indexType", &Nms::indexType)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

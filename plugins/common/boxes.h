// What detection plugins share: suppression of overlapping boxes, rows picked by its results.
#pragma once

#include "common/layers.h"

namespace tenon::plugins {

// What the operator padded_nms gives, each [N, keep] but for the count, which is [N]. Behind the last box stand the
// numbers -1 and the score 0.
struct Kept {
  Value count;
  Value boxes;
  Value classes;
  Value scores;
};

// boxes [N, B, 1 or C, 4], scores [N, B, C]; options: fields of padded_nms.
Kept suppress(const Value& boxes, const Value& scores, const std::string& options);

// Of rows [N, B, width] those with the numbers [N, K]; zeros for the number -1 and below.
Value rowsOrZero(const Value& rows, const Value& numbers);
// Of boxes [N, B, 1 or C, 4] the kept ones: [N, keep, 4].
Value keptBoxes(const Value& boxes, const Kept& kept);

// The four columns of boxes [..., 4], each [..., 1], and back.
std::vector<Value> columns(const Value& boxes);
Value boxesOf(const std::vector<Value>& columns);

}  // namespace tenon::plugins

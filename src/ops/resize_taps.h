// Which input elements make an output element of a resize, and with which weights, along one axis.
#pragma once

#include <vector>

#include "ops/op/resize.h"

namespace tenon::ops {

struct ResizeTap {
  int64_t index;
  double weight;
};

// Taps of output position `o` on an axis of input extent `in` (at least 1) and output extent `out`.
std::vector<ResizeTap> resizeTaps(const Resize& op, size_t axis, int64_t o, int64_t in, int64_t out);

}  // namespace tenon::ops

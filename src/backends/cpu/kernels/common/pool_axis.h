// An axis that windows of pooling slide over, and what of a window lies within the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tenon::backends::cpu {

struct PoolRange {
  int64_t begin = 0, end = 0;  // of the input; cells stand a step of the axis apart
  int64_t cells = 0;           // within the input
  int64_t padded = 0;          // within the padded input
};

struct PoolAxis {
  int64_t in = 1, out = 1, window = 1, stride = 1, step = 1, before = 0, after = 0;

  int64_t reach() const { return (window - 1) * step + 1; }
  // The cells of a window that begins at `first` which lie in [low, high).
  std::pair<int64_t, int64_t> cellsIn(int64_t first, int64_t low, int64_t high) const {
    const auto until = [&](int64_t bound) {  // how many stand in front of it
      return bound <= first ? 0 : std::min(window, (bound - first + step - 1) / step);
    };
    const int64_t begin = until(low);
    return {begin, std::max(begin, until(high))};
  }
  PoolRange inside(int64_t position) const {
    const int64_t first = position * stride - before;
    const auto [begin, end] = cellsIn(first, 0, in);
    const auto [paddedBegin, paddedEnd] = cellsIn(first, -before, in + after);
    PoolRange result{0, 0, end - begin, paddedEnd - paddedBegin};
    if (end > begin) {
      result.begin = first + begin * step;
      result.end = first + (end - 1) * step + 1;
    }
    return result;
  }
};

}  // namespace tenon::backends::cpu

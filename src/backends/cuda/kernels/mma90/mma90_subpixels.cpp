// Cells of deconvolutions in the text of plans; their weights as those of windows.
#include <algorithm>
#include <numeric>

#include "backends/cuda/kernels/mma90/mma90.h"

namespace tenon::backends::cuda {

namespace {

constexpr int64_t kMostTaps = int64_t{1} << 20;  // of a kernel, and pixels of a cell
constexpr int64_t kMostExtent = 4096;

}  // namespace

std::string Mma90Cells::text() const {
  return fmt::format("^{}{},{},{},{},{},{}", gathers ? "g" : "", cell[0], cell[1], cell[2], kernel[0], kernel[1],
                     kernel[2]);
}

Mma90Cells Mma90Cells::read(TextReader& in) {
  Mma90Cells cells;
  cells.gathers = in.accept("g");
  bool isFirst = true;
  for (auto* values : {cells.cell, cells.kernel}) {
    for (int i = 0; i < 3; ++i, isFirst = false) {
      if (!isFirst) in.expect(",");
      values[i] = in.integer();
    }
  }
  return cells;
}

bool Mma90Cells::fits(const Mma90Weights& weights) const {
  int64_t allTaps = 1, allPixels = 1, allWindows = 1;
  for (int i = 0; i < 3; ++i) {
    if (cell[i] < 1 || cell[i] > kMostExtent || kernel[i] < 1 || kernel[i] > kMostExtent) return false;
    allTaps *= kernel[i];
    allPixels *= cell[i];
    allWindows *= taps(i);
    if (allTaps > kMostTaps || allPixels > kMostTaps) return false;
  }
  return weights.taps == allWindows && weights.groups == 1 && weights.columns % allPixels == 0 &&
         (weights.isDeep || (cell[2] == 1 && kernel[2] == 1));
}

int64_t Mma90Weights::sourceCount() const {
  if (!subpixels) return count();
  const auto& kernel = subpixels->kernel;
  return channels() * inner * kernel[0] * kernel[1] * kernel[2];
}

template <typename T>
std::vector<T> Mma90Cells::spread(const T* w, const Mma90Weights& weights) const {
  const int64_t channels = weights.channels();
  std::vector<T> result(static_cast<size_t>(weights.count()));
  auto to = result.begin();
  const auto eachPixel = [&](auto visit) {
    for (int64_t z = 0; z < cell[2]; ++z)
      for (int64_t y = 0; y < cell[0]; ++y)
        for (int64_t x = 0; x < cell[1]; ++x) visit(z, y, x);
  };
  // Of deconvolutions windows begin where the last taps of the kernel meet x.
  const auto tapOf = [&](int axis, int64_t pixel, int64_t place) {
    return gathers ? place - pixel : pixel + cell[axis] * (taps(axis) - 1 - place);
  };
  eachPixel([&](int64_t pz, int64_t py, int64_t px) {
    for (int64_t k = 0; k < channels; ++k) {
      for (int64_t c = 0; c < weights.inner; ++c) {
        const T* const from =
            w + (gathers ? k * weights.inner + c : c * channels + k) * kernel[2] * kernel[0] * kernel[1];
        for (int64_t z = 0; z < taps(2); ++z) {
          for (int64_t y = 0; y < taps(0); ++y) {
            for (int64_t x = 0; x < taps(1); ++x, ++to) {
              const int64_t tz = tapOf(2, pz, z), ty = tapOf(0, py, y), tx = tapOf(1, px, x);
              const bool isTap = tz >= 0 && ty >= 0 && tx >= 0 && tz < kernel[2] && ty < kernel[0] && tx < kernel[1];
              if (isTap) *to = from[(tz * kernel[0] + ty) * kernel[1] + tx];
            }
          }
        }
      }
    }
  });
  return result;
}
template std::vector<uint16_t> Mma90Cells::spread(const uint16_t* w, const Mma90Weights& weights) const;
template std::vector<uint32_t> Mma90Cells::spread(const uint32_t* w, const Mma90Weights& weights) const;

}  // namespace tenon::backends::cuda

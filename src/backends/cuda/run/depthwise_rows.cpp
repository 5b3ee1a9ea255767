// The shapes of blocks for depthwise convolutions that work down the rows.
#include "backends/cuda/run/depthwise_rows.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostThreads = 256;
constexpr int64_t kMostSharedBytes = 96 << 10;  // of a block, as kernels/depthwise_rows.cuh says
constexpr int64_t kCopyBytes = 16;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows of x in shared memory.
int64_t rowsHeld(const DepthwiseForm& form) { return form.stride == 1 ? 4 : 6; }
int64_t pixelsOf(const DepthwiseForm& form, int64_t strips) {
  return (strips * form.places - 1) * form.stride + form.kernel;
}

// Cycles of a large chip, fitted to measurements of an H200: what holds a step up is arithmetic, requests (one for the
// channels of a pixel, or for a line of memory), bytes, or that the next step needs it.
double estimate(const DepthwiseForm& form, const DepthwiseTile& tile, int64_t images, int64_t channels,
                int64_t elementBytes) {
  constexpr int64_t kProcessors = 132;
  constexpr int64_t kRegisters = 65536;
  constexpr int64_t kSharedBytes = 227 << 10;
  constexpr double kLineBytes = 128;
  const int64_t taps = int64_t{form.kernel} * form.kernel;
  const int64_t threads = form.threads(tile);
  const int64_t sharedBytes = form.sharedBytes(tile, elementBytes) + 1024;
  const int64_t fitting = std::clamp<int64_t>(
      std::min(kRegisters / (threads * form.registers), kSharedBytes / sharedBytes), 1, 32);
  const int64_t blocks = images * tile.blocks();
  const auto resident = static_cast<double>(std::clamp<int64_t>(ceilDiv(blocks, kProcessors), 1, fitting));
  const int64_t results = int64_t{tile.strips} * form.places;
  const auto pixels = static_cast<double>(form.stride * pixelsOf(form, tile.strips) + results);
  const auto pixelBytes = static_cast<double>(tile.channels * elementBytes);

  const double instructions = 2.1 * static_cast<double>(taps * form.places * form.width) + 50 + 9.7 * form.places;
  const double issue = resident * static_cast<double>(threads) / 128 * 1.28 * instructions;
  const double requests = 9.1 * resident * pixels * (tile.channels == channels ? pixelBytes / kLineBytes : 1.0);
  const double memory = resident * pixels * pixelBytes / 16.5;
  const double step = std::max({issue, requests, memory, 250 + 1.7 * instructions});

  double waves = static_cast<double>(blocks) / (static_cast<double>(kProcessors) * resident);
  waves = waves > 1 ? waves + 0.4 : 1;
  const double steps = tile.rows + static_cast<double>(ceilDiv(form.kernel, form.stride)) - 1;
  return 2000 + waves * (steps * step + 630 + 50 * static_cast<double>(taps));
}

}  // namespace

int64_t DepthwiseForm::threads(const DepthwiseTile& tile) const {
  return ceilDiv(int64_t{tile.channels} / width * tile.strips, 32) * 32;
}

int64_t DepthwiseForm::sharedBytes(const DepthwiseTile& tile, int64_t elementBytes) const {
  return rowsHeld(*this) * pixelsOf(*this, tile.strips) * tile.channels * elementBytes;
}

// Few places keep small launches busy and waste little at the right edge; many spare work where sums are long.
std::vector<DepthwiseForm> depthwiseForms(int kernel, int stride) {
  if (stride != 1 && stride != 2) return {};
  if (kernel == 3) return {{3, stride, 2, 4, 96}};
  if (kernel == 5) return {{5, stride, 2, 2, 116}, {5, stride, 7, 2, 168}};
  return {};
}

DepthwiseChoice chooseDepthwise(const WindowParameters& p, int64_t images, int64_t elementBytes) {
  DepthwiseChoice best;
  const int64_t channels = p.channels;
  const int64_t height = p.window[1].small;
  for (const auto& form : depthwiseForms(p.window[1].kernel, p.window[1].stride)) {
    const int64_t unit = kCopyBytes / elementBytes;
    const int64_t strips = ceilDiv(p.window[2].small, form.places);
    for (int64_t across = 1;; across = std::min(2 * across, strips)) {
      const int64_t own = ceilDiv(strips, across);
      for (int64_t width = unit; width < channels + unit; width += unit) {
        DepthwiseTile tile;
        tile.channels = int32Of(width);
        tile.strips = int32Of(own);
        tile.channelTiles = int32Of(ceilDiv(channels, width));
        tile.columnTiles = int32Of(ceilDiv(strips, own));
        if (form.threads(tile) > kMostThreads || form.sharedBytes(tile, elementBytes) > kMostSharedBytes) break;
        for (int64_t down = 1; down <= height; down += 1 + down / 8) {
          tile.rows = int32Of(ceilDiv(height, down));
          tile.heights = int32Of(ceilDiv(height, tile.rows));
          const double cost = estimate(form, tile, images, channels, elementBytes);
          if (best.tile.channels == 0 || cost < best.cost) best = {form, tile, cost};
        }
      }
      if (across == strips) break;
    }
  }
  return best;
}

}  // namespace tenon::backends::cuda

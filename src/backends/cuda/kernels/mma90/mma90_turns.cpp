// Of windows of images: which tiles need which rows of taps, and which blocks take them.
#include <algorithm>
#include <queue>
#include <utility>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/mma90/mma90_kernel.h"

namespace tenon::backends::cuda {
namespace {

// The tile's rows of the whole product, as those of mma90_persistent.cuh's Tile.
int64_t rowsOfTile(const Mma90Order& order, int64_t tile) {
  const int64_t ofBand = int64_t{order.band} * order.across;
  const int64_t band = tile / ofBand;
  const int64_t height = std::min<int64_t>(order.band, order.down - band * order.band);
  return band * order.band + tile % ofBand % height;
}

// The rows of taps that meet the image for any of these rows of the product; the first one where none does.
std::pair<int64_t, int64_t> tapsOf(const Mma90Image& image, int64_t firstRow, int64_t lastRow) {
  const int64_t ofImage = image.windows[0] * image.windows[1];
  const bool isOne = firstRow / ofImage == lastRow / ofImage;
  const int64_t top = isOne ? firstRow % ofImage / image.windows[1] : 0;
  const int64_t bottom = isOne ? lastRow % ofImage / image.windows[1] : image.windows[0] - 1;
  int64_t first = image.taps[0], end = 0;
  for (int64_t tap = 0; tap < image.taps[0]; ++tap) {
    const int64_t offset = tap * image.dilation[0] - image.before[0];
    if (bottom * image.stride[0] + offset < 0 || top * image.stride[0] + offset >= image.height) continue;
    first = std::min(first, tap);
    end = tap + 1;
  }
  return end == 0 ? std::pair<int64_t, int64_t>{0, 1} : std::pair{first, end};
}

std::vector<Mma90Turn> allTiles(const Mma90Image& image, const Mma90Weights& weights, const Mma90Shape& shape) {
  const int64_t rows = image.images * image.windows[0] * image.windows[1];
  const int64_t stepsOfRow = image.taps[1] * weights.chunks();
  const auto order = shape.order(rows, weights.tiles());
  std::vector<Mma90Turn> tiles;
  for (int32_t tile = 0; tile < order.tiles; ++tile) {
    const int64_t firstRow = rowsOfTile(order, tile) * shape.rows;
    const auto [first, end] = tapsOf(image, firstRow, std::min(firstRow + shape.rows, rows) - 1);
    tiles.push_back({tile, static_cast<int32_t>(first * stepsOfRow), static_cast<int32_t>(end * stepsOfRow)});
  }
  return tiles;
}

}  // namespace

std::vector<Mma90Turn> mma90Turns(const Mma90Image& image, const Mma90Weights& weights, const Mma90Shape& shape,
                                  int64_t blocks) {
  auto tiles = allTiles(image, weights, shape);
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const auto& a, const auto& b) { return a.end - a.first > b.end - b.first; });
  using Load = std::pair<int64_t, int64_t>;  // steps, block
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int64_t block = 0; block < blocks; ++block) loads.emplace(0, block);
  std::vector<std::vector<Mma90Turn>> taken(static_cast<size_t>(blocks));
  size_t most = 0;
  for (const auto& tile : tiles) {
    const auto [steps, block] = loads.top();
    loads.pop();
    loads.emplace(steps + tile.end - tile.first, block);
    auto& own = taken[static_cast<size_t>(block)];
    own.push_back(tile);
    most = std::max(most, own.size());
  }
  std::vector<Mma90Turn> turns;
  for (size_t i = 0; i < most; ++i) {
    for (const auto& own : taken) turns.push_back(i < own.size() ? own[i] : Mma90Turn{});
  }
  return turns;
}

bool mma90MayOmit(const Mma90Image& image, const Mma90Weights& weights, const Mma90Shape& shape) {
  constexpr int64_t kLeastPercent = 18;  // less than that is lost again by uneven turns
  if (!shape.isPersistent() || image.isDeep) return false;
  int64_t needed = 0, tiles = 0;
  for (const auto& tile : allTiles(image, weights, shape)) {
    needed += tile.end - tile.first;
    ++tiles;
  }
  return needed * 100 < tiles * weights.steps() * (100 - kLeastPercent);
}

}  // namespace tenon::backends::cuda

// As many launches as the largest number of keys may need; those that turn out not to be needed end at once.
#include "backends/cuda/kernels/common/key_sort.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastTile = 64;
constexpr unsigned kStepThreads = 256;

unsigned gridOf(int64_t items, int64_t blocks) {
  checkUser(items * blocks < int64_t{1} << 31, "sorting {} lists in {} blocks each exceeds a grid", items, blocks);
  return static_cast<unsigned>(items * blocks);
}

}  // namespace

KeySort::KeySort(const Module& module)
    : tiles_(module.function("tenon_sort_tiles")),
      merge_(module.function("tenon_sort_merge")),
      steps_(module.function("tenon_sort_steps")) {}

int64_t KeySort::configure(int64_t items, int64_t most) {
  items_ = items;
  parameters_ = {};
  parameters_.count = most;
  parameters_.capacity = kLeastTile;
  while (parameters_.capacity < most) parameters_.capacity *= 2;
  parameters_.tile = std::min<int64_t>(parameters_.capacity, kSortTile);
  return parameters_.capacity;
}

void KeySort::launchTiles(CUfunction function, void* stream) {
  parameters_.blocks = parameters_.capacity / parameters_.tile;
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>(parameters_.tile / 4, 32, 1024));
  launchGrid(function, gridOf(items_, parameters_.blocks), 1, 1, threads, &parameters_, stream);
}

void KeySort::launch(uint64_t* keys, const uint32_t* counts, void* stream) {
  if (items_ == 0 || parameters_.count == 0) return;
  parameters_.keys = keys;
  parameters_.counts = counts;
  launchTiles(tiles_, stream);
  for (int64_t size = parameters_.tile * 2; size <= parameters_.capacity; size *= 2) {
    parameters_.size = size;
    for (int64_t distance = size / 2; distance >= parameters_.tile;) {
      parameters_.distance = distance;
      parameters_.steps = 0;
      for (; distance >= parameters_.tile && parameters_.steps < kMostSortSteps; distance /= 2) ++parameters_.steps;
      const int64_t threads = parameters_.capacity >> parameters_.steps;
      parameters_.blocks = (threads + kStepThreads - 1) / kStepThreads;
      launchGrid(steps_, gridOf(items_, parameters_.blocks), 1, 1, kStepThreads, &parameters_, stream);
    }
    launchTiles(merge_, stream);
  }
}

}  // namespace tenon::backends::cuda

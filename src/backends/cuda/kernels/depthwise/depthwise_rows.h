// Tile shapes of depthwise convolutions that walk down the rows, and how blocks share the work (depthwise_rows.cuh).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/direct/direct.h"

namespace tenon::backends::cuda {

struct DepthwiseForm {
  int kernel = 0, stride = 0;
  int places = 0, width = 0;  // columns and channels of a thread
  int registers = 0;          // of a thread, for an estimate

  int variant() const { return 1000 * width + 100 * kernel + 10 * stride + places; }
  int64_t threads(const DepthwiseTile& tile) const;
  int64_t sharedBytes(const DepthwiseTile& tile, int64_t elementBytes) const;
};

// Forms for windows of that extent; none for others.
std::vector<DepthwiseForm> depthwiseForms(int kernel, int stride);

inline int64_t blocksOfImage(const DepthwiseTile& tile) {
  return int64_t{tile.channelTiles} * tile.columnTiles * tile.heights;
}

struct DepthwiseChoice {
  DepthwiseForm form;
  DepthwiseTile tile;
  double cost = 0;  // cycles, roughly

  std::string text() const;  // "7x2:16,2,7": places and width of the form; channels, strips and rows of the tile
};

// Whether results work down the rows: each row of them but those at the upper edge begins in a row of x, so that zeros
// at the edges stay zero where weights are finite.
bool worksDownRows(const WindowParameters& p);
// Tiles for so many images that are likely fast, each of quite another shape, the likely fastest first; none where
// nothing fits.
std::vector<DepthwiseChoice> depthwiseChoices(const WindowParameters& p, int64_t images, int64_t elementBytes,
                                              size_t most);
// One of them by its text. UserError where it fits no block.
DepthwiseChoice parseDepthwise(std::string_view text, const WindowParameters& p, int64_t elementBytes);

}  // namespace tenon::backends::cuda

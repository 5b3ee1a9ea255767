// Forms of depthwise convolutions that work down the rows, and how blocks share the work (depthwise_rows.cuh,
// depthwise_strips.cuh).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/direct/direct.h"

namespace tenon::backends::cuda {

struct ElementBytes {
  int64_t operand = 0, result = 0;
};

struct DepthwiseForm {
  int kernel = 0, stride = 0;
  int places = 0, width = 0;  // columns and channels of a thread; of strips: of a result of tensor cores and of a warp
  int registers = 0;          // of a thread, for an estimate

  int variant() const { return 1000 * width + 100 * kernel + 10 * stride + places; }
  bool byStrips() const;  // on tensor cores
  int64_t threads(const DepthwiseTile& tile) const;
  int64_t sharedBytes(const DepthwiseTile& tile, const ElementBytes& bytes) const;
  int64_t blocks(const DepthwiseTile& tile, int64_t images) const;
};

// Forms for windows of that extent and elements of so many bytes; none for others.
std::vector<DepthwiseForm> depthwiseForms(int kernel, int stride, int64_t elementBytes);

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
std::vector<DepthwiseChoice> depthwiseChoices(const WindowParameters& p, int64_t images, const ElementBytes& bytes,
                                              size_t most);
// One of them by its text. UserError where it fits no block.
DepthwiseChoice parseDepthwise(std::string_view text, const WindowParameters& p, const ElementBytes& bytes);

}  // namespace tenon::backends::cuda

// Forms of depthwise convolutions that work down the rows, and how blocks share the work (kernels/depthwise_rows.cuh).
#pragma once

#include "backends/cuda/run/direct.h"

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

// A form with the tile that is likely fastest for so many images; a tile without channels where nothing fits.
struct DepthwiseChoice {
  DepthwiseForm form;
  DepthwiseTile tile;
  double cost = 0;  // cycles, roughly
};
DepthwiseChoice chooseDepthwise(const WindowParameters& p, int64_t images, int64_t elementBytes);

}  // namespace tenon::backends::cuda

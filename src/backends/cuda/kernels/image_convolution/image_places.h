// What the launches of image convolutions share.
#pragma once

#include <limits>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/common/window.h"
#include "backends/cuda/kernels/image_convolution/image_convolution_parameters.h"
#include "core/text.h"

namespace tenon::backends::cuda {

// Where images lie, and how many zeros stand in front of them.
inline void setImage(ImageParameters& p, const runtime::TensorShape& x, const ops::Window& down,
                     const ops::Window& across, int64_t lead) {
  p.height = int32Of(x.dims[2]);
  p.width = int32Of(x.dims[3]);
  p.top = int32Of(down.before);
  p.left = int32Of(across.before + lead);
  const auto strides = stridesOf(x.dims, x.layout);
  p.image = strides[0];
  checkUser(strides[0] <= std::numeric_limits<uint32_t>::max(),
            "image convolution: an image has {} elements; at most 2^32 are supported", strides[0]);
  p.channel = int32Of(strides[1]);
  p.line = int32Of(strides[2]);
}

// Tiles of all images, as many for each of the blocks of a group of channels; returns how many for a block.
inline int64_t setTiles(ImageParameters& p, int64_t images, int64_t across, int64_t groups, int64_t residentBlocks) {
  const int64_t down = (p.rows + kImageTileRows - 1) / kImageTileRows;
  p.across = dividerBy(across);
  p.down = dividerBy(down);
  p.tiles = int32Of(images * across * down);
  const int64_t resident = residentBlocks * multiprocessors();
  return (p.tiles * groups + resident - 1) / resident;
}

// The operands, of which the result is written by packs.
inline void setData(ImageParameters& p, const runtime::LaunchArguments& arguments, bool hasBias) {
  constexpr size_t kPackBytes = 16;
  p.x = arguments.inputs[0];
  p.w = arguments.inputs[1];
  p.bias = hasBias ? arguments.inputs[2] : nullptr;
  p.data[0] = arguments.outputs[0];
  checkUser(isAligned(p.data[0], kPackBytes), "image convolution: the output is not aligned to {} bytes", kPackBytes);
}

// The extents of weights: "[K,C,R,S]".
inline Dims readWindow(TextReader& in) {
  Dims w;
  for (int axis = 0; axis < 4; ++axis) {
    in.expect(axis == 0 ? "[" : ",");
    w.push(in.integer());
  }
  in.expect("]");
  return w;
}

}  // namespace tenon::backends::cuda

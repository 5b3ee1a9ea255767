// Padding modes of convolution, deconvolution and pooling resolved to explicit padding.
#pragma once

#include <NvInfer.h>

#include "core/dims.h"

namespace tenon::api {

namespace nv = nvinfer1;

// The sliding window of a layer over its spatial axes, all of one rank.
struct Window {
  Dims kernel;    // extents
  Dims dilation;  // 1 for pooling
  Dims stride;
  Dims prePadding;
  Dims postPadding;
  nv::PaddingMode mode = nv::PaddingMode::kEXPLICIT_ROUND_DOWN;
};

struct Padding {
  Shape pre;
  Shape post;
};

// Of a window that slides over `spatial` extents. The result rounds down: for kEXPLICIT_ROUND_UP the padding behind
// grows until the last, partial window fits.
Padding slidingPadding(const Window& window, const Shape& spatial);
// As above where the mode is kSAME_*; else what was set, for operators that can round up themselves.
Padding samePadding(const Window& window, const Shape& spatial);
// What a deconvolution cuts from its output. kSAME_*: the output is stride times the input.
Padding deconvolutionPadding(const Window& window);

// UserError unless all entries have the rank of the kernel and are at least `lowest`; an empty entry becomes `fill`.
Dims windowDims(const nv::Dims& dims, int rank, int64_t lowest, int64_t fill, std::string_view what);
bool allZero(const Shape& shape);

}  // namespace tenon::api

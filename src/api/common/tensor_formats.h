// TensorRT's formats of network inputs and outputs, and the memory layouts that they are.
#pragma once

#include <NvInfer.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/layout.h"

namespace tenon::api {

namespace nv = nvinfer1;

// The layout of a format for tensors of a type and shape. The channels are the third axis from the end, with a depth
// (kDHWC, kDHWC8, kCDHW32) the fourth. Throws Unsupported, with the reason, for tensors without that axis, for elements
// smaller than a byte in formats other than kLINEAR, and for kDLA_HWC4 where the number of channels is not 1, 3 or 4.
Layout layoutOf(nv::TensorFormat format, DataType type, const Shape& shape);

// Layouts of the formats in a mask of 1 << TensorFormat, kLINEAR first and then in the order of the formats; empty
// where all are allowed. Formats that the tensor cannot have are left out; throws Unsupported, naming `tensor` and the
// reason for each, when none remains.
std::vector<Layout> allowedLayouts(nv::TensorFormats formats, DataType type, const Shape& shape,
                                   std::string_view tensor);

// A format as getTensorFormat() and its relatives speak of it.
struct FormatFacts {
  nv::TensorFormat format = nv::TensorFormat::kLINEAR;
  std::string_view name;  // "kHWC8"
  int vectorAxis = -1;    // axis of which several elements make one vector; -1: none
  int components = -1;    // elements of a vector; -1 where there are none
};
// Of the layout of an input or output of this rank.
FormatFacts factsOf(Layout layout, int rank);

// Steps between neighbours along each axis, in vectors where the format has some, else in elements; -1 where an extent
// that counts is not known.
nv::Dims stridesOf(const Dims& dims, Layout layout);

}  // namespace tenon::api

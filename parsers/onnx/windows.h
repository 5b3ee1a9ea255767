// Pools that the pooling layer cannot say, as one strided slice for each place of the window.
#pragma once

#include <optional>

#include "common/spatial.h"
#include "common/term.h"

namespace tenon::parsers::onnx {

struct WindowMaximum {
  Term value;
  std::optional<Term> index;  // INT64: the place of the first greatest element in the whole tensor
};
// columnMajor: places count the spatial axes from the first one.
WindowMaximum windowMaximum(const Term& x, const Spatial& spatial, bool withIndex, bool columnMajor);
Term windowSum(const Term& x, const Spatial& spatial);
Term windowAverage(const Term& x, const Spatial& spatial, bool excludePadding);

}  // namespace tenon::parsers::onnx

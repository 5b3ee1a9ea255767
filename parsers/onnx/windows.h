// Pools that the pooling layer cannot say.
#pragma once

#include "common/spatial.h"
#include "common/term.h"

namespace tenon::parsers::onnx {

// The same window with its padding written out; fails where that depends on an extent that only the run knows, and
// where the window does not fit.
Spatial withExplicitPadding(const Term& x, const Spatial& spatial);

// With one strided slice for each place of the window.
struct WindowMaximum {
  Term value;
  Term index;  // INT64: the place of the first greatest element in the whole tensor
};
// columnMajor: places count the spatial axes from the first one.
WindowMaximum windowMaximum(const Term& x, const Spatial& spatial, bool columnMajor);

}  // namespace tenon::parsers::onnx

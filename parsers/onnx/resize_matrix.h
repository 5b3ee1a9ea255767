// Resizing along single axes by constant matrices, for what the resize layer cannot say.
#pragma once

#include <string>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

struct ResizeRule {
  std::string mode;         // nearest, linear, cubic
  std::string coordinates;  // coordinate_transformation_mode
  std::string rounding;     // nearest_mode
  double cubic = -0.75;
  bool excludeOutside = false;
  bool antialias = false;
  double extrapolation = 0;  // of tf_crop_and_resize
};

struct ResizedAxis {
  int64_t axis = 0;
  int64_t size = 0;  // of the result
  double scale = 1;  // of the coordinates
  double begin = 0;  // of the region of tf_crop_and_resize, as parts of the axis
  double end = 1;
};

// Fails where the extent of a resized axis is known only at run time, or a name of the rule is unknown.
Term resizedByMatrices(const Term& x, const ResizeRule& rule, const std::vector<ResizedAxis>& axes);

}  // namespace tenon::parsers::onnx

// What convolution and pooling share: window, strides, dilations and padding of the spatial dimensions.
#pragma once

#include "network_writer.h"

namespace tenon::parsers {

struct Spatial {
  Dimensions kernel;
  Dimensions strides;
  Dimensions dilations;
  Dimensions padsBegin;
  Dimensions padsEnd;
  nvinfer1::PaddingMode mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;

  size_t rank() const { return kernel.size(); }
  // One more spatial axis of extent 1: the API has no 1-D windows.
  void appendUnitAxis();
};

// A 3-D tensor [N, C, L] as [N, C, L, 1].
ParsedValue withUnitAxis(NetworkWriter& writer, const ParsedValue& value);
ParsedValue withoutUnitAxis(NetworkWriter& writer, const ParsedValue& value);

template <typename Layer>
void setPadding(Layer& layer, const Spatial& spatial) {
  layer.setPaddingMode(spatial.mode);
  layer.setPrePadding(toDims(spatial.padsBegin));
  layer.setPostPadding(toDims(spatial.padsEnd));
}

}  // namespace tenon::parsers

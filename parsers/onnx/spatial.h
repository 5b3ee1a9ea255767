// What convolutions and pools share: window, strides, dilations and padding over the spatial axes.
#pragma once

#include "node.h"

namespace tenon::onnxparser {

struct Spatial {
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape padsBegin;
  Shape padsEnd;
  nvinfer1::PaddingMode mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;

  size_t rank() const { return kernel.size(); }
  // One more spatial axis of extent 1: the API has no 1-D windows.
  void appendUnitAxis();
};

// Reads kernel_shape (unless the weights give it), strides, dilations, pads, auto_pad.
Spatial readSpatial(const Node& node, Shape kernel);

// A 3-D tensor [N, C, L] as [N, C, L, 1].
Value withUnitAxis(Emitter& emitter, const Value& value);
Value withoutUnitAxis(Emitter& emitter, const Value& value);

template <typename Layer>
void setPadding(Layer& layer, const Spatial& spatial) {
  layer.setPaddingMode(spatial.mode);
  layer.setPrePadding(toDims(spatial.padsBegin));
  layer.setPostPadding(toDims(spatial.padsEnd));
}

}  // namespace tenon::onnxparser

// The attributes of an ONNX node that describe a window: kernel_shape, strides, dilations, pads, auto_pad.
#pragma once

#include "common/spatial.h"
#include "onnx_node.h"

namespace tenon::parsers::onnx {

// Reads kernel_shape (unless the weights give it), strides, dilations, pads, auto_pad.
Spatial readSpatial(const OnnxNode& node, Dimensions kernel);

}  // namespace tenon::parsers::onnx

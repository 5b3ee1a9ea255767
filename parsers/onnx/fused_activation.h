// The activations that fused nodes of the domain com.microsoft name.
#pragma once

#include <string>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

// x through the activation of that name, with the numbers in activation_params or activation_alpha; as it is where the
// name is empty.
Term activated(const OnnxNode& node, const Term& x, const std::string& name);

}  // namespace tenon::parsers::onnx

// Activations by name.
#include "fused_activation.h"

namespace tenon::parsers::onnx {

using nvinfer1::ActivationType;

Term activated(const OnnxNode& node, const Term& x, const std::string& name) {
  const std::vector<float> parameters = node.reals("activation_params");
  const auto parameter = [&](size_t index, float fallback) {
    return index < parameters.size() ? parameters[index] : fallback;
  };
  const float alpha = node.real("activation_alpha", parameter(0, 0.01f));
  if (name.empty()) {
    return x;
  }
  if (name == "Relu") {
    return x.activation(ActivationType::kRELU);
  }
  if (name == "Sigmoid") {
    return x.activation(ActivationType::kSIGMOID);
  }
  if (name == "Tanh") {
    return x.activation(ActivationType::kTANH);
  }
  if (name == "LeakyRelu") {
    return x.activation(ActivationType::kLEAKY_RELU, alpha);
  }
  if (name == "Clip") {
    return x.activation(ActivationType::kCLIP, parameter(0, 0), parameter(1, 0));
  }
  if (name == "HardSigmoid") {
    return x.activation(ActivationType::kHARD_SIGMOID, parameter(0, 0.2f), parameter(1, 0.5f));
  }
  fail(FaultKind::kUnsupportedAttribute,
       fmt::format("activation = '{}'; expected Relu, Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid", name));
}

}  // namespace tenon::parsers::onnx

// The activation functions that recurrent operators name in their attributes.
#pragma once

#include <string>
#include <vector>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

struct GateActivation {
  nvinfer1::ActivationType type = nvinfer1::ActivationType::kTANH;
  float alpha = 0;
  float beta = 0;
  bool affine = false;  // alpha * x + beta, which is no activation of the API
  float clip = 0;       // of the operand; 0: none

  Term operator()(const Term& value) const;
};

// The functions of all directions in order: those of "activations", or `defaults` for each direction;
// "activation_alpha" and "activation_beta" are consumed by the functions that have them. Fails on other counts and
// names.
std::vector<GateActivation> readGateActivations(const OnnxNode& node, std::vector<std::string> defaults,
                                                int64_t directions, float clip);

}  // namespace tenon::parsers::onnx

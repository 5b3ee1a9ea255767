// The activation functions that recurrent operators name in their attributes.
#pragma once

#include <string>
#include <vector>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

struct GateActivation {
  std::string name;  // in the text of the operator `recurrent`
  float alpha = 0;
  float beta = 0;
  bool operator==(const GateActivation&) const = default;
};

// The functions of all directions in order: those of "activations", or `defaults` for each direction;
// "activation_alpha" and "activation_beta" are consumed by the functions that have them. Fails on other counts and
// names.
std::vector<GateActivation> readGateActivations(const OnnxNode& node, std::vector<std::string> defaults,
                                                int64_t directions);

}  // namespace tenon::parsers::onnx

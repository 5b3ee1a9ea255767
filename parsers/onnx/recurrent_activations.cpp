// Names of gate activations to those of the operator, with ONNX's default parameters.
#include "recurrent_activations.h"

#include <algorithm>
#include <cctype>

namespace tenon::parsers::onnx {
namespace {

struct Row {
  const char* name;
  const char* operatorName;
  bool hasAlpha;
  bool hasBeta;
  float alpha;  // where the model says nothing
  float beta;
};

constexpr Row kRows[] = {
    {"relu", "relu", false, false, 0, 0},
    {"tanh", "tanh", false, false, 0, 0},
    {"sigmoid", "sigmoid", false, false, 0, 0},
    {"affine", "affine", true, true, 1, 0},
    {"leakyrelu", "leaky_relu", true, false, 0.01f, 0},
    {"thresholdedrelu", "thresholded_relu", true, false, 1, 0},
    {"scaledtanh", "scaled_tanh", true, true, 1, 1},
    {"hardsigmoid", "hard_sigmoid", true, true, 0.2f, 0.5f},
    {"elu", "elu", true, false, 1, 0},
    {"softsign", "softsign", false, false, 0, 0},
    {"softplus", "softplus", false, false, 0, 0},
};

const Row& findRow(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Row& row : kRows) {
    if (lower == row.name) {
      return row;
    }
  }
  fail(FaultKind::kUnsupportedAttribute,
       fmt::format("activations names '{}'; expected Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, "
                   "ScaledTanh, HardSigmoid, Elu, Softsign or Softplus",
                   name));
}

}  // namespace

std::vector<GateActivation> readGateActivations(const OnnxNode& node, std::vector<std::string> defaults,
                                                int64_t directions) {
  std::vector<std::string> names = node.texts("activations");
  const size_t expected = defaults.size() * static_cast<size_t>(directions);
  if (names.empty()) {
    for (int64_t i = 0; i < directions; ++i) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  if (names.size() != expected) {
    fail(FaultKind::kInvalidNode, fmt::format("activations has {} names; expected {}, {} for each direction",
                                              names.size(), expected, defaults.size()));
  }
  const std::vector<float> alphas = node.reals("activation_alpha");
  const std::vector<float> betas = node.reals("activation_beta");
  size_t nextAlpha = 0;
  size_t nextBeta = 0;
  std::vector<GateActivation> result;
  for (const std::string& name : names) {
    const Row& row = findRow(name);
    GateActivation activation{row.operatorName, row.alpha, row.beta};
    if (row.hasAlpha && nextAlpha < alphas.size()) {
      activation.alpha = alphas[nextAlpha++];
    }
    if (row.hasBeta && nextBeta < betas.size()) {
      activation.beta = betas[nextBeta++];
    }
    result.push_back(activation);
  }
  return result;
}

}  // namespace tenon::parsers::onnx

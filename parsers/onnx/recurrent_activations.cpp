// Names of gate activations to activations of the API, with ONNX's default parameters.
#include "recurrent_activations.h"

#include <algorithm>
#include <cctype>

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::ActivationType;

struct Row {
  const char* name;
  ActivationType type;
  bool hasAlpha;
  bool hasBeta;
  float alpha;  // where the model says nothing
  float beta;
  bool affine;
};

constexpr Row kRows[] = {
    {"relu", ActivationType::kRELU, false, false, 0, 0, false},
    {"tanh", ActivationType::kTANH, false, false, 0, 0, false},
    {"sigmoid", ActivationType::kSIGMOID, false, false, 0, 0, false},
    {"affine", ActivationType::kTANH, true, true, 1, 0, true},
    {"leakyrelu", ActivationType::kLEAKY_RELU, true, false, 0.01f, 0, false},
    {"thresholdedrelu", ActivationType::kTHRESHOLDED_RELU, true, false, 1, 0, false},
    {"scaledtanh", ActivationType::kSCALED_TANH, true, true, 1, 1, false},
    {"hardsigmoid", ActivationType::kHARD_SIGMOID, true, true, 0.2f, 0.5f, false},
    {"elu", ActivationType::kELU, true, false, 1, 0, false},
    {"softsign", ActivationType::kSOFTSIGN, false, false, 0, 0, false},
    {"softplus", ActivationType::kSOFTPLUS, false, false, 1, 1, false},
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

Term GateActivation::operator()(const Term& value) const {
  const Term bounded = clip > 0 ? value.activation(ActivationType::kCLIP, -clip, clip) : value;
  return affine ? bounded * alpha + bounded.number(beta) : bounded.activation(type, alpha, beta);
}

std::vector<GateActivation> readGateActivations(const OnnxNode& node, std::vector<std::string> defaults,
                                                int64_t directions, float clip) {
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
    GateActivation activation{row.type, row.alpha, row.beta, row.affine, clip};
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

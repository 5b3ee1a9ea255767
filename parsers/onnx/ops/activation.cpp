// Activations: one API activation each, or a few layers where the API has none.
#include <cfloat>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_activation {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

template <ActivationType kType>
ParsedValues importPlain(OnnxNode& node) {
  return {node.writer().activation(node.input(0), kType)};
}

// Activations whose attributes are called alpha and beta; unset ones take ONNX's defaults, in hundred-thousandths.
template <ActivationType kType, int64_t kAlpha, int64_t kBeta>
ParsedValues importWithParameters(OnnxNode& node) {
  const float alpha = node.real("alpha", static_cast<float>(kAlpha * 1e-5));
  const float beta = node.real("beta", static_cast<float>(kBeta * 1e-5));
  return {node.writer().activation(node.input(0), kType, alpha, beta)};
}

ParsedValues importRelu(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (isInteger(node.dataType(0))) {
    return {writer.binary(node.input(0), writer.scalar(node.dataType(0), 0), ElementWiseOperation::kMAX)};
  }
  return {writer.activation(node.input(0), ActivationType::kRELU)};
}

// Exact defaults of the standard, which a product of small integers cannot say.
ParsedValues importSelu(OnnxNode& node) {
  const float alpha = node.real("alpha", 1.67326319217681884765625f);
  const float gamma = node.real("gamma", 1.05070102214813232421875f);
  return {node.writer().activation(node.input(0), ActivationType::kSELU, alpha, gamma)};
}

ParsedValues importSoftplus(OnnxNode& node) {
  return {node.writer().activation(node.input(0), ActivationType::kSOFTPLUS, 1, 1)};
}

// celu(x) = alpha * elu(x / alpha)
ParsedValues importCelu(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const float alpha = node.real("alpha", 1.0f);
  const ParsedValue factor = writer.scalar(node.dataType(0), alpha);
  const ParsedValue ratio = writer.binary(node.input(0), factor, ElementWiseOperation::kDIV);
  return {writer.binary(writer.activation(ratio, ActivationType::kELU, 1.0f), factor, ElementWiseOperation::kPROD)};
}

ParsedValues importHardSwish(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue gate = writer.activation(node.input(0), ActivationType::kHARD_SIGMOID, 1.0f / 6.0f, 0.5f);
  return {writer.binary(node.input(0), gate, ElementWiseOperation::kPROD)};
}

ParsedValues importGelu(OnnxNode& node) {
  const std::string form = node.text("approximate", "none");
  if (form != "none" && form != "tanh") {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("approximate = '{}'; expected 'none' or 'tanh'", form));
  }
  return {
      node.writer().activation(node.input(0), form == "tanh" ? ActivationType::kGELU_TANH : ActivationType::kGELU_ERF)};
}

ParsedValues importMish(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue inner =
      writer.activation(writer.activation(node.input(0), ActivationType::kSOFTPLUS, 1, 1), ActivationType::kTANH);
  return {writer.binary(node.input(0), inner, ElementWiseOperation::kPROD)};
}

// x * sigmoid(alpha * x)
ParsedValues importSwish(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const float alpha = node.real("alpha", 1.0f);
  const ParsedValue scaled =
      alpha == 1.0f ? node.input(0)
                    : writer.binary(node.input(0), writer.scalar(node.dataType(0), alpha), ElementWiseOperation::kPROD);
  return {
      writer.binary(node.input(0), writer.activation(scaled, ActivationType::kSIGMOID), ElementWiseOperation::kPROD)};
}

ParsedValues importPRelu(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue slope = writer.alignRank(node.input(1), node.rank(0));
  auto& layer =
      writer.added(writer.network().addParametricReLU(node.tensor(0), writer.tensor(slope)), "addParametricReLU");
  return {writer.output(layer)};
}

ParsedValues importShrink(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const DataType type = node.dataType(0);
  const ParsedValue bias = writer.scalar(type, node.real("bias", 0.0f));
  const double lambda = node.real("lambd", 0.5f);
  const ParsedValue& x = node.input(0);
  const ParsedValue above = writer.binary(x, writer.scalar(type, lambda), ElementWiseOperation::kGREATER);
  const ParsedValue below = writer.binary(x, writer.scalar(type, -lambda), ElementWiseOperation::kLESS);
  const ParsedValue lower =
      writer.select(below, writer.binary(x, bias, ElementWiseOperation::kSUM), writer.scalar(type, 0));
  return {writer.select(above, writer.binary(x, bias, ElementWiseOperation::kSUB), lower)};
}

// Bounds that are constants become one activation; others, and integers, a minimum and a maximum.
ParsedValues importClip(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool attributes = node.opset() < 11;
  const ParsedValue low = attributes ? ParsedValue() : node.optional(1);
  const ParsedValue high = attributes ? ParsedValue() : node.optional(2);
  const bool fixed = (low.isNone() || low.isConstant()) && (high.isNone() || high.isConstant());
  if (fixed && isFloating(node.dataType(0))) {
    const float from = low.isNone() ? node.real("min", -FLT_MAX) : static_cast<float>(toReals(low.constant()).at(0));
    const float to = high.isNone() ? node.real("max", FLT_MAX) : static_cast<float>(toReals(high.constant()).at(0));
    // Where the bounds cross, everything is the upper one, but the layer's lower bound wins.
    return {writer.activation(node.input(0), ActivationType::kCLIP, from > to ? to : from, to)};
  }
  ParsedValue result = node.input(0);
  if (!low.isNone()) {
    result = writer.binary(result, low, ElementWiseOperation::kMAX);
  }
  if (!high.isNone()) {
    result = writer.binary(result, high, ElementWiseOperation::kMIN);
  }
  return {result};
}

const OperatorImporter kRows[] = {
    {"Relu", 1, kNewestOpset, importRelu, "addActivation kRELU; integers: addElementWise kMAX"},
    {"Sigmoid", 1, kNewestOpset, importPlain<ActivationType::kSIGMOID>, "addActivation kSIGMOID"},
    {"Tanh", 1, kNewestOpset, importPlain<ActivationType::kTANH>, "addActivation kTANH"},
    {"Softsign", 1, kNewestOpset, importPlain<ActivationType::kSOFTSIGN>, "addActivation kSOFTSIGN"},
    {"LeakyRelu", 1, kNewestOpset, importWithParameters<ActivationType::kLEAKY_RELU, 1000, 0>,
     "addActivation kLEAKY_RELU"},
    {"Elu", 1, kNewestOpset, importWithParameters<ActivationType::kELU, 100000, 0>, "addActivation kELU"},
    {"HardSigmoid", 1, kNewestOpset, importWithParameters<ActivationType::kHARD_SIGMOID, 20000, 50000>,
     "addActivation kHARD_SIGMOID"},
    {"ThresholdedRelu", 7, kNewestOpset, importWithParameters<ActivationType::kTHRESHOLDED_RELU, 100000, 0>,
     "addActivation kTHRESHOLDED_RELU"},
    {"ScaledTanh", 7, kNewestOpset, importWithParameters<ActivationType::kSCALED_TANH, 100000, 100000>,
     "addActivation kSCALED_TANH"},
    {"ParametricSoftplus", 7, kNewestOpset, importWithParameters<ActivationType::kSOFTPLUS, 100000, 100000>,
     "addActivation kSOFTPLUS"},
    {"Selu", 6, kNewestOpset, importSelu, "addActivation kSELU"},
    {"Softplus", 1, kNewestOpset, importSoftplus, "addActivation kSOFTPLUS"},
    {"Celu", 12, kNewestOpset, importCelu, "addActivation kELU, addElementWise"},
    {"HardSwish", 14, kNewestOpset, importHardSwish, "addActivation kHARD_SIGMOID, addElementWise"},
    {"Gelu", 20, kNewestOpset, importGelu, "addActivation kGELU_ERF or kGELU_TANH"},
    {"Mish", 18, kNewestOpset, importMish, "addActivation, addElementWise"},
    {"Swish", 24, kNewestOpset, importSwish, "addActivation kSIGMOID, addElementWise"},
    {"PRelu", 7, kNewestOpset, importPRelu, "addParametricReLU"},
    {"Shrink", 9, kNewestOpset, importShrink, "addSelect, addElementWise"},
    {"Clip", 1, kNewestOpset, importClip,
     "addActivation kCLIP; bounds computed at run time or integers: addElementWise"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_activation

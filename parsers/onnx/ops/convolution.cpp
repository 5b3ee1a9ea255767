// Convolutions and transposed convolutions.
#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "fused_activation.h"
#include "operator_plugin.h"
#include "operator_table.h"
#include "spatial_attributes.h"

namespace tenon::parsers::onnx::ops_convolution {
namespace {

using nvinfer1::ElementWiseOperation;

struct Operands {
  ParsedValue input;
  ParsedValue kernel;
  ParsedValue bias;
  Dimensions kernelShape;  // of `kernel`, spatial axes from 2
  bool oneDimensional = false;
  Spatial spatial;
};

// The input with the number of channels that the weights ask for, where the model leaves it open.
ParsedValue withChannels(NetworkWriter& writer, const ParsedValue& input, int64_t channels) {
  ParsedExtents extents = writer.dims(input);
  if (extents[1].known() || channels < 0) {
    return input;
  }
  extents[1] = ParsedExtent::of(channels);
  return writer.reshape(input, extents);
}

// Weights of transposed convolutions have the input's channels first.
Operands readOperands(OnnxNode& node, const ParsedValue& input, const ParsedValue& kernel, const ParsedValue& bias,
                      bool transposed = false) {
  NetworkWriter& writer = node.writer();
  Operands operands{input, kernel, bias, writer.shapeOf(kernel), false, {}};
  const int64_t rank = writer.rankOf(input);
  if (static_cast<int64_t>(operands.kernelShape.size()) != rank || rank < 3 || rank > 5) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input of rank {} with weights {}; expected the same rank, 3 to 5",
                                                   rank, toString(operands.kernelShape)));
  }
  for (const int64_t extent : operands.kernelShape) {
    if (extent < 0) {
      fail(FaultKind::kUnsupportedDynamic, "the shape of the weights is not known while parsing");
    }
  }
  const int64_t groups = transposed ? 1 : node.integer("group", 1);
  const int64_t channels = operands.kernelShape[transposed ? 0 : 1];
  if (groups >= 1 && groups <= std::numeric_limits<int32_t>::max() / std::max<int64_t>(channels, 1)) {
    operands.input = withChannels(writer, operands.input, channels * groups);
  }
  operands.spatial = readSpatial(node, Dimensions(operands.kernelShape.begin() + 2, operands.kernelShape.end()));
  operands.oneDimensional = rank == 3;
  if (operands.oneDimensional) {
    operands.input = withUnitAxis(writer, operands.input);
    operands.kernel = withUnitAxis(writer, operands.kernel);
    operands.spatial.appendUnitAxis();
  }
  return operands;
}

nvinfer1::Weights weightsOf(const ParsedValue& value) {
  return value.isConstant() ? value.constant().weights() : nvinfer1::Weights{DataType::kFLOAT, nullptr, 0};
}

// Constants become the layer's weights, computed kernels and biases its inputs.
template <typename Layer>
void attachWeights(NetworkWriter& writer, Layer& layer, const Operands& operands) {
  if (operands.kernel.isConstant()) {
    writer.nameWeights(operands.kernel.constant());
  } else {
    layer.setInput(1, writer.tensor(operands.kernel));
  }
  if (operands.bias.isConstant()) {
    writer.nameWeights(operands.bias.constant());
  } else if (!operands.bias.isNone()) {
    layer.setInput(2, writer.tensor(operands.bias));
  }
}

template <typename Layer>
void setWindow(Layer& layer, const Operands& operands, int64_t groups) {
  layer.setNbGroups(groups);
  layer.setStrideNd(toDims(operands.spatial.strides));
  layer.setDilationNd(toDims(operands.spatial.dilations));
  setPadding(layer, operands.spatial);
}

ParsedValue convolved(OnnxNode& node, const Operands& operands) {
  NetworkWriter& writer = node.writer();
  const int64_t groups = node.integer("group", 1);
  auto* made = writer.network().addConvolutionNd(writer.tensor(operands.input), operands.kernelShape[0],
                                                 toDims(operands.spatial.kernel), weightsOf(operands.kernel),
                                                 weightsOf(operands.bias));
  auto& layer = writer.added(made, "addConvolutionNd");
  setWindow(layer, operands, groups);
  attachWeights(writer, layer, operands);
  const ParsedValue result = writer.output(layer);
  return operands.oneDimensional ? withoutUnitAxis(writer, result) : result;
}

ParsedValues importConv(OnnxNode& node) {
  return {convolved(node, readOperands(node, node.input(0), node.input(1), node.optional(2)))};
}

// input, weights, bias, what is added before the activation
ParsedValues importFusedConv(OnnxNode& node) {
  const Operands operands = readOperands(node, node.input(0), node.input(1), node.optional(2));
  Term result(node.writer(), convolved(node, operands));
  if (node.hasInput(3)) {
    result = result + node.term(3);
  }
  return {activated(node, result, node.text("activation", ""))};
}

// [N, .., C] instead of [N, C, ..]
ParsedValues importNhwcConv(OnnxNode& node) {
  const Term x = node.term(0);
  std::vector<int32_t> forth{0, static_cast<int32_t>(x.rank()) - 1};
  std::vector<int32_t> back{0};
  for (int32_t i = 1; i < static_cast<int32_t>(x.rank()) - 1; ++i) {
    forth.push_back(i);
    back.push_back(i + 1);
  }
  back.push_back(1);
  const Term result(node.writer(),
                    convolved(node, readOperands(node, x.transpose(forth), node.input(1), node.optional(2))));
  return {result.transpose(back)};
}

// Explicit padding of a transposed convolution. A negative end means rows beyond what the kernel reaches, all zero.
void resolvePadding(const OnnxNode& node, Operands& operands) {
  Spatial& spatial = operands.spatial;
  Dimensions extra = node.integers("output_padding");
  Dimensions wanted = node.integers("output_shape");
  const size_t rank = spatial.rank() - (operands.oneDimensional ? 1 : 0);
  if ((!extra.empty() && extra.size() != rank) || (!wanted.empty() && wanted.size() != rank)) {
    fail(FaultKind::kInvalidNode, fmt::format("output_padding and output_shape need {} entries", rank));
  }
  extra.resize(spatial.rank(), 0);
  const Dimensions in = node.writer().shapeOf(operands.input);
  const bool same = spatial.mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  const bool upper = node.text("auto_pad", "NOTSET") == "SAME_UPPER";  // the larger half of the padding at the end
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = (spatial.kernel[i] - 1) * spatial.dilations[i] + 1;
    int64_t total = 0;
    if (!wanted.empty()) {
      if (in[i + 2] < 0) {
        fail(FaultKind::kUnsupportedDynamic, "output_shape is given, but the input's extents are dynamic; use pads");
      }
      total = (in[i + 2] - 1) * spatial.strides[i] + reach + extra[i] - wanted[i];
    } else if (same) {  // the output is input * stride
      total = reach - spatial.strides[i] + extra[i];
    } else {
      spatial.padsEnd[i] -= extra[i];
      continue;
    }
    const int64_t begin = upper ? total / 2 : total - total / 2;
    spatial.padsBegin[i] = std::max<int64_t>(begin, 0);
    spatial.padsEnd[i] = total - spatial.padsBegin[i] - extra[i];
  }
  spatial.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
}

// Appends -padsEnd[i] zeros to each spatial axis.
ParsedValue extend(NetworkWriter& writer, const ParsedValue& value, const Dimensions& missing) {
  const ParsedExtents in = writer.dims(value);
  ParsedExtents size = in;
  for (size_t i = 0; i < missing.size(); ++i) {
    size[i + 2] = writer.combine(in[i + 2], ParsedExtent::of(missing[i]), ElementWiseOperation::kSUM);
  }
  return writer.slice(value, ParsedExtents(in.size(), ParsedExtent::of(0)), size,
                      ParsedExtents(in.size(), ParsedExtent::of(1)), nvinfer1::SampleMode::kFILL, {});
}

ParsedValues importConvTranspose(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  Operands operands = readOperands(node, node.input(0), node.input(1), node.optional(2), true);
  const int64_t groups = node.integer("group", 1);
  resolvePadding(node, operands);
  Dimensions missing(operands.spatial.rank(), 0);
  bool extends = false;
  for (size_t i = 0; i < missing.size(); ++i) {
    missing[i] = std::max<int64_t>(-operands.spatial.padsEnd[i], 0);
    operands.spatial.padsEnd[i] += missing[i];
    extends = extends || missing[i] > 0;
  }
  const ParsedValue bias = operands.bias;
  if (extends) {
    operands.bias = ParsedValue();  // added after the zeros
  }
  auto* made = writer.network().addDeconvolutionNd(writer.tensor(operands.input), operands.kernelShape[1] * groups,
                                                   toDims(operands.spatial.kernel), weightsOf(operands.kernel),
                                                   weightsOf(operands.bias));
  auto& layer = writer.added(made, "addDeconvolutionNd");
  setWindow(layer, operands, groups);
  attachWeights(writer, layer, operands);
  ParsedValue result = writer.output(layer);
  if (extends) {
    result = extend(writer, result, missing);
    if (!bias.isNone()) {
      std::vector<int64_t> axes{0};
      for (size_t i = 0; i < operands.spatial.rank(); ++i) {
        axes.push_back(static_cast<int64_t>(i) + 2);
      }
      result = writer.binary(result, writer.unsqueeze(bias, axes), ElementWiseOperation::kSUM);
    }
  }
  return {operands.oneDimensional ? withoutUnitAxis(writer, result) : result};
}

std::string listText(const char* name, const Dimensions& values) {
  return fmt::format("{}=[{}] ", name, fmt::join(values, ","));
}

// The padding of each axis before and behind, as the model says it.
void resolvePadding(Spatial& spatial, const Dimensions& in) {
  if (spatial.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN) {
    return;
  }
  for (size_t i = 0; i < spatial.rank(); ++i) {
    if (in[i + 2] < 0) {
      fail(FaultKind::kUnsupportedDynamic,
           "auto_pad is given, but the input's extents are dynamic; expected pads of a convolution of integers");
    }
    const int64_t reach = (spatial.kernel[i] - 1) * spatial.dilations[i] + 1;
    const int64_t out = (in[i + 2] + spatial.strides[i] - 1) / spatial.strides[i];
    const int64_t total = std::max<int64_t>((out - 1) * spatial.strides[i] + reach - in[i + 2], 0);
    const bool upper = spatial.mode == nvinfer1::PaddingMode::kSAME_UPPER;
    spatial.padsBegin[i] = upper ? total / 2 : total - total / 2;
    spatial.padsEnd[i] = total - spatial.padsBegin[i];
  }
}

// The operator byte_convolution, of x [N, C, ..] and the kernel, their zero points and what else it reads; without a
// zero point 0.
Term integerConvolution(OnnxNode& node, size_t xAt, size_t kernelAt, const std::optional<Term>& xZero,
                        const std::optional<Term>& kernelZero, const std::string& result,
                        const std::vector<Term>& others) {
  NetworkWriter& writer = node.writer();
  Operands operands = readOperands(node, node.input(xAt), node.input(kernelAt), {});
  resolvePadding(operands.spatial, writer.shapeOf(operands.input));
  Term x(writer, operands.input);
  Term kernel(writer, operands.kernel);
  if (operands.oneDimensional) {  // lines as images of one row, whose windows are one run of bytes
    x = Term(writer, node.input(xAt)).unsqueeze({2});
    kernel = Term(writer, node.input(kernelAt)).unsqueeze({2});
    for (const auto list : {&Spatial::strides, &Spatial::dilations, &Spatial::padsBegin, &Spatial::padsEnd})
      std::swap((operands.spatial.*list)[0], (operands.spatial.*list)[1]);
  }
  const auto zeroOf = [&](const Term& quantized, const std::optional<Term>& zero) {
    return zero ? *zero : Term(writer, writer.scalar(quantized.type(), 0));
  };
  std::vector<Term> inputs{x, kernel, zeroOf(x, xZero), zeroOf(kernel, kernelZero)};
  inputs.insert(inputs.end(), others.begin(), others.end());
  const Spatial& spatial = operands.spatial;
  const Term y = addOperator("byte_convolution{" + listText("strides", spatial.strides) +
                                 listText("dilations", spatial.dilations) + listText("prePadding", spatial.padsBegin) +
                                 listText("postPadding", spatial.padsEnd) +
                                 fmt::format("groups={}", node.integer("group", 1)) + result + "}",
                             inputs);
  return operands.oneDimensional ? y.squeeze({2}) : y;
}

// One value, or one for each channel.
Term ofChannels(const Term& parameter) {
  return parameter.rank() == 1 && parameter.dim(0).is(1) ? parameter.reshape({}) : parameter;
}

ParsedValues importConvInteger(OnnxNode& node) {
  const auto zero = [&](size_t index) {
    return node.hasInput(index) ? std::optional<Term>(ofChannels(node.term(index))) : std::nullopt;
  };
  return {integerConvolution(node, 0, 1, zero(2), zero(3), "", {})};
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias of INT32
ParsedValues importQLinearConv(OnnxNode& node) {
  const DataType type = node.dataType(7);
  if (type != DataType::kINT8 && type != DataType::kUINT8) {
    fail(FaultKind::kUnsupportedType,
         fmt::format("the zero point of the result has type {}; expected INT8 or UINT8", typeName(type)));
  }
  std::vector<Term> others;
  if (node.hasInput(8)) {
    others.push_back(node.term(8));
  }
  others.push_back(node.term(1).reshape({}) * ofChannels(node.term(4)) / node.term(6).reshape({}));
  others.push_back(node.term(7).reshape({}));
  const std::string result =
      fmt::format("{} type={}", node.hasInput(8) ? " hasBias=true" : "", type == DataType::kINT8 ? "i8" : "u8");
  return {integerConvolution(node, 0, 3, node.term(2).reshape({}), ofChannels(node.term(5)), result, others)};
}

const OperatorImporter kRows[] = {
    {"Conv", 1, kNewestOpset, importConv, "addConvolutionNd; 1 to 3 spatial axes (one through addShuffle)"},
    {"ConvTranspose", 1, kNewestOpset, importConvTranspose,
     "addDeconvolutionNd; output_padding beyond the padding: addSlice; output_shape needs static extents"},
    {"FusedConv", 1, kNewestOpset, importFusedConv, "as Conv, addElementWise, addActivation", "com.microsoft"},
    {"NhwcConv", 1, kNewestOpset, importNhwcConv, "addShuffle, addConvolutionNd", "com.microsoft"},
    {"ConvInteger", 10, kNewestOpset, importConvInteger,
     "addPluginV3 of the operator byte_convolution; auto_pad needs static extents"},
    {"QLinearConv", 10, kNewestOpset, importQLinearConv,
     "as ConvInteger; one scale of the kernel or one for each filter"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_convolution

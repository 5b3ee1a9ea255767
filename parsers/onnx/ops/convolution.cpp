// Convolutions and transposed convolutions.
#include "operator_table.h"
#include "spatial_attributes.h"

namespace tenon::parsers::onnx {
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

Operands readOperands(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  Operands operands{node.input(0), node.input(1), node.optional(2), node.shape(1), false, {}};
  const int64_t rank = node.rank(0);
  if (static_cast<int64_t>(operands.kernelShape.size()) != rank || rank < 3 || rank > 5) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input of rank {} with weights {}; expected the same rank, 3 to 5",
                                                   rank, toString(operands.kernelShape)));
  }
  for (const int64_t extent : operands.kernelShape) {
    if (extent < 0) {
      fail(FaultKind::kUnsupportedDynamic, "the shape of the weights is not known while parsing");
    }
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

ParsedValues importConv(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Operands operands = readOperands(node);
  const int64_t groups = node.integer("group", 1);
  auto* made = writer.network().addConvolutionNd(writer.tensor(operands.input), operands.kernelShape[0],
                                                 toDims(operands.spatial.kernel), weightsOf(operands.kernel),
                                                 weightsOf(operands.bias));
  auto& layer = writer.added(made, "addConvolutionNd");
  setWindow(layer, operands, groups);
  attachWeights(writer, layer, operands);
  const ParsedValue result = writer.output(layer);
  return {operands.oneDimensional ? withoutUnitAxis(writer, result) : result};
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
  Operands operands = readOperands(node);
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

const OperatorImporter kRows[] = {
    {"Conv", 1, kNewestOpset, importConv, "addConvolutionNd; 1 to 3 spatial axes (one through addShuffle)"},
    {"ConvTranspose", 1, kNewestOpset, importConvTranspose,
     "addDeconvolutionNd; output_padding beyond the padding: addSlice; output_shape needs static extents"},
};

}  // namespace

namespace ops_convolution {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_convolution
}  // namespace tenon::parsers::onnx

// Convolutions and transposed convolutions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "operator_plugin.h"
#include "operator_table.h"
#include "quantization.h"
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

// Whether the kernel is known, and no sum of its products with numbers of 8 bits, less their zero point, has more
// digits than FLOAT holds.
bool isExactAtOnce(const Term& kernel) {
  constexpr double kLargestX = 255;
  constexpr double kLargestSum = 1 << 24;
  if (!kernel.isConstant() || kernel.shape().empty()) {
    return false;
  }
  const std::vector<double> values = toReals(kernel.value().constant());
  const size_t each = values.size() / static_cast<size_t>(std::max<int64_t>(kernel.shape()[0], 1));
  for (size_t begin = 0; begin < values.size(); begin += each) {
    double sum = 0;
    for (size_t i = begin; i < begin + each; ++i) {
      sum += std::abs(values[i]);
    }
    if (sum * kLargestX > kLargestSum) {
      return false;
    }
  }
  return true;
}

// Whole numbers in FLOAT. A kernel for which that is not exact anyway is split into 16 * high + low, so that sums of up
// to kExactTerms products are.
Term sumOfFewProducts(OnnxNode& node, const Term& x, const Term& kernel) {
  const auto part = [&](const Term& digits) {
    return roundOf(Term(node.writer(), convolved(node, readOperands(node, x, digits, {})))).cast(DataType::kINT32);
  };
  if (isExactAtOnce(kernel)) {
    return part(kernel);
  }
  const Term high = floorOf(kernel * (1.0 / 16));
  return part(high) * 16 + part(kernel - high * 16);
}

// Longer sums are added up over some of the channels at a time.
Term exactConvolution(OnnxNode& node, const Term& x, const Term& kernel) {
  constexpr int64_t kExactTerms = 4096;
  constexpr int64_t kMostChannels = 1 << 16;
  const Dimensions shape = kernel.shape();
  int64_t window = 1;
  for (size_t i = 2; i < shape.size(); ++i) {
    window = std::min(window * std::clamp<int64_t>(shape[i], 1, kExactTerms + 1), kExactTerms + 1);
  }
  const int64_t channels = shape.size() > 1 ? std::max<int64_t>(shape[1], 1) : 1;
  if (channels <= kExactTerms / window || isExactAtOnce(kernel)) {
    return sumOfFewProducts(node, x, kernel);
  }
  const int64_t groups = node.integer("group", 1);
  if (window > kExactTerms || groups != 1 || channels > kMostChannels) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("each result is the sum over {} channels of {} products of integers, in {} groups; expected {} "
                     "products at most, which are exact in floating point, or one group of {} channels at most, whose "
                     "windows have no more",
                     channels, window, groups, kExactTerms, kMostChannels));
  }
  std::optional<Term> sum;
  for (int64_t begin = 0; begin < channels; begin += kExactTerms / window) {
    const int64_t count = std::min(kExactTerms / window, channels - begin);
    const Term part = sumOfFewProducts(node, x.slice(1, begin, count), kernel.slice(1, begin, count));
    sum = sum ? *sum + part : part;
  }
  return *sum;
}

std::optional<Term> ofKernel(OnnxNode& node, size_t index, const Term& kernel) {
  if (!node.hasInput(index)) {
    return std::nullopt;
  }
  return alongAxis(node.term(index), kernel, 0, 0);
}

ParsedValues importConvInteger(OnnxNode& node) {
  const auto zero = node.hasInput(2) ? std::optional<Term>(node.term(2).reshape({})) : std::nullopt;
  const Term kernel = centered(node.term(1), ofKernel(node, 3, node.term(1)));
  return {exactConvolution(node, centered(node.term(0), zero), kernel)};
}

// A value for each channel, of the rank of the result.
Term ofChannels(const Term& parameter, int64_t rank) {
  if (parameter.rank() == 0 || parameter.dim(0).is(1)) {
    return parameter.reshape({});
  }
  std::vector<int64_t> axes{0};
  for (int64_t i = 2; i < rank; ++i) {
    axes.push_back(i);
  }
  return parameter.unsqueeze(axes);
}

// Whether FLOAT holds each of these numbers, so that a sum with another one that it holds is rounded once, as if it
// were made of integers.
bool isSmall(const Term& bias) {
  if (!bias.isConstant()) {
    return false;
  }
  const std::vector<int64_t> values = toInts(bias.value().constant());
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return std::abs(value) <= int64_t{1} << 24; });
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias of INT32
ParsedValues importQLinearConv(OnnxNode& node) {
  const Term kernel = centered(node.term(3), ofKernel(node, 5, node.term(3)));
  const Term x = centered(node.term(0), node.term(2).reshape({}));
  const Term zero = node.term(7).reshape({});
  const DataType type = node.dataType(7);
  const auto scaleOf = [&](int64_t rank) {
    return node.term(1).reshape({}) * ofChannels(node.term(4), rank) / node.term(6).reshape({});
  };
  const bool isByte = type == DataType::kINT8 || type == DataType::kUINT8;
  if (isByte && isExactAtOnce(kernel) && (!node.hasInput(8) || isSmall(node.term(8)))) {
    Term sum(node.writer(), convolved(node, readOperands(node, x, kernel, {})));
    if (node.hasInput(8)) {
      sum = sum + ofChannels(node.term(8), sum.rank()).cast(DataType::kFLOAT);
    }
    const Term real = sum * scaleOf(sum.rank());
    const char* const name = type == DataType::kINT8 ? "i8" : "u8";
    return {addOperator(fmt::format("quantize{{axis=-1 type={}}}", name), {real, real.number(1), zero})};
  }
  Term sum = exactConvolution(node, x, kernel);
  if (node.hasInput(8)) {
    sum = sum + ofChannels(node.term(8), sum.rank());
  }
  const Term real = sum.cast(DataType::kFLOAT) * scaleOf(sum.rank());
  return {quantized(real, real.number(1), zero, type)};
}

const OperatorImporter kRows[] = {
    {"Conv", 1, kNewestOpset, importConv, "addConvolutionNd; 1 to 3 spatial axes (one through addShuffle)"},
    {"ConvTranspose", 1, kNewestOpset, importConvTranspose,
     "addDeconvolutionNd; output_padding beyond the padding: addSlice; output_shape needs static extents"},
    {"NhwcConv", 1, kNewestOpset, importNhwcConv, "addShuffle, addConvolutionNd", "com.microsoft"},
    {"ConvInteger", 10, kNewestOpset, importConvInteger,
     "addConvolutionNd of whole numbers in FLOAT, in parts that are exact"},
    {"QLinearConv", 10, kNewestOpset, importQLinearConv,
     "addConvolutionNd of whole numbers in FLOAT, in parts that are exact, addPluginV3 of the operator quantize"},
};

}  // namespace

namespace ops_convolution {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_convolution
}  // namespace tenon::parsers::onnx

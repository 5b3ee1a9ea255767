// Convolutions and transposed convolutions.
#include "operator_table.h"
#include "spatial.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;

struct Operands {
  Value input;
  Value kernel;
  Value bias;
  Shape kernelShape;  // of `kernel`, spatial axes from 2
  bool oneDimensional = false;
  Spatial spatial;
};

Operands readOperands(Node& node) {
  Emitter& emit = node.emit();
  Operands operands{node.input(0), node.input(1), node.optional(2), node.shape(1), false, {}};
  const int64_t rank = node.rank(0);
  if (static_cast<int64_t>(operands.kernelShape.size()) != rank || rank < 3 || rank > 5) {
    fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
         fmt::format("input of rank {} with weights {}; expected the same rank, 3 to 5", rank,
                     toString(operands.kernelShape)));
  }
  for (const int64_t extent : operands.kernelShape) {
    if (extent < 0) {
      fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, "the shape of the weights is not known while parsing");
    }
  }
  operands.spatial = readSpatial(node, Shape(operands.kernelShape.begin() + 2, operands.kernelShape.end()));
  operands.oneDimensional = rank == 3;
  if (operands.oneDimensional) {
    operands.input = withUnitAxis(emit, operands.input);
    operands.kernel = withUnitAxis(emit, operands.kernel);
    operands.spatial.appendUnitAxis();
  }
  return operands;
}

nvinfer1::Weights weightsOf(const Value& value) {
  return value.isConstant() ? value.constant().weights() : nvinfer1::Weights{DataType::kFLOAT, nullptr, 0};
}

// Constants become the layer's weights, computed kernels and biases its inputs.
template <typename Layer>
void attachWeights(Emitter& emit, Layer& layer, const Operands& operands) {
  if (operands.kernel.isConstant()) {
    emit.nameWeights(operands.kernel.constant());
  } else {
    layer.setInput(1, emit.tensor(operands.kernel));
  }
  if (operands.bias.isConstant()) {
    emit.nameWeights(operands.bias.constant());
  } else if (!operands.bias.isNone()) {
    layer.setInput(2, emit.tensor(operands.bias));
  }
}

template <typename Layer>
void setWindow(Layer& layer, const Operands& operands, int64_t groups) {
  layer.setNbGroups(groups);
  layer.setStrideNd(toDims(operands.spatial.strides));
  layer.setDilationNd(toDims(operands.spatial.dilations));
  setPadding(layer, operands.spatial);
}

Values importConv(Node& node) {
  Emitter& emit = node.emit();
  const Operands operands = readOperands(node);
  const int64_t groups = node.integer("group", 1);
  auto* made = emit.network().addConvolutionNd(emit.tensor(operands.input), operands.kernelShape[0],
                                               toDims(operands.spatial.kernel), weightsOf(operands.kernel),
                                               weightsOf(operands.bias));
  auto& layer = emit.added(made, "addConvolutionNd");
  setWindow(layer, operands, groups);
  attachWeights(emit, layer, operands);
  const Value result = emit.output(layer);
  return {operands.oneDimensional ? withoutUnitAxis(emit, result) : result};
}

// Explicit padding of a transposed convolution. A negative end means rows beyond what the kernel reaches, all zero.
void resolvePadding(const Node& node, Operands& operands) {
  Spatial& spatial = operands.spatial;
  Shape extra = node.integers("output_padding");
  Shape wanted = node.integers("output_shape");
  const size_t rank = spatial.rank() - (operands.oneDimensional ? 1 : 0);
  if ((!extra.empty() && extra.size() != rank) || (!wanted.empty() && wanted.size() != rank)) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("output_padding and output_shape need {} entries", rank));
  }
  extra.resize(spatial.rank(), 0);
  const Shape in = node.emit().shapeOf(operands.input);
  const bool same = spatial.mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  const bool upper = node.text("auto_pad", "NOTSET") == "SAME_UPPER";  // the larger half of the padding at the end
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = (spatial.kernel[i] - 1) * spatial.dilations[i] + 1;
    int64_t total = 0;
    if (!wanted.empty()) {
      if (in[i + 2] < 0) {
        fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC,
             "output_shape is given, but the input's extents are dynamic; use pads");
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
Value extend(Emitter& emit, const Value& value, const Shape& missing) {
  const Extents in = emit.dims(value);
  Extents size = in;
  for (size_t i = 0; i < missing.size(); ++i) {
    size[i + 2] = emit.combine(in[i + 2], Extent::of(missing[i]), ElementWiseOperation::kSUM);
  }
  return emit.slice(value, Extents(in.size(), Extent::of(0)), size, Extents(in.size(), Extent::of(1)),
                    nvinfer1::SampleMode::kFILL, {});
}

Values importConvTranspose(Node& node) {
  Emitter& emit = node.emit();
  Operands operands = readOperands(node);
  const int64_t groups = node.integer("group", 1);
  resolvePadding(node, operands);
  Shape missing(operands.spatial.rank(), 0);
  bool extends = false;
  for (size_t i = 0; i < missing.size(); ++i) {
    missing[i] = std::max<int64_t>(-operands.spatial.padsEnd[i], 0);
    operands.spatial.padsEnd[i] += missing[i];
    extends = extends || missing[i] > 0;
  }
  const Value bias = operands.bias;
  if (extends) {
    operands.bias = Value();  // added after the zeros
  }
  auto* made = emit.network().addDeconvolutionNd(emit.tensor(operands.input), operands.kernelShape[1] * groups,
                                                 toDims(operands.spatial.kernel), weightsOf(operands.kernel),
                                                 weightsOf(operands.bias));
  auto& layer = emit.added(made, "addDeconvolutionNd");
  setWindow(layer, operands, groups);
  attachWeights(emit, layer, operands);
  Value result = emit.output(layer);
  if (extends) {
    result = extend(emit, result, missing);
    if (!bias.isNone()) {
      std::vector<int64_t> axes{0};
      for (size_t i = 0; i < operands.spatial.rank(); ++i) {
        axes.push_back(static_cast<int64_t>(i) + 2);
      }
      result = emit.binary(result, emit.unsqueeze(bias, axes), ElementWiseOperation::kSUM);
    }
  }
  return {operands.oneDimensional ? withoutUnitAxis(emit, result) : result};
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
}  // namespace tenon::onnxparser

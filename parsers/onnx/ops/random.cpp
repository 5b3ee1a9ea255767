// Operators that draw random numbers. A seed goes into the metadata of the fill layers as "tenon.seed=<integer>": the
// generator is Philox, so that the numbers are others than those of ONNX Runtime with the same seed.
#include <bit>
#include <functional>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_random {
namespace {

using nvinfer1::FillOperation;

// The type of the attribute "dtype", or else `fallback`.
DataType typeOfNumbers(const OnnxNode& node, DataType fallback) {
  if (!node.has("dtype")) {
    return fallback;
  }
  const auto number = static_cast<int32_t>(node.integer("dtype", 1));
  const auto type = toDataType(number);
  if (!type) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("dtype = {} ({}), a type that TensorRT does not have", number, onnxTypeName(number)));
  }
  return *type;
}

// A real number, but of Dropout an integer.
uint32_t seedOf(const OnnxNode& node) {
  return node.type() == "Dropout" ? static_cast<uint32_t>(node.integer("seed", 0))
                                  : std::bit_cast<uint32_t>(node.real("seed", 0.0f));
}

Term draw(const OnnxNode& node, FillOperation operation, const ParsedExtents& shape, DataType type, double alpha,
          double beta) {
  NetworkWriter& writer = node.writer();
  if (!isFloating(type)) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("random numbers of {}; expected a floating type", typeName(type)));
  }
  Dimensions fixed;
  bool known = true;
  for (const ParsedExtent& extent : shape) {
    known = known && extent.known();
    fixed.push_back(extent.known() ? extent.value : 1);
  }
  auto& layer = writer.added(writer.network().addFill(toDims(fixed), operation, type), "addFill");
  if (!known) {
    layer.setInput(0, writer.shapeTensor(shape));
  }
  layer.setAlpha(alpha);
  layer.setBeta(beta);
  if (node.has("seed")) {
    const std::string metadata = layer.getMetadata();
    layer.setMetadata(fmt::format("{}{}tenon.seed={}", metadata, metadata.empty() ? "" : " ", seedOf(node)).c_str());
  }
  return {writer, writer.output(layer)};
}

ParsedExtents shapeAttribute(const OnnxNode& node) {
  if (!node.has("shape")) {
    fail(FaultKind::kInvalidNode, "the attribute shape is missing");
  }
  return extentsOf(node.integers("shape"));
}

Term normal(const OnnxNode& node, const ParsedExtents& shape, DataType type) {
  return draw(node, FillOperation::kRANDOM_NORMAL, shape, type, node.real("mean", 0.0f), node.real("scale", 1.0f));
}

Term uniform(const OnnxNode& node, const ParsedExtents& shape, DataType type) {
  return draw(node, FillOperation::kRANDOM_UNIFORM, shape, type, node.real("low", 0.0f), node.real("high", 1.0f));
}

ParsedValues importRandomNormal(OnnxNode& node) {
  return {normal(node, shapeAttribute(node), typeOfNumbers(node, DataType::kFLOAT))};
}

ParsedValues importRandomUniform(OnnxNode& node) {
  return {uniform(node, shapeAttribute(node), typeOfNumbers(node, DataType::kFLOAT))};
}

ParsedValues importRandomNormalLike(OnnxNode& node) {
  return {normal(node, node.term(0).dims(), typeOfNumbers(node, node.dataType(0)))};
}

ParsedValues importRandomUniformLike(OnnxNode& node) {
  return {uniform(node, node.term(0).dims(), typeOfNumbers(node, node.dataType(0)))};
}

// 1 with the probability that the input gives.
ParsedValues importBernoulli(OnnxNode& node) {
  const Term chances = node.term(0).cast(DataType::kFLOAT);
  const Term numbers = draw(node, FillOperation::kRANDOM_UNIFORM, chances.dims(), DataType::kFLOAT, 0, 1);
  return {(numbers < chances).cast(typeOfNumbers(node, node.dataType(0)))};
}

bool isConstantZero(const ParsedValue& value) { return value.isConstant() && toReals(value.constant()).at(0) == 0; }

// What is left while training: each element with the probability 1 - ratio, and larger by as much.
ParsedValues thinned(const OnnxNode& node) {
  const Term x = node.term(0);
  NetworkWriter& writer = node.writer();
  const Term ratio(writer, node.hasInput(1) ? writer.cast(writer.reshape(node.input(1), {}), DataType::kFLOAT)
                                            : writer.scalar(DataType::kFLOAT, 0.5));
  const Term trains = node.term(2).reshape({});
  const Term numbers = draw(node, FillOperation::kRANDOM_UNIFORM, x.dims(), DataType::kFLOAT, 0, 1);
  const Term kept = either(negation(trains), negation(numbers < ratio));
  const Term scale = where(trains, 1.0 - ratio, ratio.number(1)).cast(x.type());
  return {where(kept, x / scale, x.number(0)), kept};
}

// For inference the input; training_mode (from opset 12) may say otherwise when the engine runs.
ParsedValues importDropout(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool mayTrain = node.hasInput(2) && !isConstantZero(node.input(2));
  if (mayTrain && !(node.hasInput(1) && isConstantZero(node.input(1)))) {
    return thinned(node);
  }
  // A tensor keeps a layer, so that tensor and layer carry the model's names.
  ParsedValues outputs{node.input(0).isTensor()
                           ? writer.output(writer.added(writer.network().addIdentity(node.tensor(0)), "addIdentity"))
                           : node.input(0)};
  if (node.usesOutput(1)) {
    const ParsedValue yes = writer.scalar(DataType::kBOOL, 1, node.rank(0));
    outputs.push_back(writer.expand(yes, writer.dims(node.input(0))));
  }
  return outputs;
}

// Logarithms of weights [batch, classes]: `sample_size` classes for each row, by the sums of the weights up to each.
ParsedValues importMultinomial(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term weights = node.term(0).cast(DataType::kFLOAT).softmax(1);
  const ParsedExtent samples = ParsedExtent::of(node.integer("sample_size", 1));
  if (samples.value < 1) {
    fail(FaultKind::kInvalidNode, fmt::format("sample_size = {}; expected 1 or more", samples.value));
  }
  auto& layer = writer.added(
      writer.network().addCumulative(writer.tensor(weights), writer.tensor(writer.scalar(DataType::kINT32, 1)),
                                     nvinfer1::CumulativeOperation::kSUM, false, false),
      "addCumulative");
  const Term sums(writer, writer.output(layer));
  // Rounding may leave the last sum below 1; a number beyond it belongs to the last class, which is not counted.
  const ParsedExtent others = writer.combine(sums.dim(1), ParsedExtent::of(1), nvinfer1::ElementWiseOperation::kSUB);
  const Term numbers =
      draw(node, FillOperation::kRANDOM_UNIFORM, {sums.dim(0), samples}, DataType::kFLOAT, 0, 1).unsqueeze({2});
  const Term bounds = sums.slice(1, ParsedExtent::of(0), others).unsqueeze({1});
  const Term isBehind = negation(numbers < bounds).cast(DataType::kINT32);
  return {isBehind.sum({2}, false).cast(typeOfNumbers(node, DataType::kINT32))};
}

const OperatorImporter kRows[] = {
    {"RandomNormal", 1, kNewestOpset, importRandomNormal, "addFill kRANDOM_NORMAL"},
    {"RandomNormalLike", 1, kNewestOpset, importRandomNormalLike, "addFill kRANDOM_NORMAL"},
    {"RandomUniform", 1, kNewestOpset, importRandomUniform, "addFill kRANDOM_UNIFORM"},
    {"RandomUniformLike", 1, kNewestOpset, importRandomUniformLike, "addFill kRANDOM_UNIFORM"},
    {"Bernoulli", 15, kNewestOpset, importBernoulli, "addFill kRANDOM_UNIFORM, addElementWise"},
    {"Dropout", 1, kNewestOpset, importDropout,
     "addIdentity; training_mode: addFill kRANDOM_UNIFORM, addElementWise, addSelect"},
    {"Multinomial", 7, kNewestOpset, importMultinomial,
     "addSoftMax, addCumulative, addFill kRANDOM_UNIFORM, addReduce"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_random

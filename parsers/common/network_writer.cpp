// Names layers, keeps the facts of values, and turns values into tensors.
#include "network_writer.h"

#include <cmath>

#include "fold.h"

namespace tenon::parsers {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ITensor;

namespace {

constexpr double kExactFloat = 16777216.0;  // 2^24: every whole number up to it is a float

}  // namespace

void NetworkWriter::beginNode(const std::string& base, const std::string& metadata) {
  base_ = base;
  metadata_ = metadata;
  nodeLayers_.clear();
  if (networkMessage_ != nullptr) {
    networkMessage_->clear();
  }
}

std::string NetworkWriter::networkReason() const {
  const bool said = networkMessage_ != nullptr && !networkMessage_->empty();
  return said ? ": " + *networkMessage_ : "; its message in the log says why";
}

void NetworkWriter::refuse(const char* call) const {
  fail(FaultKind::kInvalidNode, fmt::format("the network refused {}{}", call, networkReason()));
}

std::string NetworkWriter::uniqueName(const std::string& base) {
  std::string name = base;
  while (!layerNames_.insert(name).second) {
    name = fmt::format("{}_{}", base, ++nextSuffix_[base]);
  }
  return name;
}

void NetworkWriter::registerLayer(nvinfer1::ILayer& layer) {
  layer.setName(uniqueName(base_).c_str());
  if (!metadata_.empty()) {
    layer.setMetadata(metadata_.c_str());
  }
  nodeLayers_.push_back(&layer);
}

ITensor& NetworkWriter::output(nvinfer1::ILayer& layer, int32_t index) {
  ITensor* tensor = layer.getOutput(index);
  if (tensor == nullptr || tensor->getDimensions().nbDims < 0) {
    fail(FaultKind::kInvalidNode, fmt::format("the network has no output {} for layer '{}' with these inputs{}", index,
                                              layer.getName(), networkReason()));
  }
  return *tensor;
}

void NetworkWriter::nameWeights(const WeightBytes& constant) {
  if (!constant.name.empty() && namedWeights_.insert(constant.name).second) {
    network_.setWeightsName(constant.weights(), constant.name.c_str());
  }
}

void NetworkWriter::nameTensor(const ParsedValue& value, const std::string& name) {
  if (!value.isTensor()) {
    foldedNames_.try_emplace(value.identity(), value, name);
  } else if (!value.tensor().isNetworkInput() && namedTensors_.insert(&value.tensor()).second) {
    value.tensor().setName(name.c_str());
  }
}

Dimensions NetworkWriter::shapeOf(const ParsedValue& value) const {
  if (value.isTensor()) {
    return toDimensions(value.tensor().getDimensions());
  }
  if (value.isConstant()) {
    return value.constant().shape;
  }
  if (value.isExtents()) {
    return value.scalarExtents() ? Dimensions{} : Dimensions{static_cast<int64_t>(value.extents().size())};
  }
  fail(FaultKind::kInvalidNode, "a required input is absent");
}

DataType NetworkWriter::typeOf(const ParsedValue& value) const {
  if (value.isTensor()) {
    return value.tensor().getType();
  }
  return value.isConstant() ? value.constant().type : value.extentsType();
}

ParsedExtents NetworkWriter::dims(const ParsedValue& value) const {
  const Dimensions shape = shapeOf(value);
  ParsedExtents extents;
  for (size_t i = 0; i < shape.size(); ++i) {
    extents.push_back(shape[i] >= 0 ? ParsedExtent::of(shape[i])
                                    : ParsedExtent::dimensionOf(value.tensor(), static_cast<int64_t>(i)));
  }
  return extents;
}

ParsedExtents NetworkWriter::elements(const ParsedValue& value) {
  ParsedExtents list;
  if (asList(value, list)) {
    return list;
  }
  const Dimensions shape = shapeOf(value);
  if (shape.size() > 1 || (shape.size() == 1 && shape[0] < 0)) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("a list of integers has shape {}; expected rank 0 or 1 with an extent that is known while parsing",
                     toString(shape)));
  }
  if (!isInteger(typeOf(value))) {
    fail(FaultKind::kUnsupportedType,
         fmt::format("a list of integers has type {}; expected INT32 or INT64", typeName(typeOf(value))));
  }
  ITensor* source = &tensor(cast(value, DataType::kINT64));
  if (shape.empty()) {
    source = &plainReshape(*source, toDims({1}));
  }
  for (int64_t i = 0; i < (shape.empty() ? 1 : shape[0]); ++i) {
    list.push_back(ParsedExtent::elementOf(*source, i));
  }
  return list;
}

bool NetworkWriter::asList(const ParsedValue& value, ParsedExtents& list) const {
  if (value.isExtents()) {
    list = value.extents();
    return true;
  }
  const bool real = value.isConstant() && value.constant().type == DataType::kFLOAT;
  if (!value.isConstant() || !(real || isInteger(value.constant().type)) || value.constant().shape.size() > 1 ||
      value.constant().count() > 64) {
    return false;
  }
  if (real) {  // exporters compute extents in floats; whole numbers stay exact
    for (const double number : toReals(value.constant())) {
      if (std::trunc(number) != number || std::fabs(number) > kExactFloat) {
        return false;
      }
    }
  }
  for (const int64_t number : toInts(value.constant())) {
    list.push_back(ParsedExtent::of(number));
  }
  return true;
}

ITensor& NetworkWriter::tensor(const ParsedValue& value) {
  if (value.isTensor()) {
    return value.tensor();
  }
  if (value.isConstant()) {
    return constantTensor(value.constant());
  }
  if (!value.isExtents()) {
    fail(FaultKind::kInvalidNode, "a required input is absent");
  }
  const auto found = extentTensors_.find(value.identity());
  if (found != extentTensors_.end()) {
    return *found->second.second;
  }
  ITensor& result = materialize(value.extents(), value.scalarExtents(), value.extentsType());
  extentTensors_.emplace(value.identity(), std::make_pair(value, &result));
  if (const auto name = foldedNames_.find(value.identity()); name != foldedNames_.end()) {
    nameTensor(result, name->second.second);
  }
  return result;
}

ITensor& NetworkWriter::constantTensor(const WeightBytes& constant) {
  const auto found = constantTensors_.find(&constant);
  if (found != constantTensors_.end()) {
    return *found->second;
  }
  auto* layer = network_.addConstant(toDims(constant.shape), constant.weights());
  if (layer == nullptr) {
    refuse("addConstant");
  }
  layer->setName(uniqueName(constant.name.empty() ? base_ + "_constant" : constant.name).c_str());
  nodeLayers_.push_back(layer);
  nameWeights(constant);
  ITensor& result = output(*layer);
  const auto name = foldedNames_.find(&constant);
  if (name != foldedNames_.end() || !constant.name.empty()) {
    nameTensor(result, name != foldedNames_.end() ? name->second.second : constant.name);
  }
  constantTensors_.emplace(&constant, &result);
  return result;
}

ParsedValue NetworkWriter::fromExtents(ParsedExtents extents, bool scalar, DataType type) {
  std::vector<int64_t> numbers;
  for (const ParsedExtent& extent : extents) {
    if (!extent.known()) {
      return ParsedValue::ofExtents(std::move(extents), scalar, type);
    }
    numbers.push_back(extent.value);
  }
  const Dimensions shape = scalar ? Dimensions{} : Dimensions{static_cast<int64_t>(numbers.size())};
  return store_.ofInts(type, shape, numbers);
}

ParsedValue NetworkWriter::scalar(DataType type, double number, int64_t rank) {
  return store_.ofReals(type, Dimensions(static_cast<size_t>(rank), 1), {number});
}

ParsedValue NetworkWriter::list(const std::vector<int64_t>& numbers) {
  return store_.ofInts(DataType::kINT64, {static_cast<int64_t>(numbers.size())}, numbers);
}

ITensor& NetworkWriter::plainReshape(ITensor& tensor, const nvinfer1::Dims& dims) {
  auto& layer = added(network_.addShuffle(tensor), "addShuffle");
  layer.setReshapeDimensions(dims);
  return output(layer);
}

// The 1-D tensor that an unknown extent is an element of.
ITensor& NetworkWriter::baseOf(const ParsedExtent& extent) {
  if (!extent.fromShape) {
    return *extent.source;
  }
  ITensor*& shape = shapes_[extent.source];
  if (shape == nullptr) {
    shape = &output(added(network_.addShape(*extent.source), "addShape"));
  }
  return *shape;
}

ITensor& NetworkWriter::run(const ParsedExtents& extents, size_t begin, size_t end) {
  if (extents[begin].known()) {
    std::vector<int64_t> numbers;
    for (size_t i = begin; i < end; ++i) {
      numbers.push_back(extents[i].value);
    }
    return tensor(list(numbers));
  }
  ITensor& base = baseOf(extents[begin]);
  const auto length = static_cast<int64_t>(end - begin);
  if (toDimensions(base.getDimensions()) == Dimensions{length}) {
    return base;
  }
  ITensor*& cached = runs_[{&base, extents[begin].index, length}];
  if (cached == nullptr) {
    auto* layer = network_.addSlice(base, toDims({extents[begin].index}), toDims({length}), toDims({1}));
    cached = &output(added(layer, "addSlice"));
  }
  return *cached;
}

ITensor& NetworkWriter::materialize(const ParsedExtents& extents, bool scalar, DataType type) {
  std::vector<ITensor*> parts;
  for (size_t begin = 0; begin < extents.size();) {
    size_t end = begin + 1;
    const auto follows = [&](const ParsedExtent& next) {
      const ParsedExtent& first = extents[begin];
      return first.known() ? next.known()
                           : next.source == first.source && next.fromShape == first.fromShape &&
                                 next.index == first.index + static_cast<int64_t>(end - begin);
    };
    while (end < extents.size() && follows(extents[end])) {
      ++end;
    }
    parts.push_back(&run(extents, begin, end));
    begin = end;
  }
  ITensor* result = parts.front();
  if (parts.size() > 1) {
    auto* layer = network_.addConcatenation(parts.data(), static_cast<int32_t>(parts.size()));
    result = &output(added(layer, "addConcatenation"));
  }
  if (scalar) {
    result = &plainReshape(*result, toDims({}));
  }
  return type == DataType::kINT64 ? *result : output(added(network_.addCast(*result, type), "addCast"));
}

ParsedExtent NetworkWriter::combine(const ParsedExtent& a, const ParsedExtent& b, ElementWiseOperation operation) {
  if (a.known() && b.known()) {
    const WeightBytes* result = foldBinary(store_, list({a.value}).constant(), list({b.value}).constant(), operation);
    return ParsedExtent::of(toInts(*result)[0]);
  }
  const bool divides = operation == ElementWiseOperation::kDIV || operation == ElementWiseOperation::kFLOOR_DIV;
  const bool adds = operation == ElementWiseOperation::kSUM;
  const bool multiplies = operation == ElementWiseOperation::kPROD;
  if (b.known() && ((b.value == 0 && (adds || operation == ElementWiseOperation::kSUB)) ||
                    (b.value == 1 && (divides || multiplies)))) {
    return a;
  }
  if (a.known() && ((a.value == 0 && adds) || (a.value == 1 && multiplies))) {
    return b;
  }
  if (multiplies && (a.is(0) || b.is(0))) {
    return ParsedExtent::of(0);
  }
  if (operation == ElementWiseOperation::kMAX || operation == ElementWiseOperation::kMIN) {
    const bool larger = operation == ElementWiseOperation::kMAX;
    if (a == b) {
      return a;
    }
    if (!a.known() && a.neverNegative() && b.known() && b.value <= 0) {
      return larger ? a : b;
    }
    if (!b.known() && b.neverNegative() && a.known() && a.value <= 0) {
      return larger ? b : a;
    }
  }
  if (a == b && operation == ElementWiseOperation::kSUB) {
    return ParsedExtent::of(0);
  }
  ITensor& left = tensor(fromExtents({a}));
  ITensor& right = tensor(fromExtents({b}));
  auto& layer = added(network_.addElementWise(left, right, operation), "addElementWise");
  ParsedExtent result = ParsedExtent::elementOf(output(layer), 0);
  const bool either = operation == ElementWiseOperation::kMAX && (a.neverNegative() || b.neverNegative());
  const bool both = operation != ElementWiseOperation::kSUB && a.neverNegative() && b.neverNegative();
  result.computedFromExtents = either || both;
  return result;
}

ParsedExtent NetworkWriter::product(const ParsedExtents& extents, size_t begin, size_t end) {
  ParsedExtent result = ParsedExtent::of(1);
  for (size_t i = begin; i < end; ++i) {
    result = combine(result, extents[i], ElementWiseOperation::kPROD);
  }
  return result;
}

}  // namespace tenon::parsers

// Names layers, keeps the facts of values, and turns values into tensors.
#include "emitter.h"

#include <cmath>

#include "fold.h"

namespace tenon::onnxparser {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ITensor;

namespace {

constexpr double kExactFloat = 16777216.0;  // 2^24: every whole number up to it is a float

}  // namespace

void Emitter::beginNode(const std::string& base, const std::string& metadata) {
  base_ = base;
  metadata_ = metadata;
  nodeLayers_.clear();
  if (networkMessage_ != nullptr) {
    networkMessage_->clear();
  }
}

std::string Emitter::networkReason() const {
  const bool said = networkMessage_ != nullptr && !networkMessage_->empty();
  return said ? ": " + *networkMessage_ : "; its message in the log says why";
}

void Emitter::refuse(const char* call) const {
  fail(ErrorCode::kINVALID_NODE, fmt::format("the network refused {}{}", call, networkReason()));
}

std::string Emitter::uniqueName(const std::string& base) {
  std::string name = base;
  while (!layerNames_.insert(name).second) {
    name = fmt::format("{}_{}", base, ++nextSuffix_[base]);
  }
  return name;
}

void Emitter::registerLayer(nvinfer1::ILayer& layer) {
  layer.setName(uniqueName(base_).c_str());
  if (!metadata_.empty()) {
    layer.setMetadata(metadata_.c_str());
  }
  nodeLayers_.push_back(&layer);
}

ITensor& Emitter::output(nvinfer1::ILayer& layer, int32_t index) {
  ITensor* tensor = layer.getOutput(index);
  if (tensor == nullptr || tensor->getDimensions().nbDims < 0) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("the network has no output {} for layer '{}' with these inputs{}", index,
                                               layer.getName(), networkReason()));
  }
  return *tensor;
}

void Emitter::nameWeights(const Constant& constant) {
  if (!constant.name.empty() && namedWeights_.insert(constant.name).second) {
    network_.setWeightsName(constant.weights(), constant.name.c_str());
  }
}

void Emitter::nameTensor(const Value& value, const std::string& name) {
  if (!value.isTensor()) {
    foldedNames_.try_emplace(value.identity(), value, name);
  } else if (!value.tensor().isNetworkInput() && namedTensors_.insert(&value.tensor()).second) {
    value.tensor().setName(name.c_str());
  }
}

Shape Emitter::shapeOf(const Value& value) const {
  if (value.isTensor()) {
    return toShape(value.tensor().getDimensions());
  }
  if (value.isConstant()) {
    return value.constant().shape;
  }
  if (value.isExtents()) {
    return value.scalarExtents() ? Shape{} : Shape{static_cast<int64_t>(value.extents().size())};
  }
  fail(ErrorCode::kINVALID_NODE, "a required input is absent");
}

DataType Emitter::typeOf(const Value& value) const {
  if (value.isTensor()) {
    return value.tensor().getType();
  }
  return value.isConstant() ? value.constant().type : value.extentsType();
}

Extents Emitter::dims(const Value& value) const {
  const Shape shape = shapeOf(value);
  Extents extents;
  for (size_t i = 0; i < shape.size(); ++i) {
    extents.push_back(shape[i] >= 0 ? Extent::of(shape[i])
                                    : Extent::dimensionOf(value.tensor(), static_cast<int64_t>(i)));
  }
  return extents;
}

Extents Emitter::elements(const Value& value) {
  Extents list;
  if (asList(value, list)) {
    return list;
  }
  const Shape shape = shapeOf(value);
  if (shape.size() > 1 || (shape.size() == 1 && shape[0] < 0)) {
    fail(
        ErrorCode::kUNSUPPORTED_NODE_SHAPE,
        fmt::format("a list of integers has shape {}; expected rank 0 or 1 with an extent known now", toString(shape)));
  }
  if (!isInteger(typeOf(value))) {
    fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
         fmt::format("a list of integers has type {}; expected INT32 or INT64", typeName(typeOf(value))));
  }
  ITensor* source = &tensor(cast(value, DataType::kINT64));
  if (shape.empty()) {
    source = &plainReshape(*source, toDims({1}));
  }
  for (int64_t i = 0; i < (shape.empty() ? 1 : shape[0]); ++i) {
    list.push_back(Extent::elementOf(*source, i));
  }
  return list;
}

bool Emitter::asList(const Value& value, Extents& list) const {
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
    list.push_back(Extent::of(number));
  }
  return true;
}

ITensor& Emitter::tensor(const Value& value) {
  if (value.isTensor()) {
    return value.tensor();
  }
  if (value.isConstant()) {
    return constantTensor(value.constant());
  }
  if (!value.isExtents()) {
    fail(ErrorCode::kINVALID_NODE, "a required input is absent");
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

ITensor& Emitter::constantTensor(const Constant& constant) {
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

Value Emitter::fromExtents(Extents extents, bool scalar, DataType type) {
  std::vector<int64_t> numbers;
  for (const Extent& extent : extents) {
    if (!extent.known()) {
      return Value::ofExtents(std::move(extents), scalar, type);
    }
    numbers.push_back(extent.value);
  }
  const Shape shape = scalar ? Shape{} : Shape{static_cast<int64_t>(numbers.size())};
  return store_.ofInts(type, shape, numbers);
}

Value Emitter::scalar(DataType type, double number, int64_t rank) {
  return store_.ofReals(type, Shape(static_cast<size_t>(rank), 1), {number});
}

Value Emitter::list(const std::vector<int64_t>& numbers) {
  return store_.ofInts(DataType::kINT64, {static_cast<int64_t>(numbers.size())}, numbers);
}

ITensor& Emitter::plainReshape(ITensor& tensor, const nvinfer1::Dims& dims) {
  auto& layer = added(network_.addShuffle(tensor), "addShuffle");
  layer.setReshapeDimensions(dims);
  return output(layer);
}

// The 1-D tensor that an unknown extent is an element of.
ITensor& Emitter::baseOf(const Extent& extent) {
  if (!extent.fromShape) {
    return *extent.source;
  }
  ITensor*& shape = shapes_[extent.source];
  if (shape == nullptr) {
    shape = &output(added(network_.addShape(*extent.source), "addShape"));
  }
  return *shape;
}

ITensor& Emitter::run(const Extents& extents, size_t begin, size_t end) {
  if (extents[begin].known()) {
    std::vector<int64_t> numbers;
    for (size_t i = begin; i < end; ++i) {
      numbers.push_back(extents[i].value);
    }
    return tensor(list(numbers));
  }
  ITensor& base = baseOf(extents[begin]);
  const auto length = static_cast<int64_t>(end - begin);
  if (toShape(base.getDimensions()) == Shape{length}) {
    return base;
  }
  ITensor*& cached = runs_[{&base, extents[begin].index, length}];
  if (cached == nullptr) {
    auto* layer = network_.addSlice(base, toDims({extents[begin].index}), toDims({length}), toDims({1}));
    cached = &output(added(layer, "addSlice"));
  }
  return *cached;
}

ITensor& Emitter::materialize(const Extents& extents, bool scalar, DataType type) {
  std::vector<ITensor*> parts;
  for (size_t begin = 0; begin < extents.size();) {
    size_t end = begin + 1;
    const auto follows = [&](const Extent& next) {
      const Extent& first = extents[begin];
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

Extent Emitter::combine(const Extent& a, const Extent& b, ElementWiseOperation operation) {
  if (a.known() && b.known()) {
    const Constant* result = foldBinary(store_, list({a.value}).constant(), list({b.value}).constant(), operation);
    return Extent::of(toInts(*result)[0]);
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
    return Extent::of(0);
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
    return Extent::of(0);
  }
  ITensor& left = tensor(fromExtents({a}));
  ITensor& right = tensor(fromExtents({b}));
  auto& layer = added(network_.addElementWise(left, right, operation), "addElementWise");
  Extent result = Extent::elementOf(output(layer), 0);
  const bool either = operation == ElementWiseOperation::kMAX && (a.neverNegative() || b.neverNegative());
  const bool both = operation != ElementWiseOperation::kSUB && a.neverNegative() && b.neverNegative();
  result.computedFromExtents = either || both;
  return result;
}

Extent Emitter::product(const Extents& extents, size_t begin, size_t end) {
  Extent result = Extent::of(1);
  for (size_t i = begin; i < end; ++i) {
    result = combine(result, extents[i], ElementWiseOperation::kPROD);
  }
  return result;
}

}  // namespace tenon::onnxparser

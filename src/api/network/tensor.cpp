// ITensor: names, types, extents and marks.
#include "api/network/tensor.h"

#include <limits>

#include "api/common/tensor_formats.h"
#include "api/network/layer.h"
#include "api/network/network.h"
#include "core/half_types.h"

namespace tenon::api {
namespace {

// Values of larger shape tensors are not followed.
constexpr int64_t kMaxShapeValues = 64;

}  // namespace

Tensor::Tensor(Network& network, LayerBase* producer, std::string name)
    : network_(network), producer_(producer), name_(std::move(name)) {
  mImpl = this;
}

void Tensor::setName(const char* name) noexcept {
  guarded(network_.reporter(), "ITensor::setName", [&] {
    checkUser(name != nullptr, "the name is null");
    name_ = name;
    if (isNetworkInput()) inputChanged();  // symbols carry the input's name
  });
}

void Tensor::setDimensions(const nv::Dims& dimensions) noexcept {
  guarded(network_.reporter(), "ITensor::setDimensions", [&] {
    checkUser(isNetworkInput(), "tensor '{}' is not a network input; its dimensions follow from its layer", name_);
    fromApi(dimensions, fmt::format("dimensions of input '{}'", name_), -1);
    dims_ = dimensions;
    inputChanged();
  });
}

nv::Dims Tensor::getDimensions() const noexcept {
  if (isNetworkInput()) return dims_;
  return guarded(network_.reporter(), "ITensor::getDimensions", invalidDims(), [&] {
    const auto& inferred = type();
    return inferred ? toApi(inferred->shape) : invalidDims();
  });
}

void Tensor::setType(nv::DataType type) noexcept {
  guarded(network_.reporter(), "ITensor::setType", [&] {
    const DataType ours = fromApi(type);
    if (isNetworkInput()) {
      dtype_ = type;
      inputChanged();
      return;
    }
    if (network_.stronglyTyped()) {
      const auto& inferred = this->type();
      checkUser(inferred && inferred->dtype == ours,
                "tensor '{}' is {}, expected {} by setType: in a strongly typed network "
                "only inputs have types to set; add a cast layer",
                name_, inferred ? tenon::name(inferred->dtype) : "invalid", tenon::name(ours));
      return;
    }
    wantedType_ = ours;
    network_.invalidate(*producer_);
  });
}

DataType Tensor::storedType(DataType computed) const {
  if (wantedType_) return *wantedType_;
  if (!outputType_) return computed;
  const bool isConstraint = producer_->getType() != nv::LayerType::kIDENTITY && computed == DataType::kF32 &&
                            (*outputType_ == DataType::kF32 || isHalf(*outputType_));
  return isConstraint ? computed : *outputType_;
}

nv::DataType Tensor::getType() const noexcept {
  if (isNetworkInput()) return dtype_;
  return guarded(network_.reporter(), "ITensor::getType", nv::DataType::kFLOAT, [&] {
    if (wantedType_) return toApi(*wantedType_);
    const auto& inferred = type();
    return inferred ? toApi(inferred->dtype) : nv::DataType::kFLOAT;
  });
}

bool Tensor::setDynamicRange(float min, float max) noexcept {
  return guarded(network_.reporter(), "ITensor::setDynamicRange", false, [&] {
    checkUser(min <= max, "tensor '{}': range [{}, {}] is empty or not a number", name_, min, max);
    dynamicRange_ = {min, max};
    return true;
  });
}

float Tensor::getDynamicRangeMin() const noexcept {
  return dynamicRange_ ? dynamicRange_->first : std::numeric_limits<float>::quiet_NaN();
}

float Tensor::getDynamicRangeMax() const noexcept {
  return dynamicRange_ ? dynamicRange_->second : std::numeric_limits<float>::quiet_NaN();
}

bool Tensor::isNetworkOutput() const noexcept { return network_.isOutput(*this); }

nv::TensorLocation Tensor::getLocation() const noexcept {
  if (location_) return *location_;
  return isShapeTensor() ? nv::TensorLocation::kHOST : nv::TensorLocation::kDEVICE;
}

void Tensor::setLocation(nv::TensorLocation location) noexcept {
  guarded(network_.reporter(), "ITensor::setLocation", [&] { location_ = checkedEnum(location, "tensor location"); });
}

void Tensor::setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept {
  guarded(network_.reporter(), "ITensor::setBroadcastAcrossBatch", [&] {
    if (!broadcastAcrossBatch) return;
    noEffect(network_.reporter(), "ITensor::setBroadcastAcrossBatch", "networks have no implicit batch");
  });
}

bool Tensor::isShapeTensor() const noexcept {
  return guarded(network_.reporter(), "ITensor::isShapeTensor", false, [&] { return network_.isShapeTensor(*this); });
}

bool Tensor::isExecutionTensor() const noexcept {
  return guarded(network_.reporter(), "ITensor::isExecutionTensor", true,
                 [&] { return network_.isExecutionTensor(*this); });
}

void Tensor::setDimensionName(int32_t index, const char* name) noexcept {
  guarded(network_.reporter(), "ITensor::setDimensionName", [&] {
    checkUser(isNetworkInput(), "tensor '{}' is not a network input", name_);
    checkUser(index >= 0 && index < nv::Dims::MAX_DIMS, "input '{}': there is no dimension {}", name_, index);
    if (dimensionNames_.size() <= static_cast<size_t>(index)) dimensionNames_.resize(static_cast<size_t>(index) + 1);
    dimensionNames_[static_cast<size_t>(index)] = orEmpty(name);
    inputChanged();
  });
}

const char* Tensor::getDimensionName(int32_t index) const noexcept {
  if (index < 0 || static_cast<size_t>(index) >= dimensionNames_.size()) return nullptr;
  const auto& name = dimensionNames_[static_cast<size_t>(index)];
  return name.empty() ? nullptr : name.c_str();
}

const std::optional<ops::TensorType>& Tensor::type() const {
  auto& self = const_cast<Tensor&>(*this);
  if (producer_ != nullptr) {
    network_.infer(*producer_);
  } else if (!type_) {
    self.type_ = inputType();
  }
  return type_;
}

void Tensor::inputChanged() {
  type_.reset();
  for (LayerBase* consumer : consumers_) network_.invalidate(*consumer);
}

std::string Tensor::axisSymbol(int axis) const {
  const char* name = getDimensionName(axis);
  // Parsers pass on the question mark by which exporters say that they know no name: it promises nothing.
  const bool promises = name != nullptr && std::string_view(name) != "?";
  return promises ? name : fmt::format("{}.{}", name_, axis);
}

std::string Tensor::valueSymbol(int element) const { return fmt::format("{}[{}]", name_, element); }

ops::TensorType Tensor::inputType() const {
  ops::TensorType type{fromApi(dtype_), {}, std::nullopt};
  for (int axis = 0; axis < dims_.nbDims; ++axis) {
    type.shape.push_back(dims_.d[axis] >= 0 ? Extent(dims_.d[axis]) : Extent::symbol(axisSymbol(axis)));
  }
  const bool integer = type.dtype == DataType::kI32 || type.dtype == DataType::kI64;
  const Extent count = product(type.shape);
  if (integer && dims_.nbDims <= 1 && count.isConstant() && count.constant() <= kMaxShapeValues) {
    std::vector<Extent> values;
    for (int64_t i = 0; i < count.constant(); ++i) values.push_back(Extent::symbol(valueSymbol(static_cast<int>(i))));
    type.contents = std::move(values);
  }
  return type;
}

std::vector<std::string> Tensor::dimensionNames() const {
  auto names = dimensionNames_;
  names.resize(static_cast<size_t>(std::max(dims_.nbDims, 0)));
  return names;
}

graph::Constraints Tensor::constraints(const ops::TensorType& type) const {
  graph::Constraints constraints;
  if (isNetworkInput() || isNetworkOutput())
    constraints.layouts = allowedLayouts(formats_, type.dtype, type.shape, name_);
  if (dynamicRange_) constraints.dynamicRange = {dynamicRange_->first, dynamicRange_->second};
  return constraints;
}

}  // namespace tenon::api

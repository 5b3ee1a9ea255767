// INetworkDefinition: inputs, outputs, names and marks.
#include "api/network/network.h"

#include <algorithm>

#include "api/network/attention.h"
#include "api/network/construct.h"

namespace tenon::api {

Network::Network(nv::IBuilder& builder, Reporter& parent, nv::NetworkDefinitionCreationFlags flags)
    : builder_(builder), reporter_(parent.logger(), parent.recorder()), flags_(flags) {
  mImpl = this;
}

Network::~Network() noexcept = default;

nv::ITensor* Network::addInput(const char* name, nv::DataType type, const nv::Dims& dimensions) noexcept {
  return guarded(reporter_, "INetworkDefinition::addInput", static_cast<nv::ITensor*>(nullptr), [&] {
    checkUser(name != nullptr && *name != '\0', "an input needs a name");
    const bool taken = std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& i) { return i->name() == name; });
    checkUser(!taken, "an input '{}' exists already", name);
    checkedEnum(type, "data type");
    fromApi(dimensions, fmt::format("dimensions of input '{}'", name), -1);
    auto tensor = std::make_unique<Tensor>(*this, nullptr, name);
    tensor->setType(type);
    tensor->setDimensions(dimensions);
    inputs_.push_back(std::move(tensor));
    return static_cast<nv::ITensor*>(inputs_.back().get());
  });
}

Tensor& Network::own(nv::ITensor& tensor) const {
  auto* ours = dynamic_cast<Tensor*>(&tensor);
  checkUser(ours != nullptr && &ours->network() == this, "the tensor '{}' belongs to another network",
            ours != nullptr ? ours->name() : "?");
  return *ours;
}

bool Network::isOutput(const Tensor& tensor) const noexcept {
  return std::find(outputs_.begin(), outputs_.end(), &tensor) != outputs_.end();
}

void Network::markOutput(nv::ITensor& tensor) noexcept {
  guarded(reporter_, "INetworkDefinition::markOutput", [&] {
    Tensor& ours = own(tensor);
    checkUser(!ours.isNetworkInput(),
              "tensor '{}' is a network input; put an identity layer between to make it an output", ours.name());
    checkUser(!isOutput(ours), "tensor '{}' is an output already", ours.name());
    outputs_.push_back(&ours);
  });
}

void Network::unmarkOutput(nv::ITensor& tensor) noexcept {
  guarded(reporter_, "INetworkDefinition::unmarkOutput", [&] {
    Tensor& ours = own(tensor);
    checkUser(isOutput(ours), "tensor '{}' is not an output", ours.name());
    std::erase(outputs_, &ours);
    shapeOutputs_.erase(&ours);
  });
}

bool Network::markOutputForShapes(nv::ITensor& tensor) noexcept {
  return guarded(reporter_, "INetworkDefinition::markOutputForShapes", false, [&] {
    Tensor& ours = own(tensor);
    const auto& type = ours.type();
    checkUser(
        type.has_value() && isInteger(type->dtype) && type->rank() <= 1 && !ours.isNetworkInput(),
        "tensor '{}' cannot be a shape output; it must be the output of a layer, of an integer type, with at most one "
        "dimension",
        ours.name());
    if (!isOutput(ours)) outputs_.push_back(&ours);
    shapeOutputs_.insert(&ours);
    return true;
  });
}

bool Network::unmarkOutputForShapes(nv::ITensor& tensor) noexcept {
  return guarded(reporter_, "INetworkDefinition::unmarkOutputForShapes", false, [&] {
    Tensor& ours = own(tensor);
    if (shapeOutputs_.erase(&ours) == 0) return false;
    std::erase(outputs_, &ours);
    return true;
  });
}

void Network::removeTensor(nv::ITensor& tensor) noexcept {
  guarded(reporter_, "INetworkDefinition::removeTensor", [&] {
    Tensor& ours = own(tensor);
    if (!ours.isNetworkInput() || !ours.consumers().empty()) {
      reporter_.warning("INetworkDefinition::removeTensor: tensor '{}' is the output of a layer; remove the layer",
                        ours.name());
      return;
    }
    const auto found =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const auto& input) { return input.get() == &ours; });
    if (found == inputs_.end()) return;
    removed_.push_back(std::move(*found));
    inputs_.erase(found);
  });
}

nv::ILayer* Network::getLayer(int32_t index) const noexcept {
  if (index < 0 || index >= getNbLayers()) return nullptr;
  return &layers_[static_cast<size_t>(index)]->interface();
}

nv::ITensor* Network::getInput(int32_t index) const noexcept {
  if (index < 0 || index >= getNbInputs()) return nullptr;
  return inputs_[static_cast<size_t>(index)].get();
}

nv::ITensor* Network::getOutput(int32_t index) const noexcept {
  if (index < 0 || index >= getNbOutputs()) return nullptr;
  return outputs_[static_cast<size_t>(index)];
}

void Network::setName(const char* name) noexcept {
  guarded(reporter_, "INetworkDefinition::setName", [&] { name_ = orEmpty(name); });
}

bool Network::setWeightsName(nv::Weights weights, const char* name) noexcept {
  return guarded(reporter_, "INetworkDefinition::setWeightsName", false, [&] {
    checkUser(name != nullptr && *name != '\0', "weights need a name that is not empty");
    checkUser(weights.values != nullptr && weights.count > 0, "weights '{}' are empty", name);
    weightsNames_[weights.values] = name;
    return true;
  });
}

std::string Network::weightsName(const nv::Weights& weights, const std::string& layer, const char* role) const {
  const auto found = weightsNames_.find(weights.values);
  return found != weightsNames_.end() ? found->second : fmt::format("{}.{}", layer, role);
}

bool Network::getFlag(nv::NetworkDefinitionCreationFlag flag) const noexcept {
  return (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
}

bool Network::markDebug(nv::ITensor& tensor) noexcept {
  return guarded(reporter_, "INetworkDefinition::markDebug", false, [&] {
    debug_.insert(&own(tensor));
    return true;
  });
}

bool Network::unmarkDebug(nv::ITensor& tensor) noexcept {
  return guarded(reporter_, "INetworkDefinition::unmarkDebug", false, [&] {
    debug_.erase(&own(tensor));
    return true;
  });
}

bool Network::isDebugTensor(const nv::ITensor& tensor) const noexcept {
  return debug_.count(dynamic_cast<const Tensor*>(&tensor)) != 0;
}

bool Network::markUnfusedTensorsAsDebugTensors() noexcept {
  return guarded(reporter_, "INetworkDefinition::markUnfusedTensorsAsDebugTensors", false,
                 [&] { return debugsUnfused_ = true; });
}

bool Network::unmarkUnfusedTensorsAsDebugTensors() noexcept {
  return guarded(reporter_, "INetworkDefinition::unmarkUnfusedTensorsAsDebugTensors", false, [&] {
    debugsUnfused_ = false;
    return true;
  });
}

bool Network::markWeightsRefittable(const char* name) noexcept {
  return guarded(reporter_, "INetworkDefinition::markWeightsRefittable", false, [&] {
    checkUser(name != nullptr, "the name of the weights is null");
    refittable_.insert(name);
    return true;
  });
}

bool Network::unmarkWeightsRefittable(const char* name) noexcept {
  return guarded(reporter_, "INetworkDefinition::unmarkWeightsRefittable", false, [&] {
    checkUser(name != nullptr, "the name of the weights is null");
    refittable_.erase(name);
    return true;
  });
}

bool Network::areWeightsMarkedRefittable(const char* name) const noexcept {
  return name != nullptr && refittable_.find(std::string_view(name)) != refittable_.end();
}

}  // namespace tenon::api

// The part of ILayer that does not depend on the kind of layer.
#include "api/network/layer.h"

#include <algorithm>

#include "api/network/network.h"

namespace tenon::api {

LayerBase::LayerBase(Network& network, nv::LayerType type, std::string name)
    : network_(network), type_(type), name_(std::move(name)) {}

Reporter& LayerBase::reporter() const noexcept { return network_.reporter(); }

void LayerBase::changed() noexcept {
  guarded(reporter(), "ILayer", [&] { network_.invalidate(*this); });
}

void LayerBase::setName(const char* name) noexcept {
  guarded(reporter(), "ILayer::setName", [&] {
    checkUser(name != nullptr, "layer '{}': the new name is null", name_);
    name_ = name;
  });
}

nv::ITensor* LayerBase::getInput(int32_t index) const noexcept {
  if (index < 0 || index >= getNbInputs()) return nullptr;
  return inputs_[static_cast<size_t>(index)];
}

nv::ITensor* LayerBase::getOutput(int32_t index) const noexcept {
  if (index < 0 || index >= getNbOutputs()) return nullptr;
  return outputs_[static_cast<size_t>(index)].get();
}

void LayerBase::connect(int index, Tensor* tensor) {
  const auto at = static_cast<size_t>(index);
  if (inputs_.size() <= at) inputs_.resize(at + 1, nullptr);
  if (Tensor* old = inputs_[at]; old != nullptr) {
    auto& users = old->consumers();
    const auto found = std::find(users.begin(), users.end(), this);
    if (found != users.end()) users.erase(found);
  }
  inputs_[at] = tensor;
  if (tensor != nullptr) tensor->consumers().push_back(this);
}

void LayerBase::makeOutputs() {
  const int count = outputCount();
  for (int i = 0; i < count; ++i) {
    auto name = i == 0 ? name_ + "_output" : fmt::format("{}_output_{}", name_, i);
    outputs_.push_back(std::make_unique<Tensor>(network_, this, std::move(name)));
  }
}

void LayerBase::setInput(int32_t index, nv::ITensor& tensor) noexcept {
  guarded(reporter(), "ILayer::setInput", [&] {
    const int limit = std::max(maxInputs(), getNbInputs());
    checkUser(index >= 0 && index < limit, "layer '{}' ({}): there is no input {}; expected 0 to {}", name_,
              layerTypeName(type_), index, limit - 1);
    connect(index, &network_.own(tensor));
    changed();
  });
}

void LayerBase::setPrecision(nv::DataType dataType) noexcept {
  guarded(reporter(), "ILayer::setPrecision", [&] {
    checkUser(!network_.stronglyTyped(),
              "layer '{}': the precisions of a strongly typed network follow from the types of "
              "its tensors",
              name_);
    precision_ = checkedEnum(dataType, "data type");
  });
}

Tensor* LayerBase::output(int32_t index, const char* call) const {
  checkUser(index >= 0 && index < getNbOutputs(), "{}: layer '{}' has no output {}", call, name_, index);
  return outputs_[static_cast<size_t>(index)].get();
}

void LayerBase::setOutputType(int32_t index, nv::DataType dataType) noexcept {
  guarded(reporter(), "ILayer::setOutputType", [&] {
    Tensor* tensor = output(index, "setOutputType");
    const DataType wanted = fromApi(dataType);
    if (network_.stronglyTyped() && type_ != nv::LayerType::kCAST) {
      const auto& inferred = tensor->type();
      checkUser(inferred && inferred->dtype == wanted,
                "layer '{}': output {} is {}, expected {}: the output types of a strongly "
                "typed network follow from the inputs; add a cast layer",
                name_, index, inferred ? tenon::name(inferred->dtype) : "invalid", tenon::name(wanted));
      return;
    }
    tensor->setOutputType(wanted);
    changed();
  });
}

nv::DataType LayerBase::getOutputType(int32_t index) const noexcept {
  return guarded(reporter(), "ILayer::getOutputType", nv::DataType::kFLOAT, [&] {
    const Tensor* tensor = output(index, "getOutputType");
    return tensor->outputType() ? toApi(*tensor->outputType()) : tensor->getType();
  });
}

bool LayerBase::outputTypeIsSet(int32_t index) const noexcept {
  return guarded(reporter(), "ILayer::outputTypeIsSet", false,
                 [&] { return output(index, "outputTypeIsSet")->outputType().has_value(); });
}

void LayerBase::resetOutputType(int32_t index) noexcept {
  guarded(reporter(), "ILayer::resetOutputType", [&] {
    output(index, "resetOutputType")->setOutputType(std::nullopt);
    changed();
  });
}

void LayerBase::setMetadata(const char* docString) noexcept {
  guarded(reporter(), "ILayer::setMetadata", [&] { metadata_ = orEmpty(docString); });
}

bool LayerBase::setNbRanks(int32_t nbRanks) noexcept {
  return guarded(reporter(), "ILayer::setNbRanks", false, [&] {
    if (nbRanks != 1) notSupported("ILayer::setNbRanks");
    return true;
  });
}

const char* layerTypeName(nv::LayerType type) noexcept {
  static constexpr const char* kNames[] = {"Convolution",
                                           "Cast",
                                           "Activation",
                                           "Pooling",
                                           "LRN",
                                           "Scale",
                                           "SoftMax",
                                           "Deconvolution",
                                           "Concatenation",
                                           "ElementWise",
                                           "Plugin",
                                           "Unary",
                                           "Padding",
                                           "Shuffle",
                                           "Reduce",
                                           "TopK",
                                           "Gather",
                                           "MatrixMultiply",
                                           "RaggedSoftMax",
                                           "Constant",
                                           "Identity",
                                           "PluginV2",
                                           "Slice",
                                           "Shape",
                                           "ParametricReLU",
                                           "Resize",
                                           "TripLimit",
                                           "Recurrence",
                                           "Iterator",
                                           "LoopOutput",
                                           "Select",
                                           "Fill",
                                           "Quantize",
                                           "Dequantize",
                                           "Condition",
                                           "ConditionalInput",
                                           "ConditionalOutput",
                                           "Scatter",
                                           "Einsum",
                                           "Assertion",
                                           "OneHot",
                                           "NonZero",
                                           "GridSample",
                                           "NMS",
                                           "ReverseSequence",
                                           "Normalization",
                                           "PluginV3",
                                           "Squeeze",
                                           "Unsqueeze",
                                           "Cumulative",
                                           "DynamicQuantize",
                                           "AttentionInput",
                                           "AttentionOutput",
                                           "RotaryEmbedding",
                                           "KVCacheUpdate",
                                           "MoE",
                                           "DistCollective"};
  static_assert(std::size(kNames) == static_cast<size_t>(nv::EnumMax<nv::LayerType>()));
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "Unknown";
}

}  // namespace tenon::api

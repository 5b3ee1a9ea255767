// What all layers share: names, inputs, outputs, precision; and what a layer file contributes to the network.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/common/convert.h"
#include "api/common/reporter.h"
#include "api/network/tensor.h"

namespace tenon::api {

class Construct;
class LowerContext;
class Network;
enum class BoundaryRole : uint8_t;

// Base of the layer classes. A layer keeps what was set and checks it when it is lowered, because setters come in any
// order; every setter marks the layer, so that its outputs' types are inferred again when somebody asks.
class LayerBase : public nv::apiv::VLayer {
 public:
  LayerBase(Network& network, nv::LayerType type, std::string name);

  nv::LayerType getType() const noexcept final { return type_; }
  void setName(const char* name) noexcept final;
  const char* getName() const noexcept final { return name_.c_str(); }
  int32_t getNbInputs() const noexcept final { return static_cast<int32_t>(inputs_.size()); }
  nv::ITensor* getInput(int32_t index) const noexcept final;
  int32_t getNbOutputs() const noexcept final { return static_cast<int32_t>(outputs_.size()); }
  nv::ITensor* getOutput(int32_t index) const noexcept final;
  void setInput(int32_t index, nv::ITensor& tensor) noexcept override;
  void setPrecision(nv::DataType dataType) noexcept final;
  nv::DataType getPrecision() const noexcept final { return precision_.value_or(nv::DataType::kFLOAT); }
  bool precisionIsSet() const noexcept final { return precision_.has_value(); }
  void resetPrecision() noexcept final { precision_.reset(); }
  void setOutputType(int32_t index, nv::DataType dataType) noexcept final;
  nv::DataType getOutputType(int32_t index) const noexcept final;
  bool outputTypeIsSet(int32_t index) const noexcept final;
  void resetOutputType(int32_t index) noexcept final;
  void setMetadata(const char* docString) noexcept final;
  const char* getMetadata() const noexcept final { return metadata_.c_str(); }
  bool setNbRanks(int32_t nbRanks) noexcept final;
  int32_t getNbRanks() const noexcept final { return 1; }

  // The same object as the public class.
  virtual nv::ILayer& interface() noexcept = 0;
  virtual int outputCount() const { return 1; }
  // Inputs that setInput() may reach; at least the ones that the layer was made with.
  virtual int maxInputs() const { return 0; }
  // Whether the values of input `index` decide about extents.
  virtual bool isShapeInput(int /*index*/) const { return false; }
  // Whether shapes may be computed through this layer: a shape tensor at its output makes its inputs shape tensors.
  virtual bool carriesShapes() const { return false; }
  // Whether input `index` comes from the iteration before: the only way in which layers may depend on themselves.
  virtual bool isBackEdge(int /*index*/) const { return false; }
  // Of boundary layers: the loop or conditional that they belong to, and what they are to it.
  virtual const Construct* construct() const noexcept { return nullptr; }
  virtual BoundaryRole role() const noexcept { return {}; }
  // Emits the layer's nodes; one value per output. Throws UserError or Unsupported when fields and inputs do not fit.
  virtual std::vector<graph::ValueId> lower(LowerContext& context) const = 0;

  Network& network() const noexcept { return network_; }
  const std::string& name() const noexcept { return name_; }
  const std::vector<Tensor*>& inputs() const noexcept { return inputs_; }  // null where an optional one is absent
  const std::vector<std::unique_ptr<Tensor>>& outputs() const noexcept { return outputs_; }
  void connect(int index, Tensor* tensor);  // no checks
  void makeOutputs();
  void changed() noexcept;

  // Which of several add functions made the layer, where getters tell.
  int variant() const noexcept { return variant_; }
  void setVariant(int variant) noexcept { variant_ = variant; }
  static constexpr int kVariantV2 = 2;

  enum class State : uint8_t { kClean, kDirty, kBusy };
  State state = State::kDirty;  // of the outputs' inferred types; the network's

 protected:
  template <typename T>
  void set(T& field, std::type_identity_t<T> value) noexcept {
    field = value;
    changed();
  }
  // For enumerations: refuses values outside.
  template <typename E>
  void setEnum(const char* call, E& field, E value) noexcept {
    guarded(reporter(), call, [&] {
      field = checkedEnum(value, fmt::format("layer '{}': value", name_));
      changed();
    });
  }
  Reporter& reporter() const noexcept;

 private:
  Tensor* output(int32_t index, const char* call) const;

  Network& network_;
  nv::LayerType type_;
  std::string name_;
  std::string metadata_;
  std::vector<Tensor*> inputs_;
  std::vector<std::unique_ptr<Tensor>> outputs_;
  std::optional<nv::DataType> precision_;
  int variant_ = 1;
};

// The class that a layer file derives from: public class I, its table class V.
template <typename I, typename V, nv::LayerType kLayerType>
class LayerOf : public I, public LayerBase, public V {
 public:
  static constexpr nv::LayerType kType = kLayerType;
  LayerOf(Network& network, std::string name) : LayerBase(network, kLayerType, std::move(name)) {
    this->mLayer = static_cast<nv::apiv::VLayer*>(this);
    this->mImpl = static_cast<V*>(this);
  }
  nv::ILayer& interface() noexcept final { return *this; }
};

// What a file of layers/ contributes by its function layerInfo_<file>(); the table is generated from the files.
struct LayerInfo {
  nv::LayerType type;
  std::unique_ptr<LayerBase> (*make)(Network& network, std::string name);
};

template <typename T>
LayerInfo describeLayer() {
  return {T::kType, [](Network& network, std::string name) -> std::unique_ptr<LayerBase> {
            return std::make_unique<T>(network, std::move(name));
          }};
}

std::span<const LayerInfo> layerTable();
const char* layerTypeName(nv::LayerType type) noexcept;  // Convolution, ElementWise, ...

}  // namespace tenon::api

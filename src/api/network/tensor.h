// ITensor: a network input or the output of a layer, with its type as inferred.
#pragma once

#include <NvInfer.h>

#include <optional>
#include <string>
#include <vector>

#include "api/common/convert.h"
#include "graph/graph.h"

namespace tenon::api {

class LayerBase;
class Network;

class Tensor final : public nv::ITensor, public nv::apiv::VTensor {
 public:
  // Of a layer (producer set) or a network input (producer null).
  Tensor(Network& network, LayerBase* producer, std::string name);

  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  void setDimensions(const nv::Dims& dimensions) noexcept override;
  nv::Dims getDimensions() const noexcept override;
  void setType(nv::DataType type) noexcept override;
  nv::DataType getType() const noexcept override;
  bool setDynamicRange(float min, float max) noexcept override;
  bool isNetworkInput() const noexcept override { return producer_ == nullptr; }
  bool isNetworkOutput() const noexcept override;
  void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept override;
  bool getBroadcastAcrossBatch() const noexcept override { return false; }
  nv::TensorLocation getLocation() const noexcept override;
  void setLocation(nv::TensorLocation location) noexcept override;
  bool dynamicRangeIsSet() const noexcept override { return dynamicRange_.has_value(); }
  void resetDynamicRange() noexcept override { dynamicRange_.reset(); }
  float getDynamicRangeMin() const noexcept override;
  float getDynamicRangeMax() const noexcept override;
  void setAllowedFormats(nv::TensorFormats formats) noexcept override { formats_ = formats; }
  nv::TensorFormats getAllowedFormats() const noexcept override { return formats_; }
  bool isShapeTensor() const noexcept override;
  bool isExecutionTensor() const noexcept override;
  void setDimensionName(int32_t index, const char* name) noexcept override;
  const char* getDimensionName(int32_t index) const noexcept override;

  Network& network() const noexcept { return network_; }
  LayerBase* producer() const noexcept { return producer_; }
  const std::string& name() const noexcept { return name_; }
  // Type as inferred; nothing when inference refused (which is reported once) or the tensor has no producer any more.
  const std::optional<ops::TensorType>& type() const;
  void setInferred(std::optional<ops::TensorType> type) { type_ = std::move(type); }
  std::optional<DataType> wantedType() const noexcept { return wantedType_; }
  // What setOutputType() of the layer asked for.
  std::optional<DataType> outputType() const noexcept { return outputType_; }
  void setOutputType(std::optional<DataType> type) { outputType_ = type; }
  // The type that the tensor is cast to behind its layer, which computes `computed`: that of setType(); of
  // setOutputType() only where it converts, because among floating types it is a constraint that the builder meets.
  DataType storedType(DataType computed) const;
  std::optional<nv::TensorLocation> location() const noexcept { return location_; }

  // What the build needs to know of a network input: extents where -1 is a symbol, and (for shape tensors) symbols for
  // the values.
  ops::TensorType inputType() const;
  std::string axisSymbol(int axis) const;
  std::string valueSymbol(int element) const;
  std::vector<std::string> dimensionNames() const;
  graph::Constraints constraints(const ops::TensorType& type) const;  // of a tensor that came to be of this type

  // Layers that read this tensor; one entry per use.
  std::vector<LayerBase*>& consumers() noexcept { return consumers_; }
  const std::vector<LayerBase*>& consumers() const noexcept { return consumers_; }

 private:
  void inputChanged();

  Network& network_;
  LayerBase* producer_;
  std::string name_;
  nv::Dims dims_{0, {}};                       // of inputs
  nv::DataType dtype_ = nv::DataType::kFLOAT;  // of inputs
  std::vector<std::string> dimensionNames_;    // of inputs
  std::optional<DataType> wantedType_;         // of outputs: demanded by setType
  std::optional<DataType> outputType_;         // of outputs: asked for by setOutputType
  std::optional<std::pair<float, float>> dynamicRange_;
  std::optional<nv::TensorLocation> location_;
  nv::TensorFormats formats_ = (1U << nv::EnumMax<nv::TensorFormat>()) - 1;
  std::optional<ops::TensorType> type_;
  std::vector<LayerBase*> consumers_;
};

}  // namespace tenon::api

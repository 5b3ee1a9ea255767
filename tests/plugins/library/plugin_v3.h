// SPDX-License-Identifier: Apache-2.0
// What the plugins of the interface IPluginV3 have in common.
#pragma once

#include <atomic>
#include <memory>

#include "library.h"

namespace library {

inline std::atomic<int> live{0};  // objects

// One object with all capabilities. Fields of any kind are kept and given back.
template <typename Self, typename Build = IPluginV3OneBuild>
class Plugin : public IPluginV3, public IPluginV3OneCore, public Build, public IPluginV3OneRuntime {
 public:
  explicit Plugin(const PluginFieldCollection* fields) {
    ++live;
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) keep(fields->fields[i]);
  }
  Plugin(const Plugin& other) : IPluginV3(), IPluginV3OneCore(), Build(), IPluginV3OneRuntime(), tactic(other.tactic) {
    ++live;
    for (const auto& field : other.kept_) keep({field->name.c_str(), field->bytes.data(), field->type, field->length});
  }

  ~Plugin() noexcept override { --live; }

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(static_cast<Build*>(this));
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Self(static_cast<const Self&>(*this)); }
  const char* getPluginName() const noexcept override { return Self::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }

  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t count, const DataType* inputs,
                             int32_t) const noexcept override {
    for (int32_t i = 0; i < count; ++i) outputs[i] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t, DimsExprs* outputs, int32_t,
                          IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].desc.type == DataType::kFLOAT && all[at].desc.format == TensorFormat::kLINEAR;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t setTactic(int32_t chosen) noexcept override {
    tactic = chosen;
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_.clear();
    for (const auto& field : kept_)
      fields_.emplace_back(field->name.c_str(), field->bytes.data(), field->type, field->length);
    collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
    return &collection_;
  }

 protected:
  struct Kept {
    std::string name;
    std::vector<char> bytes;
    PluginFieldType type;
    int32_t length;
  };
  const PluginFieldCollection* fields() noexcept { return getFieldsToSerialize(); }
  const std::vector<std::unique_ptr<Kept>>& kept() const noexcept { return kept_; }
  int32_t tactic = 0;

 private:
  void keep(const PluginField& field) {
    constexpr size_t kBytes[] = {2, 4, 8, 1, 2, 4, 1, sizeof(Dims), 1, 2, 8, 1};
    const size_t bytes = static_cast<size_t>(field.length) * kBytes[static_cast<int32_t>(field.type)];
    const auto* data = static_cast<const char*>(field.data);
    kept_.push_back(std::make_unique<Kept>(
        Kept{field.name, std::vector<char>(data, data + (data == nullptr ? 0 : bytes)), field.type, field.length}));
  }
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_{};
};

template <typename T>
class Creator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields, TensorRTPhase) noexcept override {
    return new T(fields);
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginFieldCollection kNone{0, nullptr};
    return &kNone;
  }
  const char* getPluginName() const noexcept override { return T::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
};

}  // namespace library

// SPDX-License-Identifier: Apache-2.0
// Plugins that fail where they are told to.
#include <string>
#include <string_view>

#include "on_host.h"
#include "plugin_v3.h"

namespace library {
namespace {

// Reports an error in the call that its field "where" names.
class Fails final : public Plugin<Fails> {
 public:
  static constexpr const char* kName = "Fails";
  using Plugin::Plugin;
  Fails(const Fails&) = default;
  int32_t getNbOutputs() const noexcept override { return at("no outputs") ? 0 : at("outputs") ? -1 : 1; }
  IPluginV3* clone() noexcept override {
    if (at("clone itself")) return this;
    return at("clone") ? nullptr : Plugin::clone();
  }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    const bool isMissing = (at("kCORE") && type == PluginCapabilityType::kCORE) ||
                           (at("kBUILD") && type == PluginCapabilityType::kBUILD) ||
                           (at("kRUNTIME") && type == PluginCapabilityType::kRUNTIME);
    return isMissing ? nullptr : Plugin::getCapabilityInterface(type);
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return at("getFieldsToSerialize") ? nullptr : Plugin::getFieldsToSerialize();
  }
  int32_t getNbTactics() noexcept override { return at("getNbTactics") ? -1 : at("getValidTactics") ? 1 : 0; }
  int32_t getValidTactics(int32_t*, int32_t) noexcept override { return 7; }
  int32_t getOutputDataTypes(DataType* out, int32_t n, const DataType* in, int32_t m) const noexcept override {
    return at("getOutputDataTypes") ? 7 : Plugin::getOutputDataTypes(out, n, in, m);
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder& build) noexcept override {
    out[0] = in[0];
    if (at("declareSizeTensor")) out[0].d[0] = build.declareSizeTensor(0, *in[0].d[0], *in[0].d[0]);
    if (at("foreign expression")) out[0].d[0] = nullptr;
    return at("getOutputShapes") ? 7 : 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return at("configurePlugin") ? 7 : 0;
  }
  int32_t setTactic(int32_t) noexcept override { return at("setTactic") ? 7 : 0; }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return at("onShapeChange") ? 7 : 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override {
    if (at("attach itself")) return this;
    return at("attachToContext") ? nullptr : clone();
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return at("enqueue") ? 7 : 0;
  }

 private:
  bool at(std::string_view call) const noexcept {
    for (const auto& field : kept()) {
      if (field->name == "where") return std::string_view(field->bytes.data(), field->bytes.size()) == call;
    }
    return false;
  }
};

// Makes plugins for networks; for engines too, but where it shall fail in that.
class FailsCreator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields, TensorRTPhase phase) noexcept override {
    const PluginField* where = find(fields, "where");
    const std::string_view call =
        where != nullptr ? std::string_view(static_cast<const char*>(where->data), static_cast<size_t>(where->length))
                         : "";
    return phase == TensorRTPhase::kRUNTIME && call == "createPlugin" ? nullptr : new Fails(fields);
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginFieldCollection kNone{0, nullptr};
    return &kNone;
  }
  const char* getPluginName() const noexcept override { return Fails::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
};

// The same of the older family: what fails is the name that it was made with. Without a name it is -x, and its state
// has no bytes.
class OldFails final : public IPluginV2DynamicExt {
 public:
  static constexpr const char* kName = "OldFails";
  explicit OldFails(std::string where) : where_(std::move(where)) {}
  const char* getPluginType() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  int32_t getNbOutputs() const noexcept override { return where_ == "outputs" ? 0 : 1; }
  int32_t initialize() noexcept override { return where_ == "initialize" ? 7 : 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return where_.size(); }
  void serialize(void* buffer) const noexcept override {
    if (!where_.empty()) std::memcpy(buffer, where_.data(), where_.size());
  }
  void destroy() noexcept override { delete this; }
  IPluginV2DynamicExt* clone() const noexcept override {
    if (where_ == "clone itself") return const_cast<OldFails*>(this);
    return where_ == "clone" ? nullptr : new OldFails(where_);
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t, IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].type == DataType::kFLOAT && all[at].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t stream) noexcept override {
    OnHost host(stream);
    const int64_t count = volume(in[0].dims);
    const auto* const x = host.read<float>(inputs[0], count);
    auto* const y = host.write<float>(outputs[0], count);
    for (int64_t i = 0; i < count; ++i) y[i] = -x[i];
    return where_ == "enqueue" ? 7 : 0;
  }

 private:
  std::string where_;
};

class OldFailsCreator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return OldFails::kName; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginFieldCollection kNone{0, nullptr};
    return &kNone;
  }
  IPluginV2* createPlugin(const char* name, const PluginFieldCollection*) noexcept override {
    return new OldFails(name);
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t length) noexcept override {
    std::string where = length != 0 ? std::string(static_cast<const char*>(data), length) : "";
    return where == "deserializePlugin" ? nullptr : new OldFails(std::move(where));
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

}  // namespace

const std::vector<IPluginCreatorInterface*>& creatorsHostile() {
  static FailsCreator fails;
  static OldFailsCreator old;
  static const std::vector<IPluginCreatorInterface*> kAll{&fails, &old};
  return kAll;
}

}  // namespace library

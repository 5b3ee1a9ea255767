// SPDX-License-Identifier: Apache-2.0
// The older family, told apart by the top byte of getTensorRTVersion().
#include <fmt/format.h>

#include <cstring>

#include "subject.h"
#include "subject_kinds.h"

namespace tenon::check {
namespace {

int32_t sizeOf(const auto& list) { return static_cast<int32_t>(list.size()); }

std::vector<nv::PluginTensorDesc> fixed(const Descs& descs) {
  std::vector<nv::PluginTensorDesc> result;
  for (const auto& desc : descs) result.push_back(desc.desc);
  return result;
}

class PluginV2 final : public Plugin {
 public:
  explicit PluginV2(nv::IPluginV2* plugin) : plugin_(plugin) {
    kind_ = (static_cast<uint32_t>(plugin->getTensorRTVersion()) >> 24U) & 0x3fU;
    if (kind_ > 3) {
      plugin->destroy();
      throw Wrong(fmt::format("getTensorRTVersion() names the class {}; do not override it", kind_));
    }
  }
  ~PluginV2() override { plugin_->destroy(); }
  std::string name() override { return orEmpty(plugin_->getPluginType()); }
  std::string version() override { return orEmpty(plugin_->getPluginVersion()); }
  std::string space() override { return orEmpty(plugin_->getPluginNamespace()); }
  int32_t outputCount() override { return plugin_->getNbOutputs(); }
  std::unique_ptr<Plugin> clone() override {
    auto* copy = plugin_->clone();
    if (copy == nullptr) throw Wrong("clone() returned null");
    if (copy == plugin_) throw Wrong("clone() returned the plugin itself; expected a new object, which destroy() ends");
    return std::make_unique<PluginV2>(copy);
  }
  bool supports(int32_t position, const Descs& operands, int32_t inputs) override {
    const auto descs = fixed(operands);
    const auto& asked = descs[static_cast<size_t>(position)];
    if (kind_ == 3)
      return as<nv::IPluginV2DynamicExt>().supportsFormatCombination(position, descs.data(), inputs,
                                                                     sizeOf(descs) - inputs);
    if (kind_ == 2)
      return as<nv::IPluginV2IOExt>().supportsFormatCombination(position, descs.data(), inputs, sizeOf(descs) - inputs);
    return asked.format == descs[0].format && plugin_->supportsFormat(asked.type, asked.format);
  }
  void configure(const Descs& inputs, const Descs& outputs) override {
    if (kind_ == 3)
      as<nv::IPluginV2DynamicExt>().configurePlugin(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs));
    if (kind_ == 2) {
      const auto in = fixed(inputs), out = fixed(outputs);
      as<nv::IPluginV2IOExt>().configurePlugin(in.data(), sizeOf(in), out.data(), sizeOf(out));
    }
    if (kind_ < 2) configureOld(inputs, outputs);
  }
  size_t workspace(const Descs& inputs, const Descs& outputs) override {
    if (kind_ != 3) return plugin_->getWorkspaceSize(1);
    const auto in = fixed(inputs), out = fixed(outputs);
    return as<nv::IPluginV2DynamicExt>().getWorkspaceSize(in.data(), sizeOf(in), out.data(), sizeOf(out));
  }
  // Behind the bytes that getSerializationSize() promises stand others, which serialize() must leave alone.
  std::string state() override {
    constexpr size_t kGuard = 64;
    const size_t size = plugin_->getSerializationSize();
    if (size > (size_t{1} << 31U)) throw Wrong(fmt::format("getSerializationSize() returned {}", size));
    std::string first(size + kGuard, '\x5a'), second(size + kGuard, '\xa5');
    plugin_->serialize(first.data());
    plugin_->serialize(second.data());
    if (first.substr(size) != std::string(kGuard, '\x5a'))
      throw Wrong(fmt::format("serialize() wrote beyond the {} bytes that getSerializationSize() promises", size));
    first.resize(size);
    second.resize(size);
    for (size_t i = 0; i < size; ++i) {
      if (first[i] == '\x5a' && second[i] == '\xa5')
        throw Wrong(fmt::format("serialize() leaves byte {} of {} unwritten; getSerializationSize() promises too many",
                                i, size));
    }
    if (first != second) throw Wrong("serialize() writes other bytes each time; does it write addresses or padding?");
    return first;
  }
  nv::ILayer* addTo(nv::INetworkDefinition& network, const std::vector<nv::ITensor*>& inputs) override {
    return network.addPluginV2(inputs.data(), sizeOf(inputs), *plugin_);
  }

 private:
  template <typename T>
  T& as() {
    return static_cast<T&>(*plugin_);
  }
  void configureOld(const Descs& inputs, const Descs& outputs) {
    std::vector<nv::Dims> in, out;
    std::vector<nv::DataType> inTypes, outTypes;
    for (const auto& desc : inputs) in.push_back(desc.desc.dims), inTypes.push_back(desc.desc.type);
    for (const auto& desc : outputs) out.push_back(desc.desc.dims), outTypes.push_back(desc.desc.type);
    const auto& first = inputs.empty() ? outputs[0].desc : inputs[0].desc;
    if (kind_ == 0) {
      plugin_->configureWithFormat(in.data(), sizeOf(in), out.data(), sizeOf(out), first.type, first.format, 1);
      return;
    }
    const auto never = std::make_unique<bool[]>(in.size() + out.size());
    as<nv::IPluginV2Ext>().configurePlugin(in.data(), sizeOf(in), out.data(), sizeOf(out), inTypes.data(),
                                           outTypes.data(), never.get(), never.get(), first.format, 1);
  }
  nv::IPluginV2* plugin_;
  uint32_t kind_ = 0;
};

class CreatorV2 final : public Creator {
 public:
  explicit CreatorV2(nv::IPluginCreator& creator) : creator_(creator) {}
  const char* name() override { return creator_.getPluginName(); }
  const char* version() override { return creator_.getPluginVersion(); }
  const char* space() override { return creator_.getPluginNamespace(); }
  const nv::PluginFieldCollection* fieldNames() override { return creator_.getFieldNames(); }
  std::unique_ptr<Plugin> make(const nv::PluginFieldCollection& fields) override {
    return owned(creator_.createPlugin("checked", &fields));
  }
  std::unique_ptr<Plugin> restore(const std::string& state) override {
    return owned(creator_.deserializePlugin("checked", state.data(), state.size()));
  }

 private:
  std::unique_ptr<Plugin> owned(nv::IPluginV2* plugin) {
    if (plugin == nullptr) return nullptr;
    plugin->setPluginNamespace(orEmpty(creator_.getPluginNamespace()));
    return std::make_unique<PluginV2>(plugin);
  }
  nv::IPluginCreator& creator_;
};

}  // namespace

std::unique_ptr<Creator> creatorV2(nv::IPluginCreator& creator) { return std::make_unique<CreatorV2>(creator); }

std::unique_ptr<Creator> creatorOf(nv::IPluginCreatorInterface& creator) {
  const std::string kind = orEmpty(creator.getInterfaceInfo().kind);
  if (kind == "PLUGIN CREATOR_V3ONE") return creatorV3(static_cast<nv::IPluginCreatorV3One&>(creator));
  if (kind == "PLUGIN CREATOR_V1") return creatorV2(static_cast<nv::IPluginCreator&>(creator));
  return nullptr;
}

}  // namespace tenon::check

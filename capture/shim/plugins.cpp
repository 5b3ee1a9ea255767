// How plugins were made: by a creator with fields, or by the application itself, whose plugin is asked for its state.
#include "shim/plugins.h"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/plugin_fields.h"
#include "enums.h"
#include "shim/answers.h"
#include "shim/recorder.h"

namespace tenon::capture {
namespace {

// By address: the members of the line of a plugin that a creator made. One at the same address later replaces it.
std::unordered_map<const void*, std::string>& recipes() {
  static auto& kRecipes = *new std::unordered_map<const void*, std::string>;
  return kRecipes;
}

std::string fieldsText(const nvinfer1::PluginFieldCollection* collection) {
  std::string out = "[";
  for (int32_t i = 0; collection != nullptr && i < collection->nbFields; ++i) {
    const nvinfer1::PluginField& field = collection->fields[i];
    const size_t bytes = fieldBytes(field.type, field.length);
    out += i > 0 ? ",{\"name\":" : "{\"name\":";
    out += quoted(field.name) + ",\"type\":";
    text::appendEnum(out, kEnum_PluginFieldType, static_cast<int64_t>(field.type));
    out += fmt::format(",\"length\":{}", field.length);
    if (field.data != nullptr && bytes > kInlineFieldBytes) {
      out += fmt::format(",\"data\":{}", Recorder::instance().data(field.data, bytes));
    } else if (field.data != nullptr) {
      out += ",\"hex\":\"";
      text::appendHex(out, field.data, bytes);
      out += '"';
    }
    out += '}';
  }
  return out + ']';
}

std::string identity(const char* interface, const char* type, const char* version, const char* space) {
  return fmt::format("\"interface\":\"{}\",\"type\":{},\"version\":{},\"namespace\":{}", interface, quoted(type),
                     quoted(version), quoted(space != nullptr ? space : ""));
}

uint64_t define(const void* plugin, const std::string& who, const std::string& state) {
  Recorder& recorder = Recorder::instance();
  const uint64_t id = recorder.newId();
  const auto recipe = recipes().find(plugin);
  const bool isRecipe = recipe != recipes().end() && recipe->second.rfind(who, 0) == 0;
  recorder.append(fmt::format("{{\"plugin\":{},{}{}}}", id, isRecipe ? recipe->second : who, state));
  return id;
}

// The recipe of a plugin that a creator has just made.
template <typename Creator>
void note(const Creator& creator, const void* plugin, const char* interface, const char* name, const std::string& rest) {
  std::lock_guard lock(Recorder::instance().order());
  recipes()[plugin] = identity(interface, creator.getPluginName(), creator.getPluginVersion(), creator.getPluginNamespace()) +
                      ",\"name\":" + quoted(name) + rest;
}

// In place of creators of the first kind.
class Creator2 final : public nvinfer1::IPluginCreator {
 public:
  explicit Creator2(nvinfer1::IPluginCreator& real) : real_(real) {}
  nvinfer1::APILanguage getAPILanguage() const noexcept override { return real_.getAPILanguage(); }
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { return real_.getInterfaceInfo(); }
  const char* getPluginName() const noexcept override { return real_.getPluginName(); }
  const char* getPluginVersion() const noexcept override { return real_.getPluginVersion(); }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return real_.getFieldNames(); }
  nvinfer1::IPluginV2* createPlugin(const char* name, const nvinfer1::PluginFieldCollection* fields) noexcept override {
    nvinfer1::IPluginV2* plugin = real_.createPlugin(name, fields);
    if (plugin != nullptr) {
      note(real_, plugin, "IPluginV2", name, ",\"fields\":" + fieldsText(fields));
    }
    return plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char* name, const void* data, size_t size) noexcept override {
    return real_.deserializePlugin(name, data, size);
  }
  void setPluginNamespace(const char* space) noexcept override { real_.setPluginNamespace(space); }
  const char* getPluginNamespace() const noexcept override { return real_.getPluginNamespace(); }

 private:
  nvinfer1::IPluginCreator& real_;
};

// In place of creators of plugins of the third kind.
class Creator3 final : public nvinfer1::IPluginCreatorV3One {
 public:
  explicit Creator3(nvinfer1::IPluginCreatorV3One& real) : real_(real) {}
  nvinfer1::APILanguage getAPILanguage() const noexcept override { return real_.getAPILanguage(); }
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { return real_.getInterfaceInfo(); }
  nvinfer1::IPluginV3* createPlugin(const char* name, const nvinfer1::PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase phase) noexcept override {
    nvinfer1::IPluginV3* plugin = real_.createPlugin(name, fields, phase);
    if (plugin != nullptr) {
      note(real_, plugin, "IPluginV3", name,
           fmt::format(",\"phase\":{},\"fields\":{}", static_cast<int>(phase), fieldsText(fields)));
    }
    return plugin;
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return real_.getFieldNames(); }
  const char* getPluginName() const noexcept override { return real_.getPluginName(); }
  const char* getPluginVersion() const noexcept override { return real_.getPluginVersion(); }
  const char* getPluginNamespace() const noexcept override { return real_.getPluginNamespace(); }

 private:
  nvinfer1::IPluginCreatorV3One& real_;
};

}  // namespace

uint64_t pluginNumber(nvinfer1::IPluginV2& plugin) {
  const std::string who = identity("IPluginV2", plugin.getPluginType(), plugin.getPluginVersion(), plugin.getPluginNamespace());
  std::vector<char> bytes(plugin.getSerializationSize());
  plugin.serialize(bytes.data());
  const uint64_t data = Recorder::instance().data(bytes.data(), bytes.size());
  return define(&plugin, who, fmt::format(",\"state\":{}", data));
}

uint64_t pluginNumber(nvinfer1::IPluginV3& plugin) {
  using nvinfer1::PluginCapabilityType;
  auto* core = static_cast<nvinfer1::IPluginV3OneCore*>(plugin.getCapabilityInterface(PluginCapabilityType::kCORE));
  auto* runtime = static_cast<nvinfer1::IPluginV3OneRuntime*>(plugin.getCapabilityInterface(PluginCapabilityType::kRUNTIME));
  if (core == nullptr) {
    return define(&plugin, identity("IPluginV3", nullptr, nullptr, nullptr), {});
  }
  const std::string who = identity("IPluginV3", core->getPluginName(), core->getPluginVersion(), core->getPluginNamespace());
  const nvinfer1::PluginFieldCollection* state = runtime != nullptr ? runtime->getFieldsToSerialize() : nullptr;
  return define(&plugin, who, state != nullptr ? ",\"state\":" + fieldsText(state) : std::string());
}

namespace {

struct Creators {
  std::unordered_map<const nvinfer1::IPluginCreatorInterface*, nvinfer1::IPluginCreatorInterface*> wrappers;
  std::unordered_map<const nvinfer1::IPluginCreatorInterface*, nvinfer1::IPluginCreatorInterface*> reals;
};

Creators& creators() {
  static auto& kCreators = *new Creators;
  return kCreators;
}

}  // namespace

nvinfer1::IPluginCreatorInterface* wrapCreator(nvinfer1::IPluginCreatorInterface* real) {
  if (real == nullptr) {
    return nullptr;
  }
  std::lock_guard lock(Recorder::instance().order());
  nvinfer1::IPluginCreatorInterface*& wrapper = creators().wrappers[real];
  if (wrapper == nullptr) {
    wrapper = real;
    const std::string_view kind = real->getInterfaceInfo().kind;
    if (kind == "PLUGIN CREATOR_V1") {
      wrapper = new Creator2(static_cast<nvinfer1::IPluginCreator&>(*real));
    } else if (kind == "PLUGIN CREATOR_V3ONE") {
      wrapper = new Creator3(static_cast<nvinfer1::IPluginCreatorV3One&>(*real));
    }
    creators().reals[wrapper] = real;
  }
  return wrapper;
}

const nvinfer1::IPluginCreatorInterface& unwrapCreator(const nvinfer1::IPluginCreatorInterface& creator) {
  std::lock_guard lock(Recorder::instance().order());
  const auto found = creators().reals.find(&creator);
  return found != creators().reals.end() ? *found->second : creator;
}

}  // namespace tenon::capture

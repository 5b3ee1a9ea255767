// How plugins were made: by a creator with fields, or by the application itself, whose plugin is asked for its state.
#include "shim/plugins.h"

#include <fmt/format.h>
#include <impl/NvInferPythonPlugin.h>

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

// The capability as what it says it is; null when it is something else.
template <typename T>
T* as(nvinfer1::IPluginCapability* capability, std::string_view kind) {
  return capability != nullptr && capability->getInterfaceInfo().kind == kind ? static_cast<T*>(capability) : nullptr;
}

uint64_t define(const void* plugin, const std::string& who, const std::string& state) {
  Recorder& recorder = Recorder::instance();
  const uint64_t id = recorder.newId();
  const auto recipe = recipes().find(plugin);
  const bool isRecipe = recipe != recipes().end() && recipe->second.rfind(who, 0) == 0;
  recorder.append(fmt::format("{{\"plugin\":{},{}{}}}", id, isRecipe ? recipe->second : who, state));
  return id;
}

}  // namespace

void notePlugin(const void* plugin, const PluginIdentity& who, const char* name, const std::string& members,
                const nvinfer1::PluginFieldCollection* fields) {
  std::lock_guard lock(Recorder::instance().order());
  recipes()[plugin] = identity(who.interface, who.type, who.version, who.space) + ",\"name\":" + quoted(name) +
                      members + ",\"fields\":" + fieldsText(fields);
}

uint64_t pluginNumber(nvinfer1::IPluginV2& plugin) {
  const std::string who =
      identity("IPluginV2", plugin.getPluginType(), plugin.getPluginVersion(), plugin.getPluginNamespace());
  std::vector<char> bytes(plugin.getSerializationSize());
  plugin.serialize(bytes.data());
  const uint64_t data = Recorder::instance().data(bytes.data(), bytes.size());
  return define(&plugin, who, fmt::format(",\"state\":{}", data));
}

uint64_t pluginNumber(nvinfer1::IPluginV3& plugin) {
  using nvinfer1::PluginCapabilityType;
  nvinfer1::IPluginCapability* core = plugin.getCapabilityInterface(PluginCapabilityType::kCORE);
  nvinfer1::IPluginCapability* runtime = plugin.getCapabilityInterface(PluginCapabilityType::kRUNTIME);
  std::string who = identity("IPluginV3", nullptr, nullptr, nullptr);
  if (auto* one = as<nvinfer1::IPluginV3OneCore>(core, "PLUGIN_V3ONE_CORE")) {
    who = identity("IPluginV3", one->getPluginName(), one->getPluginVersion(), one->getPluginNamespace());
  } else if (auto* quick = as<nvinfer1::IPluginV3QuickCore>(core, "PLUGIN_V3QUICK_CORE")) {
    who = identity("IPluginV3", quick->getPluginName(), quick->getPluginVersion(), quick->getPluginNamespace());
  }
  const nvinfer1::PluginFieldCollection* state = nullptr;
  if (auto* one = as<nvinfer1::IPluginV3OneRuntime>(runtime, "PLUGIN_V3ONE_RUNTIME")) {
    state = one->getFieldsToSerialize();
  } else if (auto* quick = as<nvinfer1::IPluginV3QuickRuntime>(runtime, "PLUGIN_V3QUICK_RUNTIME")) {
    state = quick->getFieldsToSerialize();
  }
  return define(&plugin, who, state != nullptr ? ",\"state\":" + fieldsText(state) : std::string());
}

}  // namespace tenon::capture

// Finds creators and lets them make plugins.
#include "player/plugins.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <impl/NvInferPythonPlugin.h>

#include <cstdlib>

#include "common/method.h"
#include "common/plugin_fields.h"
#include "enums.h"

namespace tenon::capture {
namespace {

// The plugins that come with the library are there without a flag.
void loadStandardPlugins() {
  static const bool kDone = [] {
    void* library = dlopen("libnvinfer_plugin.so.10", RTLD_LAZY | RTLD_GLOBAL);
    auto* init = library != nullptr
                     ? reinterpret_cast<bool (*)(void*, const char*)>(dlsym(library, "initLibNvInferPlugins"))
                     : nullptr;
    return init != nullptr && init(nullptr, "");
  }();
  (void)kDone;
}

std::string textAt(const Json& value, const char* key) {
  const Json found = value.value(key, Json());
  return found.is_string() ? found.get<std::string>() : std::string();
}

nvinfer1::PluginFieldType fieldType(const Json& value) {
  const EnumInfo& info = enums()[kEnum_PluginFieldType];
  for (size_t i = 0; i < info.names.size(); ++i) {
    if (value == info.names[i]) {
      return static_cast<nvinfer1::PluginFieldType>(info.values[i]);
    }
  }
  return nvinfer1::PluginFieldType::kUNKNOWN;
}

}  // namespace

Plugins::~Plugins() {
  for (auto& [id, plugin] : second_) {
    plugin->destroy();
  }
  for (auto& [id, plugin] : third_) {
    delete plugin;
  }
}

nvinfer1::IPluginV2* Plugins::plugin2(uint64_t id) const {
  const auto found = second_.find(id);
  return found == second_.end() ? nullptr : found->second;
}

nvinfer1::IPluginV3* Plugins::plugin3(uint64_t id) const {
  const auto found = third_.find(id);
  return found == third_.end() ? nullptr : found->second;
}

std::vector<nvinfer1::PluginField> Plugins::fields(const Line& line, const Json& list, const DataOf& dataOf) {
  std::vector<nvinfer1::PluginField> result;
  for (const Json& entry : list) {
    const Json length = entry.is_object() ? entry.value("length", Json()) : Json();
    if (!length.is_number_integer()) {
      throw CaptureError(fmt::format("line {}: a field needs a name, a type and a length", line.number));
    }
    const nvinfer1::PluginFieldType type = fieldType(entry.value("type", Json()));
    const size_t size = fieldBytes(type, length.get<int32_t>());
    const std::string hex = textAt(entry, "hex");
    const void* data = nullptr;
    if (entry.value("data", Json()).is_number_unsigned()) {
      const auto [bytes, found] = dataOf(entry["data"].get<uint64_t>());
      data = found == size ? bytes : nullptr;
    } else if (hex.size() == 2 * size) {
      std::vector<char>& bytes = bytes_.emplace_back(size);
      for (size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<char>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
      }
      data = bytes.data();
    }
    if (data == nullptr && size > 0 && (entry.contains("hex") || entry.contains("data"))) {
      throw CaptureError(
          fmt::format("line {}: the field '{}' needs {} bytes", line.number, textAt(entry, "name"), size));
    }
    result.emplace_back(names_.emplace_back(textAt(entry, "name")).c_str(), data, type, length.get<int32_t>());
  }
  return result;
}

void Plugins::define(const Line& line, const DataOf& dataOf) {
  loadStandardPlugins();
  const Json& value = line.value;
  const std::string type = textAt(value, "type");
  const std::string version = textAt(value, "version");
  const std::string space = textAt(value, "namespace");
  const std::string who = fmt::format("plugin '{}', version '{}', namespace '{}'", type, version, space);
  if (!value.value("plugin", Json()).is_number_unsigned()) {
    throw CaptureError(fmt::format("line {}: {} needs a number", line.number, who));
  }
  const auto id = value["plugin"].get<uint64_t>();
  nvinfer1::IPluginCreatorInterface* creator =
      getPluginRegistry()->getCreator(type.c_str(), version.c_str(), space.c_str());
  if (creator == nullptr) {
    throw CaptureError(fmt::format(
        "line {}: there is no {} in this process: preload its library or name it with --plugins", line.number, who));
  }
  const std::string name = textAt(value, "name");
  const char* const said = creator->getInterfaceInfo().kind;
  const std::string_view kind = said != nullptr ? said : "";
  const Json list = value.contains("fields") ? value["fields"] : value.value("state", Json());
  const std::vector<nvinfer1::PluginField> given =
      list.is_array() ? fields(line, list, dataOf) : std::vector<nvinfer1::PluginField>();
  const nvinfer1::PluginFieldCollection collection{static_cast<int32_t>(given.size()), given.data()};
  const bool isThird = textAt(value, "interface") == "IPluginV3";
  nvinfer1::IPluginV3* third = nullptr;
  if (!isThird && kind == "PLUGIN CREATOR_V1") {
    auto* maker = static_cast<nvinfer1::IPluginCreator*>(creator);
    nvinfer1::IPluginV2* plugin = nullptr;
    if (list.is_array()) {
      plugin = maker->createPlugin(name.c_str(), &collection);
    } else if (list.is_number_unsigned()) {
      const auto [bytes, size] = dataOf(list.get<uint64_t>());
      plugin = maker->deserializePlugin(name.c_str(), bytes, size);
    }
    if (plugin != nullptr) {
      plugin->setPluginNamespace(space.c_str());
      second_[id] = plugin;
      return;
    }
  } else if (isThird && kind == "PLUGIN CREATOR_V3ONE") {
    auto* maker = static_cast<nvinfer1::IPluginCreatorV3One*>(creator);
    third = maker->createPlugin(name.c_str(), &collection, nvinfer1::TensorRTPhase::kBUILD);
  } else if (isThird && kind == "PLUGIN CREATOR_V3QUICK") {
    auto* maker = static_cast<nvinfer1::IPluginCreatorV3Quick*>(creator);
    const Json request = value.value("request", Json());
    third = maker->createPlugin(
        name.c_str(), space.c_str(), &collection, nvinfer1::TensorRTPhase::kBUILD,
        static_cast<nvinfer1::QuickPluginCreationRequest>(request.is_number_integer() ? request.get<int32_t>() : 0));
  }
  if (third != nullptr) {
    third_[id] = third;
    return;
  }
  throw CaptureError(fmt::format("line {}: the creator of the {} makes none of it", line.number, who));
}

}  // namespace tenon::capture

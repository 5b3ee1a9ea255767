// SPDX-License-Identifier: Apache-2.0
// IPluginV3 and its creators.
#include <fmt/format.h>

#include <cstring>

#include "subject.h"
#include "subject_kinds.h"

namespace tenon::check {
namespace {

int32_t sizeOf(const auto& list) { return static_cast<int32_t>(list.size()); }

void succeeds(int32_t status, const char* call) {
  if (status != 0) throw Wrong(fmt::format("{}() returned {}; expected 0", call, status));
}

size_t bytesOf(nv::PluginFieldType type) {
  constexpr size_t kBytes[] = {2, 4, 8, 1, 2, 4, 1, sizeof(nv::Dims), 1, 2, 8, 1, 1, 1};
  const auto place = static_cast<size_t>(type);
  if (place >= std::size(kBytes)) throw Wrong(fmt::format("a field has the type {}; expected 0 to 13", place));
  return kBytes[place];
}

// Fields as bytes that are equal where the fields are.
std::string packed(const nv::PluginFieldCollection* fields) {
  if (fields == nullptr)
    throw Wrong("getFieldsToSerialize() returned null; expected a list, empty where there is no state");
  if (fields->nbFields < 0 || (fields->nbFields > 0 && fields->fields == nullptr))
    throw Wrong(fmt::format("getFieldsToSerialize() returned {} fields at a null pointer", fields->nbFields));
  std::string result;
  for (int32_t i = 0; i < fields->nbFields; ++i) {
    const auto& field = fields->fields[i];
    if (field.name == nullptr || *field.name == '\0')
      throw Wrong(fmt::format("field {} of getFieldsToSerialize() has no name", i));
    if (field.length < 0 || (field.length > 0 && field.data == nullptr)) {
      throw Wrong(fmt::format("field '{}' of getFieldsToSerialize() has {} elements at {}", field.name, field.length,
                              field.data == nullptr ? "a null pointer" : "some address"));
    }
    result += fmt::format("{}:{}:{}:", field.name, static_cast<int32_t>(field.type), field.length);
    result.append(static_cast<const char*>(field.data), static_cast<size_t>(field.length) * bytesOf(field.type));
  }
  return result;
}

template <typename T>
T& capability(nv::IPluginV3& plugin, nv::PluginCapabilityType type, const char* kind, const char* call) {
  auto* found = plugin.getCapabilityInterface(type);
  if (found == nullptr) throw Wrong(fmt::format("getCapabilityInterface({}) returned null", call));
  const char* got = found->getInterfaceInfo().kind;
  if (got == nullptr || std::strcmp(got, kind) != 0) {
    throw Wrong(
        fmt::format("getCapabilityInterface({}) returned an object of the kind '{}'; expected '{}'. Cast the "
                    "object to the capability's class before it is returned",
                    call, got != nullptr ? got : "", kind));
  }
  return static_cast<T&>(*found);
}

class PluginV3 final : public Plugin {
 public:
  explicit PluginV3(std::unique_ptr<nv::IPluginV3> plugin) : plugin_(std::move(plugin)) {}
  std::string name() override { return orEmpty(core().getPluginName()); }
  std::string version() override { return orEmpty(core().getPluginVersion()); }
  std::string space() override { return orEmpty(core().getPluginNamespace()); }
  int32_t outputCount() override { return build().getNbOutputs(); }
  std::unique_ptr<Plugin> clone() override {
    std::unique_ptr<nv::IPluginV3> copy(plugin_->clone());
    if (copy == nullptr) throw Wrong("clone() returned null");
    if (copy.get() == plugin_.get()) {
      (void)copy.release();
      throw Wrong("clone() returned the plugin itself; expected a new object, which its caller deletes");
    }
    return std::make_unique<PluginV3>(std::move(copy));
  }
  bool supports(int32_t position, const Descs& operands, int32_t inputs) override {
    return build().supportsFormatCombination(position, operands.data(), inputs, sizeOf(operands) - inputs);
  }
  void configure(const Descs& inputs, const Descs& outputs) override {
    succeeds(build().configurePlugin(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs)),
             "configurePlugin");
  }
  std::vector<int32_t> tactics() override {
    const int32_t count = build().getNbTactics();
    if (count < 0 || count > 1 << 16) throw Wrong(fmt::format("getNbTactics() returned {}", count));
    std::vector<int32_t> list(static_cast<size_t>(count), -1);
    if (count > 0) succeeds(build().getValidTactics(list.data(), count), "getValidTactics");
    return list;
  }
  size_t workspace(const Descs& inputs, const Descs& outputs) override {
    return build().getWorkspaceSize(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs));
  }
  std::string state() override { return packed(runtime().getFieldsToSerialize()); }
  int32_t aliasedInput(int32_t output) override {
    if (build().getInterfaceInfo().major < 2) return -1;
    return static_cast<nv::IPluginV3OneBuildV2&>(build()).getAliasedInput(output);
  }
  nv::ILayer* addTo(nv::INetworkDefinition& network, const std::vector<nv::ITensor*>& inputs) override {
    return network.addPluginV3(inputs.data(), sizeOf(inputs), nullptr, 0, *plugin_);
  }

 private:
  nv::IPluginV3OneRuntime& runtime() {
    return capability<nv::IPluginV3OneRuntime>(*plugin_, nv::PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME",
                                               "kRUNTIME");
  }
  nv::IPluginV3OneCore& core() {
    return capability<nv::IPluginV3OneCore>(*plugin_, nv::PluginCapabilityType::kCORE, "PLUGIN_V3ONE_CORE", "kCORE");
  }
  nv::IPluginV3OneBuild& build() {
    return capability<nv::IPluginV3OneBuild>(*plugin_, nv::PluginCapabilityType::kBUILD, "PLUGIN_V3ONE_BUILD",
                                             "kBUILD");
  }
  std::unique_ptr<nv::IPluginV3> plugin_;
};

class CreatorV3 final : public Creator {
 public:
  explicit CreatorV3(nv::IPluginCreatorV3One& creator) : creator_(creator) {}
  const char* name() override { return creator_.getPluginName(); }
  const char* version() override { return creator_.getPluginVersion(); }
  const char* space() override { return creator_.getPluginNamespace(); }
  const nv::PluginFieldCollection* fieldNames() override { return creator_.getFieldNames(); }
  std::unique_ptr<Plugin> make(const nv::PluginFieldCollection& fields) override {
    return owned(creator_.createPlugin("checked", &fields, nv::TensorRTPhase::kBUILD));
  }
  // The state is the fields themselves: unpacked as packed() wrote them.
  std::unique_ptr<Plugin> restore(const std::string& state) override {
    std::vector<Field> fields;
    for (size_t at = 0; at < state.size();) {
      Field field;
      const auto part = [&] {
        const size_t end = state.find(':', at);
        const std::string word = state.substr(at, end - at);
        at = end + 1;
        return word;
      };
      field.name = part();
      field.type = static_cast<nv::PluginFieldType>(std::stoi(part()));
      field.length = std::stoi(part());
      const size_t bytes = static_cast<size_t>(field.length) * bytesOf(field.type);
      field.bytes.assign(state.begin() + static_cast<std::ptrdiff_t>(at),
                         state.begin() + static_cast<std::ptrdiff_t>(at + bytes));
      at += bytes;
      fields.push_back(std::move(field));
    }
    std::vector<nv::PluginField> natives;
    for (const auto& field : fields) natives.push_back(field.native());
    const nv::PluginFieldCollection collection{sizeOf(natives), natives.data()};
    return owned(creator_.createPlugin("checked", &collection, nv::TensorRTPhase::kRUNTIME));
  }

 private:
  static std::unique_ptr<Plugin> owned(nv::IPluginV3* plugin) {
    if (plugin == nullptr) return nullptr;
    return std::make_unique<PluginV3>(std::unique_ptr<nv::IPluginV3>(plugin));
  }
  nv::IPluginCreatorV3One& creator_;
};

}  // namespace

std::unique_ptr<Creator> creatorV3(nv::IPluginCreatorV3One& creator) { return std::make_unique<CreatorV3>(creator); }

}  // namespace tenon::check

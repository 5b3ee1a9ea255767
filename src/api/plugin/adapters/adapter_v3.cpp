// IPluginV3 with its three capabilities.
#include <impl/NvInferPythonPlugin.h>

#include "api/plugin/adapters/state.h"
#include "api/plugin/adapters/v3_questions.h"

namespace tenon::api {
namespace {

constexpr const char* kCoreKind = "PLUGIN_V3ONE_CORE";
constexpr const char* kBuildKind = "PLUGIN_V3ONE_BUILD";
constexpr const char* kRuntimeKind = "PLUGIN_V3ONE_RUNTIME";
constexpr const char* kCreatorKind = "PLUGIN CREATOR_V3ONE";

// Descriptors of one set of extents, as execution gives them.
std::vector<nv::PluginTensorDesc> fixedDescs(const PluginDescs& descs) {
  std::vector<nv::PluginTensorDesc> result;
  for (const auto& desc : descs) result.push_back(desc.desc);
  return result;
}

class V3Adapter final : public V3Questions<nv::IPluginV3OneBuild> {
 public:
  explicit V3Adapter(std::unique_ptr<nv::IPluginV3> plugin)
      : V3Questions(std::move(plugin), "IPluginV3OneBuild", kBuildKind) {
    const auto* core = capability<nv::IPluginV3OneCore>(*plugin_, nv::PluginCapabilityType::kCORE, kCoreKind);
    checkUser(core != nullptr, "getCapabilityInterface(kCORE) returned null; expected an IPluginV3OneCore");
    identity_ = {"IPluginV3", orEmpty(core->getPluginName()), orEmpty(core->getPluginVersion()),
                 orEmpty(core->getPluginNamespace())};
    runtime_ = capability<nv::IPluginV3OneRuntime>(*plugin_, nv::PluginCapabilityType::kRUNTIME, kRuntimeKind);
  }

  std::unique_ptr<PluginAdapter> clone() override {
    return std::make_unique<V3Adapter>(cloned(*plugin_, [&] { return identity_.text(); }));
  }

  std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) override {
    std::vector<nv::DataType> types(static_cast<size_t>(outputCount()), nv::DataType::kFLOAT);
    succeeds(build().getOutputDataTypes(types.data(), sizeOf(types), inputs.data(), sizeOf(inputs)),
             "getOutputDataTypes");
    return types;
  }

  bool supports(int position, const PluginDescs& operands, int inputs) override {
    return build().supportsFormatCombination(position, operands.data(), inputs, sizeOf(operands) - inputs);
  }
  int aliasedInput(int output) override {
    if (build().getInterfaceInfo().major < 2) return -1;
    return static_cast<nv::IPluginV3OneBuildV2&>(build()).getAliasedInput(output);
  }
  int combinationLimit() override { return build().getFormatCombinationLimit(); }

  size_t workspaceBytes(const PluginDescs& inputs, const PluginDescs& outputs) override {
    return build().getWorkspaceSize(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs));
  }
  std::string state() override { return packFields(runtime().getFieldsToSerialize(), identity_); }

  void setTactic(int32_t tactic) override { succeeds(runtime().setTactic(tactic), "setTactic"); }

  std::unique_ptr<PluginAdapter> attach(nv::IPluginResourceContext& context) override {
    std::unique_ptr<nv::IPluginV3> attached(runtime().attachToContext(&context));
    checkUser(attached != nullptr, "{}: attachToContext() returned null; expected a copy of the plugin",
              identity_.text());
    if (attached.get() == plugin_.get()) {
      (void)attached.release();
      throw UserError("{}: attachToContext() returned the plugin itself; expected a copy", identity_.text());
    }
    return std::make_unique<V3Adapter>(std::move(attached));
  }

  void changeShapes(const PluginDescs& inputs, const PluginDescs& outputs) override {
    const auto in = fixedDescs(inputs);
    const auto out = fixedDescs(outputs);
    succeeds(runtime().onShapeChange(in.data(), sizeOf(in), out.data(), sizeOf(out)), "onShapeChange");
  }

  void enqueue(const PluginExecution& execution) override {
    succeeds(runtime().enqueue(execution.inputs, execution.outputs, execution.inputAddresses, execution.outputAddresses,
                               execution.workspace, static_cast<cudaStream_t>(execution.stream)),
             "enqueue");
  }

 private:
  nv::IPluginV3OneRuntime& runtime() const {
    checkUser(runtime_ != nullptr,
              "{}: getCapabilityInterface(kRUNTIME) returned null; expected an "
              "IPluginV3OneRuntime",
              identity_.text());
    return *runtime_;
  }

  nv::IPluginV3OneRuntime* runtime_ = nullptr;
};

}  // namespace

std::string PluginIdentity::text() const {
  return fmt::format("plugin '{}', version '{}', namespace '{}'", type, version, space);
}

void PluginAdapter::succeeds(int32_t result, const char* function) const {
  checkUser(result == 0, "{}: {}() returned {}; expected 0", identity_.text(), function, result);
}

CompiledPlugin PluginAdapter::compile(const PluginDescs&, const PluginDescs&, std::span<const Shape>) {
  throw InternalError("{} has no compiled kernel", identity_.text());
}

std::unique_ptr<PluginAdapter> adaptOwned(std::unique_ptr<nv::IPluginV3> plugin) {
  const nv::IPluginCapability* core = plugin->getCapabilityInterface(nv::PluginCapabilityType::kCORE);
  if (core != nullptr && std::strcmp(orEmpty(core->getInterfaceInfo().kind), kQuickCoreKind) == 0)
    return adaptQuick(std::move(plugin));
  return std::make_unique<V3Adapter>(std::move(plugin));
}

namespace {

// What a plugin calls itself, for a message before there is an adapter.
std::string nameOf(nv::IPluginV3& plugin) {
  nv::IPluginCapability* core = plugin.getCapabilityInterface(nv::PluginCapabilityType::kCORE);
  if (core == nullptr || std::strcmp(orEmpty(core->getInterfaceInfo().kind), kCoreKind) != 0) return "the plugin";
  auto& known = static_cast<nv::IPluginV3OneCore&>(*core);
  return PluginIdentity{"", orEmpty(known.getPluginName()), orEmpty(known.getPluginVersion()),
                        orEmpty(known.getPluginNamespace())}
      .text();
}

}  // namespace

std::unique_ptr<PluginAdapter> adaptClone(nv::IPluginV3& plugin) {
  auto adapter = adaptOwned(cloned(plugin, [&] { return nameOf(plugin); }));
  const int count = adapter->outputCount();
  constexpr int kMost = 1 << 12;
  checkUser(count >= 1 && count <= kMost, "{}: getNbOutputs() returned {}; expected 1 to {}",
            adapter->identity().text(), count, kMost);
  return adapter;
}

nv::IPluginV3& pluginV3(PluginAdapter& adapter) {
  nv::IPluginV3* object = adapter.object();
  checkInternal(object != nullptr, "{} is no IPluginV3", adapter.identity().text());
  return *object;
}

std::unique_ptr<PluginAdapter> restore(nv::IPluginCreatorInterface& creator, const PluginIdentity& identity,
                                       const std::string& layer, const std::string& state) {
  const char* kind = orEmpty(creator.getInterfaceInfo().kind);
  const bool isV3 = identity.interfaceName == "IPluginV3";
  const bool isQuick = identity.interfaceName == kQuickInterface;
  const char* expected = isV3 ? kCreatorKind : isQuick ? kQuickCreatorKind : "PLUGIN CREATOR_V1";
  checkUser(std::strcmp(kind, expected) == 0, "{}: its creator is of the kind '{}', the engine wants '{}'",
            identity.text(), kind, expected);
  if (isV3 || isQuick) {
    const UnpackedFields fields(state);
    constexpr auto kPhase = nv::TensorRTPhase::kRUNTIME;
    std::unique_ptr<nv::IPluginV3> plugin(
        isV3 ? static_cast<nv::IPluginCreatorV3One&>(creator).createPlugin(layer.c_str(), fields.collection(), kPhase)
             : static_cast<nv::IPluginCreatorV3Quick&>(creator).createPlugin(
                   identity.type.c_str(), identity.space.c_str(), fields.collection(), kPhase,
                   nv::QuickPluginCreationRequest::kSTRICT_JIT));
    checkUser(plugin != nullptr, "{}: createPlugin(kRUNTIME) of its creator returned null", identity.text());
    return adaptOwned(std::move(plugin));
  }
  nv::IPluginV2* plugin =
      static_cast<nv::IPluginCreator&>(creator).deserializePlugin(layer.c_str(), state.data(), state.size());
  checkUser(plugin != nullptr, "{}: deserializePlugin() of its creator returned null for {} bytes", identity.text(),
            state.size());
  plugin->setPluginNamespace(identity.space.c_str());
  auto adapter = adaptOwnedV2(plugin);
  checkUser(adapter->identity().interfaceName == identity.interfaceName,
            "{}: its creator made an {}, the engine was built with an {}", identity.text(),
            adapter->identity().interfaceName, identity.interfaceName);
  return adapter;
}

}  // namespace tenon::api

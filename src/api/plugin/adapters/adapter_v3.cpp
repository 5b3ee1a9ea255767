// IPluginV3 with its three capabilities.
#include <impl/NvInferPythonPlugin.h>

#include "api/plugin/adapters/capability.h"
#include "api/plugin/adapters/expressions.h"
#include "api/plugin/adapters/state.h"

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

class V3Adapter final : public PluginAdapter {
 public:
  explicit V3Adapter(std::unique_ptr<nv::IPluginV3> plugin) : plugin_(std::move(plugin)) {
    core_ = capability<nv::IPluginV3OneCore>(*plugin_, nv::PluginCapabilityType::kCORE, kCoreKind);
    checkUser(core_ != nullptr, "getCapabilityInterface(kCORE) returned null; expected an IPluginV3OneCore");
    identity_ = {"IPluginV3", orEmpty(core_->getPluginName()), orEmpty(core_->getPluginVersion()),
                 orEmpty(core_->getPluginNamespace())};
    build_ = capability<nv::IPluginV3OneBuild>(*plugin_, nv::PluginCapabilityType::kBUILD, kBuildKind);
    runtime_ = capability<nv::IPluginV3OneRuntime>(*plugin_, nv::PluginCapabilityType::kRUNTIME, kRuntimeKind);
  }

  nv::IPluginV3* object() const noexcept override { return plugin_.get(); }

  std::unique_ptr<PluginAdapter> clone() override {
    return std::make_unique<V3Adapter>(cloned(*plugin_, identity_.text()));
  }

  int outputCount() override { return build().getNbOutputs(); }

  std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) override {
    std::vector<nv::DataType> types(static_cast<size_t>(outputCount()), nv::DataType::kFLOAT);
    succeeds(build().getOutputDataTypes(types.data(), sizeOf(types), inputs.data(), sizeOf(inputs)),
             "getOutputDataTypes");
    return types;
  }

  std::vector<Shape> outputShapes(std::span<const Shape> inputs, std::span<const Shape> values) override {
    Expressions expressions;
    std::vector<nv::DimsExprs> given, shapes(static_cast<size_t>(outputCount()));
    std::vector<nv::DimsExprs> contents;
    for (const auto& shape : inputs) given.push_back(expressions.shape(shape));
    for (const auto& value : values) contents.push_back(expressions.shape(value));
    const int32_t result = build().getOutputShapes(given.data(), sizeOf(given), contents.data(), sizeOf(contents),
                                                   shapes.data(), sizeOf(shapes), expressions);
    expressions.rethrow();
    succeeds(result, "getOutputShapes");
    std::vector<Shape> outputs;
    for (const auto& shape : shapes) outputs.push_back(expressions.read(shape, static_cast<int>(outputs.size())));
    return outputs;
  }

  bool supports(int position, const PluginDescs& operands, int inputs) override {
    return build().supportsFormatCombination(position, operands.data(), inputs, sizeOf(operands) - inputs);
  }
  int aliasedInput(int output) override {
    if (build().getInterfaceInfo().major < 2) return -1;
    return static_cast<nv::IPluginV3OneBuildV2&>(build()).getAliasedInput(output);
  }
  int combinationLimit() override { return build().getFormatCombinationLimit(); }

  void configure(const PluginDescs& inputs, const PluginDescs& outputs) override {
    succeeds(build().configurePlugin(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs)),
             "configurePlugin");
  }

  std::vector<int32_t> tactics() override {
    return readTactics(
        identity_, [&] { return build().getNbTactics(); },
        [&](std::vector<int32_t>& list) {
          succeeds(build().getValidTactics(list.data(), sizeOf(list)), "getValidTactics");
        });
  }

  size_t workspaceBytes(const PluginDescs& inputs, const PluginDescs& outputs) override {
    return build().getWorkspaceSize(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs));
  }
  std::string timingId() override { return orEmpty(build().getTimingCacheID()); }
  std::string metadata() override { return orEmpty(build().getMetadataString()); }
  std::string state() override { return packFields(runtime().getFieldsToSerialize()); }

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
  nv::IPluginV3OneBuild& build() const {
    checkUser(build_ != nullptr,
              "{}: getCapabilityInterface(kBUILD) returned null; a plugin that is added to a "
              "network needs an IPluginV3OneBuild",
              identity_.text());
    return *build_;
  }
  nv::IPluginV3OneRuntime& runtime() const {
    checkUser(runtime_ != nullptr,
              "{}: getCapabilityInterface(kRUNTIME) returned null; expected an "
              "IPluginV3OneRuntime",
              identity_.text());
    return *runtime_;
  }

  std::unique_ptr<nv::IPluginV3> plugin_;
  nv::IPluginV3OneCore* core_ = nullptr;
  nv::IPluginV3OneBuild* build_ = nullptr;
  nv::IPluginV3OneRuntime* runtime_ = nullptr;
};

}  // namespace

std::string PluginIdentity::text() const {
  return fmt::format("plugin '{}', version '{}', namespace '{}'", type, version, space);
}

void PluginAdapter::succeeds(int32_t result, const char* function) const {
  checkUser(result == 0, "{}: {}() returned {}; expected 0", identity_.text(), function, result);
}

std::unique_ptr<PluginAdapter> adaptOwned(std::unique_ptr<nv::IPluginV3> plugin) {
  const nv::IPluginCapability* core = plugin->getCapabilityInterface(nv::PluginCapabilityType::kCORE);
  if (core != nullptr && std::strcmp(orEmpty(core->getInterfaceInfo().kind), kQuickCoreKind) == 0)
    return adaptQuick(std::move(plugin));
  return std::make_unique<V3Adapter>(std::move(plugin));
}

std::unique_ptr<PluginAdapter> adaptClone(nv::IPluginV3& plugin) {
  auto adapter = adaptOwned(cloned(plugin, "the plugin"));
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

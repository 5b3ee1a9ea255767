// Plugins that are functions in Python: combinations come as a list, nothing is attached, strides come with the call.
#include <impl/NvInferPythonPlugin.h>

#include <algorithm>

#include "api/common/tensor_formats.h"
#include "api/plugin/adapters/capability.h"
#include "api/plugin/adapters/expressions.h"
#include "api/plugin/adapters/state.h"

namespace tenon::api {
namespace {

constexpr const char* kBuildKind = "PLUGIN_V3QUICK_BUILD";
constexpr const char* kAotBuildKind = "PLUGIN_V3QUICKAOT_BUILD";
constexpr const char* kRuntimeKind = "PLUGIN_V3QUICK_RUNTIME";

// Elements from one index to the next along each axis. In the formats that are neither row-major nor channels-last no
// such number exists, and the strides are 0.
nv::Dims stridesOf(const nv::PluginTensorDesc& desc) {
  nv::Dims strides{desc.dims.nbDims, {}};
  int64_t channelMultiple = 0;
  switch (desc.format) {
    case nv::TensorFormat::kLINEAR: break;
    case nv::TensorFormat::kHWC:
    case nv::TensorFormat::kDHWC: channelMultiple = 1; break;
    case nv::TensorFormat::kHWC8:
    case nv::TensorFormat::kDHWC8: channelMultiple = 8; break;
    case nv::TensorFormat::kHWC16: channelMultiple = 16; break;
    default: return strides;
  }
  const bool isLast = channelMultiple > 0;
  const int32_t channels =
      isLast
          ? std::max(0, desc.dims.nbDims -
                            (desc.format == nv::TensorFormat::kDHWC || desc.format == nv::TensorFormat::kDHWC8 ? 4 : 3))
          : -1;
  int64_t stride = 1;
  if (isLast && channels < desc.dims.nbDims) {
    strides.d[channels] = 1;
    stride = (desc.dims.d[channels] + channelMultiple - 1) / channelMultiple * channelMultiple;
  }
  for (int32_t axis = desc.dims.nbDims - 1; axis >= 0; --axis) {
    if (axis == channels) continue;
    strides.d[axis] = stride;
    stride *= desc.dims.d[axis];
  }
  return strides;
}

class QuickAdapter final : public PluginAdapter {
 public:
  explicit QuickAdapter(std::unique_ptr<nv::IPluginV3> plugin) : plugin_(std::move(plugin)) {
    const auto* core = capability<nv::IPluginV3QuickCore>(*plugin_, nv::PluginCapabilityType::kCORE, kQuickCoreKind);
    identity_ = {kQuickInterface, orEmpty(core->getPluginName()), orEmpty(core->getPluginVersion()),
                 orEmpty(core->getPluginNamespace())};
    const nv::IPluginCapability* build = plugin_->getCapabilityInterface(nv::PluginCapabilityType::kBUILD);
    if (build != nullptr && std::strcmp(orEmpty(build->getInterfaceInfo().kind), kAotBuildKind) == 0) {
      throw Unsupported(
          "{}: its kernels are compiled while the engine is built (IPluginV3QuickAOTBuild), which is not supported "
          "yet; add it with an implementation that runs in Python (tensorrt.plugin.impl, aot=False)",
          identity_.text());
    }
    build_ = capability<nv::IPluginV3QuickBuild>(*plugin_, nv::PluginCapabilityType::kBUILD, kBuildKind);
    runtime_ = capability<nv::IPluginV3QuickRuntime>(*plugin_, nv::PluginCapabilityType::kRUNTIME, kRuntimeKind);
  }

  nv::IPluginV3* object() const noexcept override { return plugin_.get(); }

  std::unique_ptr<PluginAdapter> clone() override {
    auto adapter = std::make_unique<QuickAdapter>(cloned(*plugin_, identity_.text()));
    adapter->ranks_ = ranks_;
    return adapter;
  }

  int outputCount() override { return build().getNbOutputs(); }

  void prepare(std::span<const nv::DataType> types, std::span<const Shape> inputs) override {
    ranks_.clear();
    for (const auto& shape : inputs) ranks_.push_back(sizeOf(shape));
    (void)outputTypes(types);
  }

  std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) override {
    std::vector<nv::DataType> types(static_cast<size_t>(outputCount()), nv::DataType::kFLOAT);
    ranks_.resize(inputs.size());
    succeeds(build().getOutputDataTypes(types.data(), sizeOf(types), inputs.data(), ranks_.data(), sizeOf(inputs)),
             "getOutputDataTypes");
    return types;
  }

  std::vector<Shape> outputShapes(std::span<const Shape> inputs, std::span<const Shape> values) override {
    Expressions expressions;
    std::vector<nv::DimsExprs> given, contents, shapes(static_cast<size_t>(outputCount()));
    for (const auto& shape : inputs) given.push_back(expressions.shape(shape));
    for (const auto& value : values) contents.push_back(expressions.shape(value));
    const int32_t result = build().getOutputShapes(given.data(), sizeOf(given), contents.data(), sizeOf(contents),
                                                   shapes.data(), sizeOf(shapes), expressions);
    expressions.rethrow();
    succeeds(result, "getOutputShapes");
    std::vector<Shape> outputs;
    for (const auto& shape : shapes) outputs.push_back(expressions.read(shape, sizeOf(outputs)));
    return outputs;
  }

  int aliasedInput(int output) override { return build().getAliasedInput(output); }

  // The search asks position by position; the plugin has a list of whole combinations for the types in question.
  bool supports(int position, const PluginDescs& operands, int inputs) override {
    const auto count = operands.size();
    const auto& list = combinations(operands, inputs);
    for (size_t first = 0; first + count <= list.size(); first += count) {
      const bool fits = std::equal(operands.begin(), operands.begin() + position + 1,
                                   list.begin() + static_cast<std::ptrdiff_t>(first),
                                   [](const nv::DynamicPluginTensorDesc& asked, const nv::PluginTensorDesc& offered) {
                                     return asked.desc.type == offered.type && asked.desc.format == offered.format;
                                   });
      if (fits) return true;
    }
    return false;
  }

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
  size_t workspaceBytes(const PluginDescs&, const PluginDescs&) override { return 0; }
  std::string timingId() override { return orEmpty(build().getTimingCacheID()); }
  std::string metadata() override { return orEmpty(build().getMetadataString()); }
  std::string state() override { return packFields(runtime().getFieldsToSerialize()); }

  void setTactic(int32_t tactic) override { succeeds(runtime().setTactic(tactic), "setTactic"); }
  std::unique_ptr<PluginAdapter> attach(nv::IPluginResourceContext&) override { return clone(); }
  void changeShapes(const PluginDescs& inputs, const PluginDescs& outputs) override {
    const auto strides = [](const PluginDescs& descs) {
      std::vector<nv::Dims> result;
      for (const auto& desc : descs) result.push_back(stridesOf(desc.desc));
      return result;
    };
    inputStrides_ = strides(inputs);
    outputStrides_ = strides(outputs);
  }
  void enqueue(const PluginExecution& execution) override {
    succeeds(runtime().enqueue(execution.inputs, execution.outputs, execution.inputAddresses, execution.outputAddresses,
                               inputStrides_.data(), outputStrides_.data(), sizeOf(inputStrides_),
                               sizeOf(outputStrides_), static_cast<cudaStream_t>(execution.stream)),
             "enqueue");
  }

 private:
  nv::IPluginV3QuickBuild& build() const {
    checkUser(build_ != nullptr,
              "{}: getCapabilityInterface(kBUILD) returned null; a plugin that is added to a network needs an "
              "IPluginV3QuickBuild",
              identity_.text());
    return *build_;
  }
  nv::IPluginV3QuickRuntime& runtime() const {
    checkUser(runtime_ != nullptr,
              "{}: getCapabilityInterface(kRUNTIME) returned null; expected an IPluginV3QuickRuntime",
              identity_.text());
    return *runtime_;
  }

  // All operands of each combination in a row; asked for again only for other types.
  const std::vector<nv::PluginTensorDesc>& combinations(PluginDescs operands, int inputs) {
    std::vector<nv::DataType> types;
    for (auto& operand : operands) {
      types.push_back(operand.desc.type);
      operand.desc.format = nv::TensorFormat::kLINEAR;
    }
    if (types == types_ && !combinations_.empty()) return combinations_;
    (void)outputTypes(std::span(types).first(static_cast<size_t>(inputs)));  // the list is for the types asked for last
    const int32_t outputs = sizeOf(operands) - inputs;
    const int32_t count = build().getNbSupportedFormatCombinations(operands.data(), inputs, outputs);
    constexpr int32_t kMost = 1 << 14;
    checkUser(count >= 0 && count <= kMost, "{}: getNbSupportedFormatCombinations() returned {}; expected 0 to {}",
              identity_.text(), count, kMost);
    combinations_.assign(static_cast<size_t>(count) * operands.size(), nv::PluginTensorDesc{});
    if (count > 0) {
      succeeds(build().getSupportedFormatCombinations(operands.data(), inputs, outputs, combinations_.data(), count),
               "getSupportedFormatCombinations");
    }
    types_ = types;
    return combinations_;
  }

  std::unique_ptr<nv::IPluginV3> plugin_;
  nv::IPluginV3QuickBuild* build_ = nullptr;
  nv::IPluginV3QuickRuntime* runtime_ = nullptr;
  std::vector<int32_t> ranks_;  // of the inputs
  std::vector<nv::DataType> types_;
  std::vector<nv::PluginTensorDesc> combinations_;
  std::vector<nv::Dims> inputStrides_;
  std::vector<nv::Dims> outputStrides_;
};

}  // namespace

std::unique_ptr<PluginAdapter> adaptQuick(std::unique_ptr<nv::IPluginV3> plugin) {
  return std::make_unique<QuickAdapter>(std::move(plugin));
}

}  // namespace tenon::api

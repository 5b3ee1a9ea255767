// Plugins that are functions in Python which run with the engine: nothing is attached, strides come with the call.
#include <algorithm>

#include "api/common/tensor_formats.h"
#include "api/plugin/adapters/quick_questions.h"
#include "api/plugin/adapters/state.h"

namespace tenon::api {
namespace {

constexpr const char* kBuildKind = "PLUGIN_V3QUICK_BUILD";
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

class QuickAdapter final : public QuickQuestions<nv::IPluginV3QuickBuild> {
 public:
  explicit QuickAdapter(std::unique_ptr<nv::IPluginV3> plugin)
      : QuickQuestions(std::move(plugin), "IPluginV3QuickBuild", kBuildKind) {
    runtime_ = capability<nv::IPluginV3QuickRuntime>(*plugin_, nv::PluginCapabilityType::kRUNTIME, kRuntimeKind);
  }

  std::unique_ptr<PluginAdapter> clone() override {
    auto adapter = std::make_unique<QuickAdapter>(cloned(*plugin_, [&] { return identity_.text(); }));
    adapter->ranks_ = ranks_;
    return adapter;
  }

  size_t workspaceBytes(const PluginDescs&, const PluginDescs&) override { return 0; }
  std::string state() override { return packFields(runtime().getFieldsToSerialize(), identity_); }

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
  nv::IPluginV3QuickRuntime& runtime() const {
    checkUser(runtime_ != nullptr,
              "{}: getCapabilityInterface(kRUNTIME) returned null; expected an IPluginV3QuickRuntime",
              identity_.text());
    return *runtime_;
  }

  nv::IPluginV3QuickRuntime* runtime_ = nullptr;
  std::vector<nv::Dims> inputStrides_;
  std::vector<nv::Dims> outputStrides_;
};

}  // namespace

std::unique_ptr<PluginAdapter> adaptQuick(std::unique_ptr<nv::IPluginV3> plugin) {
  const nv::IPluginCapability* build = plugin->getCapabilityInterface(nv::PluginCapabilityType::kBUILD);
  if (build != nullptr && std::strcmp(orEmpty(build->getInterfaceInfo().kind), kCompiledBuildKind) == 0)
    return adaptCompiled(std::move(plugin));
  return std::make_unique<QuickAdapter>(std::move(plugin));
}

}  // namespace tenon::api

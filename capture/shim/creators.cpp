// In place of the registry's creators: each forwards to the real one and notes the fields of what it makes.
#include <fmt/format.h>
#include <impl/NvInferPythonPlugin.h>

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "shim/plugins.h"
#include "shim/recorder.h"

namespace tenon::capture {
namespace {

using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginV3;
using nvinfer1::PluginFieldCollection;
using nvinfer1::TensorRTPhase;

// What the three kinds have in common.
template <typename I>
class CreatorStandIn : public I {
 public:
  explicit CreatorStandIn(I& real) : real_(real) {}
  nvinfer1::APILanguage getAPILanguage() const noexcept override { return real_.getAPILanguage(); }
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { return real_.getInterfaceInfo(); }
  const char* getPluginName() const noexcept override { return real_.getPluginName(); }
  const char* getPluginVersion() const noexcept override { return real_.getPluginVersion(); }
  const char* getPluginNamespace() const noexcept override { return real_.getPluginNamespace(); }
  const PluginFieldCollection* getFieldNames() noexcept override { return real_.getFieldNames(); }

 protected:
  void note(const void* plugin, const char* interface, const char* name, const std::string& members,
            const PluginFieldCollection* fields) {
    if (plugin != nullptr) {
      const PluginIdentity who{interface, real_.getPluginName(), real_.getPluginVersion(), real_.getPluginNamespace()};
      notePlugin(plugin, who, name, members, fields);
    }
  }
  I& real_;
};

class Creator2 final : public CreatorStandIn<nvinfer1::IPluginCreator> {
 public:
  using CreatorStandIn::CreatorStandIn;
  nvinfer1::IPluginV2* createPlugin(const char* name, const PluginFieldCollection* fields) noexcept override {
    nvinfer1::IPluginV2* plugin = real_.createPlugin(name, fields);
    note(plugin, "IPluginV2", name, {}, fields);
    return plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char* name, const void* data, size_t size) noexcept override {
    return real_.deserializePlugin(name, data, size);
  }
  void setPluginNamespace(const char* space) noexcept override { real_.setPluginNamespace(space); }
};

class Creator3 final : public CreatorStandIn<nvinfer1::IPluginCreatorV3One> {
 public:
  using CreatorStandIn::CreatorStandIn;
  IPluginV3* createPlugin(const char* name, const PluginFieldCollection* fields,
                          TensorRTPhase phase) noexcept override {
    IPluginV3* plugin = real_.createPlugin(name, fields, phase);
    note(plugin, "IPluginV3", name, fmt::format(",\"phase\":{}", static_cast<int>(phase)), fields);
    return plugin;
  }
};

class CreatorQuick final : public CreatorStandIn<nvinfer1::IPluginCreatorV3Quick> {
 public:
  using CreatorStandIn::CreatorStandIn;
  IPluginV3* createPlugin(const char* name, const char* space, const PluginFieldCollection* fields, TensorRTPhase phase,
                          nvinfer1::QuickPluginCreationRequest request) noexcept override {
    IPluginV3* plugin = real_.createPlugin(name, space, fields, phase, request);
    const std::string members =
        fmt::format(",\"phase\":{},\"request\":{}", static_cast<int>(phase), static_cast<int>(request));
    note(plugin, "IPluginV3", name, members, fields);
    return plugin;
  }
};

struct Creators {
  std::unordered_map<const IPluginCreatorInterface*, IPluginCreatorInterface*> wrappers;
  std::unordered_map<const IPluginCreatorInterface*, IPluginCreatorInterface*> reals;
};

Creators& creators() {
  static auto& kCreators = *new Creators;
  return kCreators;
}

IPluginCreatorInterface* made(IPluginCreatorInterface& real) {
  const std::string_view kind = real.getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V1") {
    return new Creator2(static_cast<nvinfer1::IPluginCreator&>(real));
  }
  if (kind == "PLUGIN CREATOR_V3ONE") {
    return new Creator3(static_cast<nvinfer1::IPluginCreatorV3One&>(real));
  }
  if (kind == "PLUGIN CREATOR_V3QUICK") {
    return new CreatorQuick(static_cast<nvinfer1::IPluginCreatorV3Quick&>(real));
  }
  return &real;
}

}  // namespace

IPluginCreatorInterface* wrapCreator(IPluginCreatorInterface* real) {
  if (real == nullptr) {
    return nullptr;
  }
  std::lock_guard lock(Recorder::instance().order());
  IPluginCreatorInterface*& wrapper = creators().wrappers[real];
  if (wrapper == nullptr) {
    wrapper = made(*real);
    creators().reals[wrapper] = real;
  }
  return wrapper;
}

const IPluginCreatorInterface& unwrapCreator(const IPluginCreatorInterface& creator) {
  std::lock_guard lock(Recorder::instance().order());
  const auto found = creators().reals.find(&creator);
  return found != creators().reals.end() ? *found->second : creator;
}

}  // namespace tenon::capture

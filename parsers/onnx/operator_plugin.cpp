// A plugin that is one operator, and how the builder finds that out.
#include "operator_plugin.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/plugin_expansion.h"

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3OneBuild;
using nvinfer1::IPluginV3OneCore;
using nvinfer1::PluginCapabilityType;

struct Live {
  std::mutex mutex;
  std::map<const void*, const PluginExpansion*> objects;
};
Live& live() {
  static auto* const kLive = new Live;  // networks of a program may outlive main
  return *kLive;
}

class Expansions final : public PluginExpansions {
 public:
  const PluginExpansion* find(const void* plugin) const noexcept override {
    const std::lock_guard lock(live().mutex);
    const auto found = live().objects.find(plugin);
    return found != live().objects.end() ? found->second : nullptr;
  }
  int32_t release() noexcept override { return 0; }
  nvinfer1::IPluginResource* clone() noexcept override { return new Expansions; }
};

// The registry's use of Expansions, as long as there is a plugin that it may be asked for. The key is that of this copy
// of the library.
class Registration {
 public:
  explicit Registration(nvinfer1::IPluginRegistry& registry)
      : registry_(&registry), key_(fmt::format("tenon.onnx_operators.{}", static_cast<const void*>(&live()))) {
    Expansions expansions;
    registry_->acquirePluginResource(key_.c_str(), &expansions);
  }
  Registration(const Registration& other) : Registration(*other.registry_) {}
  Registration& operator=(const Registration&) = delete;
  ~Registration() { registry_->releasePluginResource(key_.c_str()); }

 private:
  nvinfer1::IPluginRegistry* registry_;
  std::string key_;
};

// The builder replaces it before it asks for anything; what a builder that does not know it asks for fails.
class OperatorPlugin final : public IPluginV3,
                             public IPluginV3OneCore,
                             public IPluginV3OneBuild,
                             public PluginExpansion {
 public:
  OperatorPlugin(nvinfer1::IPluginRegistry& registry, std::string text, int32_t outputs)
      : registration_(registry), text_(std::move(text)), outputs_(outputs) {
    note();
  }
  OperatorPlugin(const OperatorPlugin& other)
      : IPluginV3(),
        IPluginV3OneCore(),
        IPluginV3OneBuild(),
        PluginExpansion(),
        registration_(other.registration_),
        text_(other.text_),
        outputs_(other.outputs_) {
    note();
  }
  OperatorPlugin& operator=(const OperatorPlugin&) = delete;
  ~OperatorPlugin() override {
    const std::lock_guard lock(live().mutex);
    live().objects.erase(static_cast<IPluginV3*>(this));
  }

  void expand(ExpansionWriter& writer) const noexcept override {
    int32_t inputs[nvinfer1::Dims::MAX_DIMS];
    const int32_t count = std::min(writer.inputCount(), nvinfer1::Dims::MAX_DIMS);
    for (int32_t i = 0; i < count; ++i) {
      inputs[i] = i;
    }
    const int32_t first = writer.add(text_.c_str(), inputs, count);
    for (int32_t i = 0; i < outputs_ && first >= 0; ++i) {
      writer.output(i, first + i);
    }
  }

  nvinfer1::IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    switch (type) {
      case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
      case PluginCapabilityType::kBUILD: return static_cast<IPluginV3OneBuild*>(this);
      default: return nullptr;  // it never runs
    }
  }
  IPluginV3* clone() noexcept override {
    try {
      return new OperatorPlugin(*this);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  const char* getPluginName() const noexcept override { return "TenonOperator"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "tenon"; }
  int32_t getNbOutputs() const noexcept override { return outputs_; }
  int32_t getOutputDataTypes(nvinfer1::DataType*, int32_t, const nvinfer1::DataType*, int32_t) const noexcept override {
    return 1;
  }
  int32_t getOutputShapes(const nvinfer1::DimsExprs*, int32_t, const nvinfer1::DimsExprs*, int32_t,
                          nvinfer1::DimsExprs*, int32_t, nvinfer1::IExprBuilder&) noexcept override {
    return 1;
  }
  bool supportsFormatCombination(int32_t, const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return false;
  }
  int32_t configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t, const nvinfer1::DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 1;
  }
  // Shown by the layer, so that two of them can be told apart.
  const char* getMetadataString() noexcept override { return text_.c_str(); }

 private:
  void note() {
    const std::lock_guard lock(live().mutex);
    live().objects[static_cast<IPluginV3*>(this)] = this;
  }
  const Registration registration_;
  const std::string text_;
  const int32_t outputs_;
};

}  // namespace

std::vector<Term> addOperator(const std::string& text, const std::vector<Term>& inputs, int32_t outputs) {
  NetworkWriter& writer = inputs.front().writer();
  std::vector<nvinfer1::ITensor*> tensors;
  for (const Term& input : inputs) {
    tensors.push_back(&writer.tensor(input));
  }
  OperatorPlugin plugin(writer.network().getBuilder().getPluginRegistry(), text, outputs);
  auto* made = writer.network().addPluginV3(tensors.data(), static_cast<int32_t>(tensors.size()), nullptr, 0, plugin);
  auto& layer = writer.added(made, "addPluginV3");
  std::vector<Term> result;
  for (int32_t i = 0; i < outputs; ++i) {
    result.emplace_back(writer, writer.output(layer, i));
  }
  return result;
}

Term addOperator(const std::string& text, const std::vector<Term>& inputs) { return addOperator(text, inputs, 1)[0]; }

}  // namespace tenon::parsers::onnx

// The four classes of the IPluginV2 family, told apart by the top byte of getTensorRTVersion().
#include <algorithm>
#include <cstring>

#include "api/common/convert.h"
#include "api/plugin/adapters/adapter.h"
#include "api/plugin/adapters/expressions.h"

namespace tenon::api {
namespace {

int32_t sizeOf(const auto& list) { return static_cast<int32_t>(list.size()); }

struct Destroy {
  void operator()(nv::IPluginV2* plugin) const noexcept { plugin->destroy(); }
};
using OwnedPlugin = std::unique_ptr<nv::IPluginV2, Destroy>;

// A copy, which is the caller's.
nv::IPluginV2* cloned(const nv::IPluginV2& plugin, const std::string& what) {
  nv::IPluginV2* copy = plugin.clone();
  checkUser(copy != nullptr, "{}: clone() returned null", what);
  checkUser(copy != &plugin, "{}: clone() returned the plugin itself; expected a copy", what);
  return copy;
}

std::vector<nv::Dims> dimsOf(const PluginDescs& descs) {
  std::vector<nv::Dims> result;
  for (const auto& desc : descs) result.push_back(desc.desc.dims);
  return result;
}

std::vector<nv::DataType> typesOf(const PluginDescs& descs) {
  std::vector<nv::DataType> result;
  for (const auto& desc : descs) result.push_back(desc.desc.type);
  return result;
}

// What IPluginV2 itself has, with the calls in TensorRT's order: one object per engine is initialized, and terminated
// at the end; contexts work with clones of it. These networks have no implicit batch: shapes are whole, the batch is 1.
class V2Adapter : public PluginAdapter {
 public:
  V2Adapter(OwnedPlugin plugin, const char* interfaceName) : plugin_(std::move(plugin)) {
    identity_ = {interfaceName, orEmpty(plugin_->getPluginType()), orEmpty(plugin_->getPluginVersion()),
                 orEmpty(plugin_->getPluginNamespace())};
  }
  ~V2Adapter() override {
    if (initialized_) plugin_->terminate();
  }

  nv::IPluginV2& oldObject() const noexcept { return *plugin_; }
  std::unique_ptr<PluginAdapter> clone() override { return adaptOwnedV2(copy().release()); }
  int outputCount() override { return plugin_->getNbOutputs(); }
  bool needsConstantShapes() const override { return true; }

  // All operands have one type and format here.
  std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) override {
    return std::vector<nv::DataType>(static_cast<size_t>(outputCount()),
                                     inputs.empty() ? nv::DataType::kFLOAT : inputs[0]);
  }

  PluginShapes outputShapes(std::span<const Shape> inputs, std::span<const Shape>) override {
    std::vector<nv::Dims> dims;
    for (const auto& shape : inputs) {
      checkUser(isConstant(shape),
                "{}: input {} has the shape {}; an {} works with fixed shapes only, use an "
                "IPluginV3 or IPluginV2DynamicExt",
                identity_.text(), dims.size(), text(shape), identity_.interfaceName);
      dims.push_back(toApi(shape));
    }
    PluginShapes result;
    for (int32_t i = 0; i < outputCount(); ++i) {
      const auto output = plugin_->getOutputDimensions(i, dims.data(), sizeOf(dims));
      result.outputs.push_back(
          toShape(fromApi(output, fmt::format("{}: getOutputDimensions({})", identity_.text(), i), 0)));
    }
    return result;
  }

  bool supports(int position, const PluginDescs& operands, int) override {
    const auto& asked = operands[static_cast<size_t>(position)].desc;
    const auto& first = operands[0].desc;
    return asked.format == first.format && asked.type == first.type &&
           plugin_->supportsFormat(asked.type, asked.format);
  }

  void configure(const PluginDescs& inputs, const PluginDescs& outputs) override {
    const auto in = dimsOf(inputs);
    const auto out = dimsOf(outputs);
    const auto& first = inputs.empty() ? outputs[0].desc : inputs[0].desc;
    plugin_->configureWithFormat(in.data(), sizeOf(in), out.data(), sizeOf(out), first.type, first.format, kBatch);
  }

  size_t workspaceBytes(const PluginDescs&, const PluginDescs&) override { return plugin_->getWorkspaceSize(kBatch); }

  std::string state() override {
    std::string bytes(plugin_->getSerializationSize(), '\0');
    plugin_->serialize(bytes.data());
    return bytes;
  }

  void initialize() override {
    succeeds(plugin_->initialize(), "initialize");
    initialized_ = true;
  }
  std::unique_ptr<PluginAdapter> attach(nv::IPluginResourceContext&) override { return clone(); }
  void changeShapes(const PluginDescs&, const PluginDescs&) override {}
  void enqueue(const PluginExecution& execution) override {
    succeeds(plugin_->enqueue(kBatch, execution.inputAddresses, execution.outputAddresses, execution.workspace,
                              static_cast<cudaStream_t>(execution.stream)),
             "enqueue");
  }

 protected:
  static constexpr int32_t kBatch = 1;
  OwnedPlugin copy() const {
    OwnedPlugin result(cloned(*plugin_, identity_.text()));
    result->setPluginNamespace(identity_.space.c_str());
    return result;
  }

 private:
  OwnedPlugin plugin_;
  bool initialized_ = false;
};

// Types per output, and contexts.
class V2ExtAdapter : public V2Adapter {
 public:
  using V2Adapter::V2Adapter;
  ~V2ExtAdapter() override {
    if (attached_) ext().detachFromContext();
  }

  std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) override {
    std::vector<nv::DataType> types;
    for (int32_t i = 0; i < outputCount(); ++i)
      types.push_back(ext().getOutputDataType(i, inputs.data(), sizeOf(inputs)));
    return types;
  }

  // One format for all, and a type of computation: what the floating operands have. Others, such as indices, have the
  // types that getOutputDataType() gave; the plugin is asked for those only where nothing is floating.
  bool supports(int position, const PluginDescs& operands, int) override {
    const auto isFloating = [](const nv::DynamicPluginTensorDesc& operand) {
      return operand.desc.type == nv::DataType::kFLOAT || operand.desc.type == nv::DataType::kHALF;
    };
    const auto& asked = operands[static_cast<size_t>(position)];
    if (asked.desc.format != operands[0].desc.format) return false;
    if (!isFloating(asked) && std::any_of(operands.begin(), operands.end(), isFloating)) return true;
    return ext().supportsFormat(asked.desc.type, asked.desc.format);
  }

  void configure(const PluginDescs& inputs, const PluginDescs& outputs) override {
    const auto in = dimsOf(inputs);
    const auto out = dimsOf(outputs);
    const auto inTypes = typesOf(inputs);
    const auto outTypes = typesOf(outputs);
    const auto never = std::make_unique<bool[]>(std::max(in.size(), out.size()) + 1);  // nothing is broadcast
    const auto& first = inputs.empty() ? outputs[0].desc : inputs[0].desc;
    ext().configurePlugin(in.data(), sizeOf(in), out.data(), sizeOf(out), inTypes.data(), outTypes.data(), never.get(),
                          never.get(), first.format, kBatch);
  }

  std::unique_ptr<PluginAdapter> attach(nv::IPluginResourceContext& context) override {
    auto copied = clone();
    static_cast<V2ExtAdapter&>(*copied).attachOwn(context);
    return copied;
  }

 protected:
  nv::IPluginV2Ext& ext() const noexcept { return static_cast<nv::IPluginV2Ext&>(oldObject()); }

 private:
  void attachOwn(nv::IPluginResourceContext& context) {
    ext().attachToContext(nullptr, nullptr, context.getGpuAllocator());
    attached_ = true;
  }
  bool attached_ = false;
};

// A type and a format per operand.
class V2IOExtAdapter final : public V2ExtAdapter {
 public:
  using V2ExtAdapter::V2ExtAdapter;
  bool supports(int position, const PluginDescs& operands, int inputs) override {
    std::vector<nv::PluginTensorDesc> descs;
    for (const auto& operand : operands) descs.push_back(operand.desc);
    return io().supportsFormatCombination(position, descs.data(), inputs, sizeOf(descs) - inputs);
  }
  void configure(const PluginDescs& inputs, const PluginDescs& outputs) override {
    std::vector<nv::PluginTensorDesc> in, out;
    for (const auto& desc : inputs) in.push_back(desc.desc);
    for (const auto& desc : outputs) out.push_back(desc.desc);
    io().configurePlugin(in.data(), sizeOf(in), out.data(), sizeOf(out));
  }

 private:
  nv::IPluginV2IOExt& io() const noexcept { return static_cast<nv::IPluginV2IOExt&>(oldObject()); }
};

// Shapes that vary; each new set of them is another configurePlugin().
class V2DynamicExtAdapter final : public V2ExtAdapter {
 public:
  using V2ExtAdapter::V2ExtAdapter;
  bool needsConstantShapes() const override { return false; }

  PluginShapes outputShapes(std::span<const Shape> inputs, std::span<const Shape>) override {
    Expressions expressions(Expressions::kNoSizes);
    std::vector<nv::DimsExprs> given;
    for (const auto& shape : inputs) given.push_back(expressions.shape(shape));
    std::vector<nv::DimsExprs> shapes;
    for (int32_t i = 0; i < outputCount(); ++i)
      shapes.push_back(dynamic().getOutputDimensions(i, given.data(), sizeOf(given), expressions));
    return expressions.read(shapes);
  }

  bool supports(int position, const PluginDescs& operands, int inputs) override {
    std::vector<nv::PluginTensorDesc> descs;
    for (const auto& operand : operands) descs.push_back(operand.desc);
    return dynamic().supportsFormatCombination(position, descs.data(), inputs, sizeOf(descs) - inputs);
  }
  void configure(const PluginDescs& inputs, const PluginDescs& outputs) override {
    dynamic().configurePlugin(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs));
  }
  size_t workspaceBytes(const PluginDescs& inputs, const PluginDescs& outputs) override {
    const auto in = largest(inputs);
    const auto out = largest(outputs);
    return dynamic().getWorkspaceSize(in.data(), sizeOf(in), out.data(), sizeOf(out));
  }
  void changeShapes(const PluginDescs& inputs, const PluginDescs& outputs) override { configure(inputs, outputs); }
  void enqueue(const PluginExecution& execution) override {
    succeeds(dynamic().enqueue(execution.inputs, execution.outputs, execution.inputAddresses, execution.outputAddresses,
                               execution.workspace, static_cast<cudaStream_t>(execution.stream)),
             "enqueue");
  }

 private:
  nv::IPluginV2DynamicExt& dynamic() const noexcept { return static_cast<nv::IPluginV2DynamicExt&>(oldObject()); }
  static std::vector<nv::PluginTensorDesc> largest(const PluginDescs& descs) {
    std::vector<nv::PluginTensorDesc> result;
    for (const auto& desc : descs) {
      result.push_back(desc.desc);
      result.back().dims = desc.max;
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<PluginAdapter> adaptOwnedV2(nv::IPluginV2* plugin) {
  OwnedPlugin owned(plugin);
  const auto version = static_cast<uint32_t>(plugin->getTensorRTVersion());
  const auto kind = static_cast<int32_t>(version >> 24U) & ~nv::kPLUGIN_VERSION_PYTHON_BIT;
  switch (kind) {
    case 0: return std::make_unique<V2Adapter>(std::move(owned), "IPluginV2");
    case 1: return std::make_unique<V2ExtAdapter>(std::move(owned), "IPluginV2Ext");
    case 2: return std::make_unique<V2IOExtAdapter>(std::move(owned), "IPluginV2IOExt");
    case 3: return std::make_unique<V2DynamicExtAdapter>(std::move(owned), "IPluginV2DynamicExt");
    default:
      throw UserError(
          "plugin '{}': getTensorRTVersion() returned {:#x}, whose top byte names no class of the IPluginV2 "
          "family; expected 0 to 3, with 0x40 for Python",
          orEmpty(plugin->getPluginType()), version);
  }
}

std::unique_ptr<PluginAdapter> adaptClone(nv::IPluginV2& plugin) {
  const PluginIdentity identity{"", orEmpty(plugin.getPluginType()), orEmpty(plugin.getPluginVersion()),
                                orEmpty(plugin.getPluginNamespace())};
  auto adapter = adaptOwnedV2(cloned(plugin, identity.text()));
  const int count = adapter->outputCount();
  constexpr int kMost = 1 << 12;
  checkUser(count >= 1 && count <= kMost, "{}: getNbOutputs() returned {}; expected 1 to {}",
            adapter->identity().text(), count, kMost);
  return adapter;
}

nv::IPluginV2& pluginV2(PluginAdapter& adapter) { return dynamic_cast<V2Adapter&>(adapter).oldObject(); }

}  // namespace tenon::api

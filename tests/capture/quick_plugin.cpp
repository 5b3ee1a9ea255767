// A plugin of the kind that functions of Python become, and its creator.
#include <NvInfer.h>
#include <impl/NvInferPythonPlugin.h>

#include <cstdio>

namespace {

using namespace nvinfer1;

class Quick final : public IPluginV3,
                    public IPluginV3QuickCore,
                    public IPluginV3QuickBuild,
                    public IPluginV3QuickRuntime {
 public:
  explicit Quick(float factor) : factor_(factor), field_("factor", &factor_, PluginFieldType::kFLOAT32, 1) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    return type == PluginCapabilityType::kCORE ? static_cast<IPluginCapability*>(static_cast<IPluginV3QuickCore*>(this))
           : type == PluginCapabilityType::kBUILD
               ? static_cast<IPluginCapability*>(static_cast<IPluginV3QuickBuild*>(this))
               : static_cast<IPluginCapability*>(static_cast<IPluginV3QuickRuntime*>(this));
  }
  Quick* clone() noexcept override { return new Quick(factor_); }
  const char* getPluginName() const noexcept override { return "TimesQuick"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "capture"; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs, const int32_t*,
                             int32_t) const noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t, DimsExprs* outputs, int32_t,
                          IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t, int32_t) noexcept override {
    return 1;
  }
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* all, int32_t inputs, int32_t outputs,
                                         PluginTensorDesc* supported, int32_t) noexcept override {
    for (int32_t i = 0; i < inputs + outputs; ++i) {
      supported[i] = all[i].desc;
    }
    return 0;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, const Dims*,
                  const Dims*, int32_t, int32_t, cudaStream_t) noexcept override {
    return 0;
  }
  int32_t setTactic(int32_t) noexcept override { return 0; }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  float factor_;
  PluginField field_;
  PluginFieldCollection fields_{};
};

class CreatorOfQuick final : public IPluginCreatorV3Quick {
 public:
  IPluginV3* createPlugin(const char* name, const char* space, const PluginFieldCollection* fields, TensorRTPhase,
                          QuickPluginCreationRequest request) noexcept override {
    const bool has = fields != nullptr && fields->nbFields == 1 && fields->fields[0].data != nullptr;
    const float factor = has ? *static_cast<const float*>(fields->fields[0].data) : 1;
    std::fprintf(stderr, "[plugin] TimesQuick '%s' in '%s' by %g, request %d\n", name, space, factor,
                 static_cast<int>(request));
    return new Quick(factor);
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginField kField("factor", nullptr, PluginFieldType::kFLOAT32, 1);
    static const PluginFieldCollection kFields{1, &kField};
    return &kFields;
  }
  const char* getPluginName() const noexcept override { return "TimesQuick"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "capture"; }
};

struct Registered {
  Registered() { getPluginRegistry()->registerCreator(creator, "capture"); }
  CreatorOfQuick creator;
} registered;

}  // namespace

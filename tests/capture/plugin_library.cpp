// A library with a plugin of the second and one of the third kind; it says on stderr what it makes.
#include <NvInfer.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

using namespace nvinfer1;

// Both multiply by a factor.
float factorOf(const PluginFieldCollection* fields) {
  float factor = 1;
  for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) {
    if (std::strcmp(fields->fields[i].name, "factor") == 0 && fields->fields[i].data != nullptr) {
      factor = *static_cast<const float*>(fields->fields[i].data);
    }
  }
  return factor;
}

const PluginFieldCollection* fieldNames() {
  static const PluginField kField("factor", nullptr, PluginFieldType::kFLOAT32, 1);
  static const PluginFieldCollection kFields{1, &kField};
  return &kFields;
}

class Two final : public IPluginV2DynamicExt {
 public:
  explicit Two(float factor) : factor_(factor) {}
  const char* getPluginType() const noexcept override { return "TimesTwo"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof factor_; }
  void serialize(void* buffer) const noexcept override { std::memcpy(buffer, &factor_, sizeof factor_); }
  void destroy() noexcept override { delete this; }
  IPluginV2DynamicExt* clone() const noexcept override { return new Two(factor_); }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t, IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].type == DataType::kFLOAT && all[at].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return 0;
  }

 private:
  float factor_;
  std::string space_;
};

class CreatorOfTwo final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "TimesTwo"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return fieldNames(); }
  IPluginV2* createPlugin(const char* name, const PluginFieldCollection* fields) noexcept override {
    std::fprintf(stderr, "[plugin] TimesTwo '%s' by %g\n", name, factorOf(fields));
    return new Two(factorOf(fields));
  }
  IPluginV2* deserializePlugin(const char* name, const void* data, size_t) noexcept override {
    float factor = 0;
    std::memcpy(&factor, data, sizeof factor);
    std::fprintf(stderr, "[plugin] TimesTwo '%s' from bytes, by %g\n", name, factor);
    return new Two(factor);
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  std::string space_;
};

class Three final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime {
 public:
  explicit Three(float factor) : factor_(factor), field_("factor", &factor_, PluginFieldType::kFLOAT32, 1) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    return type == PluginCapabilityType::kCORE ? static_cast<IPluginCapability*>(static_cast<IPluginV3OneCore*>(this))
           : type == PluginCapabilityType::kBUILD
               ? static_cast<IPluginCapability*>(static_cast<IPluginV3OneBuild*>(this))
               : static_cast<IPluginCapability*>(static_cast<IPluginV3OneRuntime*>(this));
  }
  Three* clone() noexcept override { return new Three(factor_); }
  const char* getPluginName() const noexcept override { return "TimesThree"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs, int32_t) const noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t, DimsExprs* outputs, int32_t,
                          IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].desc.type == DataType::kFLOAT && all[at].desc.format == TensorFormat::kLINEAR;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  float factor_;
  PluginField field_;
  PluginFieldCollection fields_;
};

class CreatorOfThree final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char* name, const PluginFieldCollection* fields, TensorRTPhase) noexcept override {
    std::fprintf(stderr, "[plugin] TimesThree '%s' by %g\n", name, factorOf(fields));
    return new Three(factorOf(fields));
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return fieldNames(); }
  const char* getPluginName() const noexcept override { return "TimesThree"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

REGISTER_TENSORRT_PLUGIN(CreatorOfTwo);
REGISTER_TENSORRT_PLUGIN(CreatorOfThree);

}  // namespace

// A plugin that no creator made, for the program that wants to add one it has itself.
extern "C" __attribute__((visibility("default"))) IPluginV2* makeOwnPlugin(float factor) { return new Two(factor); }

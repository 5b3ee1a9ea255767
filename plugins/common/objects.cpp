// Plugin objects of each public interface around the common core.
#include <cstring>

#include "common/core.h"

namespace tenon::plugins {
namespace {

Dims fromApi(const nv::Dims& dims) {
  Dims result;
  for (int32_t i = 0; i < dims.nbDims; ++i) result.emplace_back(dims.d[i]);
  return result;
}

std::vector<Dims> fromApi(const nv::DimsExprs* shapes, int count, nv::IExprBuilder& builder) {
  std::vector<Dims> result(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    for (int32_t axis = 0; axis < shapes[i].nbDims; ++axis) {
      result[static_cast<size_t>(i)].emplace_back(shapes[i].d[axis], &builder);
    }
  }
  return result;
}

nv::DimsExprs toApi(const Dims& dims, nv::IExprBuilder& builder) {
  nv::DimsExprs result{static_cast<int32_t>(dims.size()), {}};
  for (size_t i = 0; i < dims.size(); ++i) result.d[i] = dims[i].in(builder);
  return result;
}

// Runs the body; what it throws is in the log.
template <typename R, typename Body>
R guarded(const Core& core, const char* call, R fallback, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    report(fmt::format("plugin '{}', version '{}': {}: {}", core.spec().name, core.spec().version, call, error.what()));
    return fallback;
  }
}

// What the whole IPluginV2 family has.
template <typename Base>
class Old : public Base, public Core {
 public:
  Old(const Spec& spec, Fields fields) : Core(spec, std::move(fields)) { known(static_cast<nv::IPluginV2*>(this)); }
  Old(const Old& other) : Base(), Core(other), inputs_(other.inputs_) { known(static_cast<nv::IPluginV2*>(this)); }

  const char* getPluginType() const noexcept override { return spec().name; }
  const char* getPluginVersion() const noexcept override { return spec().version; }
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(outputs().size()); }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char* space) noexcept override { setSpace(space); }
  const char* getPluginNamespace() const noexcept override { return space().c_str(); }
  size_t getSerializationSize() const noexcept override {
    return guarded(*this, "getSerializationSize", size_t{0}, [&] { return fields().serialize().size(); });
  }
  void serialize(void* buffer) const noexcept override {
    guarded(*this, "serialize", 0, [&] {
      const std::string bytes = fields().serialize();
      std::memcpy(buffer, bytes.data(), bytes.size());
      return 0;
    });
  }

 protected:
  nv::ILayer* addTo(nv::INetworkDefinition& network, nv::ITensor* const* inputs, int count) const override {
    return network.addPluginV2(inputs, count, const_cast<Old&>(*this));  // which is cloned, not changed
  }
  nv::Dims fixedShape(int32_t index, const nv::Dims* inputs, int32_t count) const {
    return guarded(*this, "getOutputDimensions", nv::Dims{-1, {}}, [&] {
      std::vector<Dims> given;
      for (int32_t i = 0; i < count; ++i) given.push_back(fromApi(inputs[i]));
      const Dims dims = shapes(given).at(static_cast<size_t>(index));
      nv::Dims result{static_cast<int32_t>(dims.size()), {}};
      for (size_t i = 0; i < dims.size(); ++i) result.d[i] = dims[i].number();
      return result;
    });
  }
  // What the builder said of the inputs; for the execution, which is not told.
  std::vector<nv::PluginTensorDesc> inputs_;
  int32_t runConfigured(int32_t batch, const void* const* inputs, void* const* outputs, cudaStream_t stream) {
    auto descs = inputs_;
    const bool isSample = spec().sampleRank > 0 && !descs.empty() && descs[0].dims.nbDims == spec().sampleRank;
    if (batch != 1 && !isSample) {
      report(fmt::format("plugin '{}': enqueue with a batch of {}, and inputs that have theirs", spec().name, batch));
      return 1;
    }
    for (auto& desc : descs) {
      if (!isSample) continue;
      std::copy_backward(desc.dims.d, desc.dims.d + desc.dims.nbDims, desc.dims.d + desc.dims.nbDims + 1);
      desc.dims.d[0] = batch;
      ++desc.dims.nbDims;
    }
    return run({descs.data(), static_cast<int>(descs.size()), inputs, outputs}, stream);
  }
};

// Shapes are fixed, and all operands of one type.
class V2 final : public Old<nv::IPluginV2> {
 public:
  using Old::Old;
  V2(const V2&) = default;
  nv::IPluginV2* clone() const noexcept override { return new (std::nothrow) V2(*this); }
  nv::Dims getOutputDimensions(int32_t index, const nv::Dims* inputs, int32_t count) noexcept override {
    return fixedShape(index, inputs, count);
  }
  bool supportsFormat(nv::DataType type, nv::PluginFormat format) const noexcept override {
    const nv::PluginTensorDesc desc{{}, type, format, 0};
    return guarded(*this, "supportsFormat", false, [&] { return takes(0, &desc, 1); });
  }
  void configureWithFormat(const nv::Dims* inputs, int32_t count, const nv::Dims*, int32_t, nv::DataType type,
                           nv::PluginFormat format, int32_t) noexcept override {
    inputs_.clear();
    for (int32_t i = 0; i < count; ++i) inputs_.push_back({inputs[i], type, format, 0});
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return runConfigured(batch, inputs, outputs, stream);
  }
};

// A type per operand.
template <typename Base, typename Self>
class Ext : public Old<Base> {
 public:
  using Old<Base>::Old;
  Ext(const Ext&) = default;
  Base* clone() const noexcept override { return new (std::nothrow) Self(static_cast<const Self&>(*this)); }
  nv::DataType getOutputDataType(int32_t index, const nv::DataType* inputs, int32_t count) const noexcept override {
    return this->outputType(index, inputs, count);
  }
};

// Shapes are fixed.
template <typename Base, typename Self>
class FixedExt : public Ext<Base, Self> {
 public:
  using Ext<Base, Self>::Ext;
  FixedExt(const FixedExt&) = default;
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override { return false; }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
  nv::Dims getOutputDimensions(int32_t index, const nv::Dims* inputs, int32_t count) noexcept override {
    return this->fixedShape(index, inputs, count);
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return this->runConfigured(batch, inputs, outputs, stream);
  }
};

class V2Ext final : public FixedExt<nv::IPluginV2Ext, V2Ext> {
 public:
  using FixedExt::FixedExt;
  V2Ext(const V2Ext&) = default;
  bool supportsFormat(nv::DataType type, nv::PluginFormat format) const noexcept override {
    const bool isWide = type == nv::DataType::kFLOAT || type == nv::DataType::kHALF || type == nv::DataType::kBF16;
    return format == nv::TensorFormat::kLINEAR && (isWide || type == nv::DataType::kINT32);
  }
  void configurePlugin(const nv::Dims* inputs, int32_t count, const nv::Dims*, int32_t, const nv::DataType* types,
                       const nv::DataType*, const bool*, const bool*, nv::PluginFormat format,
                       int32_t) noexcept override {
    inputs_.clear();
    for (int32_t i = 0; i < count; ++i) inputs_.push_back({inputs[i], types[i], format, 0});
  }
};

class V2IOExt final : public FixedExt<nv::IPluginV2IOExt, V2IOExt> {
 public:
  using FixedExt::FixedExt;
  V2IOExt(const V2IOExt&) = default;
  void configurePlugin(const nv::PluginTensorDesc* inputs, int32_t count, const nv::PluginTensorDesc*,
                       int32_t) noexcept override {
    inputs_.assign(inputs, inputs + count);
  }
  bool supportsFormatCombination(int32_t position, const nv::PluginTensorDesc* operands, int32_t inputs,
                                 int32_t) const noexcept override {
    return guarded(*this, "supportsFormatCombination", false, [&] { return takes(position, operands, inputs); });
  }
};

class V2DynamicExt final : public Ext<nv::IPluginV2DynamicExt, V2DynamicExt> {
 public:
  using Ext::Ext;
  V2DynamicExt(const V2DynamicExt&) = default;
  nv::DimsExprs getOutputDimensions(int32_t index, const nv::DimsExprs* inputs, int32_t count,
                                    nv::IExprBuilder& builder) noexcept override {
    return guarded(*this, "getOutputDimensions", nv::DimsExprs{-1, {}}, [&] {
      return toApi(shapes(fromApi(inputs, count, builder)).at(static_cast<size_t>(index)), builder);
    });
  }
  bool supportsFormatCombination(int32_t position, const nv::PluginTensorDesc* operands, int32_t inputs,
                                 int32_t) noexcept override {
    return guarded(*this, "supportsFormatCombination", false, [&] { return takes(position, operands, inputs); });
  }
  void configurePlugin(const nv::DynamicPluginTensorDesc*, int32_t inputs, const nv::DynamicPluginTensorDesc*,
                       int32_t) noexcept override {
    inputCount_ = inputs;
  }
  size_t getWorkspaceSize(const nv::PluginTensorDesc*, int32_t, const nv::PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const nv::PluginTensorDesc* inputs, const nv::PluginTensorDesc*, const void* const* inputAddresses,
                  void* const* outputAddresses, void*, cudaStream_t stream) noexcept override {
    return run({inputs, inputCount_, inputAddresses, outputAddresses}, stream);
  }

 private:
  int32_t inputCount_ = 0;
};

class V3 final : public nv::IPluginV3,
                 public nv::IPluginV3OneCore,
                 public nv::IPluginV3OneBuild,
                 public nv::IPluginV3OneRuntime,
                 public Core {
 public:
  V3(const Spec& spec, Fields fields) : Core(spec, std::move(fields)) { known(static_cast<nv::IPluginV3*>(this)); }
  V3(const V3& other)
      : nv::IPluginV3(),
        nv::IPluginV3OneCore(),
        nv::IPluginV3OneBuild(),
        nv::IPluginV3OneRuntime(),
        Core(other),
        inputCount_(other.inputCount_) {
    known(static_cast<nv::IPluginV3*>(this));
  }

  nv::IPluginCapability* getCapabilityInterface(nv::PluginCapabilityType type) noexcept override {
    switch (type) {
      case nv::PluginCapabilityType::kCORE: return static_cast<nv::IPluginV3OneCore*>(this);
      case nv::PluginCapabilityType::kBUILD: return static_cast<nv::IPluginV3OneBuild*>(this);
      case nv::PluginCapabilityType::kRUNTIME: return static_cast<nv::IPluginV3OneRuntime*>(this);
    }
    return nullptr;
  }
  nv::IPluginV3* clone() noexcept override { return new (std::nothrow) V3(*this); }
  const char* getPluginName() const noexcept override { return spec().name; }
  const char* getPluginVersion() const noexcept override { return spec().version; }
  const char* getPluginNamespace() const noexcept override { return space().c_str(); }

  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(outputs().size()); }
  int32_t getOutputDataTypes(nv::DataType* types, int32_t count, const nv::DataType* inputs,
                             int32_t inputCount) const noexcept override {
    for (int32_t i = 0; i < count; ++i) types[i] = outputType(i, inputs, inputCount);
    return 0;
  }
  int32_t getOutputShapes(const nv::DimsExprs* inputs, int32_t count, const nv::DimsExprs*, int32_t,
                          nv::DimsExprs* results, int32_t resultCount, nv::IExprBuilder& builder) noexcept override {
    return guarded(*this, "getOutputShapes", 1, [&] {
      const auto given = shapes(fromApi(inputs, count, builder));
      for (int32_t i = 0; i < resultCount; ++i) results[i] = toApi(given.at(static_cast<size_t>(i)), builder);
      return 0;
    });
  }
  bool supportsFormatCombination(int32_t position, const nv::DynamicPluginTensorDesc* operands, int32_t inputs,
                                 int32_t outputCount) noexcept override {
    return guarded(*this, "supportsFormatCombination", false, [&] {
      std::vector<nv::PluginTensorDesc> descs;
      for (int32_t i = 0; i <= std::min(position, inputs + outputCount - 1); ++i) descs.push_back(operands[i].desc);
      return takes(position, descs.data(), inputs);
    });
  }
  int32_t configurePlugin(const nv::DynamicPluginTensorDesc*, int32_t inputs, const nv::DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    inputCount_ = inputs;
    return 0;
  }
  int32_t onShapeChange(const nv::PluginTensorDesc*, int32_t inputs, const nv::PluginTensorDesc*,
                        int32_t) noexcept override {
    inputCount_ = inputs;
    return 0;
  }
  int32_t enqueue(const nv::PluginTensorDesc* inputs, const nv::PluginTensorDesc*, const void* const* inputAddresses,
                  void* const* outputAddresses, void*, cudaStream_t stream) noexcept override {
    return run({inputs, inputCount_, inputAddresses, outputAddresses}, stream);
  }
  nv::IPluginV3* attachToContext(nv::IPluginResourceContext*) noexcept override { return clone(); }
  const nv::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return guarded(*this, "getFieldsToSerialize", static_cast<const nv::PluginFieldCollection*>(nullptr), [&] {
      list_.clear();
      for (const FieldValue& value : fields().all()) {
        list_.emplace_back(value.name.c_str(), value.bytes.data(), value.type, value.length);
      }
      collection_ = {static_cast<int32_t>(list_.size()), list_.data()};
      return &collection_;
    });
  }

 protected:
  nv::ILayer* addTo(nv::INetworkDefinition& network, nv::ITensor* const* inputs, int count) const override {
    return network.addPluginV3(inputs, count, nullptr, 0, const_cast<V3&>(*this));  // which is cloned, not changed
  }

 private:
  int32_t inputCount_ = 0;
  std::vector<nv::PluginField> list_;
  nv::PluginFieldCollection collection_{};
};

template <typename T, typename Made>
Made* make(const Spec& spec, Fields fields, const std::string& space) {
  auto plugin = std::make_unique<T>(spec, std::move(fields));
  plugin->setSpace(space.c_str());
  return plugin.release();
}

template <typename Body>
auto makeOrReport(const Spec& spec, Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    report(fmt::format("plugin '{}', version '{}' cannot be made: {}", spec.name, spec.version, error.what()));
    return nullptr;
  }
}

}  // namespace

nv::IPluginV2* makeOld(const Spec& spec, Fields fields, const std::string& space) noexcept {
  return makeOrReport(spec, [&]() -> nv::IPluginV2* {
    switch (spec.interface) {
      case Interface::kV2: return make<V2, nv::IPluginV2>(spec, std::move(fields), space);
      case Interface::kV2Ext: return make<V2Ext, nv::IPluginV2>(spec, std::move(fields), space);
      case Interface::kV2IOExt: return make<V2IOExt, nv::IPluginV2>(spec, std::move(fields), space);
      default: return make<V2DynamicExt, nv::IPluginV2>(spec, std::move(fields), space);
    }
  });
}

nv::IPluginV3* makeNew(const Spec& spec, Fields fields, const std::string& space) noexcept {
  return makeOrReport(spec, [&] { return make<V3, nv::IPluginV3>(spec, std::move(fields), space); });
}

}  // namespace tenon::plugins

// SPDX-License-Identifier: Apache-2.0
// A plugin of each class of the IPluginV2 family: y = x + amount. What is called of each object is noted.
#include <atomic>
#include <memory>

#include "library.h"
#include "on_host.h"

namespace library {
namespace {

// What the four have in common. Objects are told apart by number: #1 is the first since the last takeCalls().
template <typename Base, typename Self>
class Old : public Base {
 public:
  explicit Old(float amount) : amount(amount) {}
  const char* getPluginType() const noexcept override { return Self::kName; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override {
    if (state == State::kReady) return 1;
    say("initialize");
    state = State::kReady;
    return 0;
  }
  void terminate() noexcept override {
    say("terminate");
    state = State::kNew;
  }
  size_t getSerializationSize() const noexcept override { return sizeof amount + sizeof configured; }
  void serialize(void* buffer) const noexcept override {
    say("serialize");
    std::memcpy(buffer, &amount, sizeof amount);
    std::memcpy(static_cast<char*>(buffer) + sizeof amount, &configured, sizeof configured);
  }
  void destroy() noexcept override {
    say("destroy");
    delete static_cast<Self*>(this);
  }
  Base* clone() const noexcept override {
    say("clone");
    auto* copy = new Self(amount);
    copy->configured = configured;
    copy->space_ = space_;
    return copy;
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

  float amount;
  int64_t configured = 0;  // elements of the output, of which the plugin is told while it is built

 protected:
  void say(const char* call) const { note(std::string(Self::kName) + "." + call); }
  void add(const void* const* inputs, void* const* outputs, int64_t count, cudaStream_t stream) const {
    OnHost host(stream);
    const auto* const x = host.read<float>(inputs[0], count);
    auto* const y = host.write<float>(outputs[0], count);
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] + amount;
  }
  enum class State : uint8_t { kNew, kReady };
  State state = State::kNew;

 private:
  std::string space_;
};

bool isFloats(DataType type, TensorFormat format) {
  return type == DataType::kFLOAT && format == TensorFormat::kLINEAR;
}

class Oldest final : public Old<IPluginV2, Oldest> {
 public:
  static constexpr const char* kName = "Oldest";
  using Old::Old;
  Dims getOutputDimensions(int32_t, const Dims* inputs, int32_t) noexcept override { return inputs[0]; }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override { return isFloats(type, format); }
  void configureWithFormat(const Dims*, int32_t, const Dims* outputs, int32_t, DataType, PluginFormat,
                           int32_t batch) noexcept override {
    say("configure");
    configured = volume(outputs[0]) * batch;
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    add(inputs, outputs, configured, stream);
    return 0;
  }
};

// With Counts, a second output of INT32: how many elements there are. supportsFormat() speaks of computation only.
template <bool kCounts>
class Ext final : public Old<IPluginV2Ext, Ext<kCounts>> {
  using Base = Old<IPluginV2Ext, Ext<kCounts>>;
  using Base::add;
  using Base::say;

 public:
  using Base::configured;
  static constexpr const char* kName = kCounts ? "OldCounting" : "OldExt";
  using Base::Base;
  int32_t getNbOutputs() const noexcept override { return kCounts ? 2 : 1; }
  Dims getOutputDimensions(int32_t index, const Dims* inputs, int32_t) noexcept override {
    return index == 0 ? inputs[0] : Dims{1, {1}};
  }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override { return isFloats(type, format); }
  DataType getOutputDataType(int32_t index, const DataType* types, int32_t) const noexcept override {
    return index == 0 ? types[0] : DataType::kINT32;
  }
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override { return false; }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
  void configurePlugin(const Dims*, int32_t, const Dims* outputs, int32_t, const DataType*, const DataType*,
                       const bool*, const bool*, PluginFormat, int32_t batch) noexcept override {
    say("configure");
    configured = volume(outputs[0]) * batch;
  }
  void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator* allocator) noexcept override {
    say(allocator != nullptr ? "attach" : "attach without an allocator");
  }
  void detachFromContext() noexcept override { say("detach"); }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 16; }
  int32_t enqueue(int32_t, const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    if (workspace == nullptr) return 1;
    add(inputs, outputs, configured, stream);
    if (kCounts) *OnHost(stream).write<int32_t>(outputs[1], 1) = static_cast<int32_t>(configured);
    return 0;
  }
};
using OldExt = Ext<false>;
using OldCounting = Ext<true>;

class OldIo final : public Old<IPluginV2IOExt, OldIo> {
 public:
  static constexpr const char* kName = "OldIo";
  using Old::Old;
  Dims getOutputDimensions(int32_t, const Dims* inputs, int32_t) noexcept override { return inputs[0]; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override { return false; }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t, int32_t) const noexcept override {
    return isFloats(all[at].type, all[at].format);
  }
  void configurePlugin(const PluginTensorDesc*, int32_t, const PluginTensorDesc* out, int32_t) noexcept override {
    say("configure");
    configured = volume(out[0].dims);
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    add(inputs, outputs, configured, stream);
    return 0;
  }
};

class OldDynamic final : public Old<IPluginV2DynamicExt, OldDynamic> {
 public:
  static constexpr const char* kName = "OldDynamic";
  using Old::Old;
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t, IExprBuilder&) noexcept override {
    return inputs[0];
  }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return isFloats(all[at].type, all[at].format);
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc* out,
                       int32_t) noexcept override {
    say("configure");
    configured = volume(out[0].desc.dims);
  }
  void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override { say("attach"); }
  void detachFromContext() noexcept override { say("detach"); }
  size_t getWorkspaceSize(const PluginTensorDesc* in, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return static_cast<size_t>(volume(in[0].dims));
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t stream) noexcept override {
    say("enqueue");
    if (volume(in[0].dims) != configured) return 1;
    add(inputs, outputs, configured, stream);
    return 0;
  }
};

template <typename T>
class Creator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return T::kName; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginField kField("amount", nullptr, PluginFieldType::kFLOAT32, 1);
    static const PluginFieldCollection kFields{1, &kField};
    return &kFields;
  }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    return new T(floatField(fields, "amount", 0));
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t length) noexcept override {
    auto made = std::make_unique<T>(0.0F);
    if (length != made->getSerializationSize()) return nullptr;
    std::memcpy(&made->amount, data, sizeof made->amount);
    std::memcpy(&made->configured, static_cast<const char*>(data) + sizeof made->amount, sizeof made->configured);
    note(std::string(T::kName) + ".deserialize");
    return made.release();
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  std::string space_;
};

}  // namespace

const std::vector<IPluginCreatorInterface*>& creatorsV2() {
  static Creator<Oldest> oldest;
  static Creator<OldExt> ext;
  static Creator<OldCounting> counting;
  static Creator<OldIo> io;
  static Creator<OldDynamic> dynamic;
  static const std::vector<IPluginCreatorInterface*> kAll{&oldest, &ext, &counting, &io, &dynamic};
  return kAll;
}

}  // namespace library

// SPDX-License-Identifier: Apache-2.0
// x + amount, once as it should be in each family, and once for every fault that tenon_check_plugins shall find.
#include <NvInfer.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace nvinfer1;

enum class Fault {
  kNone,
  kOtherName,
  kNoClone,
  kClonesItself,
  kCloneForgets,
  kRestoreForgets,
  kStateVaries,
  kReadsNoData,
  kLooksAhead,
  kChangesItsMind,
  kTakesNothing,
  kTacticZero,
  kWritesBehind,
  kWritesBefore,
  kChangesInput,
  kLeavesElement,
  kSharesScratch,
  kNeverEnds,
  kCrashes,
  kExits,
};

struct Row {
  const char* name;
  Fault fault;
};
constexpr Row kRows[] = {{"Good", Fault::kNone},
                         {"OtherName", Fault::kOtherName},
                         {"NoClone", Fault::kNoClone},
                         {"ClonesItself", Fault::kClonesItself},
                         {"CloneForgets", Fault::kCloneForgets},
                         {"RestoreForgets", Fault::kRestoreForgets},
                         {"StateVaries", Fault::kStateVaries},
                         {"ReadsNoData", Fault::kReadsNoData},
                         {"LooksAhead", Fault::kLooksAhead},
                         {"ChangesItsMind", Fault::kChangesItsMind},
                         {"TakesNothing", Fault::kTakesNothing},
                         {"TacticZero", Fault::kTacticZero},
                         {"WritesBehind", Fault::kWritesBehind},
                         {"WritesBefore", Fault::kWritesBefore},
                         {"ChangesInput", Fault::kChangesInput},
                         {"LeavesElement", Fault::kLeavesElement},
                         {"SharesScratch", Fault::kSharesScratch},
                         {"NeverEnds", Fault::kNeverEnds},
                         {"Crashes", Fault::kCrashes},
                         {"Exits", Fault::kExits}};

int64_t volume(const Dims& dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) count *= dims.d[i];
  return count;
}

std::vector<float> scratch(1 << 16);  // what contexts must not share

class Adds final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime {
 public:
  Adds(const Row& row, float amount) : row_(row), amount_(amount) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override {
    if (is(Fault::kNoClone)) return nullptr;
    if (is(Fault::kClonesItself)) return this;
    return new Adds(row_, is(Fault::kCloneForgets) ? 0 : amount_);
  }
  const char* getPluginName() const noexcept override { return is(Fault::kOtherName) ? "Other" : row_.name; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "checked"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in, int32_t) const noexcept override {
    out[0] = in[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    out[0] = in[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    if (is(Fault::kTakesNothing)) return false;
    if (is(Fault::kChangesItsMind) && at == 1) return ++asked_ % 2 == 0;
    if (is(Fault::kLooksAhead) && all[inputs + outputs - 1].desc.type != DataType::kFLOAT) return false;
    return all[at].desc.type == DataType::kFLOAT && all[at].desc.format == TensorFormat::kLINEAR;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getNbTactics() noexcept override { return is(Fault::kTacticZero) ? 1 : 0; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 0;
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* desc, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const auto count = volume(desc[0].dims);
    const auto* const x = static_cast<const float*>(inputs[0]);
    auto* const y = static_cast<float*>(outputs[0]);
    if (is(Fault::kCrashes)) *static_cast<volatile int*>(nullptr) = 1;
    if (is(Fault::kExits)) std::_Exit(0);
    while (is(Fault::kNeverEnds)) std::this_thread::yield();
    if (is(Fault::kSharesScratch)) {
      for (int64_t i = 0; i < count; ++i) scratch[static_cast<size_t>(i)] = x[i];
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (int64_t i = 0; i < count; ++i) y[i] = scratch[static_cast<size_t>(i)] + amount_;
      return 0;
    }
    for (int64_t i = is(Fault::kLeavesElement) ? 1 : 0; i < count; ++i) y[i] = x[i] + amount_;
    if (is(Fault::kWritesBehind)) y[count] = 1;
    if (is(Fault::kWritesBefore)) y[-1] = 1;
    if (is(Fault::kChangesInput)) const_cast<float*>(x)[0] += 1;
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return new Adds(row_, amount_); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    static std::atomic<int> times{0};
    kept_ = is(Fault::kStateVaries) ? static_cast<float>(++times) : amount_;
    field_ = {"amount", &kept_, PluginFieldType::kFLOAT32, 1};
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  bool is(Fault fault) const { return row_.fault == fault; }
  const Row& row_;
  float amount_;
  float kept_ = 0;
  int asked_ = 0;
  PluginField field_;
  PluginFieldCollection fields_{};
};

class Creator final : public IPluginCreatorV3One {
 public:
  explicit Creator(const Row& row) : row_(row), field_("amount", nullptr, PluginFieldType::kFLOAT32, 1) {}
  const char* getPluginName() const noexcept override { return row_.name; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "checked"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields, TensorRTPhase phase) noexcept override {
    for (int32_t i = 0; i < fields->nbFields; ++i) {
      const auto& field = fields->fields[i];
      if (std::strcmp(field.name, "amount") != 0) continue;
      const bool isAmount = field.type == PluginFieldType::kFLOAT32 && field.length == 1 && field.data != nullptr;
      if (!isAmount && row_.fault != Fault::kReadsNoData) return nullptr;
      const bool forgets = row_.fault == Fault::kRestoreForgets && phase == TensorRTPhase::kRUNTIME;
      return new Adds(row_, forgets ? 0 : *static_cast<const float*>(field.data));
    }
    return nullptr;
  }

 private:
  const Row& row_;
  PluginField field_;
  PluginFieldCollection fields_{1, &field_};
};

// The older family: as it should be, with a clone that forgets its namespace, with a state longer or shorter than it
// says.
class OldAdds final : public IPluginV2DynamicExt {
 public:
  OldAdds(std::string name, float amount) : name_(std::move(name)), amount_(amount) {}
  const char* getPluginType() const noexcept override { return name_.c_str(); }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
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
  int32_t enqueue(const PluginTensorDesc* desc, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const auto count = volume(desc[0].dims);
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + amount_;
    return 0;
  }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override {
    if (name_ == "OldTooLong") return sizeof amount_ - 1;
    return name_ == "OldTooShort" ? sizeof amount_ + 3 : sizeof amount_;
  }
  void serialize(void* buffer) const noexcept override { std::memcpy(buffer, &amount_, sizeof amount_); }
  void destroy() noexcept override { delete this; }
  IPluginV2DynamicExt* clone() const noexcept override {
    auto* copy = new OldAdds(name_, amount_);
    if (name_ != "OldForgetsSpace") copy->space_ = space_;
    return copy;
  }
  void setPluginNamespace(const char* text) noexcept override { space_ = text; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  ~OldAdds() noexcept override = default;
  std::string name_, space_;
  float amount_;
};

class OldCreator final : public IPluginCreator {
 public:
  explicit OldCreator(const char* name) : name_(name), field_("amount", nullptr, PluginFieldType::kFLOAT32, 1) {}
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    if (fields->nbFields == 0 || fields->fields[0].type != PluginFieldType::kFLOAT32 ||
        fields->fields[0].data == nullptr)
      return nullptr;
    return new OldAdds(name_, *static_cast<const float*>(fields->fields[0].data));
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t) noexcept override {
    float amount = 0;
    std::memcpy(&amount, data, sizeof amount);
    return new OldAdds(name_, amount);
  }
  void setPluginNamespace(const char* text) noexcept override { space_ = text; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  const char* name_;
  std::string space_ = "checked";
  PluginField field_;
  PluginFieldCollection fields_{1, &field_};
};

}  // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count) {
  static const auto kAll = [] {
    std::vector<IPluginCreatorInterface*> all;
    for (const auto& row : kRows) all.push_back(new Creator(row));
    for (const char* name : {"OldGood", "OldForgetsSpace", "OldTooLong", "OldTooShort"})
      all.push_back(new OldCreator(name));
    return all;
  }();
  count = static_cast<int32_t>(kAll.size());
  return kAll.data();
}

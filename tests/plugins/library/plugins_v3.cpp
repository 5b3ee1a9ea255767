// SPDX-License-Identifier: Apache-2.0
// Plugins of the interface IPluginV3; each shows one thing that the interface can say.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "library.h"

namespace library {
namespace {

std::atomic<int> live{0};  // objects

// One object with all capabilities. Fields of any kind are kept and given back.
template <typename Self, typename Build = IPluginV3OneBuild>
class Plugin : public IPluginV3, public IPluginV3OneCore, public Build, public IPluginV3OneRuntime {
 public:
  explicit Plugin(const PluginFieldCollection* fields) {
    ++live;
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) keep(fields->fields[i]);
  }
  Plugin(const Plugin& other) : IPluginV3(), IPluginV3OneCore(), Build(), IPluginV3OneRuntime(), tactic(other.tactic) {
    ++live;
    for (const auto& field : other.kept_) keep({field->name.c_str(), field->bytes.data(), field->type, field->length});
  }

  ~Plugin() noexcept override { --live; }

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(static_cast<Build*>(this));
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Self(static_cast<const Self&>(*this)); }
  const char* getPluginName() const noexcept override { return Self::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }

  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t count, const DataType* inputs,
                             int32_t) const noexcept override {
    for (int32_t i = 0; i < count; ++i) outputs[i] = inputs[0];
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
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t setTactic(int32_t chosen) noexcept override {
    tactic = chosen;
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_.clear();
    for (const auto& field : kept_)
      fields_.emplace_back(field->name.c_str(), field->bytes.data(), field->type, field->length);
    collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
    return &collection_;
  }

 protected:
  struct Kept {
    std::string name;
    std::vector<char> bytes;
    PluginFieldType type;
    int32_t length;
  };
  const PluginFieldCollection* fields() noexcept { return getFieldsToSerialize(); }
  const std::vector<std::unique_ptr<Kept>>& kept() const noexcept { return kept_; }
  int32_t tactic = 0;

 private:
  void keep(const PluginField& field) {
    constexpr size_t kBytes[] = {2, 4, 8, 1, 2, 4, 1, sizeof(Dims), 1, 2, 8, 1};
    const size_t bytes = static_cast<size_t>(field.length) * kBytes[static_cast<int32_t>(field.type)];
    const auto* data = static_cast<const char*>(field.data);
    kept_.push_back(std::make_unique<Kept>(
        Kept{field.name, std::vector<char>(data, data + (data == nullptr ? 0 : bytes)), field.type, field.length}));
  }
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_{};
};

template <typename T>
class Creator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields, TensorRTPhase) noexcept override {
    return new T(fields);
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginFieldCollection kNone{0, nullptr};
    return &kNone;
  }
  const char* getPluginName() const noexcept override { return T::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
};

// y = factor * x in FP32 or FP16, by one of two tactics, through the workspace. Refuses to run where an earlier step of
// the protocol is missing.
class Scale final : public Plugin<Scale> {
 public:
  static constexpr const char* kName = "Scale";
  using Plugin::Plugin;
  Scale(const Scale&) = default;
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    const auto& desc = all[at].desc;
    const bool isKnown = desc.type == DataType::kFLOAT || desc.type == DataType::kHALF;
    return isKnown && desc.type == all[0].desc.type && desc.format == TensorFormat::kLINEAR;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc* out,
                          int32_t) noexcept override {
    for (int32_t i = 0; i < in->desc.dims.nbDims; ++i) {
      if (in->min.d[i] > in->opt.d[i] || in->opt.d[i] > in->max.d[i] || in->max.d[i] != out->max.d[i]) return 2;
    }
    return 0;
  }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 3;
    tactics[1] = 5;
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return "scale"; }
  const char* getMetadataString() noexcept override { return "made by a test"; }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) const noexcept override {
    return static_cast<size_t>(volume(in->max)) * sizeof(float);
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t, const PluginTensorDesc* out, int32_t) noexcept override {
    shape_ = in->dims;
    return volume(in->dims) == volume(out->dims) ? 0 : 3;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void* workspace, cudaStream_t) noexcept override {
    if (tactic != 3 && tactic != 5) return 4;
    if (volume(shape_) != volume(in->dims)) return 5;
    const auto count = static_cast<size_t>(volume(in->dims));
    auto* middle = static_cast<float*>(workspace);
    const bool isHalf = in->type == DataType::kHALF;
    for (size_t i = 0; i < count; ++i)
      middle[i] =
          isHalf ? fromHalf(static_cast<const uint16_t*>(inputs[0])[i]) : static_cast<const float*>(inputs[0])[i];
    const float factor = floatField(fields(), "factor", 1);
    for (size_t i = 0; i < count; ++i) {
      if (isHalf) {
        static_cast<uint16_t*>(outputs[0])[i] = toHalf(factor * middle[i]);
      } else {
        static_cast<float*>(outputs[0])[i] = factor * middle[i];
      }
    }
    return 0;
  }

 private:
  Dims shape_{};
};

// a [n, k] and b [m, k] to their rows one after the other, [n + m, k], and to [ceil(k / 2), max(n, m) - min(n, m) + 1]
// filled with n * m.
class Pair final : public Plugin<Pair> {
 public:
  static constexpr const char* kName = "Pair";
  using Plugin::Plugin;
  Pair(const Pair&) = default;
  int32_t getNbOutputs() const noexcept override { return 2; }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder& build) noexcept override {
    using enum DimensionOperation;
    const auto& n = *in[0].d[0];
    const auto& m = *in[1].d[0];
    const auto& k = *in[0].d[1];
    out[0] = {2, {build.operation(kSUM, n, m), &k}};
    const auto* difference = build.operation(kSUB, *build.operation(kMAX, n, m), *build.operation(kMIN, n, m));
    out[1] = {
        2, {build.operation(kCEIL_DIV, k, *build.constant(2)), build.operation(kSUM, *difference, *build.constant(1))}};
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    auto* rows = static_cast<float*>(outputs[0]);
    for (int i = 0; i < 2; ++i) {
      const auto count = static_cast<size_t>(volume(in[i].dims));
      std::copy_n(static_cast<const float*>(inputs[i]), count, rows);
      rows += count;
    }
    const auto value = static_cast<float>(in[0].dims.d[0] * in[1].dims.d[0]);
    std::fill_n(static_cast<float*>(outputs[1]), volume(out[1].dims), value);
    return 0;
  }
};

// x [c] repeated as often as the shape input says: [r, c].
class Repeat final : public Plugin<Repeat> {
 public:
  static constexpr const char* kName = "Repeat";
  using Plugin::Plugin;
  Repeat(const Repeat&) = default;
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs* values, int32_t count, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    if (count != 1) return 1;
    out[0] = {2, {values[0].d[0], in[0].d[0]}};
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const auto count = static_cast<size_t>(in[0].dims.d[0]);
    for (int64_t row = 0; row < out[0].dims.d[0]; ++row)
      std::copy_n(static_cast<const float*>(inputs[0]), count, static_cast<float*>(outputs[0]) + row * in[0].dims.d[0]);
    return 0;
  }
};

// 0, 1, 2, ... as many as the shape input says; no tensor goes in.
class Numbers final : public Plugin<Numbers> {
 public:
  static constexpr const char* kName = "Numbers";
  using Plugin::Plugin;
  Numbers(const Numbers&) = default;
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType*, int32_t count) const noexcept override {
    outputs[0] = DataType::kFLOAT;
    return count;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs* values, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    out[0] = values[0];
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc* out, const void* const*, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    for (int64_t i = 0; i < out->dims.d[0]; ++i) static_cast<float*>(outputs[0])[i] = static_cast<float>(i);
    return 0;
  }
};

// Takes half precision in [N][H][W][C / 8 * 8] only and gives it in [N][C / 2][H][W][2]: y = x + channel.
class Vectors final : public Plugin<Vectors> {
 public:
  static constexpr const char* kName = "Vectors";
  using Plugin::Plugin;
  Vectors(const Vectors&) = default;
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].desc.type == DataType::kHALF &&
           all[at].desc.format == (at == 0 ? TensorFormat::kHWC8 : TensorFormat::kCHW2);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    if (in->format != TensorFormat::kHWC8 || out->format != TensorFormat::kCHW2) return 1;
    const auto& d = in->dims.d;
    const int64_t padded = (d[1] + 7) / 8 * 8;
    const int64_t pairs = (d[1] + 1) / 2;
    for (int64_t n = 0; n < d[0]; ++n) {
      for (int64_t pixel = 0; pixel < d[2] * d[3]; ++pixel) {
        for (int64_t c = 0; c < d[1]; ++c) {
          const float x = fromHalf(static_cast<const uint16_t*>(inputs[0])[(n * d[2] * d[3] + pixel) * padded + c]);
          const int64_t to = ((n * pairs + c / 2) * d[2] * d[3] + pixel) * 2 + c % 2;
          static_cast<uint16_t*>(outputs[0])[to] = toHalf(x + static_cast<float>(c));
        }
      }
    }
    return 0;
  }
};

// x + the sum of all bytes of its fields, their names and types: whatever fields it was made with must arrive.
class Fields final : public Plugin<Fields> {
 public:
  static constexpr const char* kName = "Fields";
  using Plugin::Plugin;
  Fields(const Fields&) = default;
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t) noexcept override {
    float sum = 0;
    for (const auto& field : kept()) {
      for (const char c : field->name) sum += static_cast<float>(c);
      for (const char c : field->bytes) sum += static_cast<float>(static_cast<uint8_t>(c));
      sum += 1000 * static_cast<float>(static_cast<int32_t>(field->type));
    }
    for (int64_t i = 0; i < volume(in->dims); ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + sum;
    return 0;
  }
};

class Never final : public Plugin<Never> {
 public:
  static constexpr const char* kName = "Never";
  using Plugin::Plugin;
  Never(const Never&) = default;
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t, int32_t) noexcept override {
    return false;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return 0;
  }
};

// Places of the elements of a matrix that are not 0, and their number as a size tensor: [2, n], or [n, 2] with the
// field "rows"; with "wide" the number is INT64. "fault" is what it does wrong, 1 to 6.
class Places final : public Plugin<Places> {
 public:
  static constexpr const char* kName = "Places";
  using Plugin::Plugin;
  Places(const Places&) = default;
  int32_t getNbOutputs() const noexcept override { return 2; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType*, int32_t) const noexcept override {
    outputs[0] = DataType::kINT32;
    outputs[1] = number("fault") == 1 ? DataType::kFLOAT : number("wide") != 0 ? DataType::kINT64 : DataType::kINT32;
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder& build) noexcept override {
    const auto* upper = build.operation(DimensionOperation::kPROD, *in[0].d[0], *in[0].d[1]);
    const auto* opt = build.operation(DimensionOperation::kCEIL_DIV, *upper, *build.constant(2));
    const auto* size = build.declareSizeTensor(number("fault") == 2 ? 2 : 1, *opt, *upper);
    if (size == nullptr) return 0;
    if (!size->isSizeTensor() || upper->isSizeTensor()) return 5;
    out[0].nbDims = 2;
    out[0].d[number("rows") != 0 ? 0 : 1] = size;
    out[0].d[number("rows") != 0 ? 1 : 0] = build.constant(2);
    out[1].nbDims = number("fault") == 3 ? 1 : 0;
    out[1].d[0] = build.constant(1);
    if (number("fault") == 4) build.declareSizeTensor(1, *upper, *upper);
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    DataType types[2];
    getOutputDataTypes(types, 2, nullptr, 1);
    return all[at].desc.type == (at == 0 ? DataType::kFLOAT : types[at - 1]) &&
           (at == 1 || all[at].desc.format == TensorFormat::kLINEAR);
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc* out,
                          int32_t) noexcept override {
    const int axis = number("rows") != 0 ? 0 : 1;
    const int64_t most = volume(in[0].max);
    const bool isRight = out[0].desc.dims.d[axis] == -1 && out[0].min.d[axis] == 0 && out[0].max.d[axis] == most &&
                         out[0].opt.d[axis] == (volume(in[0].opt) + 1) / 2 && out[1].desc.dims.nbDims == 0;
    return isRight ? 0 : 6;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const bool rows = number("rows") != 0;
    if (out[0].dims.d[rows ? 0 : 1] != -1 || out[0].format != TensorFormat::kLINEAR) return 8;
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* places = static_cast<int32_t*>(outputs[0]);
    const int64_t count = volume(in[0].dims);
    const int64_t width = in[0].dims.d[1];
    const int64_t found = count - std::count(x, x + count, 0.0F);
    for (int64_t i = 0, next = 0; i < count; ++i) {
      if (x[i] == 0) continue;
      places[rows ? 2 * next : next] = static_cast<int32_t>(i / width);
      places[rows ? 2 * next + 1 : next + found] = static_cast<int32_t>(i % width);
      ++next;
    }
    const int64_t said = number("fault") == 5 ? count + 1 : number("fault") == 6 ? -1 : found;
    if (number("wide") != 0) {
      *static_cast<int64_t*>(outputs[1]) = said;
    } else {
      *static_cast<int32_t*>(outputs[1]) = static_cast<int32_t>(said);
    }
    return 0;
  }

 private:
  int32_t number(std::string_view name) const noexcept {
    for (const auto& field : kept()) {
      if (field->name == name) return static_cast<int32_t>(field->bytes.at(0));
    }
    return 0;
  }
};

// Reports an error in the call that its field "where" names.
class Fails final : public Plugin<Fails> {
 public:
  static constexpr const char* kName = "Fails";
  using Plugin::Plugin;
  Fails(const Fails&) = default;
  int32_t getOutputDataTypes(DataType* out, int32_t n, const DataType* in, int32_t m) const noexcept override {
    return at("getOutputDataTypes") ? 7 : Plugin::getOutputDataTypes(out, n, in, m);
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder& build) noexcept override {
    out[0] = in[0];
    if (at("declareSizeTensor")) out[0].d[0] = build.declareSizeTensor(0, *in[0].d[0], *in[0].d[0]);
    if (at("foreign expression")) out[0].d[0] = nullptr;
    return at("getOutputShapes") ? 7 : 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return at("configurePlugin") ? 7 : 0;
  }
  int32_t setTactic(int32_t) noexcept override { return at("setTactic") ? 7 : 0; }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return at("onShapeChange") ? 7 : 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override {
    if (at("attach itself")) return this;
    return at("attachToContext") ? nullptr : clone();
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return at("enqueue") ? 7 : 0;
  }

 private:
  bool at(std::string_view call) const noexcept {
    for (const auto& field : kept()) {
      if (field->name == "where") return std::string_view(field->bytes.data(), field->bytes.size()) == call;
    }
    return false;
  }
};

// x + 1 where x lies: its output shares the memory of its input. With a second input, that one backwards, plus 1.
class Aliasing final : public Plugin<Aliasing, IPluginV3OneBuildV2> {
 public:
  static constexpr const char* kName = "Aliasing";
  using Plugin::Plugin;
  Aliasing(const Aliasing&) = default;
  int32_t getAliasedInput(int32_t) noexcept override { return 0; }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t inputs, const PluginTensorDesc*, int32_t) noexcept override {
    inputs_ = inputs;
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t) noexcept override {
    if (inputs[0] != outputs[0]) return 9;
    auto* values = static_cast<float*>(outputs[0]);
    const int64_t count = volume(in[0].dims);
    const auto* other = inputs_ == 2 ? static_cast<const float*>(inputs[1]) : nullptr;
    for (int64_t i = 0; i < count; ++i) values[i] = 1 + (other != nullptr ? other[count - 1 - i] : values[i]);
    return 0;
  }

 private:
  int32_t inputs_ = 0;
};

// x + the number of contexts that use the resource "count" of the registry, which all of them share.
class Sharing final : public Plugin<Sharing> {
 public:
  static constexpr const char* kName = "Sharing";
  using Plugin::Plugin;
  Sharing(const Sharing& other) : Plugin(other) {}
  ~Sharing() noexcept override {
    if (resource_ != nullptr) getPluginRegistry()->releasePluginResource("count");
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    auto* attached = new Sharing(*this);
    Count prototype;
    attached->resource_ = static_cast<Count*>(getPluginRegistry()->acquirePluginResource("count", &prototype));
    if (context == nullptr || context->getGpuAllocator() == nullptr || attached->resource_ == nullptr) return nullptr;
    ++*attached->resource_->users;
    return attached;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t) noexcept override {
    for (int64_t i = 0; i < volume(in->dims); ++i)
      static_cast<float*>(outputs[0])[i] =
          static_cast<const float*>(inputs[0])[i] + static_cast<float>(*resource_->users);
    return 0;
  }

 private:
  struct Count final : IPluginResource {
    IPluginResource* clone() noexcept override {
      auto* copy = new Count;
      copy->users = std::make_shared<std::atomic<int>>(0);
      return copy;
    }
    int32_t release() noexcept override {
      users.reset();
      return 0;
    }
    std::shared_ptr<std::atomic<int>> users;
  };
  Count* resource_ = nullptr;
};

}  // namespace

int liveObjects() { return live; }

const std::vector<IPluginCreatorInterface*>& creatorsV3() {
  static Creator<Scale> scale;
  static Creator<Pair> pair;
  static Creator<Repeat> repeat;
  static Creator<Numbers> numbers;
  static Creator<Vectors> vectors;
  static Creator<Fields> fields;
  static Creator<Never> never;
  static Creator<Fails> fails;
  static Creator<Aliasing> aliasing;
  static Creator<Sharing> sharing;
  static Creator<Places> places;
  static const std::vector<IPluginCreatorInterface*> kAll{&scale, &pair,  &repeat,   &numbers, &vectors, &fields,
                                                          &never, &fails, &aliasing, &sharing, &places};
  return kAll;
}

}  // namespace library

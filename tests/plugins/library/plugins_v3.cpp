// SPDX-License-Identifier: Apache-2.0
// Plugins of the interface IPluginV3; each shows one thing that the interface can say.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>

#include "on_host.h"
#include "plugin_v3.h"

namespace library {
namespace {

// y = factor * x in FP32, FP16 or INT8, by one of two tactics, through the workspace. Refuses to run where an earlier
// step of the protocol is missing.
class Scale final : public Plugin<Scale> {
 public:
  static constexpr const char* kName = "Scale";
  using Plugin::Plugin;
  Scale(const Scale&) = default;
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    const auto& desc = all[at].desc;
    const bool isKnown = desc.type == DataType::kFLOAT || desc.type == DataType::kHALF || desc.type == DataType::kINT8;
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
                  void* workspace, cudaStream_t stream) noexcept override {
    if (tactic != 3 && tactic != 5) return 4;
    if (volume(shape_) != volume(in->dims)) return 5;
    const float factor = floatField(fields(), "factor", 1);
    OnHost host(stream);
    switch (in->type) {
      case DataType::kHALF: scale<uint16_t>(host, inputs[0], outputs[0], workspace, factor); break;
      case DataType::kINT8: scale<int8_t>(host, inputs[0], outputs[0], workspace, factor); break;
      default: scale<float>(host, inputs[0], outputs[0], workspace, factor);
    }
    return 0;
  }

 private:
  static void put(float value, float& to) { to = value; }
  static void put(float value, uint16_t& to) { to = toHalf(value); }
  static void put(float value, int8_t& to) {
    to = static_cast<int8_t>(std::clamp(std::nearbyint(value), -128.0F, 127.0F));
  }
  static float number(float value) { return value; }
  static float number(uint16_t value) { return fromHalf(value); }
  static float number(int8_t value) { return value; }
  template <typename T>
  void scale(OnHost& host, const void* input, void* output, void* workspace, float factor) const {
    const int64_t count = volume(shape_);
    const T* const x = host.read<T>(input, count);
    T* const y = host.write<T>(output, count);
    auto* const middle = host.write<float>(workspace, count);
    for (int64_t i = 0; i < count; ++i) middle[i] = number(x[i]);
    for (int64_t i = 0; i < count; ++i) put(factor * middle[i], y[i]);
  }
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
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    OnHost host(stream);
    auto* rows = host.write<float>(outputs[0], volume(out[0].dims));
    for (int i = 0; i < 2; ++i) {
      const int64_t count = volume(in[i].dims);
      std::copy_n(host.read<float>(inputs[i], count), count, rows);
      rows += count;
    }
    const auto value = static_cast<float>(in[0].dims.d[0] * in[1].dims.d[0]);
    std::fill_n(host.write<float>(outputs[1], volume(out[1].dims)), volume(out[1].dims), value);
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
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    OnHost host(stream);
    const int64_t count = in[0].dims.d[0];
    const auto* const x = host.read<float>(inputs[0], count);
    auto* const y = host.write<float>(outputs[0], volume(out[0].dims));
    for (int64_t row = 0; row < out[0].dims.d[0]; ++row) std::copy_n(x, count, y + row * count);
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
                  cudaStream_t stream) noexcept override {
    OnHost host(stream);
    auto* const y = host.write<float>(outputs[0], out->dims.d[0]);
    for (int64_t i = 0; i < out->dims.d[0]; ++i) y[i] = static_cast<float>(i);
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
                  void*, cudaStream_t stream) noexcept override {
    float sum = 0;
    for (const auto& field : kept()) {
      for (const char c : field->name) sum += static_cast<float>(c);
      for (const char c : field->bytes) sum += static_cast<float>(static_cast<uint8_t>(c));
      sum += 1000 * static_cast<float>(static_cast<int32_t>(field->type));
    }
    OnHost host(stream);
    const int64_t count = volume(in->dims);
    const auto* const x = host.read<float>(inputs[0], count);
    auto* const y = host.write<float>(outputs[0], count);
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] + sum;
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
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    const bool rows = number("rows") != 0;
    if (out[0].dims.d[rows ? 0 : 1] != -1 || out[0].format != TensorFormat::kLINEAR) return 8;
    OnHost host(stream);
    const int64_t count = volume(in[0].dims);
    const auto* const x = host.read<float>(inputs[0], count);
    const int64_t width = in[0].dims.d[1];
    const int64_t found = count - std::count(x, x + count, 0.0F);
    auto* const places = host.write<int32_t>(outputs[0], 2 * found);
    for (int64_t i = 0, next = 0; i < count; ++i) {
      if (x[i] == 0) continue;
      places[rows ? 2 * next : next] = static_cast<int32_t>(i / width);
      places[rows ? 2 * next + 1 : next + found] = static_cast<int32_t>(i % width);
      ++next;
    }
    const int64_t said = number("fault") == 5 ? count + 1 : number("fault") == 6 ? -1 : found;
    if (number("wide") != 0) {
      *host.write<int64_t>(outputs[1], 1) = said;
    } else {
      *host.write<int32_t>(outputs[1], 1) = static_cast<int32_t>(said);
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
                  void*, cudaStream_t stream) noexcept override {
    if (inputs[0] != outputs[0]) return 9;
    OnHost host(stream);
    const int64_t count = volume(in[0].dims);
    const auto* const old = host.read<float>(inputs[0], count);
    const auto* const other = inputs_ == 2 ? host.read<float>(inputs[1], count) : nullptr;
    auto* const values = host.write<float>(outputs[0], count);
    for (int64_t i = 0; i < count; ++i) values[i] = 1 + (other != nullptr ? other[count - 1 - i] : old[i]);
    return 0;
  }

 private:
  int32_t inputs_ = 0;
};

// x + the number of contexts that use the resource "count" of the registry, which all of them share. Each has 96 bytes
// of its context's allocator.
class Sharing final : public Plugin<Sharing> {
 public:
  static constexpr const char* kName = "Sharing";
  using Plugin::Plugin;
  Sharing(const Sharing& other) : Plugin(other) {}
  ~Sharing() noexcept override {
    if (resource_ != nullptr) getPluginRegistry()->releasePluginResource("count");
    if (memory_ != nullptr) allocator_->deallocateAsync(memory_, nullptr);
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    if (context == nullptr || context->getGpuAllocator() == nullptr) return nullptr;
    auto attached = std::make_unique<Sharing>(*this);
    attached->allocator_ = context->getGpuAllocator();
    attached->memory_ = attached->allocator_->allocateAsync(96, 256, 0, nullptr);
    if (attached->memory_ == nullptr) return nullptr;
    Count prototype;
    attached->resource_ = static_cast<Count*>(getPluginRegistry()->acquirePluginResource("count", &prototype));
    if (attached->resource_ == nullptr) return nullptr;
    ++*attached->resource_->users;
    return attached.release();
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t stream) noexcept override {
    OnHost host(stream);
    const int64_t count = volume(in->dims);
    const auto* const x = host.read<float>(inputs[0], count);
    auto* const y = host.write<float>(outputs[0], count);
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] + static_cast<float>(*resource_->users);
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
  IGpuAllocator* allocator_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace

int liveObjects() { return live; }

const std::vector<IPluginCreatorInterface*>& creatorsV3() {
  static Creator<Scale> scale;
  static Creator<Pair> pair;
  static Creator<Repeat> repeat;
  static Creator<Numbers> numbers;
  static Creator<Fields> fields;
  static Creator<Never> never;
  static Creator<Aliasing> aliasing;
  static Creator<Sharing> sharing;
  static Creator<Places> places;
  static const std::vector<IPluginCreatorInterface*> kAll = [] {
    std::vector<IPluginCreatorInterface*> all{&scale, &pair,     &repeat,  &numbers, &fields,
                                              &never, &aliasing, &sharing, &places};
    for (const auto& more : {creatorsFormats(), creatorsStream(), creatorsHostile()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kAll;
}

}  // namespace library

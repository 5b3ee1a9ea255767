// SPDX-License-Identifier: Apache-2.0
// A plugin with the capabilities that functions of Python have: 2x + tactic, read and written by the strides it is
// given.
#include <impl/NvInferPythonPlugin.h>

#include <algorithm>

#include "library.h"
#include "on_host.h"

namespace library {
namespace {

class Quick final : public IPluginV3,
                    public IPluginV3QuickCore,
                    public IPluginV3QuickBuild,
                    public IPluginV3QuickRuntime {
 public:
  explicit Quick(TensorFormat format) : format_(format) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3QuickCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3QuickBuild*>(this);
    return static_cast<IPluginV3QuickRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Quick(*this); }
  const char* getPluginName() const noexcept override { return "Quick"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }

  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs, const int32_t* ranks,
                             int32_t) const noexcept override {
    outputs[0] = inputs[0];
    return ranks[0] == 4 ? 0 : 4;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t, DimsExprs* outputs, int32_t,
                          IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return in[0].desc.format == format_ ? 0 : 5;
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t, int32_t) noexcept override {
    return 2;
  }
  // The first is for a type that is not asked for.
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* operands, int32_t inputs, int32_t outputs,
                                         PluginTensorDesc* combinations, int32_t count) noexcept override {
    for (int32_t i = 0; i < count * (inputs + outputs); ++i) {
      combinations[i] = operands[i % (inputs + outputs)].desc;
      combinations[i].type = i < inputs + outputs ? DataType::kINT64 : DataType::kFLOAT;
      combinations[i].format = format_;
    }
    return 0;
  }
  int32_t getNbTactics() noexcept override { return 1; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 3;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    tactic_ = tactic;
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  const Dims* inputStrides, const Dims* outputStrides, int32_t, int32_t,
                  cudaStream_t stream) noexcept override {
    OnHost host(stream);
    const Dims& dims = in[0].dims;
    const auto* const x = host.read<float>(inputs[0], extent(dims, inputStrides[0]));
    const auto places = extent(dims, outputStrides[0]);
    auto* const y = host.write<float>(outputs[0], places);
    std::fill_n(y, places, 0.0F);
    int64_t at[4] = {};
    for (at[0] = 0; at[0] < dims.d[0]; ++at[0]) {
      for (at[1] = 0; at[1] < dims.d[1]; ++at[1]) {
        for (at[2] = 0; at[2] < dims.d[2]; ++at[2]) {
          for (at[3] = 0; at[3] < dims.d[3]; ++at[3]) {
            int64_t from = 0, to = 0;
            for (int axis = 0; axis < 4; ++axis) {
              from += at[axis] * inputStrides[0].d[axis];
              to += at[axis] * outputStrides[0].d[axis];
            }
            y[to] = 2 * x[from] + static_cast<float>(tactic_);
          }
        }
      }
    }
    return inputStrides[0].nbDims == 4 ? 0 : 6;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = {"format", &format_, PluginFieldType::kINT32, 1};
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  // Places from the first element to the last one.
  static int64_t extent(const Dims& dims, const Dims& strides) {
    int64_t places = 1;
    for (int32_t axis = 0; axis < dims.nbDims; ++axis) places += (dims.d[axis] - 1) * strides.d[axis];
    return volume(dims) == 0 ? 0 : places;
  }
  TensorFormat format_;
  int32_t tactic_ = 0;
  PluginField field_;
  PluginFieldCollection fields_{};
};

class QuickCreator final : public IPluginCreatorV3Quick {
 public:
  const char* getPluginName() const noexcept override { return "Quick"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  // Its own name and namespace come in every phase.
  IPluginV3* createPlugin(const char* name, const char* space, const PluginFieldCollection* fields, TensorRTPhase,
                          QuickPluginCreationRequest request) noexcept override {
    const auto* field = find(fields, "format");
    const bool isMine = std::strcmp(name, "Quick") == 0 && std::strcmp(space, "test") == 0;
    if (!isMine || field == nullptr || request == QuickPluginCreationRequest::kSTRICT_AOT) return nullptr;
    return new Quick(*static_cast<const TensorFormat*>(field->data));
  }

 private:
  PluginFieldCollection fields_{};
};

}  // namespace

IPluginCreatorInterface* creatorQuick() {
  static QuickCreator creator;
  return &creator;
}

}  // namespace library

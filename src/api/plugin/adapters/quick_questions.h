// What plugins are asked that are functions in Python: types with ranks, and combinations as a list.
#pragma once

#include <impl/NvInferPythonPlugin.h>

#include <algorithm>

#include "api/plugin/adapters/v3_questions.h"

namespace tenon::api {

template <typename Build>
class QuickQuestions : public V3Questions<Build> {
 public:
  void prepare(std::span<const nv::DataType> types, std::span<const Shape> inputs) override {
    ranks_.clear();
    for (const auto& shape : inputs) ranks_.push_back(sizeOf(shape));
    (void)outputTypes(types);
  }

  std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) override {
    std::vector<nv::DataType> types(static_cast<size_t>(this->outputCount()), nv::DataType::kFLOAT);
    ranks_.resize(inputs.size());
    succeeds(build().getOutputDataTypes(types.data(), sizeOf(types), inputs.data(), ranks_.data(), sizeOf(inputs)),
             "getOutputDataTypes");
    return types;
  }

  int aliasedInput(int output) override { return build().getAliasedInput(output); }

  // The search asks position by position; the plugin has a list of whole combinations for the types in question.
  bool supports(int position, const PluginDescs& operands, int inputs) override {
    const auto count = operands.size();
    const auto& list = combinations(operands, inputs);
    for (size_t first = 0; first + count <= list.size(); first += count) {
      const bool fits = std::equal(operands.begin(), operands.begin() + position + 1,
                                   list.begin() + static_cast<std::ptrdiff_t>(first),
                                   [](const nv::DynamicPluginTensorDesc& asked, const nv::PluginTensorDesc& offered) {
                                     return asked.desc.type == offered.type && asked.desc.format == offered.format;
                                   });
      if (fits) return true;
    }
    return false;
  }

 protected:
  QuickQuestions(std::unique_ptr<nv::IPluginV3> plugin, const char* interfaceName, const char* buildKind)
      : V3Questions<Build>(std::move(plugin), interfaceName, buildKind) {
    const auto* core = capability<nv::IPluginV3QuickCore>(*plugin_, nv::PluginCapabilityType::kCORE, kQuickCoreKind);
    identity_ = {kQuickInterface, orEmpty(core->getPluginName()), orEmpty(core->getPluginVersion()),
                 orEmpty(core->getPluginNamespace())};
  }

  using V3Questions<Build>::build;
  using V3Questions<Build>::plugin_;
  using PluginAdapter::identity_;
  using PluginAdapter::succeeds;
  std::vector<int32_t> ranks_;  // of the inputs

 private:
  // All operands of each combination in a row; asked for again only for other types.
  const std::vector<nv::PluginTensorDesc>& combinations(PluginDescs operands, int inputs) {
    std::vector<nv::DataType> types;
    for (auto& operand : operands) {
      types.push_back(operand.desc.type);
      operand.desc.format = nv::TensorFormat::kLINEAR;
    }
    if (types == types_ && !combinations_.empty()) return combinations_;
    (void)outputTypes(std::span(types).first(static_cast<size_t>(inputs)));  // the list is for the types asked for last
    const int32_t outputs = sizeOf(operands) - inputs;
    const int32_t count = build().getNbSupportedFormatCombinations(operands.data(), inputs, outputs);
    constexpr int32_t kMost = 1 << 14;
    checkUser(count >= 0 && count <= kMost, "{}: getNbSupportedFormatCombinations() returned {}; expected 0 to {}",
              identity_.text(), count, kMost);
    combinations_.assign(static_cast<size_t>(count) * operands.size(), nv::PluginTensorDesc{});
    if (count > 0) {
      succeeds(build().getSupportedFormatCombinations(operands.data(), inputs, outputs, combinations_.data(), count),
               "getSupportedFormatCombinations");
    }
    types_ = types;
    return combinations_;
  }

  std::vector<nv::DataType> types_;
  std::vector<nv::PluginTensorDesc> combinations_;
};

}  // namespace tenon::api

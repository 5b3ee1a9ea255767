// Weak typing: builder flags, ILayer::setPrecision and setOutputType.
#include "api/builder/type_constraints.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/half_types.h"
namespace tenon::api {
namespace {

using nv::BuilderFlag;

struct TypeFlag {
  DataType type;
  BuilderFlag flag;
  const char* text;  // as TensorRT's messages say it
  const char* flagText;
};
// The types that a layer may have only where a flag allows them.
constexpr TypeFlag kTypeFlags[] = {{DataType::kF16, BuilderFlag::kFP16, "fp16", "kFP16"},
                                   {DataType::kBF16, BuilderFlag::kBF16, "bf16", "kBF16"},
                                   {DataType::kI8, BuilderFlag::kINT8, "int8", "kINT8"},
                                   {DataType::kF8E4M3, BuilderFlag::kFP8, "fp8", "kFP8"},
                                   {DataType::kI4, BuilderFlag::kINT4, "int4", "kINT4"}};

// Precisions and output types of a layer that stand for a computation in that type. An output type that converts is
// part of the network.
std::vector<DataType> typesOf(const LayerBase& layer) {
  std::vector<DataType> result;
  if (layer.precisionIsSet()) result.push_back(fromApi(layer.getPrecision()));
  for (const auto& output : layer.outputs()) {
    if (output->outputType() && isHalf(*output->outputType())) result.push_back(*output->outputType());
  }
  return result;
}

void checkAllowed(const LayerBase& layer, const BuilderConfig& config) {
  for (const DataType type : typesOf(layer)) {
    for (const auto& row : kTypeFlags) {
      if (row.type != type || config.getFlag(row.flag)) continue;
      throw CodedError(
          nv::ErrorCode::kINVALID_CONFIG,
          "{0} precision has been set for a layer or layer output, but {0} is not configured in the "
          "builder: layer '{1}'; set BuilderFlag::{2}, or reset the precision and output types of the layer",
          row.text, layer.name(), row.flagText);
    }
  }
}

// Says which preferences nothing here can meet: a line for each type, with the first of its layers.
void warnOfUnmet(const std::map<DataType, std::vector<std::string>>& unmet, Log& log) {
  constexpr size_t kMostNames = 8;
  for (const auto& [type, layers] : unmet) {
    const bool all = layers.size() <= kMostNames;
    const std::vector<std::string> named(layers.begin(), all ? layers.end() : layers.begin() + kMostNames);
    log.warning(
        "No implementation of layer{} '{}'{} obeys the requested constraints: the requested precision {} is ignored, "
        "since no kernel computes in it; the build chooses",
        layers.size() == 1 ? "" : "s", fmt::join(named, "', '"),
        all ? "" : fmt::format(" and {} more", layers.size() - kMostNames), name(type));
  }
}

}  // namespace

bool constrainsTypes(const BuilderConfig& config) {
  return config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS) ||
         config.getFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
}

bool asksForHalves(const LayerBase& layer) {
  const auto types = typesOf(layer);
  return std::any_of(types.begin(), types.end(), [](DataType type) { return isHalf(type); });
}

compile::TypeOptions typeOptions(const Network& network, const BuilderConfig& config, Log& log) {
  compile::TypeOptions result;
  if (network.stronglyTyped()) return result;
  if (config.getFlag(BuilderFlag::kFP16)) result.halves.push_back(DataType::kF16);
  if (config.getFlag(BuilderFlag::kBF16)) result.halves.push_back(DataType::kBF16);
  for (const auto& layer : network.layers()) checkAllowed(*layer, config);
  if (!constrainsTypes(config)) return result;
  // Where both flags are set, the demand counts.
  result.obey = config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  std::map<DataType, std::vector<std::string>> unmet;
  for (const auto& layer : network.layers()) {
    for (const auto& output : layer->outputs()) {
      const auto type = output->outputType();
      if (type && (*type == DataType::kF32 || isHalf(*type))) result.tensors[output->name()] = *type;
    }
    if (!layer->precisionIsSet()) continue;
    const auto precision = fromApi(layer->getPrecision());
    if (precision == DataType::kF32 || isHalf(precision)) {
      result.layers[layer->name()] = precision;
      continue;
    }
    // Integers are no choice: a layer computes in them where its operands are integers.
    const bool isChoice = std::any_of(std::begin(kTypeFlags), std::end(kTypeFlags),
                                      [&](const TypeFlag& row) { return row.type == precision; });
    if (!isChoice) continue;
    if (!result.obey) {
      unmet[precision].push_back(layer->name());
      continue;
    }
    throw Unsupported(
        "Could not find any implementation for node {} that obeys the requested constraints: no kernel computes a layer "
        "in {} of its own accord; quantize with layers (Q/DQ), or clear BuilderFlag::kOBEY_PRECISION_CONSTRAINTS",
        layer->name(), name(precision));
  }
  warnOfUnmet(unmet, log);
  return result;
}

}  // namespace tenon::api

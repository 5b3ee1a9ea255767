// What the command line says about a network and its builder configuration.
#include "network.h"

#include "../options/shapes.h"
#include "../options/values.h"
#include "failure.h"
#include "log.h"

#include <algorithm>

namespace tenon::trtexec {

using nvinfer1::BuilderFlag;
using nvinfer1::ITensor;

namespace {

void setIoFormat(ITensor& tensor, const std::vector<IoFormat>& formats, size_t index, bool stronglyTyped) {
  constexpr uint32_t kLinear = 1U << static_cast<uint32_t>(nvinfer1::TensorFormat::kLINEAR);
  if (formats.empty()) {
    tensor.setAllowedFormats(kLinear);
    return;
  }
  const IoFormat& format = formats[formats.size() == 1 ? 0 : index];
  // A strongly typed network owns its types; asking for the same one again is fine.
  if (!stronglyTyped) {
    tensor.setType(format.type);
  } else if (tensor.getType() != format.type) {
    throw Failure("tensor '{}' is {} in this strongly typed network; the I/O format flags ask for {}", tensor.getName(),
                  dataTypeName(tensor.getType()), dataTypeName(format.type));
  }
  tensor.setAllowedFormats(format.formats);
}

void checkCount(std::string_view flag, size_t given, int32_t tensors) {
  if (given > 1 && given != static_cast<size_t>(tensors)) {
    throw Failure("{} has {} entries and the network has {} such tensors; give one for each, or one for all", flag,
                  given, tensors);
  }
}

//! The last entry whose pattern fits the layer, or null.
template <typename T>
const T* lastMatch(const std::vector<std::pair<std::string, T>>& entries, const char* layer) {
  const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                  [&](const auto& entry) { return matchesName(entry.first, layer); });
  return found == entries.rend() ? nullptr : &found->second;
}

template <typename T>
void warnOfUnused(std::string_view flag, const std::vector<std::pair<std::string, T>>& entries,
                  const nvinfer1::INetworkDefinition& network) {
  for (const auto& [pattern, value] : entries) {
    bool used = false;
    for (int32_t i = 0; i < network.getNbLayers() && !used; ++i) {
      used = matchesName(pattern, network.getLayer(i)->getName());
    }
    if (!used) {
      warn("{}: the network has no layer '{}'", flag, pattern);
    }
  }
}

void setLayerTypes(nvinfer1::INetworkDefinition& network, const BuildOptions& options) {
  if (options.precisionConstraints == PrecisionConstraints::kNone) {
    return;
  }
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    nvinfer1::ILayer& layer = *network.getLayer(i);
    if (const auto* precision = lastMatch(options.layerPrecisions, layer.getName())) {
      layer.setPrecision(*precision);
    }
    if (const auto* types = lastMatch(options.layerOutputTypes, layer.getName())) {
      const int32_t outputs = layer.getNbOutputs();
      if (types->size() != 1 && types->size() != static_cast<size_t>(outputs)) {
        throw Failure("--layerOutputTypes: layer '{}' has {} outputs, {} types are given", layer.getName(), outputs,
                      types->size());
      }
      for (int32_t output = 0; output < outputs; ++output) {
        layer.setOutputType(output, (*types)[types->size() == 1 ? 0 : static_cast<size_t>(output)]);
      }
    }
  }
  warnOfUnused("--layerPrecisions", options.layerPrecisions, network);
  warnOfUnused("--layerOutputTypes", options.layerOutputTypes, network);
}

ITensor* findTensor(const nvinfer1::INetworkDefinition& network, const std::string& name) {
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    if (name == network.getInput(i)->getName()) {
      return network.getInput(i);
    }
  }
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const nvinfer1::ILayer& layer = *network.getLayer(i);
    for (int32_t output = 0; output < layer.getNbOutputs(); ++output) {
      if (ITensor* tensor = layer.getOutput(output); tensor != nullptr && name == tensor->getName()) {
        return tensor;
      }
    }
  }
  return nullptr;
}

constexpr nvinfer1::OptProfileSelector kSelectors[] = {
    nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT, nvinfer1::OptProfileSelector::kMAX};

bool isDynamic(const ITensor& input) {
  const Shape shape = toShape(input.getDimensions());
  return input.isShapeTensor() || std::count(shape.begin(), shape.end(), -1) > 0;
}

//! The shape to use where no flag says one: 1 for each unknown extent; for a shape input, as many values of 1.
Shape defaultShape(const ITensor& input) {
  Shape shape = toShape(input.getDimensions());
  std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{1});
  if (input.isShapeTensor()) {
    int64_t count = 1;
    for (const int64_t extent : shape) {
      count *= extent;
    }
    return Shape(static_cast<size_t>(count), 1);
  }
  return shape;
}

void checkRank(const ITensor& input, const Shape& shape) {
  const Shape own = toShape(input.getDimensions());
  bool fits = own.size() == shape.size();
  for (size_t i = 0; fits && i < own.size(); ++i) {
    fits = own[i] == -1 || own[i] == shape[i];
  }
  if (!fits) {
    throw Failure("input '{}' is {} in the model; the shape {} does not fit", input.getName(), shapeText(own),
                  shapeText(shape));
  }
}

void addInput(nvinfer1::IOptimizationProfile& profile, const ITensor& input, const ProfileShapes* shapes) {
  const char* name = input.getName();
  const bool given = shapes != nullptr && findShape(shapes->bySelector[1], name) != nullptr;
  if (!given) {
    warn(
        "input '{0}' has dynamic dimensions ({1}), and no flag gives its shape: it is set to {2}; "
        "--shapes={0}:{2} with other extents sets another",
        name, shapeText(toShape(input.getDimensions())), shapeText(defaultShape(input)));
  }
  for (size_t selector = 0; selector < 3; ++selector) {
    const Shape shape = given ? *findShape(shapes->bySelector[selector], name) : defaultShape(input);
    bool accepted = false;
    if (input.isShapeTensor()) {
      accepted = profile.setShapeValuesV2(name, kSelectors[selector], shape.data(), static_cast<int32_t>(shape.size()));
    } else {
      checkRank(input, shape);
      accepted = profile.setDimensions(name, kSelectors[selector], toDims(shape));
    }
    if (!accepted) {
      throw Failure("the optimization profile does not accept the shape {} of input '{}'", shapeText(shape), name);
    }
  }
}

//! Names that no input has are mistakes that would otherwise show as a shape of 1.
void checkNames(const ProfileShapes& shapes, const nvinfer1::INetworkDefinition& network) {
  for (const auto& [pattern, shape] : shapes.bySelector[1]) {
    bool used = false;
    std::string names;
    for (int32_t i = 0; i < network.getNbInputs(); ++i) {
      const ITensor& input = *network.getInput(i);
      const bool matches = matchesName(pattern, input.getName());
      if (matches && !isDynamic(input)) {
        checkRank(input, shape);
      }
      used = used || matches;
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", input.getName());
    }
    if (!used) {
      throw Failure("the shape flags name an input '{}', which the network does not have; its inputs are {}", pattern,
                    names);
    }
  }
}

//! Attentions are no layers; the layers at their ends know them.
void setDecomposable(nvinfer1::INetworkDefinition& network, const std::string& name) {
  std::string known;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    auto* layer = network.getLayer(i);
    if (layer->getType() != nvinfer1::LayerType::kATTENTION_OUTPUT) {
      continue;
    }
    nvinfer1::IAttention& attention = *static_cast<nvinfer1::IAttentionOutputLayer*>(layer)->getAttention();
    if (attention.getName() == name) {
      attention.setDecomposable(true);
      return;
    }
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", attention.getName());
  }
  throw Failure("--decomposableAttentions: the network has no attention '{}'; it has {}", name,
                known.empty() ? "none" : known);
}

}  // namespace

nvinfer1::Dims toDims(const Shape& shape) {
  nvinfer1::Dims dims{};
  if (shape.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS)) {
    throw Failure("the shape {} has {} dimensions; at most {} are possible", shapeText(shape), shape.size(),
                  int32_t{nvinfer1::Dims::MAX_DIMS});
  }
  dims.nbDims = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), dims.d);
  return dims;
}

Shape toShape(const nvinfer1::Dims& dims) { return Shape(dims.d, dims.d + std::max(dims.nbDims, 0)); }

void setUpNetwork(nvinfer1::INetworkDefinition& network, const BuildOptions& options) {
  checkCount("--inputIOFormats", options.inputFormats.size(), network.getNbInputs());
  checkCount("--outputIOFormats", options.outputFormats.size(), network.getNbOutputs());
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    setIoFormat(*network.getInput(i), options.inputFormats, static_cast<size_t>(i), options.stronglyTyped);
  }
  for (int32_t i = 0; i < network.getNbOutputs(); ++i) {
    setIoFormat(*network.getOutput(i), options.outputFormats, static_cast<size_t>(i), options.stronglyTyped);
  }
  setLayerTypes(network, options);
  for (const std::string& name : options.debugTensors) {
    ITensor* tensor = findTensor(network, name);
    if (tensor == nullptr) {
      throw Failure("--markDebug: the network has no tensor '{}'", name);
    }
    if (!network.markDebug(*tensor)) {
      throw Failure("--markDebug: tensor '{}' cannot be marked; the messages above say why", name);
    }
  }
  if (options.debugUnfusedTensors && !network.markUnfusedTensorsAsDebugTensors()) {
    throw Failure("--markUnfusedTensorsAsDebugTensors: the tensors cannot be marked; the messages above say why");
  }
  for (const std::string& name : options.decomposableAttentions) {
    setDecomposable(network, name);
  }
}

void setUpConfig(nvinfer1::IBuilderConfig& config, const BuildOptions& options) {
  const std::pair<bool, BuilderFlag> flags[] = {
      {options.sparsity, BuilderFlag::kSPARSE_WEIGHTS},
      {options.fp16 || options.best, BuilderFlag::kFP16},
      {options.bf16 || options.best, BuilderFlag::kBF16},
      {options.int8 || options.best, BuilderFlag::kINT8},
      {options.precisionConstraints == PrecisionConstraints::kPrefer, BuilderFlag::kPREFER_PRECISION_CONSTRAINTS},
      {options.precisionConstraints == PrecisionConstraints::kObey, BuilderFlag::kOBEY_PRECISION_CONSTRAINTS},
      {!options.builderCache, BuilderFlag::kDISABLE_TIMING_CACHE},
      {!options.compilationCache, BuilderFlag::kDISABLE_COMPILATION_CACHE},
      {options.monitorMemory, BuilderFlag::kMONITOR_MEMORY},
      {options.excludeLeanRuntime, BuilderFlag::kEXCLUDE_LEAN_RUNTIME},
      {options.errorOnTimingCacheMiss, BuilderFlag::kERROR_ON_TIMING_CACHE_MISS},
      {options.directIo, BuilderFlag::kDIRECT_IO},
  };
  for (const auto& [on, flag] : flags) {
    if (on) {
      config.setFlag(flag);
    }
  }
  if (!options.tf32) {
    config.clearFlag(BuilderFlag::kTF32);
  }
  for (const auto& [pool, bytes] : options.memoryPools) {
    config.setMemoryPoolLimit(pool, bytes);
  }
  config.setProfilingVerbosity(options.profilingVerbosity);
  if (options.avgTiming) {
    config.setAvgTimingIterations(*options.avgTiming);
  }
  if (options.optimizationLevel) {
    config.setBuilderOptimizationLevel(*options.optimizationLevel);
  }
  if (options.maxTactics) {
    config.setMaxNbTactics(*options.maxTactics);
  }
  if (options.maxAuxStreams && *options.maxAuxStreams >= 0) {
    config.setMaxAuxStreams(*options.maxAuxStreams);
  }
  for (const auto& [feature, on] : options.previewFeatures) {
    config.setPreviewFeature(feature, on);
  }
  if (options.tilingLevel) {
    config.setTilingOptimizationLevel(*options.tilingLevel);
  }
  if (options.l2LimitForTiling && !config.setL2LimitForTiling(*options.l2LimitForTiling)) {
    throw Failure("--l2LimitForTiling: the builder does not take {} bytes", *options.l2LimitForTiling);
  }
  if (options.tacticSourcesOn != 0 || options.tacticSourcesOff != 0) {
    // A builder that nobody restricts takes from every source, although the getter does not list all of them.
    constexpr nvinfer1::TacticSources kAll = (1U << nvinfer1::EnumMax<nvinfer1::TacticSource>()) - 1;
    const auto sources = kAll & ~options.tacticSourcesOff;
    if (!config.setTacticSources(sources)) {
      throw Failure("--tacticSources: the builder does not accept this set of sources");
    }
  }
}

void setUpProfiles(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config,
                   const nvinfer1::INetworkDefinition& network, const BuildOptions& options) {
  for (const auto& [index, shapes] : options.profiles) {
    checkNames(shapes, network);
  }
  const size_t count = std::max<size_t>(options.profiles.size(), 1);
  for (size_t index = 0; index < count; ++index) {
    nvinfer1::IOptimizationProfile* profile = builder.createOptimizationProfile();
    const auto given = options.profiles.find(static_cast<int32_t>(index));
    bool dynamic = false;
    for (int32_t i = 0; i < network.getNbInputs(); ++i) {
      if (isDynamic(*network.getInput(i))) {
        addInput(*profile, *network.getInput(i), given == options.profiles.end() ? nullptr : &given->second);
        dynamic = true;
      }
    }
    if (dynamic && (!profile->isValid() || config.addOptimizationProfile(profile) < 0)) {
      throw Failure("optimization profile {} is not valid for this network; the messages above say why", index);
    }
  }
}

}  // namespace tenon::trtexec

// Tables of the options that a build refuses, and of those that it takes without effect. scripts/status.py reads them.
#include "api/builder/build_options.h"

#include <algorithm>

#include "api/builder/type_constraints.h"
#include "core/half_types.h"

namespace tenon::api {
namespace {

using nv::BuilderFlag;
using nv::MemoryPoolType;
using nv::PreviewFeature;
using nv::TacticSource;

// The public names, in order of value; null where a build honours the flag, or where kIdleOptions says what it does not
// change.
constexpr const char* kRefusedFlags[] = {nullptr,  // kFP16
                                         nullptr,  // kINT8
                                         nullptr,  // kDEBUG
                                         nullptr,  // kGPU_FALLBACK
                                         "kREFIT",
                                         nullptr,  // kDISABLE_TIMING_CACHE
                                         nullptr,  // kTF32
                                         nullptr,  // kSPARSE_WEIGHTS
                                         "kSAFETY_SCOPE",
                                         nullptr,  // kOBEY_PRECISION_CONSTRAINTS
                                         nullptr,  // kPREFER_PRECISION_CONSTRAINTS
                                         nullptr,  // kDIRECT_IO
                                         nullptr,  // kREJECT_EMPTY_ALGORITHMS
                                         "kVERSION_COMPATIBLE",
                                         nullptr,  // kEXCLUDE_LEAN_RUNTIME
                                         "kFP8",
                                         nullptr,  // kERROR_ON_TIMING_CACHE_MISS
                                         nullptr,  // kBF16
                                         nullptr,  // kDISABLE_COMPILATION_CACHE
                                         "kSTRIP_PLAN",
                                         "kREFIT_IDENTICAL",
                                         "kWEIGHT_STREAMING",
                                         "kINT4",
                                         "kREFIT_INDIVIDUAL",
                                         nullptr,  // kSTRICT_NANS
                                         nullptr,  // kMONITOR_MEMORY
                                         "kFP4",
                                         nullptr,  // kEDITABLE_TIMING_CACHE
                                         "kDISTRIBUTIVE_INDEPENDENCE"};
static_assert(std::size(kRefusedFlags) == static_cast<size_t>(nv::EnumMax<BuilderFlag>()));

template <BuilderFlag kFlag>
bool isOn(const BuildFacts& build) {
  return build.config.getFlag(kFlag);
}

// Flags of weakly typed networks that permit a type.
template <BuilderFlag kFlag>
bool isPermitted(const BuildFacts& build) {
  return isOn<kFlag>(build) && !build.network.stronglyTyped();
}

template <MemoryPoolType kPool>
bool isLimited(const BuildFacts& build) {
  return build.config.poolLimitIsSet(kPool);
}

template <PreviewFeature kFeature>
bool isPreviewed(const BuildFacts& build) {
  return build.config.getPreviewFeature(kFeature);
}

bool constrainsPrecision(const BuildFacts& build) { return constrainsTypes(build.config); }

// On the CPU, which takes a half only where a layer demands it.
bool computesFull(const BuildFacts& build) {
  const auto& layers = build.network.layers();
  return build.onHost &&
         !(constrainsPrecision(build) &&
           std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return asksForHalves(*layer); }));
}

bool ignoresPrecisionFlags(const BuildFacts& build) {
  return build.network.stronglyTyped() && (isOn<BuilderFlag::kFP16>(build) || isOn<BuilderFlag::kBF16>(build) ||
                                           isOn<BuilderFlag::kINT8>(build) || constrainsPrecision(build));
}

// Sources that no tactic comes from, where the caller chose otherwise than the default.
bool choosesAbsentSources(const BuildFacts& build) {
  if (!build.config.tacticSourcesAreSet()) return false;
  const nv::TacticSources absent = 1U << static_cast<uint32_t>(TacticSource::kCUBLAS) |
                                   1U << static_cast<uint32_t>(TacticSource::kEDGE_MASK_CONVOLUTIONS) |
                                   1U << static_cast<uint32_t>(TacticSource::kJIT_CONVOLUTIONS);
  return ((build.config.getTacticSources() ^ BuilderConfig::kDefaultTacticSources) & absent) != 0;
}

template <typename Condition>
bool anyTensor(const Network& network, Condition&& condition) {
  const auto& inputs = network.inputs();
  if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return condition(*input); })) return true;
  return std::any_of(network.layers().begin(), network.layers().end(), [&](const auto& layer) {
    const auto& outputs = layer->outputs();
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) { return condition(*output); });
  });
}

bool misplacesTensors(const BuildFacts& build) {
  return anyTensor(build.network, [](const Tensor& tensor) {
    if (!tensor.location()) return false;  // whether it is a shape tensor takes a walk through the network
    return *tensor.location() != (tensor.isShapeTensor() ? nv::TensorLocation::kHOST : nv::TensorLocation::kDEVICE);
  });
}

bool ignoresLayerPrecisions(const BuildFacts& build) {
  const auto& layers = build.network.layers();
  return !build.network.stronglyTyped() && !constrainsPrecision(build) &&
         std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return layer->precisionIsSet(); });
}

bool ignoresOutputTypes(const BuildFacts& build) {
  return !build.network.stronglyTyped() && !constrainsPrecision(build) &&
         anyTensor(build.network, [](const Tensor& tensor) {
           return tensor.outputType() && tensor.type() && tensor.type()->dtype == DataType::kF32 &&
                  isHalf(*tensor.outputType());
         });
}

struct IdleOption {
  const char* option;
  const char* text;
  // Null where what was asked for holds anyway, so that there is nothing to say but on the page of the documentation.
  bool (*isSet)(const BuildFacts& build);
};

constexpr IdleOption kIdleOptions[] = {
    {"BuilderFlag::kFP16", "FP16 is allowed; the CPU computes in FP32",
     [](const BuildFacts& b) { return computesFull(b) && isPermitted<BuilderFlag::kFP16>(b); }},
    {"BuilderFlag::kBF16", "BF16 is allowed; the CPU computes in FP32",
     [](const BuildFacts& b) { return computesFull(b) && isPermitted<BuilderFlag::kBF16>(b); }},
    {"BuilderFlag::kBF16",
     "BF16 is allowed; with kFP16 the GPU computes in FP16 below optimization level 4, where types are measured",
     [](const BuildFacts& b) {
       return !b.onHost && isPermitted<BuilderFlag::kBF16>(b) && isOn<BuilderFlag::kFP16>(b) &&
              b.config.getBuilderOptimizationLevel() < 4;
     }},
    {"BuilderFlag::kINT8", "INT8 is allowed; the CPU computes in FP32",
     [](const BuildFacts& b) { return b.onHost && isPermitted<BuilderFlag::kINT8>(b); }},
    {"BuilderFlag::kINT8", "INT8 is allowed; the builder quantizes nothing, and computes Q/DQ layers in floating point",
     [](const BuildFacts& b) { return !b.onHost && isPermitted<BuilderFlag::kINT8>(b); }},
    {"BuilderFlag::kTF32", "the CPU computes in FP32 with and without it", nullptr},
    {"NetworkDefinitionCreationFlag::kSTRONGLY_TYPED",
     "the types of the network decide; kFP16, kBF16, kINT8 and the flags of precision constraints are ignored",
     ignoresPrecisionFlags},
    {"BuilderFlag::kDEBUG", "the engine is the same; INetworkDefinition::markDebug() shows values of tensors",
     isOn<BuilderFlag::kDEBUG>},
    {"BuilderFlag::kGPU_FALLBACK", "no layer is set to DLA, so that none falls back",
     [](const BuildFacts& b) { return isOn<BuilderFlag::kGPU_FALLBACK>(b) && !b.config.wantsDla(); }},
    {"DeviceType::kDLA", "there is no DLA: all layers run on the device of the engine, as kGPU_FALLBACK allows",
     [](const BuildFacts& b) { return b.config.wantsDla(); }},
    {"IBuilderConfig::setDLACore", "no layer is set to DLA, so that its cores do not matter",
     [](const BuildFacts& b) { return b.config.getDLACore() >= 0 && !b.config.wantsDla(); }},
    {"BuilderFlag::kSPARSE_WEIGHTS", "structured sparsity is allowed; no tactic uses it",
     isOn<BuilderFlag::kSPARSE_WEIGHTS>},
    {"BuilderFlag::kREJECT_EMPTY_ALGORITHMS", "without an algorithm selector there is nothing to reject",
     [](const BuildFacts& b) {
       return isOn<BuilderFlag::kREJECT_EMPTY_ALGORITHMS>(b) && b.config.getAlgorithmSelector() == nullptr;
     }},
    {"BuilderFlag::kEXCLUDE_LEAN_RUNTIME", "no engine holds a lean runtime", isOn<BuilderFlag::kEXCLUDE_LEAN_RUNTIME>},
    {"BuilderFlag::kDISABLE_COMPILATION_CACHE",
     "the timing cache never holds compiled kernels; an empty TENON_CACHE_DIR keeps them off the disk",
     isOn<BuilderFlag::kDISABLE_COMPILATION_CACHE>},
    {"BuilderFlag::kSTRICT_NANS", "the kernels are the same, and some make a number of NaN: oneDNN's ReLU gives 0",
     isOn<BuilderFlag::kSTRICT_NANS>},
    {"IBuilderConfig::setProfileStream", "candidates are measured on streams of the builder",
     [](const BuildFacts& b) { return b.config.getProfileStream() != nullptr; }},
    {"IBuilderConfig::setCalibrationProfile", "only calibration would use it, which is not supported yet",
     [](const BuildFacts& b) { return b.config.calibrationProfile() != nullptr; }},
    {"IBuilderConfig::setQuantizationFlag", "only calibration would use it, which is not supported yet",
     [](const BuildFacts& b) { return b.config.getQuantizationFlags() != 0; }},
    {"IBuilderConfig::setTacticSources", "the tactics of the CPU belong to no source",
     [](const BuildFacts& b) { return b.onHost && b.config.tacticSourcesAreSet(); }},
    {"IBuilderConfig::setTacticSources",
     "no tactic belongs to kCUBLAS, kEDGE_MASK_CONVOLUTIONS or kJIT_CONVOLUTIONS; kCUBLAS_LT and kCUDNN count",
     [](const BuildFacts& b) { return !b.onHost && choosesAbsentSources(b); }},
    {"MemoryPoolType::kDLA_MANAGED_SRAM", "there is no DLA that would use it",
     isLimited<MemoryPoolType::kDLA_MANAGED_SRAM>},
    {"MemoryPoolType::kDLA_LOCAL_DRAM", "there is no DLA that would use it",
     isLimited<MemoryPoolType::kDLA_LOCAL_DRAM>},
    {"MemoryPoolType::kDLA_GLOBAL_DRAM", "there is no DLA that would use it",
     isLimited<MemoryPoolType::kDLA_GLOBAL_DRAM>},
    {"MemoryPoolType::kTACTIC_DRAM", "the memory in which candidates are measured has no limit",
     isLimited<MemoryPoolType::kTACTIC_DRAM>},
    {"MemoryPoolType::kTACTIC_SHARED_MEMORY", "kernels use the shared memory that the device gives a block",
     isLimited<MemoryPoolType::kTACTIC_SHARED_MEMORY>},
    {"PreviewFeature::kPROFILE_SHARING_0806", "contexts may share an optimization profile with and without it",
     [](const BuildFacts& b) { return !isPreviewed<PreviewFeature::kPROFILE_SHARING_0806>(b); }},
    {"PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10",
     "IExecutionContext::updateDeviceMemorySizeForShapes() works without it",
     isPreviewed<PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10>},
    {"PreviewFeature::kMULTIDEVICE_RUNTIME_10_16", "an engine runs on one device",
     isPreviewed<PreviewFeature::kMULTIDEVICE_RUNTIME_10_16>},
    {"IBuilderConfig::setTilingOptimizationLevel", "no kernel is tiled for the L2 cache",
     [](const BuildFacts& b) { return b.config.getTilingOptimizationLevel() != nv::TilingOptimizationLevel::kNONE; }},
    {"IBuilderConfig::setL2LimitForTiling", "no kernel is tiled for the L2 cache",
     [](const BuildFacts& b) { return b.config.getL2LimitForTiling() != -1; }},
    {"IBuilderConfig::setMaxAuxStreams", "the CPU computes on the caller's stream alone",
     [](const BuildFacts& b) { return b.onHost && b.config.getMaxAuxStreams() > 0; }},
    {"IOptimizationProfile::setExtraMemoryTarget", "an engine takes the memory of its profile's max shapes in any case",
     [](const BuildFacts& b) {
       const auto& profiles = b.config.profiles();
       return std::any_of(profiles.begin(), profiles.end(),
                          [](const auto* profile) { return profile->getExtraMemoryTarget() != 1; });
     }},
    {"INetworkDefinition::markWeightsRefittable", "weights cannot be refitted yet",
     [](const BuildFacts& b) { return b.network.hasRefittableWeights(); }},
    {"IExecutionContext::setName", "only getName() shows the name", nullptr},
    {"ITensor::setDynamicRange", "the builder quantizes nothing, whatever ranges tensors have",
     [](const BuildFacts& b) {
       return anyTensor(b.network, [](const Tensor& tensor) { return tensor.dynamicRangeIsSet(); });
     }},
    {"ITensor::setLocation", "shape tensors are on the host and all others on the device, whatever is set",
     misplacesTensors},
    {"ILayer::setPrecision",
     "precisions of layers count only with BuilderFlag::kOBEY_PRECISION_CONSTRAINTS or kPREFER_PRECISION_CONSTRAINTS",
     ignoresLayerPrecisions},
    {"ILayer::setOutputType",
     "floating output types of layers count only with BuilderFlag::kOBEY_PRECISION_CONSTRAINTS or "
     "kPREFER_PRECISION_CONSTRAINTS; ITensor::setType gives outputs of the network their type",
     ignoresOutputTypes},
};

}  // namespace

std::vector<std::string> idleOptions(const BuildFacts& build) {
  std::vector<std::string> lines;
  for (const auto& row : kIdleOptions) {
    if (row.isSet != nullptr && row.isSet(build)) lines.push_back(fmt::format("{}: {}", row.option, row.text));
  }
  return lines;
}

void BuilderConfig::check() const {
  for (uint32_t i = 0; i < 32; ++i) {
    if ((options_.flags >> i & 1U) == 0) continue;
    checkUser(i < std::size(kRefusedFlags), "builder flag {} is unknown to this version", i);
    if (kRefusedFlags[i] != nullptr) throw Unsupported("BuilderFlag::{} is not supported yet", kRefusedFlags[i]);
  }
  const auto refuse = [](bool asked, const char* what) {
    if (asked) throw Unsupported("{} is not supported yet", what);
  };
  refuse(options_.capability != nv::EngineCapability::kSTANDARD, "an engine capability other than kSTANDARD");
  refuse(options_.calibrator != nullptr, "calibration (setInt8Calibrator)");
  refuse(options_.hardware != nv::HardwareCompatibilityLevel::kNONE, "a hardware compatibility level other than kNONE");
  refuse(options_.platform != nv::RuntimePlatform::kSAME_AS_BUILD, "a runtime platform other than kSAME_AS_BUILD");
  checkUser(!wantsDla() || getFlag(BuilderFlag::kGPU_FALLBACK),
            "the configuration asks for DLA, and this machine has none; set BuilderFlag::kGPU_FALLBACK to "
            "run on the main device");
}

}  // namespace tenon::api

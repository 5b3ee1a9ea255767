// ICudaEngine: names, types, extents, profiles and sizes of an engine; makes contexts.
#include "api/runtime/engine.h"

#include <algorithm>

#include "api/common/hand_out.h"
#include "api/common/host_memory.h"
#include "api/common/tensor_formats.h"
#include "api/runtime/configs.h"
#include "api/runtime/context.h"
#include "api/runtime/inspector.h"
#include "api/runtime/io_index.h"
#include "plan/inspect.h"
#include "runtime/aliases.h"

namespace tenon::api {
namespace {

// In the order of nvinfer1::ExecutionContextAllocationStrategy.
constexpr std::array kStrategies{runtime::MemoryStrategy::kStatic, runtime::MemoryStrategy::kOnProfileChange,
                                 runtime::MemoryStrategy::kUserManaged};

// As TensorRT says it: "Row major linear FP32 format (kLINEAR)".
std::string formatText(DataType type, Layout layout, int rank) {
  auto text = plan::formatDescription(type, layout, static_cast<size_t>(rank));
  if (text.find(" format") == std::string::npos) text += " format";
  return fmt::format("{} ({})", text, factsOf(layout, rank).name);
}

}  // namespace

Engine::Engine(std::shared_ptr<const LoadedEngine> loaded, Reporter& parent)
    : reporter_(parent.logger(), parent.recorder()), loaded_(std::move(loaded)) {
  mImpl = this;
  for (const auto& io : engine().io())
    formatTexts_.push_back(formatText(io.dtype, io.layout, static_cast<int>(io.shape.size())));
}

int Engine::find(const char* tensorName) const { return ioIndex(engine(), tensorName); }

const plan::Io& Engine::io(const char* tensorName) const {
  return engine().io()[static_cast<size_t>(find(tensorName))];
}

int Engine::checkedProfile(int32_t profileIndex) const {
  checkUser(profileIndex >= 0 && profileIndex < engine().profileCount(), "there is no profile {}; the engine has {}",
            profileIndex, engine().profileCount());
  return profileIndex;
}

int32_t Engine::getNbLayers() const noexcept {
  return ask("ICudaEngine::getNbLayers", -1, [&] { return engine().layerCount(); });
}

nv::IHostMemory* Engine::serialize() const noexcept {
  return ask("ICudaEngine::serialize", static_cast<nv::IHostMemory*>(nullptr),
             [&] { return handOut<nv::IHostMemory, HostMemory>(engine().serialize()); });
}

nv::ISerializationConfig* Engine::createSerializationConfig() noexcept {
  return ask("ICudaEngine::createSerializationConfig", static_cast<nv::ISerializationConfig*>(nullptr),
             [&] { return handOut<nv::ISerializationConfig, SerializationConfig>(); });
}

nv::IHostMemory* Engine::serializeWithConfig(nv::ISerializationConfig& config) const noexcept {
  return ask("ICudaEngine::serializeWithConfig", static_cast<nv::IHostMemory*>(nullptr), [&] {
    if (config.getFlag(nv::SerializationFlag::kEXCLUDE_WEIGHTS)) {
      throw Unsupported("SerializationFlag::kEXCLUDE_WEIGHTS is not supported yet");
    }
    if (config.getFlag(nv::SerializationFlag::kEXCLUDE_LEAN_RUNTIME))
      noEffect(reporter_, "SerializationFlag::kEXCLUDE_LEAN_RUNTIME", "no engine holds a lean runtime");
    if (config.getFlag(nv::SerializationFlag::kINCLUDE_REFIT))
      noEffect(reporter_, "SerializationFlag::kINCLUDE_REFIT", "weights cannot be refitted yet");
    return handOut<nv::IHostMemory, HostMemory>(engine().serialize());
  });
}

nv::IExecutionContext* Engine::makeContext(nv::ExecutionContextAllocationStrategy strategy,
                                           nv::IRuntimeConfig* config) const {
  const runtime::ContextOptions options{mapEnum(kStrategies, strategy, "allocation strategy"), 0};
  return new ExecutionContext(*this, loaded_, options, reporter_, config);
}

nv::IExecutionContext* Engine::createExecutionContext(nv::ExecutionContextAllocationStrategy strategy) noexcept {
  return ask("ICudaEngine::createExecutionContext", static_cast<nv::IExecutionContext*>(nullptr),
             [&] { return makeContext(strategy, nullptr); });
}

nv::IExecutionContext* Engine::createExecutionContextWithoutDeviceMemory() noexcept {
  return createExecutionContext(nv::ExecutionContextAllocationStrategy::kUSER_MANAGED);
}

nv::IRuntimeConfig* Engine::createRuntimeConfig() noexcept {
  return ask("ICudaEngine::createRuntimeConfig", static_cast<nv::IRuntimeConfig*>(nullptr),
             [&] { return handOut<nv::IRuntimeConfig, RuntimeConfig>(reporter_); });
}

nv::IExecutionContext* Engine::createExecutionContextWithRuntimeConfig(nv::IRuntimeConfig* runtimeConfig) noexcept {
  return ask("ICudaEngine::createExecutionContext", static_cast<nv::IExecutionContext*>(nullptr), [&] {
    checkUser(runtimeConfig != nullptr, "the runtime configuration is null");
    return makeContext(runtimeConfig->getExecutionContextAllocationStrategy(), runtimeConfig);
  });
}

nv::IEngineInspector* Engine::createEngineInspector() const noexcept {
  return ask("ICudaEngine::createEngineInspector", static_cast<nv::IEngineInspector*>(nullptr),
             [&] { return handOut<nv::IEngineInspector, EngineInspector>(loaded_, reporter_); });
}

nv::IRefitter* Engine::createRefitter(nv::ILogger&) noexcept {
  return ask("ICudaEngine::createRefitter", static_cast<nv::IRefitter*>(nullptr),
             []() -> nv::IRefitter* { notSupported("ICudaEngine::createRefitter"); });
}

size_t Engine::getDeviceMemorySize() const noexcept { return static_cast<size_t>(getDeviceMemorySizeV2()); }

int64_t Engine::getDeviceMemorySizeV2() const noexcept {
  return ask("ICudaEngine::getDeviceMemorySizeV2", int64_t{0}, [&] { return engine().arenaBytes(); });
}

size_t Engine::getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
  return static_cast<size_t>(getDeviceMemorySizeForProfileV2(profileIndex));
}

int64_t Engine::getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
  return ask("ICudaEngine::getDeviceMemorySizeForProfileV2", int64_t{0},
             [&] { return engine().arenaBytes(checkedProfile(profileIndex)); });
}

bool Engine::isRefittable() const noexcept { return engine().plan().refittable; }

const char* Engine::getName() const noexcept { return engine().plan().name.c_str(); }

int32_t Engine::getNbOptimizationProfiles() const noexcept { return engine().profileCount(); }

nv::TacticSources Engine::getTacticSources() const noexcept {
  return 1U << static_cast<uint32_t>(nv::TacticSource::kEDGE_MASK_CONVOLUTIONS) |
         1U << static_cast<uint32_t>(nv::TacticSource::kJIT_CONVOLUTIONS);
}

int32_t Engine::getNbAuxStreams() const noexcept { return engine().auxStreams(); }

nv::ProfilingVerbosity Engine::getProfilingVerbosity() const noexcept {
  return static_cast<nv::ProfilingVerbosity>(engine().plan().profilingVerbosity);
}

nv::Dims Engine::getTensorShape(const char* tensorName) const noexcept {
  return ask("ICudaEngine::getTensorShape", invalidDims(), [&] { return toApi(engine().ioDims(find(tensorName))); });
}

nv::DataType Engine::getTensorDataType(const char* tensorName) const noexcept {
  return ask("ICudaEngine::getTensorDataType", nv::DataType::kFLOAT, [&] { return toApi(io(tensorName).dtype); });
}

nv::TensorLocation Engine::getTensorLocation(const char* tensorName) const noexcept {
  return ask("ICudaEngine::getTensorLocation", nv::TensorLocation::kDEVICE,
             [&] { return io(tensorName).isShapeTensor ? nv::TensorLocation::kHOST : nv::TensorLocation::kDEVICE; });
}

bool Engine::isShapeInferenceIO(const char* tensorName) const noexcept {
  return ask("ICudaEngine::isShapeInferenceIO", false, [&] { return io(tensorName).isShapeTensor; });
}

nv::TensorIOMode Engine::getTensorIOMode(const char* tensorName) const noexcept {
  if (tensorName == nullptr || engine().findIo(tensorName) < 0) return nv::TensorIOMode::kNONE;
  return ask("ICudaEngine::getTensorIOMode", nv::TensorIOMode::kNONE,
             [&] { return io(tensorName).isInput ? nv::TensorIOMode::kINPUT : nv::TensorIOMode::kOUTPUT; });
}

int32_t Engine::getTensorBytesPerComponent(const char* tensorName) const noexcept {
  return getTensorBytesPerComponentV2(tensorName, 0);
}

int32_t Engine::getTensorComponentsPerElement(const char* tensorName) const noexcept {
  return getTensorComponentsPerElementV2(tensorName, 0);
}

// -1 for formats without vectors, as the interface says.
FormatFacts Engine::formatOf(const char* tensorName, int32_t profileIndex) const {
  checkedProfile(profileIndex);
  const auto& tensor = io(tensorName);
  return factsOf(tensor.layout, static_cast<int>(tensor.shape.size()));
}

int32_t Engine::getTensorBytesPerComponentV2(const char* tensorName, int32_t profileIndex) const noexcept {
  return ask("ICudaEngine::getTensorBytesPerComponent", -1,
             [&] { return formatOf(tensorName, profileIndex).vectorAxis < 0 ? -1 : bits(io(tensorName).dtype) / 8; });
}

int32_t Engine::getTensorComponentsPerElementV2(const char* tensorName, int32_t profileIndex) const noexcept {
  return ask("ICudaEngine::getTensorComponentsPerElement", -1,
             [&] { return formatOf(tensorName, profileIndex).components; });
}

int32_t Engine::getTensorVectorizedDim(const char* tensorName) const noexcept {
  return getTensorVectorizedDimV2(tensorName, 0);
}

int32_t Engine::getTensorVectorizedDimV2(const char* tensorName, int32_t profileIndex) const noexcept {
  return ask("ICudaEngine::getTensorVectorizedDim", -1, [&] { return formatOf(tensorName, profileIndex).vectorAxis; });
}

nv::TensorFormat Engine::getTensorFormat(const char* tensorName) const noexcept {
  return getTensorFormatV2(tensorName, 0);
}

nv::TensorFormat Engine::getTensorFormatV2(const char* tensorName, int32_t profileIndex) const noexcept {
  return ask("ICudaEngine::getTensorFormat", nv::TensorFormat::kLINEAR,
             [&] { return formatOf(tensorName, profileIndex).format; });
}

const char* Engine::getTensorFormatDesc(const char* tensorName) const noexcept {
  return getTensorFormatDescV2(tensorName, 0);
}

const char* Engine::getTensorFormatDescV2(const char* tensorName, int32_t profileIndex) const noexcept {
  return ask("ICudaEngine::getTensorFormatDesc", static_cast<const char*>(nullptr), [&] {
    checkedProfile(profileIndex);
    return formatTexts_[static_cast<size_t>(find(tensorName))].c_str();
  });
}

nv::Dims Engine::getProfileShape(const char* tensorName, int32_t profileIndex,
                                 nv::OptProfileSelector select) const noexcept {
  return ask("ICudaEngine::getProfileShape", invalidDims(), [&] {
    const int index = find(tensorName);
    checkUser(engine().io()[static_cast<size_t>(index)].isInput, "tensor '{}' is an output; profiles describe inputs",
              tensorName);
    checkedEnum(select, "profile selector");
    const plan::InputRange* range = engine().range(checkedProfile(profileIndex), index);
    if (range == nullptr || range->min.rank == 0) return toApi(engine().ioDims(index));
    const std::array<const Dims*, 3> bounds{&range->min, &range->opt, &range->max};
    return toApi(*bounds.at(static_cast<size_t>(select)));
  });
}

const std::vector<int64_t>& Engine::profileValues(const char* tensorName, int32_t profileIndex,
                                                  nv::OptProfileSelector select) const {
  static const std::vector<int64_t> none;
  checkedEnum(select, "profile selector");
  const plan::InputRange* range = engine().range(checkedProfile(profileIndex), find(tensorName));
  if (range == nullptr) return none;
  const std::array values{&range->minValues, &range->optValues, &range->maxValues};
  return *values.at(static_cast<size_t>(select));
}

const int64_t* Engine::getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                                nv::OptProfileSelector select) const noexcept {
  return ask("ICudaEngine::getProfileTensorValuesV2", static_cast<const int64_t*>(nullptr), [&] {
    const auto& values = profileValues(tensorName, profileIndex, select);
    return values.empty() ? nullptr : values.data();
  });
}

const int32_t* Engine::getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                              nv::OptProfileSelector select) const noexcept {
  return ask("ICudaEngine::getProfileTensorValues", static_cast<const int32_t*>(nullptr), [&] {
    const auto& values = profileValues(tensorName, profileIndex, select);
    if (values.empty()) return static_cast<const int32_t*>(nullptr);
    const std::lock_guard lock(narrowMutex_);
    auto& narrow = narrowValues_[&values];
    if (narrow.empty()) narrow.assign(values.begin(), values.end());
    return static_cast<const int32_t*>(narrow.data());
  });
}

int32_t Engine::getNbIOTensors() const noexcept { return static_cast<int32_t>(engine().io().size()); }

const char* Engine::getIOTensorName(int32_t index) const noexcept {
  return ask("ICudaEngine::getIOTensorName", static_cast<const char*>(nullptr), [&] {
    checkUser(index >= 0 && index < getNbIOTensors(), "there is no input or output {}; the engine has {}", index,
              getNbIOTensors());
    return engine().io()[static_cast<size_t>(index)].name.c_str();
  });
}

bool Engine::setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
  return setWeightStreamingBudgetV2(gpuMemoryBudget);
}

bool Engine::setWeightStreamingBudgetV2(int64_t) noexcept {
  return ask("ICudaEngine::setWeightStreamingBudgetV2", false,
             []() -> bool { notSupported("ICudaEngine::setWeightStreamingBudgetV2"); });
}

bool Engine::isDebugTensor(const char* name) const noexcept {
  return ask("ICudaEngine::isDebugTensor", false, [&] {
    checkUser(name != nullptr, "the name of the tensor is null");
    const auto& tensors = engine().program(0).tensors;
    return std::any_of(tensors.begin(), tensors.end(), [&](const auto& t) { return t.debug && t.name == name; });
  });
}

const char* Engine::getAliasedInputTensor(const char* tensorName) const noexcept {
  return ask("ICudaEngine::getAliasedInputTensor", static_cast<const char*>(nullptr), [&]() -> const char* {
    const int index = find(tensorName);
    const auto& program = engine().program(0);
    for (const auto& pairs : {runtime::aliasedIo(program), runtime::sharedIo(program)}) {
      for (const auto& [output, input] : pairs) {
        if (output == index) return engine().io()[static_cast<size_t>(input)].name.c_str();
      }
    }
    return nullptr;
  });
}

int64_t Engine::getEngineStat(nv::EngineStat stat) const noexcept {
  return ask("ICudaEngine::getEngineStat", int64_t{-1}, [&] {
    checkedEnum(stat, "engine statistic");
    return stat == nv::EngineStat::kTOTAL_WEIGHTS_SIZE ? static_cast<int64_t>(engine().constantBytes()) : int64_t{0};
  });
}

nv::ICudaEngine* makeEngine(plan::Plan plan, Reporter& reporter, nv::IGpuAllocator* allocator) {
  auto loaded = std::make_shared<LoadedEngine>();
  if (allocator != nullptr) loaded->allocator = std::make_unique<GpuAllocatorAdapter>(*allocator);
  runtime::LoadOptions options;
  options.allocator = loaded->allocator.get();
  loaded->engine = runtime::Engine::make(std::move(plan), options, reporter);
  return new Engine(std::move(loaded), reporter);
}

}  // namespace tenon::api

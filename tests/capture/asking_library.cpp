// A library that puts questions which libnvinfer does not ask (yet): its builder asks calibrator and algorithm selector
// and writes their answers in front of the engine. It stands between the recording library and libnvinfer.
#include <NvInfer.h>
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

using namespace nvinfer1;

class Memory final : public IHostMemory, private apiv::VHostMemory {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) { mImpl = this; }

 private:
  void* data() const noexcept override { return const_cast<char*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }
  DataType type() const noexcept override { return DataType::kINT8; }
  std::string bytes_;
};

class Context final : public IAlgorithmContext, private apiv::VAlgorithmContext {
 public:
  explicit Context(std::string name) : name_(std::move(name)) { mImpl = this; }

 private:
  const char* getName() const noexcept override { return name_.c_str(); }
  Dims getDimensions(int32_t, OptProfileSelector) const noexcept override { return Dims{1, {4}}; }
  int32_t getNbInputs() const noexcept override { return 1; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  std::string name_;
};

class Variant final : public IAlgorithmVariant, private apiv::VAlgorithmVariant {
 public:
  explicit Variant(int64_t tactic) : tactic_(tactic) { mImpl = this; }

 private:
  int64_t getImplementation() const noexcept override { return 1; }
  int64_t getTactic() const noexcept override { return tactic_; }
  int64_t tactic_;
};

class Algorithm final : public IAlgorithm, private apiv::VAlgorithm {
 public:
  explicit Algorithm(int64_t tactic) : variant_(tactic) { mImpl = this; }

 private:
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept override { return variant_; }
  float getTimingMSec() const noexcept override { return 1; }
  std::size_t getWorkspaceSize() const noexcept override { return 0; }
  const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t) const noexcept override { return nullptr; }
  Variant variant_;
};

// The cache of a calibrator that has one; otherwise its batches are added up, and the sum is the cache it gets to keep.
std::string calibrated(IInt8Calibrator& calibrator) {
  std::string text = "algorithm " + std::to_string(static_cast<int>(calibrator.getAlgorithm())) + ", batches of " +
                     std::to_string(calibrator.getBatchSize()) + ", cache ";
  std::size_t length = 0;
  if (const void* cache = calibrator.readCalibrationCache(length); cache != nullptr && length > 0) {
    return text + std::string(static_cast<const char*>(cache), length) + "\n";
  }
  const char* names[] = {"x"};
  void* bindings[] = {nullptr};
  float sum = 0;
  while (calibrator.getBatch(bindings, names, 1)) {
    sum += *static_cast<const float*>(bindings[0]);
  }
  const std::string cache = "sum " + std::to_string(sum);
  calibrator.writeCalibrationCache(cache.data(), cache.size());
  return text + cache + "\n";
}

std::string selected(IAlgorithmSelector& selector) {
  std::string text;
  for (const char* name : {"first", "second \"quoted\"", "third"}) {
    const Context context(name);
    const Algorithm algorithms[] = {Algorithm(10), Algorithm(11), Algorithm(12), Algorithm(13)};
    const IAlgorithm* choices[] = {&algorithms[0], &algorithms[1], &algorithms[2], &algorithms[3]};
    int32_t selection[4] = {-1, -1, -1, -1};
    const int32_t count = selector.selectAlgorithms(context, choices, 4, selection);
    text += std::string(name) + ":";
    for (int32_t i = 0; i < count; ++i) {
      text += " " + std::to_string(choices[selection[i]]->getAlgorithmVariant().getTactic());
    }
    text += "\n";
  }
  return text;
}

std::string allocated(IGpuAllocator& allocator) {
  std::string text = "memory:";
  for (const uint64_t size : {uint64_t{64}, uint64_t{1} << 40, uint64_t{4096}}) {
    void* memory = allocator.allocate(size, 256, 0);
    text += memory != nullptr ? " given" : " refused";
    if (memory != nullptr) {
      allocator.deallocate(memory);
    }
  }
  return text + "\n";
}

std::string reported(IErrorRecorder& recorder) {
  std::string text = "errors:";
  for (const char* error : {"first", "second", "third"}) {
    text += recorder.reportError(ErrorCode::kINTERNAL_ERROR, error) ? " fatal" : " go on";
  }
  return text + "\n";
}

std::string watched(IProgressMonitor& monitor) {
  std::string text = "steps:";
  monitor.phaseStart("asking", nullptr, 2);
  for (const int32_t step : {0, 1, 1}) {
    text += monitor.stepComplete("asking", step) ? " go on" : " stop";
  }
  monitor.phaseFinish("asking");
  return text + "\n";
}

class AskingBuilder final : public IBuilder, private apiv::VBuilder {
 public:
  explicit AskingBuilder(IBuilder* real) : real_(real) { mImpl = this; }

 private:
  bool platformHasFastFp16() const noexcept override { return real_->platformHasFastFp16(); }
  bool platformHasFastInt8() const noexcept override { return real_->platformHasFastInt8(); }
  int32_t getMaxDLABatchSize() const noexcept override { return real_->getMaxDLABatchSize(); }
  int32_t getNbDLACores() const noexcept override { return real_->getNbDLACores(); }
  void setGpuAllocator(IGpuAllocator* allocator) noexcept override {
    allocator_ = allocator;
    real_->setGpuAllocator(allocator);
  }
  IBuilderConfig* createBuilderConfig() noexcept override { return real_->createBuilderConfig(); }
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept override {
    return real_->createNetworkV2(flags);
  }
  IOptimizationProfile* createOptimizationProfile() noexcept override { return real_->createOptimizationProfile(); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override { real_->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept override { return real_->getErrorRecorder(); }
  void reset() noexcept override { real_->reset(); }
  bool platformHasTf32() const noexcept override { return real_->platformHasTf32(); }
  bool isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig& config) const noexcept override {
    return real_->isNetworkSupported(network, config);
  }
  ILogger* getLogger() const noexcept override { return real_->getLogger(); }
  bool setMaxThreads(int32_t count) noexcept override { return real_->setMaxThreads(count); }
  int32_t getMaxThreads() const noexcept override { return real_->getMaxThreads(); }
  IPluginRegistry& getPluginRegistry() noexcept override { return real_->getPluginRegistry(); }
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept override {
    return real_->buildEngineWithConfig(network, config);
  }
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept override {
    return real_->buildSerializedNetworkToStream(network, config, writer);
  }
  IHostMemory* buildSerializedNetworkWithKernelText(INetworkDefinition& network, IBuilderConfig& config,
                                                    IHostMemory*& text) noexcept override {
    return real_->buildSerializedNetwork(network, config, text);
  }
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept override {
    IInt8Calibrator* calibrator = config.getInt8Calibrator();
    IAlgorithmSelector* selector = config.getAlgorithmSelector();
    std::string answers = calibrator != nullptr ? calibrated(*calibrator) : std::string();
    answers += selector != nullptr ? selected(*selector) : std::string();
    answers += allocator_ != nullptr ? allocated(*allocator_) : std::string();
    IErrorRecorder* recorder = real_->getErrorRecorder();
    answers += recorder != nullptr ? reported(*recorder) : std::string();
    IProgressMonitor* monitor = config.getProgressMonitor();
    answers += monitor != nullptr ? watched(*monitor) : std::string();
    config.setInt8Calibrator(nullptr);  // libnvinfer refuses to build with them
    config.setAlgorithmSelector(nullptr);
    const std::unique_ptr<IHostMemory> engine(real_->buildSerializedNetwork(network, config));
    config.setInt8Calibrator(calibrator);
    config.setAlgorithmSelector(selector);
    return engine == nullptr
               ? nullptr
               : new Memory(answers + std::string(static_cast<const char*>(engine->data()), engine->size()));
  }

  std::unique_ptr<IBuilder> real_;
  IGpuAllocator* allocator_ = nullptr;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void* createInferBuilder_INTERNAL(void* logger,
                                                                                    int32_t version) noexcept {
  void* library = dlopen("libnvinfer.so.10", RTLD_LAZY | RTLD_NOLOAD);
  auto* create = library != nullptr
                     ? reinterpret_cast<void* (*)(void*, int32_t)>(dlsym(library, "createInferBuilder_INTERNAL"))
                     : nullptr;
  void* real = create != nullptr ? create(logger, version) : nullptr;
  return real == nullptr ? nullptr : static_cast<IBuilder*>(new AskingBuilder(static_cast<IBuilder*>(real)));
}

// Scenes about networks side by side, threads, failures, profiles, what the application implements itself.
#include <dlfcn.h>
#include <impl/NvInferPythonPlugin.h>

#include <cstring>
#include <thread>

#include "program.h"

namespace scenes {
namespace {

class Recorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors_.size()); }
  ErrorCode getErrorCode(int32_t index) const noexcept override { return errors_[static_cast<size_t>(index)].first; }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override {
    return errors_[static_cast<size_t>(index)].second.c_str();
  }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors_.clear(); }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept override {
    errors_.emplace_back(code, text);
    return false;
  }
  RefCount incRefCount() noexcept override { return ++uses_; }
  RefCount decRefCount() noexcept override { return --uses_; }

 private:
  std::vector<std::pair<ErrorCode, std::string>> errors_;
  RefCount uses_ = 0;
};

class Allocator final : public IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override { return std::malloc(size); }
  bool deallocate(void* memory) noexcept override {
    std::free(memory);
    return true;
  }
};

class Writer final : public IStreamWriter {
 public:
  explicit Writer(const std::string& name) : file_(name, std::ios::binary) {}
  int64_t write(const void* data, int64_t count) noexcept override {
    file_.write(static_cast<const char*>(data), count);
    return count;
  }

 private:
  std::ofstream file_;
};

}  // namespace

// Two networks grow in turns; both use weights of the same content, and the second reuses memory of a third that is
// gone.
int interleaved(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  std::vector<float> shared(64, 0.25F);
  const Weights same{DataType::kFLOAT, shared.data(), 64};
  std::vector<float> copy = shared;
  const Weights equal{DataType::kFLOAT, copy.data(), 64};
  std::unique_ptr<INetworkDefinition> first(builder->createNetworkV2(0));
  std::unique_ptr<INetworkDefinition> second(
      builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  ITensor* a = first->addInput("a", DataType::kFLOAT, Dims{2, {8, 8}});
  ITensor* b = second->addInput("b", DataType::kFLOAT, Dims{2, {8, 8}});
  for (int i = 0; i < 3; ++i) {
    auto* w = first->addConstant(Dims{2, {8, 8}}, i == 0 ? same : i == 1 ? equal : store.floats(64));
    first->setWeightsName(w->getWeights(), ("w" + std::to_string(i)).c_str());
    auto* v = second->addConstant(Dims{2, {8, 8}}, i == 0 ? same : store.floats(64));
    a = first->addElementWise(*a, *w->getOutput(0), ElementWiseOperation::kSUM)->getOutput(0);
    b = second->addMatrixMultiply(*b, MatrixOperation::kNONE, *v->getOutput(0), MatrixOperation::kTRANSPOSE)
            ->getOutput(0);
  }
  first->markOutput(*a);
  second->markOutput(*b);
  const bool one = build(*builder, *second, prefix + "0");
  const bool two = build(*builder, *first, prefix + "1");
  first.reset();
  std::fill(shared.begin(), shared.end(), 3.0F);  // the same address, other values, another network
  std::unique_ptr<INetworkDefinition> third(builder->createNetworkV2(0));
  ITensor* c = third->addInput("c", DataType::kFLOAT, Dims{2, {8, 8}});
  auto* w = third->addConstant(Dims{2, {8, 8}}, same);
  third->markOutput(*third->addElementWise(*c, *w->getOutput(0), ElementWiseOperation::kPROD)->getOutput(0));
  return one && two && build(*builder, *third, prefix + "2") ? 0 : 1;
}

// Four threads, each with its own builder and network; the order of builds varies, so each engine tells its size.
int threads(const std::string& prefix) {
  std::vector<std::thread> running;
  std::vector<char> good(4);
  for (int i = 0; i < 4; ++i) {
    running.emplace_back([&, i] {
      Store store(static_cast<uint32_t>(100 + i));
      std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
      auto network = chain(*builder, store, 8 + 4 * i, 3 + i);
      good[static_cast<size_t>(i)] = build(*builder, *network, prefix + std::to_string(i)) ? 1 : 0;
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  return good[0] + good[1] + good[2] + good[3] == 4 ? 0 : 1;
}

// A network whose build is refused: shapes that do not fit.
int failure(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  Recorder recorder;
  network->setErrorRecorder(&recorder);
  ITensor* a = network->addInput("a", DataType::kFLOAT, Dims{2, {3, 4}});
  ITensor* b = network->addInput("b", DataType::kFLOAT, Dims{2, {5, 6}});
  auto* product = network->addMatrixMultiply(*a, MatrixOperation::kNONE, *b, MatrixOperation::kNONE);
  if (product != nullptr) {
    network->markOutput(*product->getOutput(0));
  }
  const bool built = build(*builder, *network, prefix);
  const bool isSame = network->getErrorRecorder() == &recorder;
  network->setErrorRecorder(nullptr);
  return !built && isSame ? 0 : 1;
}

// What the application implements: the getters give its own objects back, and the build asks them.
int users(const std::string& prefix) {
  Recorder recorder;
  Allocator allocator;
  Stopper patient(-1);
  Stopper impatient(1);
  Store store;
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  builder->setErrorRecorder(&recorder);
  builder->setGpuAllocator(&allocator);
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setProgressMonitor(&patient);
  auto network = chain(*builder, store, 16, 2);
  const bool own = builder->getErrorRecorder() == &recorder && config->getProgressMonitor() == &patient &&
                   builder->getLogger() == &logger() && &network->getBuilder() == builder.get();
  const bool one = build(*builder, *network, prefix + "0", &patient);
  const bool two = build(*builder, *network, prefix + "1", &impatient);
  builder->setErrorRecorder(nullptr);
  std::printf("own %d, patient %d, impatient %d\n", own, one, two);
  return own && one ? 0 : 1;
}

// Profiles, shape values, names, flags, limits, a timing cache; then each of the other ways to build.
int profiles(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{3, {-1, 3, -1}});
  x->setDimensionName(0, "batch");
  network->markOutput(*network->addSoftMax(*x)->getOutput(0));
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, Dims{3, {1, 3, 2}});
  profile->setDimensions("x", OptProfileSelector::kOPT, Dims{3, {2, 3, 5}});
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims{3, {7, 3, 11}});
  IOptimizationProfile* unused = builder->createOptimizationProfile();
  const int32_t values[] = {1, 2, 3};
  unused->setShapeValues("shape", OptProfileSelector::kMIN, values, 3);
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  config->addOptimizationProfile(profile);
  config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, size_t{1} << 28);
  config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  config->setFlag(BuilderFlag::kTF32);
  const char* const libraries[] = {"one.so", "two.so"};
  config->setPluginsToSerialize(libraries, 2);
  config->setPluginsToSerialize(nullptr, 0);
  std::unique_ptr<ITimingCache> cache(config->createTimingCache(nullptr, 0));
  if (cache == nullptr || !config->setTimingCache(*cache, false)) {
    return 1;
  }
  std::unique_ptr<IHostMemory> bytes(config->getTimingCache()->serialize());
  std::unique_ptr<ITimingCache> again(config->createTimingCache(bytes->data(), bytes->size()));
  cache->combine(*again, true);
  builder->isNetworkSupported(*network, *config);
  std::unique_ptr<IHostMemory> engine(builder->buildSerializedNetwork(*network, *config));
  if (engine == nullptr) {
    return 1;
  }
  write(prefix, *engine);
  return 0;
}

// The engine goes to a stream of the application; then once more, with the kernels' text where there is any.
int streams(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  auto network = chain(*builder, store, 12, 2);
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  Writer writer(prefix + "0");
  const bool one = builder->buildSerializedNetworkToStream(*network, *config, writer);
  IHostMemory* text = nullptr;
  std::unique_ptr<IHostMemory> engine(builder->buildSerializedNetwork(*network, *config, text));
  if (engine != nullptr) {
    write(prefix + "1", *engine);
  }
  delete text;
  std::printf("to a stream %d, with text %d\n", one, engine != nullptr);
  return one ? 0 : 1;
}

// A plugin of each kind from its creator, and one of the application's own making.
int plugins(const std::string& prefix) {
  const char* file = std::getenv("TENON_CAPTURE_PLUGINS");
  void* library = file != nullptr ? dlopen(file, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  auto* own = library != nullptr ? reinterpret_cast<IPluginV2* (*)(float)>(dlsym(library, "makeOwnPlugin")) : nullptr;
  IPluginRegistry* registry = getPluginRegistry();
  IPluginCreatorInterface* two = registry->getCreator("TimesTwo", "2", "");
  IPluginCreatorInterface* three = registry->getCreator("TimesThree", "3", "");
  int32_t count = 0;
  registry->getAllCreators(&count);
  if (own == nullptr || two == nullptr || three == nullptr || count < 2 ||
      registry->getCreator("TimesTwo", "2", "") != two) {
    return 1;
  }
  const float factor = 2.5F;
  const PluginField field("factor", &factor, PluginFieldType::kFLOAT32, 1);
  const PluginFieldCollection fields{1, &field};
  IPluginV2* first = static_cast<IPluginCreator*>(two)->createPlugin("first", &fields);
  IPluginV3* second = static_cast<IPluginCreatorV3One*>(three)->createPlugin("second", &fields, TensorRTPhase::kBUILD);
  IPluginV2* third = own(7.5F);
  IPluginCreatorInterface* quick = registry->getCreator("TimesQuick", "1", "capture");
  IPluginV3* fourth = quick != nullptr ? static_cast<IPluginCreatorV3Quick*>(quick)->createPlugin(
                                             "fourth", "capture", &fields, TensorRTPhase::kBUILD,
                                             QuickPluginCreationRequest::kSTRICT_AOT)
                                       : nullptr;
  if (fourth == nullptr) {
    return 1;
  }
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{2, {4, 4}});
  ILayer* layers[] = {network->addPluginV2(&x, 1, *first), network->addPluginV3(&x, 1, nullptr, 0, *second),
                      network->addPluginV2(&x, 1, *third), network->addPluginV3(&x, 1, nullptr, 0, *fourth)};
  for (ILayer* layer : layers) {
    network->markOutput(layer != nullptr ? *layer->getOutput(0) : *network->addIdentity(*x)->getOutput(0));
  }
  const bool built = build(*builder, *network, prefix);
  std::printf("plugins %s\n", built ? "built" : "refused");
  first->destroy();
  third->destroy();
  delete second;
  delete fourth;
  return 0;
}

}  // namespace scenes

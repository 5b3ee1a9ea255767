// Scenes about processes that are killed, builds that measure, calibration and the selection of algorithms, much work.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <iterator>

#include "program.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace scenes {
namespace {

// Gives two batches of four numbers, and has no cache of an earlier calibration.
class Calibrator final : public IInt8EntropyCalibrator2 {
 public:
  int32_t getBatchSize() const noexcept override { return 3; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    if (batches_ == 2 || count < 1 || names[0] == nullptr) {
      return false;
    }
    batch_ = {1.5F + static_cast<float>(batches_++), 0, 0, 0};
    bindings[0] = batch_.data();
    return true;
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeCalibrationCache(const void* bytes, std::size_t size) noexcept override {
    written.assign(static_cast<const char*>(bytes), size);
  }
  std::string written;

 private:
  std::array<float, 4> batch_{};
  int batches_ = 0;
};

// Leaves out one choice, another for each layer.
class Selector final : public IAlgorithmSelector {
 public:
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices, int32_t count,
                           int32_t* selection) noexcept override {
    int32_t selected = 0;
    for (int32_t i = 0; i < count; ++i) {
      if (choices[i]->getAlgorithmVariant().getTactic() % 4 != context.getName()[0] % 4) {
        selection[selected++] = i;
      }
    }
    return selected;
  }
  void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*, int32_t) noexcept override {}
};

// Has a megabyte and no more.
class SmallAllocator final : public IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override {
    return size <= 1 << 20 ? std::malloc(size) : nullptr;
  }
  bool deallocate(void* memory) noexcept override {
    std::free(memory);
    return true;
  }
};

// Calls every second error fatal.
class StrictRecorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return count_; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return ErrorCode::kINTERNAL_ERROR; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return "an error"; }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { count_ = 0; }
  bool reportError(ErrorCode, ErrorDesc) noexcept override { return ++count_ % 2 == 0; }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 0; }

 private:
  int32_t count_ = 0;
};

// Wants to stop where a step comes a second time.
class ImpatientMonitor final : public IProgressMonitor {
 public:
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    const bool isAgain = std::string(phase) == "asking" && step == last_;
    last_ = step;
    return !isAgain;
  }
  void phaseFinish(const char*) noexcept override {}

 private:
  int32_t last_ = -1;
};

// Takes what it is given in small pieces, and from some place on nothing.
class SlowWriter final : public IStreamWriter {
 public:
  explicit SlowWriter(size_t most) : room(most) {}
  int64_t write(const void* bytes, int64_t count) noexcept override {
    if (taken.size() >= room) {
      return 0;
    }
    const int64_t piece = std::min<int64_t>(count, 1000);
    taken.append(static_cast<const char*>(bytes), static_cast<size_t>(piece));
    return piece;
  }
  std::string taken;
  size_t room;
};

class Killer final : public IProgressMonitor {
 public:
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char*, int32_t) noexcept override {
    ::kill(::getpid(), SIGKILL);
    return true;
  }
  void phaseFinish(const char*) noexcept override {}
};

}  // namespace

// A calibrator, an algorithm selector and others: a library either asks them or refuses to build.
int answers(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  auto network = chain(*builder, store, 8, 2);
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  Calibrator calibrator;
  Selector selector;
  config->setInt8Calibrator(&calibrator);
  config->setAlgorithmSelector(&selector);
  SmallAllocator allocator;
  StrictRecorder recorder;
  ImpatientMonitor monitor;
  builder->setGpuAllocator(&allocator);
  builder->setErrorRecorder(&recorder);
  config->setProgressMonitor(&monitor);
  const bool own = config->getInt8Calibrator() == &calibrator && config->getAlgorithmSelector() == &selector;
  std::unique_ptr<IHostMemory> engine(builder->buildSerializedNetwork(*network, *config));
  if (engine != nullptr) {
    write(prefix, *engine);
  }
  std::printf("own %d, %s, cache '%s'\n", own, engine != nullptr ? "built" : "refused", calibrator.written.c_str());
  builder->setErrorRecorder(nullptr);
  return own ? 0 : 1;
}

// The engine goes to streams that take it in pieces: one all of it, and then no more; one only the beginning.
int slowStreams(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  auto network = chain(*builder, store, 8, 2);
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  SlowWriter slow(SIZE_MAX);
  SlowWriter full(1500);
  const bool one = builder->buildSerializedNetworkToStream(*network, *config, slow);
  std::ofstream(prefix + "0", std::ios::binary) << slow.taken;
  slow.room = 0;
  const bool two = builder->buildSerializedNetworkToStream(*network, *config, full);
  const bool three = builder->buildSerializedNetworkToStream(*network, *config, slow);
  return one && !two && !three ? 0 : 1;
}

// A build that measures; its timing cache goes to <prefix>.cache. With a file <prefix>.given it begins with that cache.
int measured(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{4, {2, 3, 24, 24}});
  for (int i = 0; i < 3; ++i) {
    const int64_t channels = x->getDimensions().d[1];
    auto* layer = network->addConvolutionNd(*x, 8, Dims{2, {3, 3}}, store.floats(8 * channels * 9), store.floats(8));
    x = network->addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0);
  }
  network->markOutput(*network->addReduce(*x, ReduceOperation::kAVG, 12, false)->getOutput(0));
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(3);
  std::ifstream file(prefix + ".given", std::ios::binary);
  const std::string given{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::unique_ptr<ITimingCache> cache(config->createTimingCache(given.data(), given.size()));
  if (cache == nullptr || !config->setTimingCache(*cache, false)) {
    return 1;
  }
  std::unique_ptr<IHostMemory> engine(builder->buildSerializedNetwork(*network, *config));
  std::unique_ptr<IHostMemory> bytes(config->getTimingCache()->serialize());
  if (engine == nullptr || bytes == nullptr) {
    return 1;
  }
  write(prefix, *engine);
  write(prefix + ".cache", *bytes);
  return 0;
}

// A plugin layer that the library may refuse; without it there is nothing to build.
int pluginRefused(const std::string& prefix) {
  const char* file = std::getenv("TENON_CAPTURE_PLUGINS");
  if (file == nullptr || dlopen(file, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return 1;
  }
  auto* creator = static_cast<IPluginCreatorV3One*>(getPluginRegistry()->getCreator("TimesThree", "3", ""));
  const float factor = 0.5F;
  const PluginField field("factor", &factor, PluginFieldType::kFLOAT32, 1);
  const PluginFieldCollection fields{1, &field};
  std::unique_ptr<IPluginV3> plugin(creator->createPlugin("alone", &fields, TensorRTPhase::kBUILD));
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{2, {4, 4}});
  ILayer* layer = network->addPluginV3(&x, 1, nullptr, 0, *plugin);
  if (layer == nullptr) {
    std::printf("no layer\n");
    return 0;
  }
  network->markOutput(*layer->getOutput(0));
  return build(*builder, *network, prefix) ? 0 : 1;
}

// Dies without an exit handler after the first of two builds.
int killed(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  auto network = chain(*builder, store, 12, 2);
  if (!build(*builder, *network, prefix)) {
    return 1;
  }
  network->setName("never flushed");
  ::kill(::getpid(), SIGKILL);
  return 1;
}

// Dies while it builds.
int killedInside(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  Killer killer;
  auto network = chain(*builder, store, 12, 2);
  build(*builder, *network, prefix, &killer);
  return 1;
}

// Dies after its network was deleted.
int killedLater(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  auto network = chain(*builder, store, 12, 2);
  if (!build(*builder, *network, prefix)) {
    return 1;
  }
  network.reset();
  ::kill(::getpid(), SIGKILL);
  return 1;
}

// Builds small networks without end, until it is killed.
int busy(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  for (uint32_t i = 0;; ++i) {
    Store store(i);
    auto network = chain(*builder, store, 4 + i % 7, 2);
    if (!build(*builder, *network, prefix)) {
      return 1;
    }
  }
}

// 100 MB of weights, for the overhead.
int large(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  Store store;
  auto network = chain(*builder, store, 1600, 10);
  return build(*builder, *network, prefix) ? 0 : 1;
}

}  // namespace scenes

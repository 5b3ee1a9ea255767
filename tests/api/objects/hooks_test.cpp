// The caller's objects: streams of bytes, progress monitors, output memory, debug listeners, device memory of its own.
#include <algorithm>
#include <cstring>
#include <map>

#include "fixture.h"

namespace {

class Hooks : public ObjectTest {
 protected:
  // y = -softmax(|x|), x [2,4]
  nv::ITensor* chain() {
    auto* abs = network->addUnary(input("x", {2, 4}), nv::UnaryOperation::kABS);
    inside = network->addSoftMax(*abs->getOutput(0))->getOutput(0);
    inside->setName("inside");
    output(network->addUnary(*inside, nv::UnaryOperation::kNEG)->getOutput(0), "y");
    return inside;
  }
  // Runs with x of one value in each column of two rows: every output is -1/2.
  void expectHalves(nv::IExecutionContext& context) {
    std::vector<float> x(8, 3), y(8, 9);
    void* bindings[] = {x.data(), y.data()};
    ASSERT_TRUE(context.executeV2(bindings));
    for (const float value : y) EXPECT_FLOAT_EQ(value, -0.5F);
  }
  nv::ITensor* inside = nullptr;
};

class Bytes final : public nv::IStreamWriter {
 public:
  int64_t write(const void* data, int64_t count) override {
    const int64_t taken = std::min<int64_t>(count, 1000);  // a writer may take less than it is given
    const auto* from = static_cast<const char*>(data);
    bytes.insert(bytes.end(), from, from + taken);
    return taken;
  }
  std::vector<char> bytes;
};

class Reader final : public nv::IStreamReaderV2 {
 public:
  explicit Reader(const std::vector<char>& itsBytes) : bytes(itsBytes) {}
  int64_t read(void* destination, int64_t count, cudaStream_t) noexcept override {
    const auto left = static_cast<int64_t>(bytes.size()) - position;
    const int64_t taken = std::min(count, left);
    std::memcpy(destination, bytes.data() + position, static_cast<size_t>(taken));
    position += taken;
    return taken;
  }
  bool seek(int64_t, nv::SeekPosition) noexcept override { return false; }
  const std::vector<char>& bytes;
  int64_t position = 0;
};

TEST_F(Hooks, PlansGoThroughStreams) {
  chain();
  Bytes writer;
  ASSERT_TRUE(builder->buildSerializedNetworkToStream(*network, *config, writer));
  runtime.reset(nv::createInferRuntime(log));
  Reader reader(writer.bytes);
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(reader));
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  expectHalves(*context);
  writer.bytes.resize(writer.bytes.size() / 2);
  Reader half(writer.bytes);
  EXPECT_EQ(runtime->deserializeCudaEngine(half), nullptr);
  EXPECT_EQ(log.errors.size(), 1U);
  log.errors.clear();
}

TEST_F(Hooks, AnEngineIsBuiltWithoutAPlanAndSavedLater) {
  chain();
  const std::unique_ptr<nv::ICudaEngine> built(builder->buildEngineWithConfig(*network, *config));
  ASSERT_NE(built, nullptr);
  const std::unique_ptr<nv::IHostMemory> plan(built->serialize());
  const std::unique_ptr<nv::IHostMemory> direct(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  ASSERT_EQ(plan->size(), direct->size());
  EXPECT_EQ(std::memcmp(plan->data(), direct->data(), plan->size()), 0);  // nothing is measured at level 0
  const std::unique_ptr<nv::IExecutionContext> context(built->createExecutionContext());
  expectHalves(*context);
}

class Monitor final : public nv::IProgressMonitor {
 public:
  explicit Monitor(int itsLimit) : limit(itsLimit) {}
  void phaseStart(const char*, const char*, int32_t) noexcept override { ++open; }
  bool stepComplete(const char*, int32_t) noexcept override { return ++steps <= limit; }
  void phaseFinish(const char*) noexcept override { --open; }
  int limit;
  int steps = 0;
  int open = 0;
};

TEST_F(Hooks, AProgressMonitorSeesPhasesAndStopsTheBuild) {
  chain();
  Monitor patient(1 << 20);
  config->setProgressMonitor(&patient);
  EXPECT_NE(std::unique_ptr<nv::IHostMemory>(builder->buildSerializedNetwork(*network, *config)), nullptr);
  EXPECT_GT(patient.steps, 0);
  EXPECT_EQ(patient.open, 0);
  Monitor impatient(0);
  config->setProgressMonitor(&impatient);
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  EXPECT_EQ(impatient.open, 0);
  expectError("cancelled");
}

// Keeps the phases that are open and the steps of each; stops the build in the first phase whose name begins so.
class Watcher final : public nv::IProgressMonitor {
 public:
  explicit Watcher(std::string itsEnd = "-") : end(std::move(itsEnd)) {}
  void phaseStart(const char* name, const char* parent, int32_t count) noexcept override {
    EXPECT_TRUE(parent == nullptr ? open.empty() : !open.empty() && open.back() == parent) << name;
    open.push_back(name);
    counts[name] = count;
  }
  bool stepComplete(const char* name, int32_t step) noexcept override {
    EXPECT_TRUE(!open.empty() && open.back() == name) << name;
    EXPECT_TRUE(step >= 0 && step < counts[name]) << name << " " << step;
    steps[name].push_back(step);
    return std::string(name).rfind(end, 0) != 0;
  }
  void phaseFinish(const char* name) noexcept override {
    EXPECT_EQ(open.back(), name);
    open.pop_back();
  }
  std::string end;
  std::vector<std::string> open;
  std::map<std::string, int32_t> counts;
  std::map<std::string, std::vector<int32_t>> steps;
};

TEST_F(Hooks, PhasesNestAndTheOutermostAdvances) {
  chain();
  Watcher watcher;
  config->setProgressMonitor(&watcher);
  EXPECT_NE(std::unique_ptr<nv::IHostMemory>(builder->buildSerializedNetwork(*network, *config)), nullptr);
  EXPECT_EQ(watcher.steps["Building Engine"], (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(watcher.counts["Building Engine"], 3);
}

TEST_F(Hooks, ABuildStopsBetweenTheCandidatesOfOneLayer) {
  auto& x = input("x", {1, 8, 32, 32});
  std::vector<float> values(8 * 8 * 9, 0.1F);
  const nv::Weights weights{nv::DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
  network->markOutput(*network->addConvolutionNd(x, 8, nv::Dims2{3, 3}, weights, {})->getOutput(0));
  config->setBuilderOptimizationLevel(3);
  Watcher whole;
  config->setProgressMonitor(&whole);
  EXPECT_NE(std::unique_ptr<nv::IHostMemory>(builder->buildSerializedNetwork(*network, *config)), nullptr);
  Watcher watcher("Timing ");
  config->setProgressMonitor(&watcher);
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("cancelled");
  EXPECT_TRUE(watcher.open.empty());
  size_t before = 0, now = 0;
  for (const auto& [name, steps] : whole.steps)
    before = name.rfind("Timing ", 0) == 0 ? std::max(before, steps.size()) : before;
  for (const auto& [name, steps] : watcher.steps) now += name.rfind("Timing ", 0) == 0 ? steps.size() : 0;
  EXPECT_GT(before, 1U) << "no layer has several candidates: no test";
  EXPECT_EQ(now, 1U);
}

class Memory final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    bytes.resize(size);
    return bytes.data();
  }
  void notifyShape(const char* name, const nv::Dims& shape) noexcept override {
    tensor = name;
    seen = extents(shape);
  }
  std::vector<char> bytes;
  std::string tensor;
  std::vector<int64_t> seen;
};

TEST_F(Hooks, OutputMemoryComesFromTheAllocator) {
  chain();
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  Memory memory;
  EXPECT_FALSE(context->setOutputAllocator("x", &memory));
  expectError("'x' is an input");
  ASSERT_TRUE(context->setOutputAllocator("y", &memory));
  EXPECT_EQ(context->getOutputAllocator("y"), &memory);
  std::vector<float> x(8, 3);
  void* bindings[] = {x.data(), nullptr};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(memory.tensor, "y");
  EXPECT_EQ(memory.seen, (std::vector<int64_t>{2, 4}));
  ASSERT_GE(memory.bytes.size(), 32U);
  float first = 0;
  std::memcpy(&first, memory.bytes.data(), sizeof(first));
  EXPECT_FLOAT_EQ(first, -0.5F);
}

TEST_F(Hooks, RangesSayAtMostWhatTheEngineWasBuiltFor) {
  using Verbosity = nv::ProfilingVerbosity;
  chain();
  const auto plain = engine();
  ASSERT_NE(plain, nullptr);
  std::unique_ptr<nv::IExecutionContext> context(plain->createExecutionContext());
  EXPECT_EQ(context->getNvtxVerbosity(), Verbosity::kLAYER_NAMES_ONLY);
  EXPECT_TRUE(context->setNvtxVerbosity(Verbosity::kNONE));
  EXPECT_EQ(context->getNvtxVerbosity(), Verbosity::kNONE);
  EXPECT_TRUE(context->setNvtxVerbosity(Verbosity::kLAYER_NAMES_ONLY));
  EXPECT_FALSE(context->setNvtxVerbosity(Verbosity::kDETAILED));
  expectError("less profiling verbosity");
  EXPECT_EQ(context->getNvtxVerbosity(), Verbosity::kLAYER_NAMES_ONLY);
  context.reset();

  config->setProfilingVerbosity(Verbosity::kDETAILED);
  const auto detailed = engine();
  ASSERT_NE(detailed, nullptr);
  context.reset(detailed->createExecutionContext());
  EXPECT_EQ(context->getNvtxVerbosity(), Verbosity::kDETAILED);
  EXPECT_TRUE(context->setNvtxVerbosity(Verbosity::kLAYER_NAMES_ONLY));
  EXPECT_TRUE(context->setNvtxVerbosity(Verbosity::kDETAILED));
  context.reset();
}

class Listener final : public nv::IDebugListener {
 public:
  bool processDebugTensor(const void* address, nv::TensorLocation, nv::DataType, const nv::Dims& shape,
                          const char* name, cudaStream_t) override {
    tensor = name;
    seen = extents(shape);
    std::memcpy(&first, address, sizeof(first));
    return true;
  }
  std::string tensor;
  std::vector<int64_t> seen;
  float first = 0;
};

TEST_F(Hooks, ADebugListenerSeesMarkedTensors) {
  chain();
  ASSERT_TRUE(network->markDebug(*inside));
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(loaded->isDebugTensor("inside"));
  EXPECT_FALSE(loaded->isDebugTensor("y"));
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  Listener listener;
  EXPECT_TRUE(context->setDebugListener(&listener));
  EXPECT_FALSE(context->getDebugState("inside"));
  EXPECT_TRUE(context->setTensorDebugState("inside", true));
  EXPECT_TRUE(context->getDebugState("inside"));
  expectHalves(*context);
  EXPECT_EQ(listener.tensor, "inside");
  EXPECT_EQ(listener.seen, (std::vector<int64_t>{2, 4}));
  EXPECT_FLOAT_EQ(listener.first, 0.5F);
}

TEST_F(Hooks, DeviceMemoryMayBeTheCallers) {
  chain();
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IRuntimeConfig> settings(loaded->createRuntimeConfig());
  settings->setExecutionContextAllocationStrategy(nv::ExecutionContextAllocationStrategy::kUSER_MANAGED);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext(settings.get()));
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->getRuntimeConfig(), settings.get());
  const auto bytes = static_cast<size_t>(loaded->getDeviceMemorySizeV2());
  std::vector<char> memory(bytes + 256);
  void* aligned = memory.data();
  size_t space = memory.size();
  ASSERT_NE(std::align(256, bytes, aligned, space), nullptr);
  context->setDeviceMemoryV2(aligned, static_cast<int64_t>(bytes));
  expectHalves(*context);
}

}  // namespace

// An IGpuAllocator that refuses its n-th call, for n = 1, 2, 3, ...: the call of the interface fails and says so,
// nothing stays behind, and the next try works.
#include <cuda_runtime_api.h>

#include <cmath>
#include <map>
#include <numeric>

#include "fixture.h"

namespace {

class RefusingAllocator final : public nv::IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t alignment, nv::AllocatorFlags) noexcept override {
    if (++calls == refused) return nullptr;
    void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    live[memory] = size;
    return memory;
  }
  bool deallocate(void* memory) noexcept override {
    if (live.erase(memory) == 0) ++strangers;
    std::free(memory);
    return true;
  }
  void refuse(int call) {
    refused = call;
    calls = 0;
  }
  bool wasAsked() const { return refused > 0 && calls >= refused; }

  int calls = 0;
  int refused = 0;  // none
  int strangers = 0;
  std::map<void*, uint64_t> live;
};

constexpr int64_t kColumns = 72;
constexpr int64_t kMostRows = 9;

class AllocatorFailures : public ObjectTest {
 protected:
  void SetUp() override {
    ObjectTest::SetUp();
    // Weights that kernels pack, tensors between, a profile change that wants more memory, and an output whose size the
    // data decide.
    auto* product = network->addMatrixMultiply(
        input("x", {-1, 24}), nv::MatrixOperation::kNONE,
        *network->addConstant(dims({24, kColumns}), {nv::DataType::kFLOAT, weights_.data(), 24 * kColumns})
             ->getOutput(0),
        nv::MatrixOperation::kNONE);
    auto* soft = network->addSoftMax(*product->getOutput(0));
    soft->setAxes(2);
    auto* sum = network->addReduce(*soft->getOutput(0), nv::ReduceOperation::kSUM, 2, true);
    auto* places = network->addNonZero(*sum->getOutput(0));
    output(sum->getOutput(0), "sums");
    output(places->getOutput(0), "places");
    for (const int64_t most : {int64_t{2}, kMostRows}) {
      auto* profile = builder->createOptimizationProfile();
      profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({1, 24}));
      profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({2, 24}));
      profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({most, 24}));
      config->addOptimizationProfile(profile);
    }
    runtime.reset(nv::createInferRuntime(log));
  }

  static std::vector<float> ramp() {
    std::vector<float> values(24 * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01F * static_cast<float>(i % 17) - 0.08F;
    return values;
  }

  // Sums of a softmax are 1, and each is a place that is not zero.
  static bool runs(nv::IExecutionContext& context, int64_t rows) {
    std::vector<float> x(static_cast<size_t>(rows) * 24, 0.5F);
    std::vector<float> sums(static_cast<size_t>(rows), 0);
    std::vector<int64_t> places(static_cast<size_t>(kMostRows) * 2, -1);
    if (!context.setInputShape("x", dims({rows, 24}))) return false;
    context.setTensorAddress("x", x.data());
    context.setTensorAddress("sums", sums.data());
    context.setTensorAddress("places", places.data());
    if (!context.enqueueV3(nullptr)) return false;
    cudaStreamSynchronize(nullptr);
    for (const float value : sums) EXPECT_NEAR(value, 1, 1e-5);
    EXPECT_EQ(extents(context.getTensorShape("places")), (std::vector<int64_t>{2, rows}));
    return true;
  }

  // Calls `stage` with each call of the allocator refused in turn, until none is left to refuse. `stage` says whether
  // it went well, and leaves nothing.
  template <typename Stage>
  int walk(const char* what, Stage stage) {
    const size_t before = allocator.live.size();
    for (int n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("{}, call {} refused", what, n));
      allocator.refuse(n);
      const bool went = stage();
      const bool wasAsked = allocator.wasAsked();
      allocator.refuse(0);
      EXPECT_EQ(went, !wasAsked);
      EXPECT_EQ(log.errors.empty(), !wasAsked);
      EXPECT_EQ(allocator.live.size(), before) << "memory is left";
      EXPECT_EQ(allocator.strangers, 0);
      log.errors.clear();
      EXPECT_TRUE(stage()) << "the next try";
      EXPECT_EQ(allocator.live.size(), before);
      if (!wasAsked || HasFailure()) return n - 1;
    }
  }

  RefusingAllocator allocator;

 private:
  std::vector<float> weights_ = ramp();
};

TEST_F(AllocatorFailures, OfBuilding) {
  builder->setGpuAllocator(&allocator);
  walk("building an engine", [&] {
    const std::unique_ptr<nv::ICudaEngine> engine(builder->buildEngineWithConfig(*network, *config));
    return engine != nullptr;
  });
  walk("building a plan", [&] {
    const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    return plan != nullptr;
  });
  EXPECT_TRUE(allocator.live.empty());
}

TEST_F(AllocatorFailures, OfLoading) {
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  runtime->setGpuAllocator(&allocator);
  walk("loading", [&] {
    const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    return engine != nullptr;
  });
  // The whole life of an engine, in which any call may be refused.
  const int calls = walk("all of it", [&] {
    const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (engine == nullptr) return false;
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    return context != nullptr && runs(*context, 2) && context->setOptimizationProfileAsync(1, nullptr) &&
           runs(*context, kMostRows);
  });
  EXPECT_GE(calls, 2) << "weights or arenas bypass the allocator";
}

TEST_F(AllocatorFailures, OfContextsAndExecutions) {
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  runtime->setGpuAllocator(&allocator);
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr);
  using Strategy = nv::ExecutionContextAllocationStrategy;
  for (const auto strategy : {Strategy::kSTATIC, Strategy::kON_PROFILE_CHANGE}) {
    const int calls = walk("creating a context and executing", [&] {
      const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext(strategy));
      return context != nullptr && runs(*context, 1) && context->setOptimizationProfileAsync(1, nullptr) &&
             runs(*context, kMostRows);
    });
    EXPECT_GE(calls, 1);
  }
  // One context that lives on: what was refused is asked for again.
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext(Strategy::kON_PROFILE_CHANGE));
  ASSERT_NE(context, nullptr);
  ASSERT_TRUE(runs(*context, 2));
  for (int n = 1; n < 100; ++n) {
    allocator.refuse(n);
    const bool went =
        context->setOptimizationProfileAsync(n % 2, nullptr) && runs(*context, n % 2 == 1 ? kMostRows : 2);
    const bool wasAsked = allocator.wasAsked();
    allocator.refuse(0);
    EXPECT_EQ(went, !wasAsked) << n;
    log.errors.clear();
    EXPECT_TRUE(context->setOptimizationProfileAsync(n % 2, nullptr) && runs(*context, 2)) << n;
    EXPECT_EQ(log.errors, std::vector<std::string>{});
    if (!wasAsked) break;
  }
}

}  // namespace

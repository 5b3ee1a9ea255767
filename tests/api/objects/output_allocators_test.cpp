// Allocators of outputs that misbehave, change or have nothing to give; executions behind each other and side by side.
#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <thread>

#include "computed_sizes.h"

namespace {

// Memory at an odd place, or an exception instead of it.
class BadAllocator final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void* current, uint64_t size, uint64_t alignment, cudaStream_t) override {
    seen = current;
    if (isThrowing) throw std::runtime_error("no memory today");
    memory.assign(static_cast<size_t>(size + 2 * alignment), 0x77);
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    return reinterpret_cast<void*>((begin + alignment - 1) / alignment * alignment + shift);
  }
  void notifyShape(const char*, const nv::Dims& dims) noexcept override { shape = extents(dims); }
  bool isThrowing = false;
  uint64_t shift = 0;
  void* seen = nullptr;
  std::vector<char> memory;
  std::vector<int64_t> shape;
};

// What it was once given, however much is asked for.
class FixedAllocator final : public nv::IOutputAllocator {
 public:
  explicit FixedAllocator(size_t bytes) { EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess); }
  ~FixedAllocator() override { cudaFree(memory); }
  void* reallocateOutputAsync(const char*, void*, uint64_t, uint64_t, cudaStream_t) override { return memory; }
  void notifyShape(const char*, const nv::Dims&) noexcept override {}
  void* memory = nullptr;
};

class OutputAllocators : public ComputedSizes {
 protected:
  void SetUp() override {
    ComputedSizes::SetUp();
    selection();
    start();
    context->setTensorAddress("x", x.data());
    context->setOutputAllocator("places", &places);
    context->setOutputAllocator("values", &values);
  }
  bool enqueue() {
    const bool isQueued = context->enqueueV3(nullptr);
    cudaStreamSynchronize(nullptr);
    return isQueued;
  }
  std::vector<float> x{0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0};
};

TEST_F(OutputAllocators, MemoryBesideTheAlignmentServesAtWholeElements) {
  BadAllocator odd;
  context->setOutputAllocator("values", &odd);
  odd.shift = 4;
  ASSERT_TRUE(enqueue());
  const auto* const at = reinterpret_cast<const float*>(context->getTensorAddress("values"));
  EXPECT_EQ((std::vector<float>(at, at + 3)), (std::vector<float>{1, 2, 3}));
  odd.shift = 1;
  EXPECT_FALSE(enqueue());
  EXPECT_NE(log.errors.at(0).find("at least of the 4 bytes of an element"), std::string::npos);
  expectError("output 'values': its allocator gave the address");
  odd.shift = 0;
  EXPECT_TRUE(enqueue());
}

TEST_F(OutputAllocators, ExceptionsEndTheExecutionAndNoMore) {
  BadAllocator throwing;
  throwing.isThrowing = true;
  context->setOutputAllocator("values", &throwing);
  EXPECT_FALSE(enqueue());
  expectError("no memory today");
  throwing.isThrowing = false;
  ASSERT_TRUE(enqueue());
  EXPECT_EQ(throwing.shape, std::vector<int64_t>{3});
}

TEST_F(OutputAllocators, MayBeReplacedBetweenExecutions) {
  ASSERT_TRUE(enqueue());
  expectSelection(x, 5);
  {
    BadAllocator other;
    context->setOutputAllocator("values", &other);
    x[7] = 5;
    ASSERT_TRUE(enqueue());
    EXPECT_EQ(other.seen, nullptr) << "the memory of another allocator is not its own";
    EXPECT_EQ(other.shape, std::vector<int64_t>{4});
    EXPECT_EQ(values.shape, std::vector<int64_t>{3});
    ASSERT_TRUE(enqueue());
    EXPECT_NE(other.seen, nullptr);
    context->setOutputAllocator("values", nullptr);
  }
  // The memory went with it.
  EXPECT_EQ(context->getTensorAddress("values"), nullptr);
  EXPECT_FALSE(enqueue());
  expectError("output 'values' has the shape");
  std::vector<float> y(15, -1);
  context->setTensorAddress("values", y.data());
  ASSERT_TRUE(enqueue());
  EXPECT_EQ((std::vector<float>(y.begin(), y.begin() + 5)), (std::vector<float>{1, 2, 5, 3, -1}));
}

TEST_F(OutputAllocators, MemoryThatIsKnownToBeTooSmallIsRefused) {
  FixedAllocator fixed(8);
  context->setOutputAllocator("values", &fixed);
  EXPECT_FALSE(enqueue());
  expectError(
      "output 'values' has the shape 3 and needs 12 bytes, its address has 8; its allocator has to give as many");
  x[1] = 0;
  EXPECT_TRUE(enqueue());
  context->setOutputAllocator("values", nullptr);
}

TEST_F(OutputAllocators, SizesOfZeroAskForMemoryToo) {
  std::fill(x.begin(), x.end(), 0.F);
  ASSERT_TRUE(enqueue());
  expectSelection(x, 5);
  EXPECT_EQ(values.shape, std::vector<int64_t>{0});
  EXPECT_GE(values.bytes, 1U) << "never 0";
}

// The second one begins before anybody has waited for the first.
TEST_F(OutputAllocators, ExecutionsFollowWithoutAWaitBetween) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> first(15), second(15);
    for (auto* const data : {&first, &second}) {
      for (auto& value : *data) value = random() % 2 == 0 ? 0.F : static_cast<float>(random() % 9);
    }
    Allocator places2, values2;
    context->setTensorAddress("x", first.data());
    context->setOutputAllocator("places", &places);
    context->setOutputAllocator("values", &values);
    ASSERT_TRUE(context->enqueueV3(stream));
    context->setTensorAddress("x", second.data());
    context->setOutputAllocator("places", &places2);
    context->setOutputAllocator("values", &values2);
    ASSERT_TRUE(context->enqueueV3(stream));
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    std::swap(places, places2);
    std::swap(values, values2);
    expectSelection(second, 5);
    std::swap(places, places2);
    std::swap(values, values2);
    EXPECT_EQ(values.shape,
              std::vector<int64_t>{std::count_if(first.begin(), first.end(), [](float v) { return v != 0; })});
    context->setOutputAllocator("places", nullptr);
    context->setOutputAllocator("values", nullptr);
  }
  cudaStreamDestroy(stream);
}

TEST_F(OutputAllocators, ContextsInThreads) {
  constexpr int kThreads = 4;
  std::array<int, kThreads> wrong{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::unique_ptr<nv::IExecutionContext> own(engineOfTest->createExecutionContext());
      cudaStream_t stream = nullptr;
      cudaStreamCreate(&stream);
      Allocator ownPlaces, ownValues;
      own->setOutputAllocator("places", &ownPlaces);
      own->setOutputAllocator("values", &ownValues);
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < 200; ++round) {
        std::vector<float> data(15), expected;
        for (auto& value : data) {
          value = random() % 2 == 0 ? 0.F : static_cast<float>(random() % 9);
          if (value != 0) expected.push_back(value);
        }
        own->setTensorAddress("x", data.data());
        const bool isQueued = own->enqueueV3(stream);
        cudaStreamSynchronize(stream);
        if (!isQueued || ownValues.values<float>() != expected) ++wrong[static_cast<size_t>(t)];
      }
      cudaStreamDestroy(stream);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace

// Networks whose outputs have sizes that only the run tells, and allocators that give them memory.
#pragma once

#include <cuda_runtime_api.h>

#include "fixture.h"

// Gives memory of its own and keeps what it was asked and told.
class Allocator final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char* name, void*, uint64_t size, uint64_t, cudaStream_t) override {
    asked.emplace_back(name);
    bytes = size;
    memory.assign(static_cast<size_t>(size), 0x77);
    return refuses ? nullptr : memory.data();
  }
  void notifyShape(const char*, const nv::Dims& dims) noexcept override { shape = extents(dims); }

  template <typename T>
  std::vector<T> values() const {
    const auto* const first = reinterpret_cast<const T*>(memory.data());
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return {first, first + count};
  }
  bool refuses = false;
  uint64_t bytes = 0;
  std::vector<std::string> asked;
  std::vector<char> memory;
  std::vector<int64_t> shape;
};

// The older of its functions alone.
class OldAllocator final : public nv::IOutputAllocator {
 public:
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    memory.resize(static_cast<size_t>(size));
    return memory.data();
  }
  void notifyShape(const char*, const nv::Dims& dims) noexcept override { shape = extents(dims); }
  std::vector<char> memory;
  std::vector<int64_t> shape;
};

class ComputedSizes : public ObjectTest {
 protected:
  // Coordinates of x [rows, 5] that are not 0, and what stands there: indices i32 [2, n], values [n].
  void selection(const std::vector<int64_t>& shape = {3, 5}) {
    nv::ITensor& x = input("x", shape);
    auto* places = network->addNonZero(x, nv::DataType::kINT32);
    output(places->getOutput(0), "places");
    auto* turned = network->addShuffle(*places->getOutput(0));
    turned->setFirstTranspose({1, 0});
    auto* values = network->addGatherV2(x, *turned->getOutput(0), nv::GatherMode::kND);
    output(values->getOutput(0), "values");
  }
  void start() {
    engineOfTest = engine();
    ASSERT_NE(engineOfTest, nullptr);
    context.reset(engineOfTest->createExecutionContext());
    ASSERT_NE(context, nullptr);
  }
  void run(std::vector<float>& x) {
    context->setTensorAddress("x", x.data());
    context->setOutputAllocator("places", &places);
    context->setOutputAllocator("values", &values);
    ASSERT_TRUE(context->enqueueV3(nullptr));
    cudaStreamSynchronize(nullptr);
  }
  void expectSelection(const std::vector<float>& x, int64_t width) {
    std::vector<int32_t> rows, columns;
    std::vector<float> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 0) continue;
      rows.push_back(static_cast<int32_t>(static_cast<int64_t>(i) / width));
      columns.push_back(static_cast<int32_t>(static_cast<int64_t>(i) % width));
      expected.push_back(x[i]);
    }
    const auto count = static_cast<int64_t>(expected.size());
    EXPECT_EQ(places.shape, (std::vector<int64_t>{2, count}));
    EXPECT_EQ(values.shape, (std::vector<int64_t>{count}));
    rows.insert(rows.end(), columns.begin(), columns.end());
    EXPECT_EQ(places.values<int32_t>(), rows);
    EXPECT_EQ(values.values<float>(), expected);
    EXPECT_EQ(extents(context->getTensorShape("values")), (std::vector<int64_t>{count}));
  }

  std::unique_ptr<nv::ICudaEngine> engineOfTest;
  std::unique_ptr<nv::IExecutionContext> context;
  Allocator places, values;
  const int64_t two = 2;
  const float half = 0.5F;
};

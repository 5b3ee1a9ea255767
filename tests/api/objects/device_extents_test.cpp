// Extents that are numbers which the device computes from data: through builder, plan, contexts and output allocators.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "fixture.h"

namespace {

class Allocator final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    memory.assign(static_cast<size_t>(size), 0x77);
    return memory.data();
  }
  void notifyShape(const char*, const nv::Dims& dims) noexcept override { shape = extents(dims); }
  std::vector<float> values() const {
    const auto* const first = reinterpret_cast<const float*>(memory.data());
    const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    return {first, first + count};
  }
  std::vector<char> memory;
  std::vector<int64_t> shape;
};

class DeviceExtents : public ObjectTest {
 protected:
  nv::ITensor& castTo(nv::ITensor& x, nv::DataType type) { return *network->addCast(x, type)->getOutput(0); }
  nv::ITensor& number(int64_t value) {
    kept.push_back(std::make_unique<int64_t>(value));
    return *network->addConstant(dims({1}), {nv::DataType::kINT64, kept.back().get(), 1})->getOutput(0);
  }
  nv::ITensor& both(nv::ITensor& a, nv::ITensor& b, nv::ElementWiseOperation op) {
    return *network->addElementWise(a, b, op)->getOutput(0);
  }
  // The sum of x, rounded up, as i64 [1].
  nv::ITensor& lengthOf(nv::ITensor& x) {
    auto* sum = network->addReduce(x, nv::ReduceOperation::kSUM, 1, true)->getOutput(0);
    auto* whole = network->addUnary(*sum, nv::UnaryOperation::kCEIL)->getOutput(0);
    return castTo(*whole, nv::DataType::kINT64);
  }
  // 0, 1, 2, ... as FP32.
  nv::ITensor& numbers(nv::ITensor& length) {
    auto* fill = network->addFill(dims({1}), nv::FillOperation::kLINSPACE, nv::DataType::kINT64);
    fill->setInput(0, length);
    fill->setAlphaInt64(0);
    fill->setBetaInt64(1);
    return castTo(*fill->getOutput(0), nv::DataType::kFLOAT);
  }
  void start() {
    made = engine();
    ASSERT_NE(made, nullptr);
    context.reset(made->createExecutionContext());
    ASSERT_NE(context, nullptr);
  }
  bool run(std::map<std::string, std::vector<float>>& inputs) {
    for (auto& [name, values] : inputs) context->setTensorAddress(name.c_str(), values.data());
    for (int32_t i = 0; i < made->getNbIOTensors(); ++i) {
      const char* name = made->getIOTensorName(i);
      if (made->getTensorIOMode(name) == nv::TensorIOMode::kOUTPUT) context->setOutputAllocator(name, &outputs[name]);
    }
    const bool queued = context->enqueueV3(nullptr);
    cudaStreamSynchronize(nullptr);
    return queued;
  }
  // facts[1] + 1 and 24 / (facts[1] + 1).
  nv::ITensor& sizes2(nv::ITensor& facts) {
    auto* second = network->addSlice(facts, dims({1}), dims({1}), dims({1}));
    auto& rows = both(castTo(*second->getOutput(0), nv::DataType::kINT64), number(1), nv::ElementWiseOperation::kSUM);
    nv::ITensor* const parts[] = {&rows, &both(number(24), rows, nv::ElementWiseOperation::kFLOOR_DIV)};
    return *network->addConcatenation(parts, 2)->getOutput(0);
  }
  const int32_t zero = 0;
  static constexpr float kSteps[] = {1000, 100, 10, 1, 2};
  std::vector<std::unique_ptr<int64_t>> kept;
  std::unique_ptr<nv::ICudaEngine> made;
  std::unique_ptr<nv::IExecutionContext> context;
  std::map<std::string, Allocator> outputs;
};

// As in networks of speech: durations give a length, which nothing bounds. Tensors of much more than was planned for.
TEST_F(DeviceExtents, WithoutABound) {
  auto& x = input("x", {4});
  auto& length = lengthOf(x);
  auto& line = numbers(length);
  output(network->addElementWise(line, line, nv::ElementWiseOperation::kPROD)->getOutput(0), "squares");
  // [n, n]: outer products, whose sum over rows is read again.
  auto* column = network->addShuffle(line);
  column->setReshapeDimensions(dims({-1, 1}));
  auto* row = network->addShuffle(line);
  row->setReshapeDimensions(dims({1, -1}));
  auto& outer = both(*column->getOutput(0), *row->getOutput(0), nv::ElementWiseOperation::kSUM);
  output(network->addReduce(outer, nv::ReduceOperation::kSUM, 1, false)->getOutput(0), "sums");
  start();
  EXPECT_EQ(extents(made->getTensorShape("squares")), std::vector<int64_t>{-1});
  EXPECT_EQ(context->getMaxOutputSize("squares"), -1) << "there is none";
  std::mt19937 random(3);
  for (const int64_t n : {7, 0, 1, 300, 64, 2000, 5, 2000}) {
    std::map<std::string, std::vector<float>> inputs{{"x", {0, static_cast<float>(n) - 0.5F, 0.25F, 0}}};
    ASSERT_TRUE(run(inputs)) << n;
    std::vector<float> squares, sums;
    for (int64_t i = 0; i < n; ++i) {
      squares.push_back(static_cast<float>(i * i));
      sums.push_back(static_cast<float>(i * n + n * (n - 1) / 2));
    }
    EXPECT_EQ(outputs["squares"].values(), squares) << n;
    EXPECT_EQ(outputs["sums"].values(), sums) << n;
    EXPECT_EQ(extents(context->getTensorShape("sums")), std::vector<int64_t>{n});
  }
}

// Four extents that nothing bounds: memory is planned for little, and executions get what they need.
TEST_F(DeviceExtents, SeveralWithoutABound) {
  auto& x = input("x", {4});
  auto* fill = network->addFill(dims({0, 0, 0, 0}), nv::FillOperation::kLINSPACE, nv::DataType::kFLOAT);
  auto* ones = network->addConstant(dims({4}), {nv::DataType::kFLOAT, kSteps, 4})->getOutput(0);
  fill->setInput(0, castTo(x, nv::DataType::kINT64));
  fill->setInput(1, *network->addConstant(dims({}), {nv::DataType::kFLOAT, kSteps + 4, 1})->getOutput(0));
  fill->setInput(2, *ones);
  output(fill->getOutput(0), "grid");
  start();
  EXPECT_LT(made->getDeviceMemorySizeV2(), int64_t{1} << 30);
  for (const std::vector<float>& n : {std::vector<float>{3, 2, 4, 5}, {1, 1, 70, 60}, {2, 0, 1, 1}}) {
    std::map<std::string, std::vector<float>> inputs{{"x", n}};
    ASSERT_TRUE(run(inputs));
    std::vector<float> want;
    for (float a = 0; a < n[0]; ++a) {
      for (float b = 0; b < n[1]; ++b) {
        for (float c = 0; c < n[2]; ++c) {
          for (float d = 0; d < n[3]; ++d) want.push_back(2 + 1000 * a + 100 * b + 10 * c + d);
        }
      }
    }
    EXPECT_EQ(outputs["grid"].values(), want);
  }
}

TEST_F(DeviceExtents, BoundsComeFromClips) {
  auto& x = input("x", {4});
  auto& length =
      both(both(lengthOf(x), number(3), nv::ElementWiseOperation::kMAX), number(20), nv::ElementWiseOperation::kMIN);
  output(&numbers(length), "line");
  start();
  EXPECT_EQ(context->getMaxOutputSize("line"), 20 * 4);
  for (const auto& [sum, n] : {std::pair(-9.0F, 3), std::pair(11.2F, 12), std::pair(400.0F, 20)}) {
    std::map<std::string, std::vector<float>> inputs{{"x", {sum, 0, 0, 0}}};
    ASSERT_TRUE(run(inputs));
    EXPECT_EQ(outputs["line"].shape, std::vector<int64_t>{n});
  }
}

// Start and size of a slice, dimensions of a reshape: [a, b] with a * b elements kept.
TEST_F(DeviceExtents, OfSlicesAndReshapes) {
  auto& x = input("x", {6, 4});
  auto& facts = input("facts", {2});
  auto& sizes = castTo(facts, nv::DataType::kINT64);
  auto* slice = network->addSlice(x, dims({0, 0}), dims({0, 0}), dims({1, 1}));
  slice->setInput(1, sizes);
  nv::ITensor* const rest[] = {
      &both(number(6),
            *network
                 ->addGather(sizes, *network->addConstant(dims({1}), {nv::DataType::kINT32, &zero, 1})->getOutput(0), 0)
                 ->getOutput(0),
            nv::ElementWiseOperation::kSUB),
      &number(2)};
  slice->setInput(2, *network->addConcatenation(rest, 2)->getOutput(0));
  output(slice->getOutput(0), "cut");
  auto* shuffle = network->addShuffle(x);
  shuffle->setInput(1, sizes2(facts));
  output(shuffle->getOutput(0), "shaped");
  start();
  for (const int64_t row : {0, 2, 5}) {
    for (const int64_t column : {0, 1, 2}) {
      std::vector<float> values(24);
      std::iota(values.begin(), values.end(), 1.0F);
      std::map<std::string, std::vector<float>> inputs{
          {"x", values}, {"facts", {static_cast<float>(row), static_cast<float>(column)}}};
      ASSERT_TRUE(run(inputs));
      std::vector<float> expected;
      for (int64_t r = row; r < 6; ++r) {
        for (int64_t c = column; c < column + 2; ++c) expected.push_back(values[static_cast<size_t>(r * 4 + c)]);
      }
      EXPECT_EQ(outputs["cut"].shape, (std::vector<int64_t>{6 - row, 2}));
      EXPECT_EQ(outputs["cut"].values(), expected);
      EXPECT_EQ(outputs["shaped"].shape, (std::vector<int64_t>{column + 1, 24 / (column + 1)}));
      EXPECT_EQ(outputs["shaped"].values(), values);
    }
  }
  std::map<std::string, std::vector<float>> inputs{{"x", std::vector<float>(24)}, {"facts", {2, 3}}};
  EXPECT_FALSE(run(inputs)) << "columns 3 and 4 of 4";
  ASSERT_FALSE(log.errors.empty());
  EXPECT_NE(log.errors[0].find("slice"), std::string::npos) << log.errors[0];
  log.errors.clear();
}

TEST_F(DeviceExtents, NegativeOnesAreRefused) {
  auto& x = input("x", {4});
  output(&numbers(lengthOf(x)), "line");
  start();
  std::map<std::string, std::vector<float>> inputs{{"x", {-3, 0, 0, 0}}};
  EXPECT_FALSE(run(inputs));
  ASSERT_FALSE(log.errors.empty());
  EXPECT_NE(log.errors[0].find("-3"), std::string::npos) << log.errors[0];
  log.errors.clear();
}

}  // namespace

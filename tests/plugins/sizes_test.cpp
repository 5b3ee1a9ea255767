// SPDX-License-Identifier: Apache-2.0
// Outputs whose size only the plugin's execution knows: size tensors of IPluginV3.
#include <random>

#include "support.h"

namespace tenon::test {
namespace {

class Allocator final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    bytes = size;
    memory.assign(static_cast<size_t>(size), 0x77);
    return memory.data();
  }
  void notifyShape(const char*, const nv::Dims& dims) noexcept override { shape = dims; }
  uint64_t bytes = 0;
  SharedVector<char> memory;
  nv::Dims shape{};
};

struct Fields {
  char rows = 0, wide = 0, fault = 0;
};

class PluginSizes : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(log().take(), "");
    EXPECT_EQ(library_.liveObjects(), 0);
  }
  static std::unique_ptr<nv::IPluginV3> places(const Fields& fields) {
    const auto field = [](const char* name, const char& value) {
      return nv::PluginField{name, &value, nv::PluginFieldType::kINT8, 1};
    };
    return make("Places", {field("rows", fields.rows), field("wide", fields.wide), field("fault", fields.fault)});
  }
  // x -> places "y0", number "y1"; the values that stand there through a gather, "values".
  static bool network(nv::INetworkDefinition& network, nv::IPluginV3& plugin, const nv::Dims& shape, bool rows) {
    if (!aroundV3(network, plugin, shape)) return false;
    nv::ITensor* places = network.getLayer(0)->getOutput(0);
    const auto declared = places->getDimensions();
    EXPECT_EQ(declared.nbDims, 2);
    EXPECT_EQ(declared.d[rows ? 0 : 1], -1) << "before it runs";
    EXPECT_EQ(declared.d[rows ? 1 : 0], 2);
    auto* turned = network.addShuffle(*places);
    if (!rows) turned->setFirstTranspose({1, 0});
    auto* values = network.addGatherV2(*network.getInput(0), *turned->getOutput(0), nv::GatherMode::kND);
    values->getOutput(0)->setName("values");
    network.markOutput(*values->getOutput(0));
    return true;
  }
  static Tensor sparse(int64_t rows, int64_t columns, int seed) {
    Tensor x{dims({rows, columns}), {}};
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int64_t i = 0; i < rows * columns; ++i)
      x.values.push_back(random() % 3 == 0 ? 0.0F : static_cast<float>(random() % 1000) + 1);
    return x;
  }
  static void expectRight(nv::ICudaEngine& engine, nv::IExecutionContext& context, const Tensor& x, const Fields& f) {
    const auto width = x.shape.d[1];
    std::vector<int32_t> rows, columns;
    std::vector<float> values;
    for (size_t i = 0; i < x.values.size(); ++i) {
      if (x.values[i] == 0) continue;
      rows.push_back(static_cast<int32_t>(static_cast<int64_t>(i) / width));
      columns.push_back(static_cast<int32_t>(static_cast<int64_t>(i) % width));
      values.push_back(x.values[i]);
    }
    const auto count = static_cast<int64_t>(rows.size());
    std::vector<int32_t> expected;
    for (size_t i = 0; i < rows.size() && f.rows != 0; ++i) expected.insert(expected.end(), {rows[i], columns[i]});
    if (f.rows == 0) {
      expected = rows;
      expected.insert(expected.end(), columns.begin(), columns.end());
    }
    const int axis = f.rows != 0 ? 0 : 1;
    ASSERT_TRUE(context.setInputShape("x", x.shape));
    SharedVector<float> input(x.values.begin(), x.values.end());
    ASSERT_TRUE(context.setTensorAddress("x", input.data()));
    EXPECT_EQ(engine.getTensorShape("y0").d[axis], -1);
    EXPECT_EQ(context.getMaxOutputSize("y0"), 2 * volume(x.shape) * 4);
    EXPECT_EQ(engine.getTensorDataType("y1"), f.wide != 0 ? nv::DataType::kINT64 : nv::DataType::kINT32);
    std::map<std::string, Allocator> allocators;
    for (const char* name : {"y0", "y1", "values"}) context.setOutputAllocator(name, &allocators[name]);
    ASSERT_TRUE(context.enqueueV3(nullptr));
    cudaStreamSynchronize(nullptr);
    EXPECT_EQ(allocators["y0"].shape.d[axis], count);
    EXPECT_EQ(context.getTensorShape("y0").d[axis], count);
    EXPECT_EQ(allocators["y0"].bytes, std::max<uint64_t>(1, 8 * rows.size()));
    const auto* got = reinterpret_cast<const int32_t*>(allocators["y0"].memory.data());
    EXPECT_EQ(std::vector<int32_t>(got, got + 2 * count), expected);
    const auto* number = allocators["y1"].memory.data();
    EXPECT_EQ(f.wide != 0 ? *reinterpret_cast<const int64_t*>(number) : *reinterpret_cast<const int32_t*>(number),
              count);
    const auto* chosen = reinterpret_cast<const float*>(allocators["values"].memory.data());
    EXPECT_EQ(std::vector<float>(chosen, chosen + count), values);
  }
  void expectRefused(const Fields& fields, std::initializer_list<const char*> parts) {
    const auto plugin = places(fields);
    EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *plugin, dims({3, 4})); }), nullptr);
    expectReported(parts);
  }
  static void expectReported(std::initializer_list<const char*> parts) {
    const auto errors = log().take();
    for (const char* part : parts) EXPECT_NE(errors.find(part), std::string::npos) << part << " in: " << errors;
  }
  Library library_;
};

TEST_F(PluginSizes, OfFixedShapes) {
  for (const Fields& fields : {Fields{}, Fields{1, 0, 0}, Fields{0, 1, 0}, Fields{1, 1, 0}}) {
    const auto plugin = places(fields);
    for (const int level : {0, 3}) {
      const auto plan = build(
          [&](auto& net) {
            return network(net, *plugin, dims({7, 5}), fields.rows != 0);
          },
          {}, level);
      ASSERT_NE(plan, nullptr) << log().take();
      const auto engine = load(*plan);
      ASSERT_NE(engine, nullptr);
      const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
      for (int seed = 0; seed < 4; ++seed) expectRight(*engine, *context, sparse(7, 5, seed), fields);
      expectRight(*engine, *context, {dims({7, 5}), std::vector<float>(35, 0.0F)}, fields);
      expectRight(*engine, *context, {dims({7, 5}), std::vector<float>(35, 2.0F)}, fields);
    }
  }
}

TEST_F(PluginSizes, OfShapesThatVary) {
  const Fields fields{0, 1, 0};
  const auto plugin = places(fields);
  const auto plan = build(
      [&](auto& net) {
        return network(net, *plugin, dims({-1, -1}), false);
      },
      {{"x", {dims({1, 1}), dims({5, 9}), dims({33, 17})}}});
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> first(engine->createExecutionContext());
  const std::unique_ptr<nv::IExecutionContext> second(engine->createExecutionContext());
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {33, 17}, {5, 9}, {31, 2}}) {
    expectRight(*engine, *first, sparse(rows, columns, 3), fields);
    expectRight(*engine, *second, sparse(rows, columns, 4), fields);
  }
}

// Addresses of the largest size will do, too.
TEST_F(PluginSizes, WithoutAllocators) {
  const auto plugin = places({});
  const auto plan = build([&](auto& net) { return aroundV3(net, *plugin, dims({2, 3})); });
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  SharedVector<float> x{0, 5, 0, 6, 7, 0};
  SharedVector<int32_t> found(static_cast<size_t>(context->getMaxOutputSize("y0")) / 4, -9);
  SharedVector<int32_t> number{-9};
  ASSERT_TRUE(context->setTensorAddress("x", x.data()));
  ASSERT_TRUE(context->setTensorAddress("y0", found.data()));
  ASSERT_TRUE(context->setTensorAddress("y1", number.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr));
  cudaStreamSynchronize(nullptr);
  EXPECT_EQ(number[0], 3);
  found.resize(6);
  EXPECT_EQ(found, (SharedVector<int32_t>{0, 1, 1, 1, 0, 1}));
}

TEST_F(PluginSizes, DeclaredWrongly) {
  expectRefused({0, 0, 1}, {"the layer", "output 1 is declared a size tensor", "type f32", "expected i32 or i64"});
  expectRefused({0, 0, 2}, {"the layer", "declareSizeTensor", "output 2 is out of range", "0 to 1"});
  expectRefused({0, 0, 3}, {"the layer", "output 1 is declared a size tensor", "expected a scalar"});
  expectRefused({0, 0, 4}, {"the layer", "output 1 is declared twice"});
}

TEST_F(PluginSizes, OutsideOfTheirBounds) {
  for (const auto& [fault, said] :
       {std::pair{5, "computes is 13, expected 0 to 12"}, {6, "computes is -1, expected 0"}}) {
    for (const char wide : {char{0}, char{1}}) {
      const auto plugin = places({0, wide, static_cast<char>(fault)});
      const auto plan = build([&](auto& net) { return aroundV3(net, *plugin, dims({3, 4})); });
      ASSERT_NE(plan, nullptr) << log().take();
      const auto engine = load(*plan);
      const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
      const auto values = sparse(3, 4, 1).values;
      SharedVector<float> x(values.begin(), values.end());
      SharedVector<int32_t> found(24);
      SharedVector<int64_t> number(1);
      context->setTensorAddress("x", x.data());
      context->setTensorAddress("y0", found.data());
      context->setTensorAddress("y1", number.data());
      EXPECT_FALSE(context->enqueueV3(nullptr));
      expectReported({"the layer", said});
    }
  }
}

}  // namespace
}  // namespace tenon::test

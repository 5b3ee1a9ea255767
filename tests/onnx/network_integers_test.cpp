// Arithmetic of integers that leave their type: it wraps, as ONNX's integers do, alone, in a chain, and when folded.
#include <gtest/gtest.h>

#include <cstdlib>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

// The engine of a model with inputs a and b and output y of `count` elements of one byte-sized or wider type.
template <typename T>
std::vector<T> run(const ModelMaker& maker, std::vector<T> a, std::vector<T> b) {
  setenv("TENON_DEVICE", "cpu", 1);
  NetworkBench bench;
  if (!bench.parse(maker)) {
    ADD_FAILURE() << bench.errors();
    return {};
  }
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(bench.logger));
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
  if (plan != nullptr) engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) {
    ADD_FAILURE() << bench.logger.text;
    return {};
  }
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  std::vector<T> y(a.size(), T{77});
  context->setTensorAddress("a", a.data());
  context->setTensorAddress("b", b.data());
  context->setTensorAddress("y", y.data());
  EXPECT_TRUE(context->enqueueV3(nullptr)) << bench.logger.text;
  return y;
}

template <typename T>
class Integers : public testing::Test {
 protected:
  static constexpr int32_t kType = std::is_same_v<T, uint8_t>   ? 2
                                   : std::is_same_v<T, int8_t>  ? 3
                                   : std::is_same_v<T, int32_t> ? 6
                                                                : 7;
  static constexpr T kLow = std::numeric_limits<T>::min();
  static constexpr T kHigh = std::numeric_limits<T>::max();

  Integers() {
    const std::vector<T> values{
        kLow, static_cast<T>(kLow + 1), 0, 1, 2, 3, 16, 100, static_cast<T>(kHigh / 2), static_cast<T>(kHigh - 1),
        kHigh};
    for (const T left : values) {
      for (const T right : values) {
        a.push_back(left);
        b.push_back(right);
      }
    }
  }
  static T expected(const std::string& type, T left, T right) {
    const auto l = static_cast<uint64_t>(left);
    const auto r = static_cast<uint64_t>(right);
    return static_cast<T>(type == "Add" ? l + r : type == "Sub" ? l - r : l * r);
  }
  ModelMaker model(const std::string& type) const {
    ModelMaker maker;
    const auto count = static_cast<int64_t>(a.size());
    maker.input("a", {count}, kType);
    maker.input("b", {count}, kType);
    maker.node(type, {"a", "b"}, {"y"});
    maker.output("y", {count}, kType);
    return maker;
  }
  std::vector<T> a, b;
};

using Types = testing::Types<uint8_t, int8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(Integers, Types);

TYPED_TEST(Integers, Wrap) {
  for (const std::string type : {"Add", "Sub", "Mul"}) {
    const auto y = run(this->model(type), this->a, this->b);
    ASSERT_EQ(y.size(), this->a.size());
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(+y[i], +this->expected(type, this->a[i], this->b[i]))
          << type << " of " << +this->a[i] << " and " << +this->b[i];
    }
  }
}

// Whether two operations are one kernel makes no difference.
TYPED_TEST(Integers, WrapWithinAChain) {
  ModelMaker maker = this->model("Add");
  maker.graph().mutable_node(0)->set_output(0, "t");
  maker.node("Max", {"t", "a"}, {"u"});
  maker.node("Sub", {"u", "b"}, {"y"});
  const auto y = run(maker, this->a, this->b);
  ASSERT_EQ(y.size(), this->a.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const auto sum = std::max(this->expected("Add", this->a[i], this->b[i]), this->a[i]);
    EXPECT_EQ(+y[i], +this->expected("Sub", sum, this->b[i])) << +this->a[i] << " and " << +this->b[i];
  }
}

TYPED_TEST(Integers, WrapWhenFolded) {
  for (const std::string type : {"Add", "Sub", "Mul"}) {
    ModelMaker maker = this->model("Add");
    const auto count = static_cast<int64_t>(this->a.size());
    maker.initializer("c", {count}, this->kType).set_raw_data(this->a.data(), this->a.size() * sizeof(TypeParam));
    maker.initializer("d", {count}, this->kType).set_raw_data(this->b.data(), this->b.size() * sizeof(TypeParam));
    maker.node(type, {"c", "d"}, {"folded"});
    maker.graph().mutable_node(0)->set_output(0, "t");
    maker.node("Add", {"t", "folded"}, {"y"});
    const auto y = run(maker, std::vector<TypeParam>(this->a.size(), 0), std::vector<TypeParam>(this->a.size(), 0));
    ASSERT_EQ(y.size(), this->a.size());
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(+y[i], +this->expected(type, this->a[i], this->b[i]))
          << type << " of " << +this->a[i] << " and " << +this->b[i];
    }
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

// CumSum from the model's bytes to its numbers: parsed, built, loaded, run.
#include <gtest/gtest.h>

#include <random>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

using Ints = std::vector<int64_t>;

std::vector<float> run(NetworkBench& bench, const std::vector<float>& x) {
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
  EXPECT_NE(plan, nullptr) << bench.logger.text;
  if (plan == nullptr) return {};
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(bench.logger));
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  EXPECT_NE(engine, nullptr) << bench.logger.text;
  if (engine == nullptr) return {};
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> y(x.size(), -99);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  EXPECT_TRUE(context->executeV2(bindings)) << bench.logger.text;
  return y;
}

// The element at (i, j, k) of an axis-1 sum over [2, extent, 3], added up from the definition.
float expectedSum(const std::vector<float>& x, int64_t extent, size_t at, bool exclusive, bool reverse) {
  const int64_t position = static_cast<int64_t>(at) / 3 % extent;
  double sum = 0;
  for (int64_t other = 0; other < extent; ++other) {
    const bool within = reverse ? other > position : other < position;
    if (within || (other == position && !exclusive)) sum += x[at + static_cast<size_t>((other - position) * 3)];
  }
  return static_cast<float>(sum);
}

TEST(CumSum, RunsAsItIsDefined) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-1, 1);
  for (const int64_t extent : {1, 2, 17}) {
    for (int flags = 0; flags < 4; ++flags) {
      const bool exclusive = (flags & 1) != 0;
      const bool reverse = (flags & 2) != 0;
      ModelMaker maker(14);
      maker.input("x", {2, extent, 3});
      maker.ints("axis", {}, {-2});
      auto& node = maker.node("CumSum", {"x", "axis"}, {"y"});
      ModelMaker::set(node, "exclusive", int64_t{exclusive});
      ModelMaker::set(node, "reverse", int64_t{reverse});
      maker.output("y");
      NetworkBench bench;
      ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
      EXPECT_EQ(bench.outputShape(), (Dimensions{2, extent, 3}));
      std::vector<float> x(static_cast<size_t>(2 * extent * 3));
      for (auto& value : x) value = values(random);
      const auto y = run(bench, x);
      ASSERT_EQ(y.size(), x.size());
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], expectedSum(x, extent, i, exclusive, reverse), 1e-5) << extent << " " << flags << " at " << i;
      }
    }
  }
}

TEST(CumSum, AnAxisOutsideIsRefused) {
  ModelMaker maker(14);
  maker.input("x", {2, 3});
  maker.ints("axis", {}, {2});
  maker.node("CumSum", {"x", "axis"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_NE(bench.errors().find("axis"), std::string::npos) << bench.errors();
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Names of the model in the network: of tensors whose computation is folded, and of dimensions.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

std::set<std::string> tensorNames(nvinfer1::INetworkDefinition& network) {
  std::set<std::string> names;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    for (int32_t k = 0; k < network.getLayer(i)->getNbOutputs(); ++k) {
      EXPECT_TRUE(names.insert(network.getLayer(i)->getOutput(k)->getName()).second)
          << network.getLayer(i)->getOutput(k)->getName() << " is there twice";
    }
  }
  return names;
}

// Shape, Gather, arithmetic and Concat are folded into one tensor of extents. What becomes a tensor has its name.
TEST(Names, OfFoldedShapeArithmetic) {
  ModelMaker maker;
  maker.input("x", {-2, 6, -3});
  maker.ints("zero", {1}, {0});
  maker.ints("two", {1}, {2});
  maker.ints("rest", {1}, {3});
  maker.node("Shape", {"x"}, {"shape"});
  maker.node("Gather", {"shape", "zero"}, {"batch"});
  maker.node("Gather", {"shape", "two"}, {"width"});
  maker.node("Mul", {"batch", "width"}, {"area"});
  maker.node("Concat", {"two", "rest", "area"}, {"target"});
  ModelMaker::set(*maker.graph().mutable_node(4), "axis", int64_t{0});
  maker.node("Expand", {"x", "shape"}, {"same"});
  maker.node("Cast", {"area"}, {"real"});
  ModelMaker::set(*maker.graph().mutable_node(6), "to", int64_t{1});
  maker.floats("weights", {2, 3}, {1, 2, 3, 4, 5, 6});
  maker.node("Transpose", {"weights"}, {"turned"});
  maker.input("z", {3, 2});
  maker.node("Add", {"z", "turned"}, {"sum"});
  maker.node("Mul", {"same", "real"}, {"y"});
  maker.node("Neg", {"target"}, {"negative"});
  maker.output("y");
  maker.output("sum");
  maker.output("negative", {}, 7);
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  const auto names = tensorNames(*bench.network);
  for (const char* name : {"real", "target", "turned", "y", "sum", "negative"})
    EXPECT_EQ(names.count(name), 1u) << name;
}

TEST(Names, OfFoldedOutputs) {
  ModelMaker maker;
  maker.input("x", {-2, 6});
  maker.node("Shape", {"x"}, {"shape"});
  maker.node("Identity", {"shape"}, {"copy"});
  maker.output("shape", {}, 7);
  maker.output("copy", {}, 7);
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_STREQ(bench.network->getOutput(0)->getName(), "shape");
  EXPECT_STREQ(bench.network->getOutput(1)->getName(), "copy");
}

// Inputs of every rank whose extents are all named alike, whatever the name is: built and run.
TEST(Names, BareInputsOfEveryRankAndName) {
  setenv("TENON_DEVICE", "cpu", 1);
  const std::vector<std::string> names{"",    "?",  "N",    "batch size", "2*N",  "N+1", "-1", "0",    "x.0",
                                       "x.1", "\"", "a,b)", "x[0]",       "None", "\n",  "(",  "%s{}", "\xc3\xa9"};
  for (int rank = 0; rank <= 8; ++rank) {
    for (const auto& name : names) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " '" + name + "'");
      ModelMaker maker;
      maker.input("x", std::vector<int64_t>(static_cast<size_t>(rank), -1));
      for (int i = 0; i < rank; ++i) {
        maker.graph()
            .mutable_input(0)
            ->mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(i)
            ->set_dim_param(name);
      }
      maker.node("Neg", {"x"}, {"y"});
      maker.output("y");
      NetworkBench bench;
      ASSERT_TRUE(bench.parse(maker)) << bench.errors();
      const bool none = name.empty() || name == "?" || name == "None" || rank == 0;
      auto& input = *bench.network->getInput(0);
      const bool named = rank > 0 && input.getDimensionName(0) != nullptr;
      EXPECT_FALSE(none && named);
      for (int i = 0; name == "?" && i < rank; ++i) input.setDimensionName(i, "?");  // as other parsers do
      const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
      config->setBuilderOptimizationLevel(0);
      auto* profile = bench.builder->createOptimizationProfile();
      nvinfer1::Dims shape{rank, {}};
      for (int i = 0; i < rank; ++i) shape.d[i] = named ? 2 : 1 + i % 2;
      for (const auto kind : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                              nvinfer1::OptProfileSelector::kMAX}) {
        if (rank > 0) profile->setDimensions("x", kind, shape);
      }
      config->addOptimizationProfile(profile);
      const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
      ASSERT_NE(plan, nullptr) << bench.logger.text;
      const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(bench.logger));
      const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
      ASSERT_NE(engine, nullptr) << bench.logger.text;
      const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
      std::vector<float> in(256, 3), out(256, 0);
      ASSERT_TRUE(rank == 0 || context->setInputShape("x", shape)) << bench.logger.text;
      context->setTensorAddress("x", in.data());
      context->setTensorAddress("y", out.data());
      ASSERT_TRUE(context->enqueueV3(nullptr)) << bench.logger.text;
      EXPECT_EQ(out[0], -3);
    }
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

// SPDX-License-Identifier: Apache-2.0
// Nodes that are plugins: found by name, version and namespace, made from their attributes.
#include <gtest/gtest.h>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

// The plugins of tests/plugins, registered as long as it lives.
class PluginNodes : public testing::Test {
 protected:
  PluginNodes() : handle_(getPluginRegistry()->loadLibrary(TENON_PLUGIN_LIBRARY)) { EXPECT_NE(handle_, nullptr); }
  ~PluginNodes() override {
    if (handle_ != nullptr) getPluginRegistry()->deregisterLibrary(handle_);
  }

 private:
  void* handle_;
};

pb::NodeProto& pluginNode(ModelMaker& maker, const std::string& type, const std::vector<std::string>& inputs) {
  auto& node = maker.node(type, inputs, {"y"});
  ModelMaker::set(node, "plugin_version", std::string("1"));
  ModelMaker::set(node, "plugin_namespace", std::string("test"));
  maker.output("y");
  return node;
}

std::vector<float> run(NetworkBench& bench, std::vector<float> x, size_t outputs) {
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
  std::vector<float> y(outputs, -99);
  void* bindings[] = {x.data(), y.data()};
  EXPECT_TRUE(context->executeV2(bindings)) << bench.logger.text;
  return y;
}

TEST_F(PluginNodes, AttributesAreFields) {
  ModelMaker maker(17);
  maker.input("x", {4});
  ModelMaker::set(pluginNode(maker, "Scale", {"x"}), "factor", -2.5F);
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.network->getLayer(0)->getType(), nvinfer1::LayerType::kPLUGIN_V3);
  EXPECT_EQ(run(bench, {1, -2, 0.5F, 8}, 4), (std::vector<float>{-2.5F, 5, -1.25F, -20}));
}

// The plugin adds up names, types and bytes of what it is given.
TEST_F(PluginNodes, AttributesKeepTheirTypes) {
  ModelMaker maker(17);
  maker.input("x", {1});
  auto& node = pluginNode(maker, "Fields", {"x"});
  ModelMaker::set(node, "i", int64_t{258});                         // kINT32, bytes 2 and 1
  ModelMaker::set(node, "s", std::string("az"));                    // kCHAR
  ModelMaker::set(node, "l", std::vector<int64_t>{1, 2, 0x10000});  // kINT32
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  const float names = 'i' + 's' + 'l';
  const float types = 1000 * (5 + 6 + 5);
  const float bytes = (2 + 1) + ('a' + 'z') + (1 + 2 + 1);
  EXPECT_EQ(run(bench, {3}, 1), std::vector<float>{3 + names + types + bytes});
}

TEST_F(PluginNodes, ShapeInputsAreNamedByAnAttribute) {
  ModelMaker maker(17);
  maker.input("x", {2});
  maker.ints("rows", {1}, {3});
  ModelMaker::set(pluginNode(maker, "Repeat", {"x", "rows"}), "tensorrt_plugin_shape_input_indices",
                  std::vector<int64_t>{1});
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.outputShape(), (Dimensions{3, 2}));
  EXPECT_EQ(run(bench, {4, 5}, 6), (std::vector<float>{4, 5, 4, 5, 4, 5}));
}

TEST_F(PluginNodes, OfTheOlderInterfaceToo) {
  ModelMaker maker(17);
  maker.input("x", {2});
  auto& node = maker.node("OldDynamic", {"x"}, {"y"});
  ModelMaker::set(node, "plugin_version", std::string("2"));
  ModelMaker::set(node, "amount", 0.25F);
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(run(bench, {4, 5}, 2), (std::vector<float>{4.25F, 5.25F}));
}

TEST_F(PluginNodes, ShapeInputsAreNotForTheOlderInterface) {
  ModelMaker maker(17);
  maker.input("x", {2});
  auto& node = maker.node("OldDynamic", {"x"}, {"y"});
  ModelMaker::set(node, "plugin_version", std::string("2"));
  ModelMaker::set(node, "amount", 0.25F);
  ModelMaker::set(node, "tensorrt_plugin_shape_input_indices", std::vector<int64_t>{0});
  maker.output("y");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_NE(bench.errors().find("attribute 'tensorrt_plugin_shape_input_indices' is for plugins of the interface "
                                "IPluginV3; the creator of 'OldDynamic' makes older ones"),
            std::string::npos)
      << bench.errors();
}

TEST_F(PluginNodes, UnknownOnesNameTheNearOnes) {
  const auto errorOf = [](const std::string& type, const std::string& version) {
    ModelMaker maker(17);
    maker.input("x", {2});
    auto& node = maker.node(type, {"x"}, {"y"});
    ModelMaker::set(node, "plugin_version", version);
    maker.output("y");
    NetworkBench bench;
    EXPECT_FALSE(bench.parse(maker));
    return bench.errors();
  };
  const auto other = errorOf("Scale", "9");
  EXPECT_NE(other.find("Asked for version '9' namespace ''"), std::string::npos) << other;
  EXPECT_NE(other.find("under that name: 'Scale' version '1' namespace 'test'"), std::string::npos) << other;
  const auto like = errorOf("old_dynamic", "2");
  EXPECT_NE(like.find("under names like it: 'OldDynamic' version '2' namespace ''"), std::string::npos) << like;
  EXPECT_EQ(errorOf("Nonsense", "1").find("Asked for"), std::string::npos);
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Nodes whose types are standard plugins: the library is loaded apart, as a program loads it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

class StandardPluginNodes : public testing::Test {
 protected:
  StandardPluginNodes() : handle_(dlopen(TENON_STANDARD_PLUGINS, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
    auto* const init = reinterpret_cast<bool (*)(void*, const char*)>(dlsym(handle_, "initLibNvInferPlugins"));
    EXPECT_TRUE(init != nullptr && init(nullptr, ""));
  }
  ~StandardPluginNodes() override { dlclose(handle_); }

 private:
  void* handle_;
};

using Tensors = std::map<std::string, std::vector<float>>;

// Builds, and runs with tensors of FP32 or, where the engine has them, INT32 given as numbers.
Tensors run(NetworkBench& bench, const Tensors& inputs) {
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
  std::vector<std::vector<int32_t>> memory;
  std::vector<void*> bindings;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
    const char* const name = engine->getIOTensorName(i);
    const bool isWhole = engine->getTensorDataType(name) == nvinfer1::DataType::kINT32;
    auto& bytes = memory.emplace_back();
    const auto given = inputs.find(name);
    if (given != inputs.end()) {
      for (const float value : given->second) {
        int32_t bits = static_cast<int32_t>(value);
        if (!isWhole) std::memcpy(&bits, &value, sizeof bits);
        bytes.push_back(bits);
      }
    } else {
      const auto dims = engine->getTensorShape(name);
      int64_t count = 1;
      for (int32_t k = 0; k < dims.nbDims; ++k) count *= dims.d[k];
      bytes.resize(static_cast<size_t>(count));
    }
  }
  for (auto& bytes : memory) bindings.push_back(bytes.data());
  EXPECT_TRUE(context->executeV2(bindings.data())) << bench.logger.text;
  Tensors outputs;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
    const char* const name = engine->getIOTensorName(i);
    if (inputs.count(name) != 0) continue;
    for (const int32_t bits : memory[static_cast<size_t>(i)]) {
      float value = static_cast<float>(bits);
      if (engine->getTensorDataType(name) != nvinfer1::DataType::kINT32) std::memcpy(&value, &bits, sizeof value);
      outputs[name].push_back(value);
    }
  }
  return outputs;
}

// Three boxes of which the second lies over the first.
const std::vector<float> kBoxes{0, 0, 1, 1, 0, 0, 1, 0.9F, 0.5F, 0.5F, 2, 2};

TEST_F(StandardPluginNodes, EfficientNms) {
  ModelMaker maker(17);
  maker.input("raw", {1, 3, 4});
  maker.input("scores", {1, 3, 2});
  maker.floats("half", {1}, {0.5F});
  maker.node("Mul", {"raw", "half"}, {"boxes"});
  auto& node = maker.node("EfficientNMS_TRT", {"boxes", "scores"}, {"count", "found", "best", "classes"});
  ModelMaker::set(node, "score_threshold", 0.3F);
  ModelMaker::set(node, "iou_threshold", 0.5F);
  for (const auto& [name, value] :
       {std::pair{"max_output_boxes", 4}, {"background_class", -1}, {"score_activation", 0}, {"box_coding", 0}}) {
    ModelMaker::set(node, name, int64_t{value});
  }
  ModelMaker::set(node, "plugin_version", std::string("1"));
  for (const char* name : {"count", "classes"}) maker.output(name, {}, 6);
  for (const char* name : {"found", "best"}) maker.output(name);
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  std::vector<float> doubled;
  for (const float x : kBoxes) doubled.push_back(2 * x);
  auto out = run(bench, {{"raw", doubled}, {"scores", {0.9F, 0.1F, 0.8F, 0.4F, 0.1F, 0.7F}}});
  EXPECT_EQ(out["count"], (std::vector<float>{3}));
  EXPECT_EQ(out["best"], (std::vector<float>{0.9F, 0.7F, 0.4F, 0}));
  EXPECT_EQ(out["classes"], (std::vector<float>{0, 1, 1, 0}));
  EXPECT_EQ(out["found"], (std::vector<float>{0, 0, 1, 1, 0.5F, 0.5F, 2, 2, 0, 0, 1, 0.9F, 0, 0, 0, 0}));
}

TEST_F(StandardPluginNodes, BatchedNms) {
  ModelMaker maker(17);
  maker.input("boxes", {1, 3, 1, 4});
  maker.input("scores", {1, 3, 2});
  auto& node = maker.node("BatchedNMSDynamic_TRT", {"boxes", "scores"}, {"count", "found", "best", "classes"});
  for (const auto& [name, value] : {std::pair{"shareLocation", 1},
                                    {"backgroundLabelId", -1},
                                    {"numClasses", 2},
                                    {"topK", 3},
                                    {"keepTopK", 4},
                                    {"clipBoxes", 1}}) {
    ModelMaker::set(node, name, int64_t{value});
  }
  ModelMaker::set(node, "scoreThreshold", 0.3F);
  ModelMaker::set(node, "iouThreshold", 0.5F);
  maker.output("count", {}, 6);
  for (const char* name : {"found", "best", "classes"}) maker.output(name);
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  auto out = run(bench, {{"boxes", kBoxes}, {"scores", {0.9F, 0.1F, 0.8F, 0.4F, 0.1F, 0.7F}}});
  EXPECT_EQ(out["count"], (std::vector<float>{3}));
  EXPECT_EQ(out["best"], (std::vector<float>{0.9F, 0.7F, 0.4F, 0}));
  EXPECT_EQ(out["classes"], (std::vector<float>{0, 1, 1, -1}));
  EXPECT_EQ(out["found"], (std::vector<float>{0, 0, 1, 1, 0.5F, 0.5F, 1, 1, 0, 0, 1, 0.9F, 0, 0, 0, 0}));
}

TEST_F(StandardPluginNodes, RoiAlign) {
  ModelMaker maker(17);
  maker.input("x", {1, 1, 2, 2});
  maker.input("regions", {1, 4});
  maker.input("images", {1}, 6);
  auto& node = maker.node("ROIAlign_TRT", {"x", "regions", "images"}, {"y"});
  ModelMaker::set(node, "plugin_version", std::string("2"));
  for (const auto& [name, value] : {std::pair{"coordinate_transformation_mode", 1},
                                    {"mode", 1},
                                    {"output_height", 1},
                                    {"output_width", 2},
                                    {"sampling_ratio", 1}}) {
    ModelMaker::set(node, name, int64_t{value});
  }
  ModelMaker::set(node, "spatial_scale", 0.5F);
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  // The whole map: the middles of its left and of its right half.
  auto out = run(bench, {{"x", {1, 2, 3, 4}}, {"regions", {0, 0, 4, 4}}, {"images", {0}}});
  EXPECT_EQ(out["y"], (std::vector<float>{2, 3}));
}

// ONNX's own operator goes the same way, with as many samples as a region has pixels.
TEST_F(StandardPluginNodes, OnnxRoiAlignIsThePlugin) {
  ModelMaker maker(17);
  maker.input("x", {1, 1, 2, 2});
  maker.input("regions", {1, 4});
  maker.ints("images", {1}, {0});
  auto& node = maker.node("RoiAlign", {"x", "regions", "images"}, {"y"});
  ModelMaker::set(node, "output_width", int64_t{2});
  ModelMaker::set(node, "spatial_scale", 0.5F);
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(run(bench, {{"x", {1, 2, 3, 4}}, {"regions", {0, 0, 4, 4}}})["y"], (std::vector<float>{2, 3}));
}

// Scatters that combine: nothing is compared with all places.
TEST_F(StandardPluginNodes, ScattersWithAReduction) {
  for (const char* reduction : {"add", "mul", "max", "min"}) {
    SCOPED_TRACE(reduction);
    ModelMaker maker(18);
    maker.input("x", {2, 3});
    maker.input("values", {2, 2});
    maker.ints("places", {2, 2}, {2, -1, 0, 1});
    auto& node = maker.node("ScatterElements", {"x", "places", "values"}, {"y"});
    ModelMaker::set(node, "axis", int64_t{1});
    ModelMaker::set(node, "reduction", std::string(reduction));
    maker.ints("rows", {2, 1}, {1, 1});
    auto& nd = maker.node("ScatterND", {"x", "rows", "wide"}, {"z"});
    ModelMaker::set(nd, "reduction", std::string(reduction));
    maker.input("wide", {2, 3});
    maker.output("y");
    maker.output("z");
    NetworkBench bench;
    ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
    const std::vector<float> x{1, 2, 3, 4, 5, 6}, values{7, 0.5F, -2, 10}, wide{2, 9, 4, 3, -1, 8};
    const auto combined = [&](float a, float b) {
      const std::string_view kind = reduction;
      return kind == "add" ? a + b : kind == "mul" ? a * b : kind == "max" ? std::max(a, b) : std::min(a, b);
    };
    auto out = run(bench, {{"x", x}, {"values", values}, {"wide", wide}});
    auto y = x;
    y[2] = combined(combined(y[2], values[0]), values[1]);
    y[3] = combined(y[3], values[2]);
    y[4] = combined(y[4], values[3]);
    EXPECT_EQ(out["y"], y);
    auto z = x;
    for (size_t i = 0; i < 3; ++i) z[3 + i] = combined(combined(z[3 + i], wide[i]), wide[3 + i]);
    EXPECT_EQ(out["z"], z);
    bool isPlugin = false;
    for (int i = 0; i < bench.network->getNbLayers(); ++i)
      isPlugin = isPlugin || bench.network->getLayer(i)->getType() == nvinfer1::LayerType::kPLUGIN_V3;
    EXPECT_TRUE(isPlugin);
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

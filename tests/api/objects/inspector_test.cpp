// IEngineInspector on built engines: what programs that read TensorRT's JSON and lines find there.
#include <nlohmann/json.hpp>

#include <set>

#include "fixture.h"

namespace {

using nlohmann::json;

class Inspectors : public ObjectTest {
 protected:
  // Convolution with bias and ReLU, pooling, softmax, named as a parser would.
  std::unique_ptr<nv::ICudaEngine> detailed(const std::vector<int64_t>& shape,
                                            nv::ProfilingVerbosity verbosity = nv::ProfilingVerbosity::kDETAILED) {
    weights.assign(5 * 3 * 9, 0.1F);
    const nv::Weights w{nv::DataType::kFLOAT, weights.data(), static_cast<int64_t>(weights.size())};
    const nv::Weights b{nv::DataType::kFLOAT, weights.data(), 5};
    auto* conv = network->addConvolutionNd(input("x", shape), 5, dims({3, 3}), w, b);
    conv->setName("conv1");
    conv->setMetadata("[ONNX Layer: conv1]");
    auto* relu = network->addActivation(*conv->getOutput(0), nv::ActivationType::kRELU);
    relu->setName("relu1");
    relu->setMetadata("[ONNX Layer: relu1]");
    auto* pool = network->addPoolingNd(*relu->getOutput(0), nv::PoolingType::kMAX, dims({2, 2}));
    pool->setName("pool1");
    output(network->addSoftMax(*pool->getOutput(0))->getOutput(0), "y");
    config->setProfilingVerbosity(verbosity);
    if (shape[0] < 0) {
      auto* profile = builder->createOptimizationProfile();
      profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({1, 3, 8, 8}));
      profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({2, 3, 8, 8}));
      profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({4, 3, 8, 8}));
      config->addOptimizationProfile(profile);
    }
    return engine();
  }
  static json layerOfType(const json& engine, const std::string& type) {
    for (const auto& layer : engine["Layers"]) {
      if (layer.value("ParameterType", "") == type) return layer;
    }
    ADD_FAILURE() << "no layer of type " << type;
    return {};
  }
  static json whole(const nv::IEngineInspector& inspector) {
    return json::parse(inspector.getEngineInformation(nv::LayerInformationFormat::kJSON));
  }
  std::vector<float> weights;
};

TEST_F(Inspectors, ADetailedEngineHasTensorRTsFields) {
  const auto loaded = detailed({2, 3, 8, 8});
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  const auto engine = whole(*inspector);
  EXPECT_EQ(engine["Bindings"], json({"x", "y"}));
  ASSERT_EQ(engine["Layers"].size(), static_cast<size_t>(loaded->getNbLayers()));
  std::set<std::string> tensors{"x"};
  for (const auto& layer : engine["Layers"]) {
    for (const auto* key :
         {"Name", "LayerType", "Inputs", "Outputs", "TacticName", "TacticValue", "StreamId", "Metadata"}) {
      EXPECT_TRUE(layer.contains(key)) << key << " in " << layer;
    }
    for (const auto& tensor : layer["Inputs"]) {
      EXPECT_TRUE(tensors.contains(tensor["Name"])) << tensor << " is written by no layer before";
      EXPECT_EQ(tensor["Location"], "Device");
      EXPECT_NE(std::string(tensor["Format/Datatype"]).find("FP32"), std::string::npos) << tensor;
    }
    for (const auto& tensor : layer["Outputs"]) tensors.insert(tensor["Name"]);
  }
  EXPECT_TRUE(tensors.contains("y"));
  const auto conv = layerOfType(engine, "Convolution");
  EXPECT_EQ(conv["Name"], "conv1 + relu1");
  EXPECT_EQ(conv["Kernel"], json({3, 3}));
  EXPECT_EQ(conv["OutMaps"], 5);
  EXPECT_EQ(conv["Activation"], "RELU");
  EXPECT_EQ(conv["Weights"]["Count"], 135);
  EXPECT_EQ(conv["Bias"]["Count"], 5);
  EXPECT_EQ(conv["Metadata"], "[ONNX Layer: conv1]\x1e[ONNX Layer: relu1]");
  EXPECT_NE(conv["TacticValue"], "0x0000000000000000");
  EXPECT_EQ(layerOfType(engine, "Pooling")["WindowSize"], json({2, 2}));
  EXPECT_EQ(layerOfType(engine, "SoftMax")["Axes"], 2);
}

TEST_F(Inspectors, ALineHasTheSame) {
  const auto loaded = detailed({2, 3, 8, 8});
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  std::string lines = "Layers:\n";
  for (int32_t i = 0; i < loaded->getNbLayers(); ++i) {
    const std::string line = inspector->getLayerInformation(i, nv::LayerInformationFormat::kONELINE);
    const auto layer = json::parse(inspector->getLayerInformation(i, nv::LayerInformationFormat::kJSON));
    EXPECT_EQ(line.rfind("Name: " + std::string(layer["Name"]) + ", LayerType: " + std::string(layer["LayerType"]) +
                             ", Inputs: [",
                         0),
              0U)
        << line;
    // As programs search it: up to the next comma.
    char kernel[129]{};
    ASSERT_EQ(std::sscanf(line.c_str() + line.find("TacticName: "), "TacticName: %128[^,]", kernel), 1) << line;
    EXPECT_EQ(layer["TacticName"], kernel);
    EXPECT_NE(line.find("TacticValue: " + std::string(layer["TacticValue"])), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    lines += line + "\n";
  }
  EXPECT_EQ(inspector->getEngineInformation(nv::LayerInformationFormat::kONELINE), lines + "\nBindings:\nx\ny\n");
}

TEST_F(Inspectors, ExtentsFollowTheContext) {
  const auto loaded = detailed({-1, 3, 8, 8});
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  const auto input = [&] { return layerOfType(whole(*inspector), "Convolution")["Inputs"][0]; };
  EXPECT_EQ(input()["Dimensions"], json({-1, 3, 8, 8}));
  EXPECT_EQ(input()["Format/Datatype"], "N/A due to dynamic shapes");
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  ASSERT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(input()["Dimensions"], json({-1, 3, 8, 8}));  // no shape is set yet
  ASSERT_TRUE(context->setInputShape("x", dims({3, 3, 8, 8})));
  EXPECT_EQ(input()["Dimensions"], json({3, 3, 8, 8}));
  EXPECT_NE(input()["Format/Datatype"], "N/A due to dynamic shapes");
  ASSERT_TRUE(context->setInputShape("x", dims({4, 3, 8, 8})));
  EXPECT_EQ(input()["Dimensions"], json({4, 3, 8, 8}));
  ASSERT_TRUE(inspector->setExecutionContext(nullptr));
  EXPECT_EQ(input()["Dimensions"], json({-1, 3, 8, 8}));
}

TEST_F(Inspectors, NamesOnlyAreStrings) {
  const auto loaded = detailed({2, 3, 8, 8}, nv::ProfilingVerbosity::kLAYER_NAMES_ONLY);
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  const auto engine = whole(*inspector);
  ASSERT_EQ(engine["Layers"].size(), static_cast<size_t>(loaded->getNbLayers()));
  for (size_t i = 0; i < engine["Layers"].size(); ++i) {
    const auto at = static_cast<int32_t>(i);
    EXPECT_EQ(json::parse(inspector->getLayerInformation(at, nv::LayerInformationFormat::kJSON)), engine["Layers"][i]);
    EXPECT_EQ(engine["Layers"][i], inspector->getLayerInformation(at, nv::LayerInformationFormat::kONELINE));
  }
}

TEST_F(Inspectors, WithoutVerbosityThereIsNothingButANote) {
  const auto loaded = detailed({2, 3, 8, 8}, nv::ProfilingVerbosity::kNONE);
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  log.notes.clear();
  EXPECT_EQ(whole(*inspector), json::parse(R"({"Layers": [], "Bindings": ["x", "y"]})"));
  EXPECT_STREQ(inspector->getEngineInformation(nv::LayerInformationFormat::kONELINE), "");
  EXPECT_STREQ(inspector->getLayerInformation(0, nv::LayerInformationFormat::kJSON), "{}");
  ASSERT_FALSE(log.notes.empty());
  EXPECT_NE(log.notes[0].find("kNONE"), std::string::npos) << log.notes[0];
}

TEST_F(Inspectors, AContextOfAnotherEngineIsRefused) {
  const auto first = detailed({2, 3, 8, 8});
  ASSERT_NE(first, nullptr);
  const std::unique_ptr<nv::IHostMemory> plan(first->serialize());
  const std::unique_ptr<nv::ICudaEngine> second(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(second, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(second->createExecutionContext());
  const std::unique_ptr<nv::IEngineInspector> inspector(first->createEngineInspector());
  EXPECT_FALSE(inspector->setExecutionContext(context.get()));
  expectError("belongs to another engine");
  EXPECT_EQ(inspector->getExecutionContext(), nullptr);
  EXPECT_EQ(inspector->getLayerInformation(-1, nv::LayerInformationFormat::kJSON), nullptr);
  expectError("there is no layer -1");
}

TEST_F(Inspectors, FormatsOfInputsAreDescribedAsTensorRTDoes) {
  const auto loaded = detailed({2, 3, 8, 8});
  ASSERT_NE(loaded, nullptr);
  EXPECT_STREQ(loaded->getTensorFormatDesc("x"), "Row major linear FP32 format (kLINEAR)");
}

}  // namespace

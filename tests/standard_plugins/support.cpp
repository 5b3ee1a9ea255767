// Plugins made by their creators, and networks of one plugin.
#include "support.h"

#include <algorithm>
#include <cstring>
#include <iostream>

#include "by_hand.h"

namespace tenon::test {

Log& log() {
  static auto* const kLog = [] {
    chooseTestDevice();
    auto* made = new Log;
    // The library keeps the first logger of the process.
    delete nv::createInferBuilder(*made);
    EXPECT_TRUE(initLibNvInferPlugins(made, ""));
    return made;
  }();
  return *kLog;
}

FieldList& FieldList::ints(const char* name, std::vector<int32_t> values) {
  const auto& kept = ints_.emplace_back(std::move(values));
  list_.emplace_back(name, kept.data(), nv::PluginFieldType::kINT32, static_cast<int32_t>(kept.size()));
  return *this;
}
FieldList& FieldList::reals(const char* name, std::vector<float> values) {
  const auto& kept = reals_.emplace_back(std::move(values));
  list_.emplace_back(name, kept.data(), nv::PluginFieldType::kFLOAT32, static_cast<int32_t>(kept.size()));
  return *this;
}
FieldList& FieldList::text(const char* name, const char* value) {
  list_.emplace_back(name, value, nv::PluginFieldType::kCHAR, static_cast<int32_t>(std::strlen(value)));
  return *this;
}
nv::PluginFieldCollection FieldList::get() { return {static_cast<int32_t>(list_.size()), list_.data()}; }

Plugin make(const char* name, const char* version, FieldList& fields) {
  (void)log();
  auto* const creator = getPluginRegistry()->getCreator(name, version, "");
  if (creator == nullptr) {
    ADD_FAILURE() << "no creator of " << name << " " << version;
    return {};
  }
  const auto collection = fields.get();
  Plugin result;
  if (std::string(creator->getInterfaceInfo().kind) == "PLUGIN CREATOR_V1") {
    result.old.reset(static_cast<nv::IPluginCreator*>(creator)->createPlugin("made", &collection));
  } else {
    result.current.reset(
        static_cast<nv::IPluginCreatorV3One*>(creator)->createPlugin("made", &collection, nv::TensorRTPhase::kBUILD));
  }
  return result;
}

Plugin restored(const char* name, const char* version, Plugin& plugin) {
  auto* const creator = getPluginRegistry()->getCreator(name, version, "");
  Plugin result;
  if (plugin.old != nullptr) {
    std::vector<char> bytes(plugin.old->getSerializationSize());
    plugin.old->serialize(bytes.data());
    result.old.reset(static_cast<nv::IPluginCreator*>(creator)->deserializePlugin("made", bytes.data(), bytes.size()));
  } else {
    result.current.reset(static_cast<nv::IPluginCreatorV3One*>(creator)->createPlugin(
        "made", runtimeOf(*plugin.current).getFieldsToSerialize(), nv::TensorRTPhase::kRUNTIME));
  }
  return result;
}

namespace {

constexpr uint32_t kStronglyTyped = 1U << static_cast<uint32_t>(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

Arrays halved(const Arrays& inputs) {
  Arrays halves = inputs;
  for (Array& array : halves) {
    if (array.type == nv::DataType::kFLOAT) array.type = nv::DataType::kHALF;
  }
  return halves;
}

Arrays runNetwork(Plugin& plugin, const Arrays& inputs, Extents extents, uint32_t flags) {
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(flags));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  config->clearFlag(nv::BuilderFlag::kTF32);  // which rounds the operands of products on GPUs
  std::vector<nv::ITensor*> tensors;
  auto* const profile = builder->createOptimizationProfile();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    nv::Dims dims = toDims(inputs[i].dims);
    if (extents == Extents::kDynamic) {
      nv::Dims most = dims;
      ++most.d[0];
      profile->setDimensions(name.c_str(), nv::OptProfileSelector::kMIN, dims);
      profile->setDimensions(name.c_str(), nv::OptProfileSelector::kOPT, dims);
      profile->setDimensions(name.c_str(), nv::OptProfileSelector::kMAX, most);
      dims.d[0] = -1;
    }
    tensors.push_back(network->addInput(name.c_str(), inputs[i].type, dims));
  }
  if (extents == Extents::kDynamic) config->addOptimizationProfile(profile);
  const auto count = static_cast<int32_t>(tensors.size());
  nv::ILayer* layer = nullptr;
  if (plugin.old != nullptr) {
    layer = network->addPluginV2(tensors.data(), count, *plugin.old);
  } else {
    layer = network->addPluginV3(tensors.data(), count, nullptr, 0, *plugin.current);
  }
  if (layer == nullptr) return {};
  for (int32_t i = 0; i < layer->getNbOutputs(); ++i) {
    layer->getOutput(i)->setName(("y" + std::to_string(i)).c_str());
    network->markOutput(*layer->getOutput(i));
  }
  const int32_t outputCount = layer->getNbOutputs();
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) return {};
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log()));
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  std::deque<SharedVector<char>> memory;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    EXPECT_TRUE(context->setInputShape(name.c_str(), toDims(inputs[i].dims)));
    EXPECT_TRUE(context->setInputTensorAddress(name.c_str(), memory.emplace_back(toBytes(inputs[i])).data()));
  }
  Arrays outputs;
  std::vector<SharedVector<char>*> results;
  for (int32_t i = 0; i < outputCount; ++i) {
    const std::string name = "y" + std::to_string(i);
    Array output{fromDims(context->getTensorShape(name.c_str())), {}, engine->getTensorDataType(name.c_str())};
    results.push_back(&memory.emplace_back(static_cast<size_t>(output.count()) * 8 + 8));
    EXPECT_TRUE(context->setTensorAddress(name.c_str(), results.back()->data()));
    outputs.push_back(std::move(output));
  }
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_TRUE(context->enqueueV3(stream)) << log().take();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  for (size_t i = 0; i < outputs.size(); ++i) fromBytes(*results[i], outputs[i]);
  return outputs;
}

}  // namespace

Arrays runInNetwork(Plugin& plugin, const Arrays& inputs, Extents extents) {
  return runNetwork(plugin, inputs, extents, 0);
}

Arrays runInHalf(Plugin& plugin, const Arrays& inputs) {
  return runNetwork(plugin, halved(inputs), Extents::kFixed, kStronglyTyped);
}

std::string layersOfEngine(Plugin& plugin, const Arrays& inputs) {
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  config->setProfilingVerbosity(nv::ProfilingVerbosity::kDETAILED);
  std::vector<nv::ITensor*> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto* const input = network->addInput(("x" + std::to_string(i)).c_str(), inputs[i].type, toDims(inputs[i].dims));
    tensors.push_back(network->addUnary(*input, nv::UnaryOperation::kABS)->getOutput(0));
  }
  auto* const layer = network->addPluginV2(tensors.data(), static_cast<int32_t>(tensors.size()), *plugin.old);
  network->markOutput(*network->addUnary(*layer->getOutput(0), nv::UnaryOperation::kEXP)->getOutput(0));
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log()));
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  const std::unique_ptr<nv::IEngineInspector> inspector(engine->createEngineInspector());
  return inspector->getEngineInformation(nv::LayerInformationFormat::kJSON);
}

Arrays runAllWays(const char* name, const char* version, FieldList fields, const Arrays& given, Extents extents) {
  Plugin plugin = make(name, version, fields);
  EXPECT_TRUE(plugin) << log().errors;
  if (!plugin) return {};
  const bool areHalves = inHalves() && takes(plugin, halved(given));
  if (inHalves() && !areHalves) std::cout << name << " " << version << " takes no halves\n";
  const Arrays inputs = areHalves ? halved(given) : given;
  const uint32_t flags = areHalves ? kStronglyTyped : 0;
  const Arrays first = runNetwork(plugin, inputs, Extents::kFixed, flags);
  EXPECT_FALSE(first.empty()) << name << ": " << log().errors;
  const auto expectSame = [&](const Arrays& others, const char* way) {
    EXPECT_EQ(others.size(), first.size()) << name << " " << way << ": " << log().errors;
    for (size_t i = 0; i < std::min(others.size(), first.size()); ++i) {
      EXPECT_EQ(others[i].dims, first[i].dims) << name << " " << way << ", output " << i;
      EXPECT_EQ(others[i].type, first[i].type) << name << " " << way << ", output " << i;
      const auto differ = std::mismatch(others[i].values.begin(), others[i].values.end(), first[i].values.begin(),
                                        first[i].values.end());
      if (differ.first != others[i].values.end() && differ.second != first[i].values.end()) {
        ADD_FAILURE() << name << " " << way << ", output " << i << ", element "
                      << differ.first - others[i].values.begin() << ": " << *differ.first << " and " << *differ.second;
      }
    }
  };
  Plugin again = restored(name, version, plugin);
  EXPECT_TRUE(again) << log().errors;
  if (again) expectSame(runByHand(again, inputs), "by hand");
  if (extents == Extents::kDynamic) expectSame(runNetwork(plugin, inputs, extents, flags), "with dynamic extents");
  EXPECT_EQ(log().take(), "") << name;
  return first;
}

// Some roundings of halves, one after the other.
constexpr double kHalfTolerance = 4e-3;

void expectNear(const Array& got, const std::vector<int64_t>& dims, const std::vector<double>& expected,
                double tolerance, const std::string& what) {
  if (inHalves() && tolerance > 0) tolerance = std::max(tolerance, kHalfTolerance);
  EXPECT_EQ(got.dims, dims) << what;
  ASSERT_EQ(got.values.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(got.values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
        << what << ", element " << i;
  }
}

}  // namespace tenon::test

// Networks of one plugin, and plugins called by hand.
#include "support.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <numeric>

#include "support/shared_memory.h"

namespace tenon::test {
namespace {

float fromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return static_cast<float>((half & 0x8000) != 0 ? -value : value);
}

// To the nearest half; of normal numbers.
uint16_t toHalf(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(fraction, exponent - unit)));
  const int bits = unit == -24 ? steps : ((unit + 24) << 10) + steps;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | bits);
}

size_t bytesOf(nv::DataType type) {
  switch (type) {
    case nv::DataType::kINT64: return 8;
    case nv::DataType::kHALF: return 2;
    case nv::DataType::kINT8: return 1;
    default: return 4;
  }
}

SharedVector<char> toBytes(const Array& array) {
  SharedVector<char> bytes(array.values.size() * bytesOf(array.type) + 1);
  for (size_t i = 0; i < array.values.size(); ++i) {
    const auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
    if (array.type == nv::DataType::kFLOAT) put(static_cast<float>(array.values[i]));
    if (array.type == nv::DataType::kHALF) put(toHalf(array.values[i]));
    if (array.type == nv::DataType::kINT32) put(static_cast<int32_t>(array.values[i]));
    if (array.type == nv::DataType::kINT64) put(static_cast<int64_t>(array.values[i]));
    if (array.type == nv::DataType::kINT8) put(static_cast<int8_t>(array.values[i]));
  }
  return bytes;
}

void fromBytes(const SharedVector<char>& bytes, Array& array) {
  array.values.resize(static_cast<size_t>(array.count()));
  for (size_t i = 0; i < array.values.size(); ++i) {
    const auto get = [&](auto value) {
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    switch (array.type) {
      case nv::DataType::kFLOAT: array.values[i] = get(float{}); break;
      case nv::DataType::kHALF: array.values[i] = fromHalf(get(uint16_t{})); break;
      case nv::DataType::kINT64: array.values[i] = static_cast<double>(get(int64_t{})); break;
      case nv::DataType::kINT8: array.values[i] = get(int8_t{}); break;
      default: array.values[i] = get(int32_t{});
    }
  }
}

nv::Dims toDims(const std::vector<int64_t>& dims) {
  nv::Dims result{static_cast<int32_t>(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), result.d);
  return result;
}
std::vector<int64_t> fromDims(const nv::Dims& dims) { return {dims.d, dims.d + std::max(dims.nbDims, 0)}; }

nv::IPluginV3OneBuild& buildOf(nv::IPluginV3& plugin) {
  return static_cast<nv::IPluginV3OneBuild&>(*plugin.getCapabilityInterface(nv::PluginCapabilityType::kBUILD));
}
nv::IPluginV3OneRuntime& runtimeOf(nv::IPluginV3& plugin) {
  return static_cast<nv::IPluginV3OneRuntime&>(*plugin.getCapabilityInterface(nv::PluginCapabilityType::kRUNTIME));
}

// Expressions of known numbers.
class Number final : public nv::IDimensionExpr, public nv::apiv::VDimensionExpr {
 public:
  explicit Number(int64_t value) : value_(value) { mImpl = this; }
  ~Number() noexcept override = default;
  bool isConstant() const override { return true; }
  int64_t getConstantValue() const override { return value_; }
  bool isSizeTensor() const override { return false; }

 private:
  int64_t value_;
};
class Numbers final : public nv::IExprBuilder, public nv::apiv::VExprBuilder {
 public:
  Numbers() { mImpl = this; }
  ~Numbers() noexcept override = default;
  const nv::IDimensionExpr* constant(int64_t value) override {
    made_.push_back(std::make_unique<Number>(value));
    return made_.back().get();
  }
  const nv::IDimensionExpr* operation(nv::DimensionOperation, const nv::IDimensionExpr&,
                                      const nv::IDimensionExpr&) override {
    ADD_FAILURE() << "known numbers need no operations";
    return constant(-1);
  }
  const nv::IDimensionExpr* declareSizeTensor(int32_t, const nv::IDimensionExpr&, const nv::IDimensionExpr&) override {
    return nullptr;
  }
  nv::DimsExprs shape(const std::vector<int64_t>& dims) {
    nv::DimsExprs result{static_cast<int32_t>(dims.size()), {}};
    for (size_t i = 0; i < dims.size(); ++i) result.d[i] = constant(dims[i]);
    return result;
  }
  static std::vector<int64_t> read(const nv::DimsExprs& shape) {
    std::vector<int64_t> result;
    for (int32_t i = 0; i < shape.nbDims; ++i) result.push_back(shape.d[i]->getConstantValue());
    return result;
  }

 private:
  std::vector<std::unique_ptr<Number>> made_;
};

enum Kind { kV2, kV2Ext, kV2IOExt, kV2DynamicExt };
// The function is protected in the classes that override it; a base sees it.
Kind kindOf(nv::IPluginV2& plugin) { return static_cast<Kind>(plugin.getTensorRTVersion() >> 24); }

std::vector<std::vector<int64_t>> ownShapes(Plugin& plugin, const Arrays& inputs) {
  std::vector<std::vector<int64_t>> result;
  Numbers numbers;
  std::vector<nv::DimsExprs> shapes;
  std::vector<nv::Dims> dims;
  for (const Array& input : inputs) {
    shapes.push_back(numbers.shape(input.dims));
    dims.push_back(toDims(input.dims));
  }
  const auto count = static_cast<int32_t>(inputs.size());
  if (plugin.current != nullptr) {
    std::vector<nv::DimsExprs> outputs(static_cast<size_t>(buildOf(*plugin.current).getNbOutputs()));
    EXPECT_EQ(buildOf(*plugin.current)
                  .getOutputShapes(shapes.data(), count, nullptr, 0, outputs.data(),
                                   static_cast<int32_t>(outputs.size()), numbers),
              0);
    for (const auto& output : outputs) result.push_back(Numbers::read(output));
    return result;
  }
  for (int32_t i = 0; i < plugin.old->getNbOutputs(); ++i) {
    if (kindOf(*plugin.old) == kV2DynamicExt) {
      auto& dynamic = static_cast<nv::IPluginV2DynamicExt&>(*plugin.old);
      result.push_back(Numbers::read(dynamic.getOutputDimensions(i, shapes.data(), count, numbers)));
    } else {
      result.push_back(fromDims(plugin.old->getOutputDimensions(i, dims.data(), count)));
    }
  }
  return result;
}

std::vector<nv::DataType> ownTypes(Plugin& plugin, const Arrays& inputs) {
  std::vector<nv::DataType> given;
  for (const Array& input : inputs) given.push_back(input.type);
  const auto count = static_cast<int32_t>(given.size());
  std::vector<nv::DataType> result;
  if (plugin.current != nullptr) {
    result.resize(static_cast<size_t>(buildOf(*plugin.current).getNbOutputs()));
    buildOf(*plugin.current)
        .getOutputDataTypes(result.data(), static_cast<int32_t>(result.size()), given.data(), count);
    return result;
  }
  for (int32_t i = 0; i < plugin.old->getNbOutputs(); ++i) {
    if (kindOf(*plugin.old) == kV2) {
      result.push_back(given.at(0));
    } else {
      result.push_back(static_cast<nv::IPluginV2Ext&>(*plugin.old).getOutputDataType(i, given.data(), count));
    }
  }
  return result;
}

std::vector<nv::PluginTensorDesc> descsOf(const Arrays& arrays) {
  std::vector<nv::PluginTensorDesc> result;
  for (const Array& array : arrays) result.push_back({toDims(array.dims), array.type, nv::TensorFormat::kLINEAR, 1.0F});
  return result;
}

std::vector<nv::DynamicPluginTensorDesc> rangesOf(const std::vector<nv::PluginTensorDesc>& descs) {
  std::vector<nv::DynamicPluginTensorDesc> ranges;
  for (const auto& desc : descs) ranges.push_back({desc, desc.dims, desc.dims, desc.dims});
  return ranges;
}

Arrays ownOutputs(Plugin& plugin, const Arrays& inputs) {
  const auto shapes = ownShapes(plugin, inputs);
  const auto types = ownTypes(plugin, inputs);
  Arrays outputs;
  for (size_t i = 0; i < shapes.size(); ++i) outputs.push_back({shapes[i], {}, types[i]});
  return outputs;
}

// Whether the plugin says so of operands of these types.
bool takes(Plugin& plugin, const Arrays& inputs) {
  auto descs = descsOf(inputs);
  const auto outputs = descsOf(ownOutputs(plugin, inputs));
  descs.insert(descs.end(), outputs.begin(), outputs.end());
  const auto ranges = rangesOf(descs);
  const auto inCount = static_cast<int32_t>(inputs.size());
  const auto outCount = static_cast<int32_t>(outputs.size());
  for (int32_t i = 0; i < inCount + outCount; ++i) {
    bool good = false;
    if (plugin.current != nullptr) {
      good = buildOf(*plugin.current).supportsFormatCombination(i, ranges.data(), inCount, outCount);
    } else if (kindOf(*plugin.old) == kV2DynamicExt) {
      good = static_cast<nv::IPluginV2DynamicExt&>(*plugin.old)
                 .supportsFormatCombination(i, descs.data(), inCount, outCount);
    } else if (kindOf(*plugin.old) == kV2IOExt) {
      good =
          static_cast<nv::IPluginV2IOExt&>(*plugin.old).supportsFormatCombination(i, descs.data(), inCount, outCount);
    } else {
      good =
          plugin.old->supportsFormat(inputs.empty() ? nv::DataType::kHALF : inputs[0].type, nv::TensorFormat::kLINEAR);
    }
    if (!good) return false;
  }
  return true;
}

void wait(cudaStream_t stream) {
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

int32_t enqueueByHand(Plugin& plugin, const Arrays& inputs, const Arrays& outputs, const std::vector<const void*>& in,
                      const std::vector<void*>& out, cudaStream_t stream) {
  const auto inDescs = descsOf(inputs);
  const auto outDescs = descsOf(outputs);
  const auto inCount = static_cast<int32_t>(in.size());
  const auto outCount = static_cast<int32_t>(out.size());
  std::vector<nv::PluginTensorDesc> all = inDescs;
  all.insert(all.end(), outDescs.begin(), outDescs.end());
  const auto ranges = rangesOf(all);
  if (plugin.current != nullptr) {
    for (int32_t i = 0; i < inCount + outCount; ++i) {
      EXPECT_TRUE(buildOf(*plugin.current).supportsFormatCombination(i, ranges.data(), inCount, outCount)) << i;
    }
    EXPECT_EQ(buildOf(*plugin.current).configurePlugin(ranges.data(), inCount, ranges.data() + inCount, outCount), 0);
    EXPECT_EQ(runtimeOf(*plugin.current).onShapeChange(inDescs.data(), inCount, outDescs.data(), outCount), 0);
    return runtimeOf(*plugin.current).enqueue(inDescs.data(), outDescs.data(), in.data(), out.data(), nullptr, stream);
  }
  std::vector<nv::Dims> inDims, outDims;
  std::vector<nv::DataType> inTypes, outTypes;
  for (const auto& desc : inDescs) {
    inDims.push_back(desc.dims);
    inTypes.push_back(desc.type);
  }
  for (const auto& desc : outDescs) {
    outDims.push_back(desc.dims);
    outTypes.push_back(desc.type);
  }
  const bool never[16] = {};
  nv::IPluginV2& old = *plugin.old;
  switch (kindOf(old)) {
    case kV2DynamicExt: {
      auto& dynamic = static_cast<nv::IPluginV2DynamicExt&>(old);
      for (int32_t i = 0; i < inCount + outCount; ++i) {
        EXPECT_TRUE(dynamic.supportsFormatCombination(i, all.data(), inCount, outCount)) << i;
      }
      dynamic.configurePlugin(ranges.data(), inCount, ranges.data() + inCount, outCount);
      EXPECT_EQ(dynamic.initialize(), 0);
      return dynamic.enqueue(inDescs.data(), outDescs.data(), in.data(), out.data(), nullptr, stream);
    }
    case kV2IOExt:
      static_cast<nv::IPluginV2IOExt&>(old).configurePlugin(inDescs.data(), inCount, outDescs.data(), outCount);
      break;
    case kV2Ext:
      static_cast<nv::IPluginV2Ext&>(old).configurePlugin(inDims.data(), inCount, outDims.data(), outCount,
                                                          inTypes.data(), outTypes.data(), never, never,
                                                          nv::TensorFormat::kLINEAR, 1);
      break;
    default:
      old.configureWithFormat(inDims.data(), inCount, outDims.data(), outCount, inTypes.at(0),
                              nv::TensorFormat::kLINEAR, 1);
  }
  EXPECT_EQ(old.initialize(), 0);
  return old.enqueue(1, in.data(), out.data(), nullptr, stream);
}

}  // namespace

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

int64_t Array::count() const { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

double Array::at(std::initializer_list<int64_t> index) const {
  int64_t place = 0;
  size_t axis = 0;
  for (const int64_t i : index) place = place * dims.at(axis++) + i;
  return values.at(static_cast<size_t>(place));
}

bool inHalves() {
  static const bool result = std::getenv("TENON_TEST_HALVES") != nullptr;
  return result;
}

double held(double value) { return inHalves() ? fromHalf(toHalf(value)) : static_cast<float>(value); }

double Random::real(double low, double high) {
  const double value = std::round(std::uniform_real_distribution<>(low, high)(engine_) * 1024) / 1024;
  return held(value);
}
int64_t Random::whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

Array Random::array(std::vector<int64_t> dims, double low, double high) {
  Array result{std::move(dims), {}};
  for (int64_t i = 0; i < result.count(); ++i) result.values.push_back(real(low, high));
  return result;
}
Array Random::wholes(std::vector<int64_t> dims, int64_t low, int64_t high, nv::DataType type) {
  Array result{std::move(dims), {}, type};
  for (int64_t i = 0; i < result.count(); ++i) result.values.push_back(static_cast<double>(whole(low, high)));
  return result;
}
Array Random::boxes(std::vector<int64_t> dims, double size) {
  Array result = array(std::move(dims), 0, size);
  for (size_t i = 0; i + 3 < result.values.size(); i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      if (result.values[i + k] > result.values[i + k + 2]) std::swap(result.values[i + k], result.values[i + k + 2]);
    }
  }
  return result;
}
Array Random::distinct(std::vector<int64_t> dims) {
  Array result{std::move(dims), {}};
  for (int64_t i = 0; i < result.count(); ++i) {
    const double value = (static_cast<double>(i) + 0.5) / static_cast<double>(result.count());
    result.values.push_back(held(value));
  }
  std::shuffle(result.values.begin(), result.values.end(), engine_);
  return result;
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
  wait(stream);
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

Arrays runByHand(Plugin& plugin, const Arrays& inputs) {
  std::deque<SharedVector<char>> memory;
  std::vector<const void*> in;
  for (const Array& input : inputs) in.push_back(memory.emplace_back(toBytes(input)).data());
  Arrays outputs = ownOutputs(plugin, inputs);
  std::vector<void*> out;
  for (const Array& output : outputs)
    out.push_back(memory.emplace_back(static_cast<size_t>(output.count()) * 8 + 8).data());
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(enqueueByHand(plugin, inputs, outputs, in, out, stream), 0) << log().take();
  wait(stream);
  for (size_t i = 0; i < outputs.size(); ++i) fromBytes(memory[inputs.size() + i], outputs[i]);
  return outputs;
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

// Plugins called by hand: what they say of shapes, types and formats, and enqueue().
#include "by_hand.h"

#include <algorithm>
#include <deque>

namespace tenon::test {
namespace {

nv::IPluginV3OneBuild& buildOf(nv::IPluginV3& plugin) {
  return static_cast<nv::IPluginV3OneBuild&>(*plugin.getCapabilityInterface(nv::PluginCapabilityType::kBUILD));
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

}  // namespace

nv::IPluginV3OneRuntime& runtimeOf(nv::IPluginV3& plugin) {
  return static_cast<nv::IPluginV3OneRuntime&>(*plugin.getCapabilityInterface(nv::PluginCapabilityType::kRUNTIME));
}

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

namespace {

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
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  for (size_t i = 0; i < outputs.size(); ++i) fromBytes(memory[inputs.size() + i], outputs[i]);
  return outputs;
}

}  // namespace tenon::test

// Messages that few models bring about, those of bit casts, and those that no model does: a network, a builder or a
// plugin that gives nothing back.
#include "common/fold.h"
#include "graph_import.h"
#include "made.h"
#include "model_bytes.h"
#include "network_run.h"
#include "refitter.h"

namespace tenon::parsers::onnx {
namespace {

void expectMessage(const ModelMaker& maker, const std::string& message) {
  const std::string text = refusal(maker);
  EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
}

void setGraph(pb::NodeProto& node, const std::string& name, const pb::GraphProto& graph) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  *attribute->mutable_g() = graph;
}

TEST(RareRefusals, RangesOfStepZero) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.ints("first", {}, {0});
  maker.ints("limit", {}, {5});
  maker.ints("delta", {}, {0});
  maker.node("Range", {"first", "limit", "delta"}, {"y"});
  maker.output("y");
  expectMessage(maker, "delta is 0; expected a step up or down");
}

TEST(RareRefusals, InputsOfMicrosoftsAttention) {
  ModelMaker maker;
  maker.input("x", {1, 2, 4});
  maker.floats("w", {4, 12}, std::vector<float>(48, 0.5F));
  maker.floats("b", {12}, std::vector<float>(12, 0.5F));
  maker.input("length", {1}, 6);
  auto& node = maker.node("Attention", {"x", "w", "b", "", "", "", "length"}, {"y"});
  node.set_domain("com.microsoft");
  ModelMaker::set(node, "num_heads", int64_t{2});
  maker.output("y");
  expectMessage(maker, "input 6 (past_sequence_length) is given, which is not supported");
}

TEST(RareRefusals, ProductsThatDoNotFit) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.input("w", {4, 5});
  maker.node("MatMul", {"x", "w"}, {"y"});
  maker.output("y");
  expectMessage(maker, "with these inputs");
}

TEST(RareRefusals, BitsThatDoNotFit) {
  const auto cast = [](int32_t from, int64_t to) {
    ModelMaker maker(26);
    maker.input("x", {2, 3}, from);
    ModelMaker::set(maker.node("BitCast", {"x"}, {"y"}), "to", to);
    maker.output("y");
    return maker;
  };
  expectMessage(cast(1, 7), "FLOAT of 32 bits as INT64 of 64; expected types of as many bits");
  expectMessage(cast(1, 11), "to = 11 (DOUBLE), a type that TensorRT does not have");
  expectMessage(cast(1, 12), "to = 12 (UINT32), a type that TensorRT does not have");
  expectMessage(cast(1, 22), "to is INT4; expected a type of whole bytes");
}

TEST(RareRefusals, OperatorsThatAreLeftOut) {
  for (const auto& [type, message] : {std::pair{"ImageDecoder", "Decode pictures before the network"},
                                      {"StringSplit", "Prepare texts before the network"}}) {
    ModelMaker maker(21);
    maker.input("x", {2}, 2);
    maker.node(type, {"x"}, {"y"});
    maker.output("y");
    expectMessage(maker, message);
  }
  ModelMaker pool;
  pool.input("x", {1, 2, 8, 8});
  pool.input("regions", {3, 5});
  ModelMaker::set(pool.node("MaxRoiPool", {"x", "regions"}, {"y"}), "pooled_shape", Ints{2, 100});
  pool.output("y");
  expectMessage(pool, "pooled_shape = [2,100]; expected two extents of 1 to 64");
}

// What the parser's parts say to each other's mistakes.
class Parts : public testing::Test {
 protected:
  template <typename Action>
  static void expectSays(const Action& action, const std::string& message) {
    const std::string text = messageOf(action);
    EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
  }
  NetworkBench bench_;
  WeightStore store_;
  NetworkWriter writer_{*bench_.network, store_};
};

TEST_F(Parts, NetworksThatRefuse) {
  expectSays([&] { made(writer_, static_cast<nvinfer1::ILoop*>(nullptr), "addLoop"); },
             "the network made nothing for addLoop; its message in the log says why");
  expectSays([&] { writer_.added(static_cast<nvinfer1::ILayer*>(nullptr), "addFill"); }, "the network refused addFill");
  expectSays([] { toDimensions(nvinfer1::Dims{-1, {}}); }, "the network reports a tensor without known rank");
}

TEST_F(Parts, InputsThatAreAbsent) {
  const ParsedValue none;
  expectSays([&] { writer_.shapeOf(none); }, "a required input is absent");
  expectSays([&] { writer_.tensor(none); }, "a required input is absent");
}

TEST_F(Parts, FoldsOutOfRange) {
  const WeightBytes& numbers = store_.ofInts(DataType::kINT64, {4}, {1, 2, 3, 4});
  expectSays([&] { foldSlice(store_, numbers, {2}, {3}, {1}); }, "slice of axis 0 from 2 to 4 exceeds the extent 4");
  const ParsedExtent extent = ParsedExtent::of(7);
  const auto list = ParsedValue::ofExtents({extent, extent}, false, DataType::kINT64);
  expectSays([&] { writer_.slice(list, {ParsedExtent::of(1)}, {ParsedExtent::of(2)}, {ParsedExtent::of(1)}); },
             "slice reads element 2 of a list of 2");
  const WeightBytes& reals = store_.ofReals(DataType::kFLOAT, {1}, {1});
  expectSays([&] { foldUnary(store_, reals, static_cast<nvinfer1::UnaryOperation>(99)); },
             "an unknown unary operation");
}

TEST_F(Parts, BytesOfAnotherKind) {
  const std::string graphOfNumbers = "\x38\x80";  // a field of the graph's number whose value does not end
  expectSays([&] { decodeModel(graphOfNumbers.data(), graphOfNumbers.size()); },
             "the 2 bytes are well-formed protobuf, but not an ONNX model");
}

// The network has the first one's input already.
TEST(RareRefusals, TwoModelsWithOneInput) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.node("Relu", {"x"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_NE(bench.errors().find("the network refused input 'x' of FLOAT[2,3]"), std::string::npos) << bench.errors();
}

// A creator whose plugins cannot be made.
class NoPlugin final : public nvinfer1::IPluginCreatorV3One {
 public:
  NoPlugin(const char* name, const char* version) : name_(name), version_(version) {}
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection*,
                                    nvinfer1::TensorRTPhase) noexcept override {
    return nullptr;
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return version_; }
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  const char* name_;
  const char* version_;
  nvinfer1::PluginFieldCollection fields_{0, nullptr};
};

std::string refusalWith(NoPlugin& creator, const ModelMaker& maker) {
  auto& registry = *getPluginRegistry();
  EXPECT_TRUE(registry.registerCreator(creator, ""));
  const std::string text = refusal(maker);
  EXPECT_TRUE(registry.deregisterCreator(creator));
  return text;
}

TEST(RareRefusals, PluginsThatAreNotMade) {
  ModelMaker maker;
  maker.input("x", {2});
  ModelMaker::set(maker.node("Nothing", {"x"}, {"y"}), "size", int64_t{3});
  maker.output("y");
  NoPlugin nothing("Nothing", "1");
  std::string text = refusalWith(nothing, maker);
  EXPECT_NE(text.find("plugin 'Nothing' was not created from the node's 1 attributes, or the network refused it"),
            std::string::npos)
      << text;
  // Of the standard library, which operators use where it is registered.
  ModelMaker align;
  align.input("x", {1, 2, 8, 8});
  align.input("regions", {3, 4});
  align.ints("batches", {3}, {0, 0, 0});
  align.node("RoiAlign", {"x", "regions", "batches"}, {"y"});
  align.output("y");
  NoPlugin roi("ROIAlign_TRT", "2");
  text = refusalWith(roi, align);
  EXPECT_NE(text.find("plugin 'ROIAlign_TRT' was not created from the node's attributes"), std::string::npos) << text;
}

// A refitter of an engine with one tensor of weights, "w", which takes none in its place.
class NoRefit final : public nvinfer1::IRefitter, private nvinfer1::apiv::VRefitter {
 public:
  NoRefit() { mImpl = this; }

 private:
  using Weights = nvinfer1::Weights;
  int32_t getAllWeights(int32_t size, const char** names) noexcept override {
    if (size > 0) names[0] = "w";
    return 1;
  }
  bool setNamedWeights(const char*, Weights) noexcept override { return false; }
  // What the parser does not call.
  nvinfer1::IRefitter* getPImpl() noexcept override { return this; }
  bool setWeights(const char*, nvinfer1::WeightsRole, const Weights) noexcept override { return false; }
  bool refitCudaEngine() noexcept override { return false; }
  int32_t getMissing(int32_t, const char**, nvinfer1::WeightsRole*) noexcept override { return 0; }
  int32_t getAll(int32_t, const char**, nvinfer1::WeightsRole*) noexcept override { return 0; }
  bool setDynamicRange(const char*, float, float) noexcept override { return false; }
  float getDynamicRangeMin(const char*) const noexcept override { return 0; }
  float getDynamicRangeMax(const char*) const noexcept override { return 0; }
  int32_t getTensorsWithDynamicRange(int32_t, const char**) const noexcept override { return 0; }
  void setErrorRecorder(nvinfer1::IErrorRecorder*) noexcept override {}
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }
  int32_t getMissingWeights(int32_t, const char**) noexcept override { return 0; }
  nvinfer1::ILogger* getLogger() const noexcept override { return nullptr; }
  bool setMaxThreads(int32_t) noexcept override { return false; }
  int32_t getMaxThreads() const noexcept override { return 1; }
  bool setNamedWeightsWithLocation(const char*, Weights, nvinfer1::TensorLocation) noexcept override { return false; }
  Weights getNamedWeights(const char*) const noexcept override { return {}; }
  nvinfer1::TensorLocation getWeightsLocation(const char*) const noexcept override { return {}; }
  bool unsetNamedWeights(const char*) noexcept override { return false; }
  void setWeightsValidation(bool) noexcept override {}
  bool getWeightsValidation() const noexcept override { return false; }
  bool refitCudaEngineAsync(cudaStream_t) noexcept override { return false; }
  Weights getWeightsPrototype(const char*) const noexcept override { return {}; }
};

TEST(RareRefusals, RefitsThatTheEngineRefuses) {
  ModelMaker maker;
  maker.input("x", {1, 3});
  maker.floats("w", {1}, {5});
  maker.node("Add", {"x", "w"}, {"y"});
  maker.output("y");
  NoRefit engine;
  CollectingLogger logger;
  Refitter refitter(engine, &logger);
  const std::string bytes = maker.bytes();
  EXPECT_FALSE(refitter.refitFromBytes(bytes.data(), bytes.size(), nullptr));
  ASSERT_EQ(refitter.getNbErrors(), 1);
  const std::string text = refitter.getError(0)->desc();
  EXPECT_NE(text.find("the engine refused weights 'w' of FLOAT[1]; they must have the type and the count"),
            std::string::npos)
      << text;
}

// Nodes with graphs within graphs, whichever operator holds them.
TEST(RareRefusals, GraphsThatNestTooDeep) {
  ModelMaker innermost(17);
  innermost.input("s", {1, 1, 2, 2});
  innermost.node("Relu", {"s"}, {"r"});
  innermost.output("r");
  pb::GraphProto graph = innermost.graph();
  for (int depth = 0; depth < 18; ++depth) {
    ModelMaker maker(26);
    maker.proto().add_opset_import()->set_domain("ai.onnx.preview");
    maker.proto().mutable_opset_import(1)->set_version(1);
    maker.input("s", {1, 1, 2, 2});
    auto& node = maker.node("FlexAttention", {"s", "s", "s"}, {"r"});
    node.set_domain("ai.onnx.preview");
    setGraph(node, "score_mod", graph);
    maker.output("r");
    graph = maker.graph();
    if (depth == 17) expectMessage(maker, "graphs are nested more than 16 deep");
    if (depth != 2) continue;
    NetworkBench bench;
    EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  }
}

TEST(RareRefusals, GraphsOfTooFewOutputs) {
  ModelMaker body;
  body.input("i", {}, 7);
  body.input("go", {}, 9);
  body.input("state", {2});
  body.node("Identity", {"go"}, {"on"});
  body.output("on", {}, 9);
  ModelMaker maker;
  maker.input("x", {2});
  maker.ints("trips", {}, {2});
  setGraph(maker.node("Loop", {"trips", "", "x"}, {"y"}), "body", body.graph());
  maker.output("y");
  expectMessage(maker, "the body has 1 outputs; expected 2 or more");
  ModelMaker none;
  none.input("s", {1, 1, 2, 2});
  ModelMaker flex(26);
  flex.proto().add_opset_import()->set_domain("ai.onnx.preview");
  flex.proto().mutable_opset_import(1)->set_version(1);
  flex.input("x", {1, 1, 2, 2});
  auto& node = flex.node("FlexAttention", {"x", "x", "x"}, {"y"});
  node.set_domain("ai.onnx.preview");
  setGraph(node, "score_mod", none.graph());
  flex.output("y");
  expectMessage(flex, "the graph of attribute 'score_mod' has 0 outputs; expected 1");
}

// Each of them fails; that leaves nothing behind for the next.
TEST(RareRefusals, ManyGraphsThatFail) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.ints("trips", {}, {2});
  for (int i = 0; i < 20; ++i) {
    ModelMaker body;
    body.input("i", {}, 7);
    body.input("go", {}, 9);
    body.node("Identity", {"go"}, {"on"});
    body.node("Nothing", {"x"}, {"part"}, "nothing");
    body.output("on", {}, 9);
    body.output("part");
    setGraph(maker.node("Loop", {"trips", ""}, {"y" + std::to_string(i)}), "body", body.graph());
    maker.output("y" + std::to_string(i));
  }
  const std::string text = refusal(maker);
  EXPECT_EQ(text.find("nested more than"), std::string::npos) << text;
}

}  // namespace
}  // namespace tenon::parsers::onnx

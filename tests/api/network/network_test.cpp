// The network as a whole: tensors, marks, inference after changes, symbols, errors, and the assembled graph.
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;
using nv::DataType;

class NetworkFacts : public NetworkTest {};

TEST_F(NetworkFacts, InputsAreChecked) {
  EXPECT_NE(network->addInput("x", DataType::kFLOAT, dims({1, -1})), nullptr);
  EXPECT_EQ(network->addInput("x", DataType::kFLOAT, dims({1})), nullptr);
  expectError("an input 'x' exists already");
  EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
  expectError("needs a name");
  EXPECT_EQ(network->addInput("y", static_cast<DataType>(77), dims({1})), nullptr);
  expectError("data type 77");
  EXPECT_EQ(network->addInput("y", DataType::kFLOAT, dims({-2})), nullptr);
  expectError("at least -1");
  EXPECT_EQ(network->addInput("y", DataType::kFLOAT, nv::Dims{9, {}}), nullptr);
  expectError("9 dimensions");
  EXPECT_EQ(network->getNbInputs(), 1);
  EXPECT_EQ(network->getInput(1), nullptr);
  EXPECT_EQ(network->getInput(0), network->getInput(0));
  EXPECT_FALSE(network->hasImplicitBatchDimension());
}

TEST_F(NetworkFacts, NamesOfLayersAndTensors) {
  auto* layer = network->addIdentity(input("x", {2}));
  EXPECT_STREQ(layer->getName(), "(Unnamed Layer* 0) [Identity]");
  EXPECT_STREQ(layer->getOutput(0)->getName(), "(Unnamed Layer* 0) [Identity]_output");
  layer->setName("copy");
  layer->setMetadata("from a test");
  EXPECT_STREQ(layer->getName(), "copy");
  EXPECT_STREQ(layer->getMetadata(), "from a test");
  EXPECT_EQ(layer->getType(), nv::LayerType::kIDENTITY);
  EXPECT_EQ(network->getLayer(0), layer);
  EXPECT_EQ(layer->getInput(0), network->getInput(0));
  EXPECT_EQ(layer->getInput(1), nullptr);
}

TEST_F(NetworkFacts, OutputsAreMarkedOnce) {
  auto& x = input("x", {2});
  auto* y = network->addIdentity(x)->getOutput(0);
  EXPECT_FALSE(y->isNetworkOutput());
  network->markOutput(*y);
  EXPECT_TRUE(y->isNetworkOutput());
  network->markOutput(*y);
  expectError("is an output already");
  network->markOutput(x);
  expectError("is a network input");
  network->unmarkOutput(*y);
  EXPECT_EQ(network->getNbOutputs(), 0);
  EXPECT_THROW(network->assemble(), UserError);
}

TEST_F(NetworkFacts, AChangeReachesEveryLayerBehindIt) {
  auto& x = input("x", {2, 3});
  nv::ITensor* tensor = &x;
  for (int i = 0; i < 3000; ++i) tensor = network->addIdentity(*tensor)->getOutput(0);
  EXPECT_EQ(extents(tensor), (Extents{2, 3}));
  x.setDimensions(dims({5, 7}));
  EXPECT_EQ(extents(tensor), (Extents{5, 7}));
  x.setType(DataType::kINT32);
  EXPECT_EQ(tensor->getType(), DataType::kINT32);
}

TEST_F(NetworkFacts, CyclesAreReported) {
  auto* a = network->addIdentity(input("x", {2}));
  auto* b = network->addIdentity(*a->getOutput(0));
  a->setInput(0, *b->getOutput(0));
  EXPECT_EQ(b->getOutput(0)->getDimensions().nbDims, -1);
  expectError("depends on its own output");
  network->markOutput(*b->getOutput(0));
  EXPECT_THROW(network->assemble(), UserError);
}

TEST_F(NetworkFacts, TensorsOfOtherNetworksAreRefused) {
  Network other(builder, reporter, 0);
  auto* foreign = other.addInput("x", DataType::kFLOAT, dims({2}));
  EXPECT_EQ(network->addIdentity(*foreign), nullptr);
  expectError("belongs to another network");
  EXPECT_EQ(network->getNbLayers(), 0);
}

TEST_F(NetworkFacts, UnsupportedLayersSaySo) {
  auto& x = input("x", {2});
  EXPECT_EQ(network->addDistCollective(x, {}, {}, 0, nullptr, 0), nullptr);
  expectError("INetworkDefinition::addDistCollective is not supported yet");
}

TEST_F(NetworkFacts, NamedDimensionsAreOneSymbol) {
  auto& a = input("a", {-1, 3});
  auto& b = input("b", {-1, 3});
  a.setDimensionName(0, "batch");
  b.setDimensionName(0, "batch");
  EXPECT_STREQ(a.getDimensionName(0), "batch");
  EXPECT_EQ(a.getDimensionName(1), nullptr);
  nv::ITensor* tensors[] = {&a, &b};
  auto* concat = network->addConcatenation(tensors, 2);
  concat->setAxis(1);
  auto* tensor = concat->getOutput(0);
  network->markOutput(*tensor);
  const graph::Graph graph = network->assemble();
  EXPECT_EQ(text(graph.value(graph.outputs()[0]).type.shape), "[batch,6]");
  EXPECT_EQ(graph.symbols().count("batch"), 2U);
}

TEST_F(NetworkFacts, ShapeTensorsAreFoundThroughShapeArithmetic) {
  auto& x = input("x", {-1, -1});
  auto& size = input("size", {2}, DataType::kINT64);
  auto* sum = network->addElementWise(size, *network->addShape(x)->getOutput(0), nv::ElementWiseOperation::kSUM);
  EXPECT_FALSE(size.isShapeTensor());
  EXPECT_TRUE(size.isExecutionTensor());
  auto* resize = network->addResize(x);
  resize->setInput(1, *sum->getOutput(0));
  EXPECT_TRUE(size.isShapeTensor());
  EXPECT_FALSE(size.isExecutionTensor());
  EXPECT_FALSE(x.isShapeTensor());
  EXPECT_EQ(size.getLocation(), nv::TensorLocation::kHOST);
  network->markOutput(*resize->getOutput(0));
  const graph::Graph graph = network->assemble();
  EXPECT_TRUE(graph.value(*graph.findValue("size")).constraints.hostShape);
  EXPECT_EQ(text(graph.value(graph.outputs()[0]).type.shape), "['size[0]'+x.0,'size[1]'+x.1]");
}

TEST_F(NetworkFacts, DeadLayersAreDroppedAndNamesKept) {
  auto& x = input("x", {2, 3});
  network->addUnary(x, nv::UnaryOperation::kEXP);
  auto* used = network->addUnary(x, nv::UnaryOperation::kABS);
  used->getOutput(0)->setName("middle");
  auto* last = network->addUnary(*used->getOutput(0), nv::UnaryOperation::kNEG);
  last->getOutput(0)->setName("y");
  network->markOutput(*last->getOutput(0));
  network->markDebug(*used->getOutput(0));
  const graph::Graph graph = network->assemble();
  ASSERT_EQ(graph.order().size(), 3U);  // with the node that shows "middle"
  EXPECT_TRUE(graph.findValue("middle").has_value());
  const auto& shown = graph.node(graph.order()[1]);
  EXPECT_EQ(shown.op.text(), "tap");
  EXPECT_EQ(shown.name, "middle");
  EXPECT_EQ(shown.inputs[0], *graph.findValue("middle"));
  EXPECT_TRUE(graph.value(shown.outputs[0]).constraints.debug);
  EXPECT_EQ(graph.outputName(0), "y");
  EXPECT_EQ(graph.node(graph.order()[0]).origins, std::vector<std::string>{"(Unnamed Layer* 1) [Unary]"});
}

TEST_F(NetworkFacts, TypesOfWeightsThatAreNoneAreNamedWithTheirLayer) {
  const float values[] = {1, 2};
  auto* constant = network->addConstant(dims({2}), {static_cast<DataType>(99), values, 2});
  ASSERT_NE(constant, nullptr);
  constant->setName("table");
  EXPECT_EQ(extents(constant->getOutput(0)), std::vector<int64_t>{-99});
  expectError("table: constant weights: the data type 99 is out of range; expected 0 to 11");
}

// As many as they are said to be, and none of which the product of the extents wraps to 0.
TEST_F(NetworkFacts, WeightsBeyondAllMemoryAreRefused) {
  const float value = 1;
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const auto& [shape, count] : {std::pair(dims({kHuge}), kHuge), std::pair(dims({kHuge, 4}), int64_t{0}),
                                     std::pair(dims({kHuge, kHuge}), int64_t{0})}) {
    auto* constant = network->addConstant(shape, {DataType::kFLOAT, &value, count});
    EXPECT_EQ(extents(constant->getOutput(0)), std::vector<int64_t>{-99});
    expectError("exceed the address space");
  }
}

TEST_F(NetworkFacts, AConstantMayBeAnOutput) {
  auto* constant = network->addConstant(dims({3}), floats(3));
  EXPECT_EQ(operators(constant->getOutput(0)), "pointwise");
}

// Among floating types setOutputType() is a constraint for the builder; the tensor's type is that of setType().
TEST_F(NetworkFacts, WeaklyTypedNetworksCastAtOutputs) {
  auto* layer = network->addUnary(input("x", {2}), nv::UnaryOperation::kEXP);
  layer->setOutputType(0, DataType::kHALF);
  EXPECT_TRUE(layer->outputTypeIsSet(0));
  EXPECT_EQ(layer->getOutputType(0), DataType::kHALF);
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT);
  layer->getOutput(0)->setType(DataType::kHALF);
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kHALF);
  EXPECT_EQ(operators(layer->getOutput(0)), "pointwise{expr=\"exp(x0)\"}\npointwise{expr=\"cast.f16(x0)\"}");
  layer->resetOutputType(0);
  EXPECT_FALSE(layer->outputTypeIsSet(0));
  EXPECT_EQ(layer->getOutputType(0), DataType::kHALF);
}

// Where the type is of another kind, or the layer is there to convert, it is part of the network.
TEST_F(NetworkFacts, OutputTypesOfWeaklyTypedNetworksConvert) {
  auto* identity = network->addIdentity(input("x", {2}));
  identity->setOutputType(0, DataType::kHALF);
  EXPECT_EQ(identity->getOutput(0)->getType(), DataType::kHALF);
  auto* rounded = network->addUnary(input("y", {2}), nv::UnaryOperation::kROUND);
  rounded->setOutputType(0, DataType::kINT32);
  EXPECT_EQ(rounded->getOutput(0)->getType(), DataType::kINT32);
  auto* widened = network->addUnary(input("z", {2}, DataType::kHALF), nv::UnaryOperation::kABS);
  EXPECT_EQ(widened->getOutput(0)->getType(), DataType::kHALF);
  widened->setOutputType(0, DataType::kFLOAT);
  EXPECT_EQ(widened->getOutput(0)->getType(), DataType::kFLOAT);
}

TEST_F(NetworkFacts, WeaklyTypedNetworksComputeMixedOperandsInFull) {
  auto& a = input("a", {2}, DataType::kHALF);
  auto& b = input("b", {2});
  auto* layer = network->addElementWise(a, b, nv::ElementWiseOperation::kSUM);
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT);
}

TEST_F(NetworkFacts, StronglyTypedNetworksRefuseTypes) {
  network = std::make_unique<Network>(builder, reporter,
                                      1U << static_cast<uint32_t>(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  EXPECT_TRUE(network->getFlag(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  auto& a = input("a", {2}, DataType::kHALF);
  auto& b = input("b", {2});
  auto* layer = network->addElementWise(a, b, nv::ElementWiseOperation::kSUM);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_EQ(log.errors.size(), 1U);
  log.errors.clear();
  layer->setOutputType(0, DataType::kFLOAT);
  expectError("strongly typed");
  layer->setPrecision(DataType::kHALF);
  expectError("strongly typed");
}

TEST_F(NetworkFacts, HalfWeightsAreConverted) {
  static const uint16_t kOne = 0x3c00;
  const nv::Weights half{DataType::kHALF, &kOne, 1};
  auto* layer =
      network->addScale(input("x", {1, 1, 2, 2}), nv::ScaleMode::kUNIFORM, nv::Weights{}, half, nv::Weights{});
  network->markOutput(*layer->getOutput(0));
  const graph::Graph graph = network->assemble();
  const auto& node = graph.node(graph.order().back());
  const auto& constant = graph.value(node.inputs.at(1)).constant;
  ASSERT_NE(constant, nullptr);
  EXPECT_EQ(constant->dtype(), tenon::DataType::kF32);
  EXPECT_EQ(constant->view().loadDouble(0), 1.0);
}

TEST_F(NetworkFacts, WeightsNames) {
  const nv::Weights weights = floats(3);
  auto* constant = network->addConstant(dims({3}), weights);
  EXPECT_TRUE(network->setWeightsName(weights, "w"));
  EXPECT_FALSE(network->setWeightsName(weights, ""));
  expectError("not empty");
  EXPECT_TRUE(network->markWeightsRefittable("w"));
  EXPECT_TRUE(network->areWeightsMarkedRefittable("w"));
  EXPECT_TRUE(network->unmarkWeightsRefittable("w"));
  EXPECT_FALSE(network->areWeightsMarkedRefittable("w"));
  EXPECT_EQ(constant->getWeights().values, weights.values);
}

TEST_F(NetworkFacts, EqualNamesOfOutputsAreRefused) {
  auto& x = input("x", {2});
  for (int i = 0; i < 2; ++i) {
    auto* tensor = network->addIdentity(x)->getOutput(0);
    tensor->setName("y");
    network->markOutput(*tensor);
  }
  EXPECT_THROW(network->assemble(), UserError);
}

class KeptErrors final : public nv::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors.size()); }
  nv::ErrorCode getErrorCode(int32_t i) const noexcept override { return errors.at(static_cast<size_t>(i)).first; }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override { return errors.at(static_cast<size_t>(i)).second.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors.clear(); }
  bool reportError(nv::ErrorCode code, ErrorDesc text) noexcept override {
    errors.emplace_back(code, text);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::vector<std::pair<nv::ErrorCode, std::string>> errors;
  RefCount references = 0;
};

TEST_F(NetworkFacts, ErrorsGoToTheRecorderWhenOneIsSet) {
  KeptErrors recorder;
  network->setErrorRecorder(&recorder);
  EXPECT_EQ(recorder.references, 1);
  EXPECT_EQ(network->addInput("", DataType::kFLOAT, dims({1})), nullptr);
  EXPECT_EQ(network->addDistCollective(input("x", {2}), {}, {}, 0, nullptr, 0), nullptr);
  ASSERT_EQ(recorder.getNbErrors(), 2);
  EXPECT_EQ(recorder.getErrorCode(0), nv::ErrorCode::kINVALID_ARGUMENT);
  EXPECT_EQ(recorder.getErrorCode(1), nv::ErrorCode::kUNSUPPORTED_STATE);
  network->setErrorRecorder(nullptr);
  EXPECT_EQ(recorder.references, 0);
}

}  // namespace
}  // namespace tenon::api

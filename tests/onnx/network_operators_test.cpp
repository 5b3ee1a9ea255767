// Operators through a real network: the shape and type of what they make.
#include <gtest/gtest.h>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

using Ints = std::vector<int64_t>;

// One node on float input "x" (and constants); the shape of its output.
struct Case {
  std::string type;
  int64_t opset;
  Ints input;
  std::vector<std::pair<std::string, Ints>> lists;  // int64 inputs after x, by name; empty name: absent
  std::vector<std::pair<std::string, Ints>> attributes;
  std::vector<std::pair<std::string, int64_t>> integers;
  Ints expected;
};

void check(const Case& item) {
  ModelMaker maker(item.opset);
  maker.input("x", item.input);
  std::vector<std::string> inputs{"x"};
  for (const auto& [name, values] : item.lists) {
    inputs.push_back(name);
    if (!name.empty()) {
      maker.ints(name, name == "scalar" ? Ints{} : Ints{static_cast<int64_t>(values.size())}, values);
    }
  }
  auto& node = maker.node(item.type, inputs, {"y"}, "it");
  for (const auto& [name, values] : item.attributes) {
    ModelMaker::set(node, name, values);
  }
  for (const auto& [name, value] : item.integers) {
    ModelMaker::set(node, name, value);
  }
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << item.type << ": " << bench.errors() << bench.logger.text;
  ASSERT_EQ(bench.network->getNbOutputs(), 1);
  EXPECT_STREQ(bench.network->getOutput(0)->getName(), "y");
  EXPECT_EQ(bench.outputShape(), item.expected) << item.type << " opset " << item.opset;
}

TEST(Operators, ShapeChanges) {
  check({"Reshape", 13, {2, 3, 4}, {{"s", {0, -1}}}, {}, {}, {2, 12}});
  check({"Reshape", 13, {-2, 3, 4}, {{"s", {0, -1}}}, {}, {}, {-1, 12}});
  check({"Reshape", 14, {0, 3}, {{"s", {3, 0}}}, {}, {{"allowzero", 1}}, {3, 0}});
  check({"Flatten", 13, {2, 3, 4}, {}, {}, {{"axis", 2}}, {6, 4}});
  check({"Flatten", 13, {-2, 3, 4}, {}, {}, {}, {-1, 12}});
  check({"Flatten", 13, {2, 3, 4}, {}, {}, {{"axis", 0}}, {1, 24}});
  check({"Transpose", 13, {2, 3, 4}, {}, {}, {}, {4, 3, 2}});
  check({"Transpose", 13, {2, 3, 4}, {}, {{"perm", {0, 2, 1}}}, {}, {2, 4, 3}});
  check({"Squeeze", 11, {2, 1, 4}, {}, {{"axes", {1}}}, {}, {2, 4}});
  check({"Squeeze", 13, {-2, 1, -3}, {{"a", {-2}}}, {}, {}, {-1, -1}});
  check({"Unsqueeze", 11, {2, 4}, {}, {{"axes", {0, 3}}}, {}, {1, 2, 4, 1}});
  check({"Unsqueeze", 13, {-2, -3}, {{"a", {1}}}, {}, {}, {-1, 1, -1}});
  check({"Expand", 13, {3, 1}, {{"s", {2, 1, 5}}}, {}, {}, {2, 3, 5}});
  check({"Tile", 13, {2, 3}, {{"r", {2, 3}}}, {}, {}, {4, 9}});
  check({"DepthToSpace", 13, {1, 8, 2, 3}, {}, {}, {{"blocksize", 2}}, {1, 2, 4, 6}});
  check({"DepthToSpace", 13, {-2, 8, -1, -1}, {}, {}, {{"blocksize", 2}}, {-1, 2, -1, -1}});
  check({"SpaceToDepth", 13, {1, 2, 4, 6}, {}, {}, {{"blocksize", 2}}, {1, 8, 2, 3}});
}

TEST(Operators, SlicesAndPads) {
  check({"Slice", 9, {5, 6}, {}, {{"starts", {1, -3}}, {"ends", {4, INT64_MAX}}}, {}, {3, 3}});
  check({"Slice", 13, {5, 7}, {{"s", {6}}, {"e", {-100}}, {"a", {1}}, {"t", {-2}}}, {}, {}, {5, 4}});
  check({"Slice", 13, {5, 7}, {{"s", {0}}, {"e", {7}}, {"a", {1}}, {"t", {2}}}, {}, {}, {5, 4}});
  check({"Slice", 13, {5, 7}, {{"s", {9}}, {"e", {12}}, {"a", {1}}}, {}, {}, {5, 0}});
  check({"Slice", 13, {-2, 7}, {{"s", {0}}, {"e", {3}}, {"a", {1}}}, {}, {}, {-1, 3}});
  // Bounds are those of axes of any extent, steps may lead beyond any of them.
  constexpr int64_t kLong = (int64_t{1} << 31) + 100;
  check({"Slice", 13, {kLong}, {{"s", {kLong - 10}}, {"e", {kLong}}}, {}, {}, {10}});
  check({"Slice", 13, {kLong}, {{"s", {kLong - 10}}, {"e", {INT64_MAX}}}, {}, {}, {10}});
  check({"Slice", 13, {kLong}, {{"s", {-1}}, {"e", {-11}}, {"a", {0}}, {"t", {-1}}}, {}, {}, {10}});
  check({"Slice", 13, {kLong}, {{"s", {kLong - 1}}, {"e", {5}}, {"a", {0}}, {"t", {-1}}}, {}, {}, {kLong - 6}});
  check({"Slice", 13, {3 * kLong}, {{"s", {-1}}, {"e", {-kLong}}, {"a", {0}}, {"t", {-1}}}, {}, {}, {kLong - 1}});
  check({"ArgMax", 13, {2, kLong}, {}, {}, {{"axis", 1}}, {2, 1}});
  check({"Slice", 13, {5, 7}, {{"s", {2}}, {"e", {7}}, {"a", {1}}, {"t", {INT64_MAX}}}, {}, {}, {5, 1}});
  check({"Slice", 13, {5, 7}, {{"s", {2}}, {"e", {-9}}, {"a", {1}}, {"t", {INT64_MIN}}}, {}, {}, {5, 1}});
  check({"Pad", 10, {2, 3}, {}, {{"pads", {0, 1, 1, 2}}}, {}, {3, 6}});
  check({"Pad", 13, {2, 3}, {{"p", {0, -1, 1, 0}}}, {}, {}, {3, 2}});
  check({"Pad", 18, {2, 3}, {{"p", {1, 1}}, {"", {}}, {"a", {1}}}, {}, {}, {2, 5}});
  check({"Gather", 13, {5, 7}, {{"i", {0, -1, 2}}}, {}, {{"axis", 1}}, {5, 3}});
  check({"Gather", 13, {5, 7}, {{"scalar", {3}}}, {}, {}, {7}});
}

TEST(Operators, Windows) {
  check({"MaxPool", 12, {1, 3, 9, 9}, {}, {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}}, {}, {1, 3, 4, 4}});
  check({"MaxPool",
         12,
         {1, 3, 8, 8},
         {},
         {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}},
         {{"ceil_mode", 1}},
         {1, 3, 4, 4}});
  check({"AveragePool", 12, {-2, 3, 10}, {}, {{"kernel_shape", {3}}, {"pads", {1, 1}}}, {}, {-1, 3, 10}});
  check({"GlobalAveragePool", 12, {2, 3, 5, 7}, {}, {}, {}, {2, 3, 1, 1}});
  check({"LRN", 13, {1, 8, 4, 4}, {}, {}, {{"size", 5}}, {1, 8, 4, 4}});
}

TEST(Operators, ReductionsAndSoftmax) {
  check({"ReduceMean", 13, {2, 3, 4}, {}, {{"axes", {-1}}}, {{"keepdims", 0}}, {2, 3}});
  check({"ReduceMean", 18, {2, 3, 4}, {{"a", {1}}}, {}, {}, {2, 1, 4}});
  check({"ReduceSum", 13, {2, 3, 4}, {}, {}, {{"keepdims", 0}}, {}});
  check({"ReduceSum", 13, {2, 3, 4}, {}, {}, {{"noop_with_empty_axes", 1}}, {2, 3, 4}});
  check({"ReduceLogSumExp", 13, {2, 3, 4}, {}, {{"axes", {0}}}, {{"keepdims", 0}}, {3, 4}});
  check({"Softmax", 11, {2, 3, 4}, {}, {}, {}, {2, 3, 4}});
  check({"Softmax", 13, {-2, 3, 4}, {}, {}, {{"axis", 1}}, {-1, 3, 4}});
  check({"LogSoftmax", 13, {2, 5}, {}, {}, {}, {2, 5}});
  check({"ArgMax", 13, {2, 3, 4}, {}, {}, {{"axis", 1}, {"keepdims", 0}}, {2, 4}});
  check({"TopK", 11, {2, 9}, {{"k", {3}}}, {}, {}, {2, 3}});
}

TEST(Operators, SizeAndShapeAreIntegers) {
  ModelMaker maker;
  maker.input("x", {-2, 3, -3});
  maker.node("Shape", {"x"}, {"s"});
  maker.node("Size", {"x"}, {"n"});
  maker.output("s", {3}, 7);
  maker.output("n", {}, 7);
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.outputShape(0), (Dimensions{3}));
  EXPECT_EQ(bench.outputShape(1), (Dimensions{}));
  EXPECT_EQ(bench.network->getOutput(0)->getType(), DataType::kINT64);
  EXPECT_EQ(bench.network->getOutput(1)->getType(), DataType::kINT64);
}

void addConvolution(ModelMaker& maker, const std::string& type, const Ints& input, const Ints& weights,
                    const std::vector<std::pair<std::string, Ints>>& attributes, const std::string& autoPad = "") {
  int64_t count = 1;
  for (const int64_t extent : weights) {
    count *= extent;
  }
  maker.input("x", input);
  maker.floats("w", weights, std::vector<float>(static_cast<size_t>(count), 0.25f));
  auto& node = maker.node(type, {"x", "w"}, {"y"});
  for (const auto& [name, values] : attributes) {
    ModelMaker::set(node, name, values);
  }
  if (!autoPad.empty()) {
    ModelMaker::set(node, "auto_pad", autoPad);
  }
  maker.output("y");
}

Dimensions convolved(const std::string& type, const Ints& input, const Ints& weights,
                     const std::vector<std::pair<std::string, Ints>>& attributes, const std::string& autoPad = "") {
  ModelMaker maker;
  addConvolution(maker, type, input, weights, attributes, autoPad);
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  return bench.network->getNbOutputs() == 1 ? bench.outputShape() : Dimensions{-99};
}

TEST(Operators, Convolutions) {
  EXPECT_EQ(convolved("Conv", {1, 3, 9, 9}, {4, 3, 3, 3}, {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}}),
            (Dimensions{1, 4, 5, 5}));
  EXPECT_EQ(convolved("Conv", {-2, 3, 9}, {4, 3, 3}, {{"dilations", {2}}}), (Dimensions{-1, 4, 5}));
  EXPECT_EQ(convolved("Conv", {1, 3, 10, 9}, {4, 3, 3, 3}, {{"strides", {2, 2}}}, "SAME_UPPER"),
            (Dimensions{1, 4, 5, 5}));
  EXPECT_EQ(convolved("ConvTranspose", {1, 3, 5, 5}, {3, 4, 3, 3}, {{"strides", {2, 2}}}), (Dimensions{1, 4, 11, 11}));
  EXPECT_EQ(convolved("ConvTranspose", {1, 3, 5, 5}, {3, 4, 3, 3},
                      {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"output_padding", {1, 1}}}),
            (Dimensions{1, 4, 10, 10}));
  EXPECT_EQ(convolved("ConvTranspose", {1, 3, 5, 5}, {3, 4, 3, 3}, {{"strides", {2, 2}}, {"output_padding", {1, 1}}}),
            (Dimensions{1, 4, 12, 12}));
  EXPECT_EQ(convolved("ConvTranspose", {1, 3, 5, 5}, {3, 4, 3, 3}, {{"strides", {2, 2}}}, "SAME_UPPER"),
            (Dimensions{1, 4, 10, 10}));
  EXPECT_EQ(convolved("ConvTranspose", {1, 3, 5, 5}, {3, 4, 3, 3}, {{"strides", {2, 2}}, {"output_shape", {10, 12}}}),
            (Dimensions{1, 4, 10, 12}));
}

// Shape -> Gather -> Unsqueeze -> Concat -> Reshape, as exporters write a view of a dynamic batch.
TEST(Operators, ShapeArithmeticOfExporters) {
  ModelMaker maker(11);
  maker.input("x", {-2, 24, -1, -1});
  maker.ints("zero", {}, {0});
  maker.ints("rest", {1}, {-1});
  maker.ints("four", {1}, {4});
  maker.node("Shape", {"x"}, {"s"});
  maker.node("Gather", {"s", "zero"}, {"n"});
  ModelMaker::set(maker.node("Unsqueeze", {"n"}, {"n1"}), "axes", Ints{0});
  ModelMaker::set(maker.node("Concat", {"n1", "rest", "four"}, {"target"}), "axis", int64_t{0});
  ModelMaker::set(maker.node("Transpose", {"x"}, {"t"}), "perm", Ints{0, 2, 3, 1});
  maker.node("Reshape", {"t", "target"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.outputShape(), (Dimensions{-1, -1, 4}));
  EXPECT_STREQ(bench.network->getInput(0)->getDimensionName(0), "N");
}

TEST(Operators, QuestionMarksAreNoNames) {
  ModelMaker maker;
  maker.input("x", {-4, 3, -4, -2});
  maker.node("Relu", {"x"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  const nvinfer1::ITensor* input = bench.network->getInput(0);
  EXPECT_EQ(input->getDimensionName(0) == nullptr ? std::string() : input->getDimensionName(0), "");
  EXPECT_STREQ(input->getDimensionName(3), "N");
}

// Extents that pass through floats on their way, as some exporters compute positions.
TEST(Operators, ExtentsThroughFloatsStaySymbolic) {
  ModelMaker maker(12);
  maker.input("x", {-2, 8});
  maker.input("table", {1, 64});
  maker.floats("limit", {2}, {64, 64});
  maker.ints("zeros", {2}, {0, 0});
  maker.ints("axes", {2}, {0, 1});
  maker.node("Shape", {"x"}, {"s"});
  ModelMaker::set(maker.node("Cast", {"s"}, {"f"}), "to", int64_t{1});
  maker.node("Min", {"f", "limit"}, {"m"});
  ModelMaker::set(maker.node("Cast", {"m"}, {"i"}), "to", int64_t{7});
  maker.node("Slice", {"table", "zeros", "i", "axes"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.outputShape()[1], 8);
}

TEST(Operators, StaticShapeArithmeticLeavesNoLayer) {
  ModelMaker maker(13);
  maker.input("x", {2, 3, 4});
  maker.ints("two", {1}, {2});
  maker.node("Shape", {"x"}, {"s"});
  maker.node("ReduceProd", {"s"}, {"count"});
  maker.node("Div", {"count", "two"}, {"half"});
  ModelMaker::set(maker.node("Concat", {"two", "half"}, {"target"}), "axis", int64_t{0});
  maker.node("Reshape", {"x", "target"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.network->getNbLayers(), 1);
  EXPECT_EQ(bench.outputShape(), (Dimensions{2, 12}));
}

TEST(Operators, MatrixProducts) {
  const auto product = [](const Ints& a, const Ints& b) {
    ModelMaker maker;
    maker.input("a", a);
    maker.input("b", b);
    maker.node("MatMul", {"a", "b"}, {"y"});
    maker.output("y");
    NetworkBench bench;
    EXPECT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
    return bench.network->getNbOutputs() == 1 ? bench.outputShape() : Dimensions{-99};
  };
  EXPECT_EQ(product({2, 3}, {3, 5}), (Dimensions{2, 5}));
  EXPECT_EQ(product({3}, {3, 5}), (Dimensions{5}));
  EXPECT_EQ(product({2, 3}, {3}), (Dimensions{2}));
  EXPECT_EQ(product({3}, {3}), (Dimensions{}));
  EXPECT_EQ(product({7, 2, 3}, {3, 5}), (Dimensions{7, 2, 5}));
  EXPECT_EQ(product({3}, {4, 3, 5}), (Dimensions{4, 5}));
}

TEST(Operators, LocalFunctionsAreInlined) {
  ModelMaker maker;
  auto* function = maker.proto().add_functions();
  function->set_name("Scaled");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("slope");
  auto* import = function->add_opset_import();
  import->set_version(17);
  auto* inner = function->add_node();
  inner->set_op_type("LeakyRelu");
  inner->set_name("inner");
  inner->add_input("a");
  inner->add_output("b");
  auto* reference = inner->add_attribute();
  reference->set_name("alpha");
  reference->set_type(1);
  reference->set_ref_attr_name("slope");
  maker.proto().add_opset_import()->set_domain("mine");
  maker.input("x", {2, 3});
  auto& call = maker.node("Scaled", {"x"}, {"y"}, "call");
  call.set_domain("mine");
  ModelMaker::set(call, "slope", 0.375f);
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  ASSERT_EQ(bench.network->getNbLayers(), 1);
  auto* layer = static_cast<nvinfer1::IActivationLayer*>(bench.network->getLayer(0));
  EXPECT_FLOAT_EQ(layer->getAlpha(), 0.375f);
  EXPECT_STREQ(layer->getName(), "call/inner");
  EXPECT_STREQ(bench.network->getOutput(0)->getName(), "y");
}

TEST(Operators, OutputsThatAreInputsOrConstants) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.floats("c", {3}, {1, 2, 3});
  maker.node("Identity", {"c"}, {"k"});
  maker.output("x");
  maker.output("k");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.network->getNbOutputs(), 2);
  EXPECT_STREQ(bench.network->getOutput(1)->getName(), "k");
}

// Axes that reach the node through other nodes are constants still.
TEST(Operators, AxesThatAreForwarded) {
  for (const std::string type : {"Squeeze", "Unsqueeze"}) {
    ModelMaker maker;
    maker.input("x", {2, 1, 3});
    maker.ints("axes", {1}, {1});
    maker.node("Identity", {"axes"}, {"same"});
    ModelMaker::set(maker.node("Cast", {"same"}, {"narrow"}), "to", int64_t{6});
    maker.node("Neg", {"narrow"}, {"negative"});
    maker.node("Abs", {"negative"}, {"computed"});
    maker.node(type, {"x", "computed"}, {"y"});
    maker.output("y");
    NetworkBench bench;
    ASSERT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
    EXPECT_EQ(bench.outputShape(), (type == "Squeeze" ? Dimensions{2, 3} : Dimensions{2, 1, 1, 3}));
  }
}

TEST(Operators, LayersAndTensorsCarryTheModelsNames) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.node("Relu", {"x"}, {"r"}, "first");
  maker.node("Neg", {"r"}, {"y"}, "first");
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_STREQ(bench.network->getLayer(0)->getName(), "first");
  EXPECT_STREQ(bench.network->getLayer(1)->getName(), "first_1");
  EXPECT_STREQ(bench.network->getLayer(0)->getOutput(0)->getName(), "r");
  EXPECT_EQ(bench.parser->getLayerOutputTensor("first", 0), bench.network->getOutput(0));
  EXPECT_EQ(bench.parser->getLayerOutputTensor("first", 1), nullptr);
  EXPECT_EQ(bench.parser->getLayerOutputTensor("nobody", 0), nullptr);
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Small files that stand for large work: they end soon, with a message where the work is not done.
#include <gtest/gtest.h>

#include <chrono>

#include "functions.h"
#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

using Clock = std::chrono::steady_clock;

// Far above what it takes (tenths of a second), far below what growth by powers or squares would.
constexpr double kSeconds = 20;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A function "f<index>" with input "a" and output "b" that holds `nodes` (operator, input, output).
struct Step {
  std::string type, input, output;
};
void addFunction(ModelMaker& maker, int index, const std::vector<Step>& steps) {
  auto* function = maker.proto().add_functions();
  function->set_name("f" + std::to_string(index));
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  for (const Step& step : steps) {
    auto* node = function->add_node();
    node->set_op_type(step.type);
    if (step.type.front() == 'f') node->set_domain("mine");
    node->add_input(step.input);
    node->add_output(step.output);
  }
}

ModelMaker callOf(const std::string& function) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.node(function, {"x"}, {"y"}, "call").set_domain("mine");
  maker.output("y");
  return maker;
}

void expectRefused(const ModelMaker& maker, ErrorCode code, const std::vector<std::string>& words) {
  for (const bool ask : {false, true}) {
    NetworkBench bench;
    const std::string bytes = maker.bytes();
    const auto start = Clock::now();
    EXPECT_FALSE(ask ? bench.parser->supportsModelV2(bytes.data(), bytes.size(), nullptr) : bench.parse(maker));
    EXPECT_LT(since(start), kSeconds);
    ASSERT_GT(bench.parser->getNbErrors(), 0);
    EXPECT_EQ(bench.parser->getError(0)->code(), code) << bench.errors();
    for (const auto& word : words)
      EXPECT_NE(bench.errors().find(word), std::string::npos) << word << "\n" << bench.errors();
    EXPECT_EQ(bench.parser->getNbSubgraphs(), 0);
  }
}

TEST(Limits, FunctionsThatCallEachOtherTwice) {
  for (const int count : {31, 32}) {
    ModelMaker maker = callOf("f" + std::to_string(count - 1));
    addFunction(maker, 0, {{"Relu", "a", "b"}});
    for (int i = 1; i < count; ++i) {
      const std::string before = "f" + std::to_string(i - 1);
      addFunction(maker, i, {{before, "a", "t"}, {before, "t", "b"}});
    }
    expectRefused(maker, ErrorCode::kUNSUPPORTED_GRAPH,
                  {"node 0 'call'", "when inlined", std::to_string(kMaxInlinedNodes)});
  }
  ModelMaker deep = callOf("f39");
  addFunction(deep, 0, {{"Relu", "a", "b"}});
  for (int i = 1; i < 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    addFunction(deep, i, {{before, "a", "t"}, {before, "t", "b"}});
  }
  expectRefused(deep, ErrorCode::kUNSUPPORTED_GRAPH, {"'f39' nest 40 deep", "32 at most"});
}

TEST(Limits, AFewDoublingsAreInlined) {
  ModelMaker maker = callOf("f8");
  addFunction(maker, 0, {{"Relu", "a", "b"}});
  for (int i = 1; i < 9; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    addFunction(maker, i, {{before, "a", "t"}, {before, "t", "b"}});
  }
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_EQ(bench.network->getNbLayers(), 256);
}

// Many calls, each of few nodes: the sum counts.
TEST(Limits, CallsAddUp) {
  ModelMaker maker;
  maker.input("x", {2});
  std::vector<Step> steps;
  for (int i = 0; i < 1000; ++i) steps.push_back({"Relu", "a", i == 0 ? "b" : "t" + std::to_string(i)});
  addFunction(maker, 0, steps);
  const auto calls = static_cast<int>(kMaxInlinedNodes / 1000 + 2);
  for (int i = 0; i < calls; ++i) maker.node("f0", {"x"}, {"y" + std::to_string(i)}).set_domain("mine");
  maker.output("y0");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_EQ(bench.parser->getNbErrors(), 2) << "the two calls beyond the limit";
  EXPECT_EQ(bench.parser->getError(0)->node(), calls - 2);
}

TEST(Limits, TwentyThousandNestedFunctions) {
  ModelMaker maker = callOf("f19999");
  addFunction(maker, 0, {{"Relu", "a", "b"}});
  for (int i = 1; i < 20000; ++i) addFunction(maker, i, {{"f" + std::to_string(i - 1), "a", "b"}});
  expectRefused(maker, ErrorCode::kUNSUPPORTED_GRAPH, {"nest 20000 deep", "32 at most"});
  ModelMaker shallow = maker;
  shallow.graph().mutable_node(0)->set_op_type("f31");
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(shallow)) << bench.errors();
}

TEST(Limits, FunctionsThatCallEachOther) {
  ModelMaker maker = callOf("f0");
  addFunction(maker, 0, {{"f1", "a", "b"}});
  addFunction(maker, 1, {{"f2", "a", "t"}, {"f0", "t", "b"}});
  addFunction(maker, 2, {{"Relu", "a", "b"}});
  expectRefused(maker, ErrorCode::kINVALID_GRAPH, {"calls itself"});
}

TEST(Limits, ConcatOfManyInputs) {
  constexpr int kInputs = 100'000;
  for (const bool same : {true, false}) {
    ModelMaker maker;
    maker.input("x", {1, 2});
    std::vector<std::string> names;
    for (int i = 0; i < kInputs; ++i) {
      names.push_back(same ? "x" : "c" + std::to_string(i));
      if (!same) maker.floats(names.back(), {1, 2}, {1, 2});
    }
    if (!same) names.push_back("x");
    ModelMaker::set(maker.node("Concat", names, {"y"}), "axis", int64_t{0});
    maker.output("y");
    NetworkBench bench;
    const auto start = Clock::now();
    EXPECT_TRUE(bench.parse(maker)) << bench.errors();
    EXPECT_EQ(bench.outputShape(), (Dimensions{same ? kInputs : kInputs + 1, 2}));
    EXPECT_LT(since(start), kSeconds);
  }
}

TEST(Limits, ManyAttributesOfACall) {
  ModelMaker maker = callOf("f0");
  addFunction(maker, 0, {{"Relu", "a", "b"}});
  for (int i = 0; i < 100'000; ++i)
    ModelMaker::set(*maker.graph().mutable_node(0), "k" + std::to_string(i), int64_t{1});
  NetworkBench bench;
  const auto start = Clock::now();
  EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_LT(since(start), kSeconds);
}

TEST(Limits, ManyDomains) {
  ModelMaker maker = callOf("f0");
  addFunction(maker, 0, {{"Relu", "a", "b"}});
  for (int i = 0; i < 50'000; ++i) maker.proto().add_opset_import()->set_domain("d" + std::to_string(i));
  for (int i = 0; i < 20'000; ++i) maker.node("f0", {"x"}, {"t" + std::to_string(i)}).set_domain("mine");
  NetworkBench bench;
  const auto start = Clock::now();
  EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_LT(since(start), kSeconds);
}

TEST(Limits, GraphsWithinGraphs) {
  ModelMaker maker;
  maker.input("x", {2});
  pb::NodeProto* node = &maker.node("If", {"x"}, {"y"});
  for (int i = 0; i < 30; ++i) {
    auto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    node = attribute->mutable_g()->add_node();
    node->set_op_type("If");
    node->add_input("x");
  }
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_NE(bench.errors().find("messages nest deeper than 64"), std::string::npos) << bench.errors();
}

// Copies of large constants are left to the builder once they add up.
TEST(Limits, ManyCopiesOfALargeConstant) {
  ModelMaker maker;
  maker.ints("shape", {2}, {4096, 4096});
  maker.input("x", {4096, 4096}, 7);
  auto& large = maker.node("ConstantOfShape", {"shape"}, {"t0"});
  auto* value = large.add_attribute();
  value->set_name("value");
  value->set_type(4);
  value->mutable_t()->set_data_type(7);
  value->mutable_t()->add_dims(1);
  value->mutable_t()->add_int64_data(1);
  for (int i = 0; i < 200; ++i)
    maker.node("Transpose", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)});  // 128 MiB each
  maker.node("Add", {"x", "t200"}, {"y"});
  maker.output("y", {}, 7);
  NetworkBench bench;
  const auto start = Clock::now();
  EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_LT(since(start), kSeconds);
  EXPECT_GT(bench.network->getNbLayers(), 100) << "the copies that are not folded";
}

// Constants that double until no type can count them.
TEST(Limits, ConstantsThatDouble) {
  ModelMaker maker;
  maker.floats("t0", {1}, {1});
  for (int i = 0; i < 70; ++i) {
    const std::string from = "t" + std::to_string(i);
    ModelMaker::set(maker.node("Concat", {from, from}, {"t" + std::to_string(i + 1)}), "axis", int64_t{0});
  }
  maker.output("t70");
  NetworkBench bench;
  const auto start = Clock::now();
  bench.parse(maker);  // whether the network takes such tensors is its own affair
  EXPECT_LT(since(start), kSeconds);
  EXPECT_EQ(bench.errors().find("internal error of the parser"), std::string::npos) << bench.errors();
}

TEST(Limits, TensorsTooLargeToBeMade) {
  const auto eye = [](int64_t extent) {
    ModelMaker maker;
    maker.input("x", {extent, extent});
    maker.node("EyeLike", {"x"}, {"y"});
    maker.output("y");
    return maker;
  };
  for (const int64_t extent : {int64_t{1} << 20, int64_t{1} << 31, INT64_MAX}) {
    NetworkBench bench;
    EXPECT_FALSE(bench.parse(eye(extent)));
    EXPECT_EQ(bench.errors().find("internal error of the parser"), std::string::npos) << bench.errors();
  }
  for (const int64_t extent : {int64_t{1} << 40, int64_t{1} << 61, INT64_MAX, int64_t{-3}}) {
    ModelMaker maker;
    maker.ints("shape", {1}, {extent});
    maker.node("ConstantOfShape", {"shape"}, {"y"});
    maker.output("y");
    NetworkBench bench;
    EXPECT_FALSE(bench.parse(maker) && extent < 0) << "large ones are left to the builder";
    EXPECT_EQ(bench.errors().find("internal error of the parser"), std::string::npos) << bench.errors();
  }
  ModelMaker range;
  range.floats("start", {}, {0});
  range.floats("limit", {}, {1e30F});
  range.floats("delta", {}, {1});
  range.node("Range", {"start", "limit", "delta"}, {"y"});
  range.output("y");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(range));
  EXPECT_NE(bench.errors().find("elements"), std::string::npos) << bench.errors();
}

// Of lengths with factors, which are transformed in two steps, of one that is a prime, and of more than a product
// holds.
TEST(Limits, FourierTransformsOfLongAxes) {
  for (const int64_t length : {int64_t{1} << 14, int64_t{1} << 30, int64_t{2147483647}, int64_t{1} << 46}) {
    ModelMaker axis(17);
    axis.input("x", {1, length, 1});
    ModelMaker::set(axis.node("DFT", {"x"}, {"y"}), "onesided", int64_t{1});
    axis.output("y");
    if (length == 1 << 14) {
      NetworkBench bench;
      EXPECT_TRUE(bench.parse(axis)) << bench.errors();
      continue;
    }
    expectRefused(axis, ErrorCode::kUNSUPPORTED_NODE_SHAPE, {"needs a matrix"});
    ModelMaker frames(17);
    frames.input("x", {1, -1, 1});
    frames.ints("step", {}, {1});
    frames.ints("length", {}, {length});
    frames.node("STFT", {"x", "step", "", "length"}, {"y"});
    frames.output("y");
    expectRefused(frames, ErrorCode::kUNSUPPORTED_NODE_SHAPE, {"needs a matrix"});
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Lists of tensors against what their definition gives, and what cannot be said with them.
#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int64_t kRows = 3, kColumns = 10;

// Columns `columns` of x, a matrix of kRows x kColumns, one row after the other.
std::vector<double> columnsOf(const Reals& x, const Ints& columns) {
  std::vector<double> result;
  for (int64_t row = 0; row < kRows; ++row) {
    for (const int64_t column : columns) result.push_back(x[static_cast<size_t>(row * kColumns + column)]);
  }
  return result;
}

Reals resultOf(const ModelMaker& maker, const Reals& x) { return runModel(maker, {x}).at(0); }

TEST(Sequences, PiecesInAnotherOrder) {
  const Reals x = randomReals(kRows * kColumns, 1);
  ModelMaker maker;
  maker.input("x", {kRows, kColumns});
  maker.ints("size", {}, {4});
  maker.ints("last", {}, {-1});
  maker.ints("one", {}, {1});
  auto& split = maker.node("SplitToSequence", {"x", "size"}, {"list"});
  ModelMaker::set(split, "axis", int64_t{-1});
  maker.node("SequenceAt", {"list", "last"}, {"tail"});             // columns 8, 9
  maker.node("SequenceErase", {"list", "last"}, {"short"});         // 0..3, 4..7
  maker.node("SequenceInsert", {"short", "tail", "one"}, {"new"});  // 0..3, 8, 9, 4..7
  maker.node("Identity", {"new"}, {"same"});
  maker.node("SequenceErase", {"same"}, {"front"});  // the last
  auto& joined = maker.node("ConcatFromSequence", {"front"}, {"y"});
  ModelMaker::set(joined, "axis", int64_t{1});
  maker.output("y");
  expectNear(resultOf(maker, x), columnsOf(x, {0, 1, 2, 3, 8, 9}), 0);
}

TEST(Sequences, SizesAndPiecesOfOne) {
  const Reals x = randomReals(kRows * kColumns, 2);
  // An unbind of PyTorch has a size of 1 beside keepdims of 0, which ONNX would ignore then.
  for (const auto& [keeps, hasSize] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    ModelMaker maker;
    maker.input("x", {kRows, kColumns});
    maker.ints("one", {}, {1});
    auto& split = maker.node("SplitToSequence", {"x", hasSize ? "one" : ""}, {"list"});
    ModelMaker::set(split, "axis", int64_t{1});
    ModelMaker::set(split, "keepdims", int64_t{keeps});
    auto& joined = maker.node("ConcatFromSequence", {"list"}, {"y"});
    ModelMaker::set(joined, "axis", int64_t{1});
    ModelMaker::set(joined, "new_axis", int64_t{!keeps});
    maker.output("y");
    expectNear(resultOf(maker, x), columnsOf(x, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), 0);
  }
  ModelMaker maker;
  maker.input("x", {kRows, kColumns});
  maker.ints("sizes", {3}, {7, 0, 3});
  maker.ints("at", {1}, {2});
  auto& split = maker.node("SplitToSequence", {"x", "sizes"}, {"list"});
  ModelMaker::set(split, "axis", int64_t{1});
  maker.node("SequenceAt", {"list", "at"}, {"y"});
  maker.output("y");
  expectNear(resultOf(maker, x), columnsOf(x, {7, 8, 9}), 0);
}

TEST(Sequences, ListsThatGrow) {
  const Reals x = randomReals(kRows * kColumns, 3);
  ModelMaker maker;
  maker.input("x", {kRows, kColumns});
  maker.node("SequenceEmpty", {}, {"empty"});
  maker.node("Neg", {"x"}, {"minus"});
  maker.node("SequenceInsert", {"empty", "minus"}, {"one"});
  maker.node("SequenceConstruct", {"x", "minus", "x"}, {"three"});
  maker.node("SequenceLength", {"three"}, {"count"});  // 3
  auto& cast = maker.node("Cast", {"count"}, {"number"});
  ModelMaker::set(cast, "to", int64_t{1});
  maker.ints("first", {}, {-1});
  maker.node("SequenceAt", {"one", "first"}, {"back"});
  maker.node("Mul", {"back", "number"}, {"y"});
  maker.output("y");
  std::vector<double> expected;
  for (const float v : x) expected.push_back(-3.0 * v);
  expectNear(resultOf(maker, x), expected, 1e-6);
}

// What a test changes in the model that splits x, reads the list and has y as its result.
std::string refusedBy(const std::function<void(ModelMaker&)>& end, const std::vector<int64_t>& shape = {3, 10}) {
  ModelMaker maker;
  maker.input("x", shape);
  maker.ints("size", {}, {4});
  maker.ints("far", {}, {3});
  auto& split = maker.node("SplitToSequence", {"x", "size"}, {"list"});
  ModelMaker::set(split, "axis", int64_t{1});
  end(maker);
  if (maker.graph().output_size() == 0) maker.output("y");
  return refusal(maker);
}

void expectRefusal(const std::string& text, const std::string& message) {
  EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
}

TEST(Sequences, WhatCannotBeSaid) {
  const auto node = [](const char* type, const std::vector<std::string>& inputs) {
    return [=](ModelMaker& maker) { maker.node(type, inputs, {"y"}); };
  };
  expectRefusal(refusedBy(node("SequenceAt", {"list", "far"})),
                "position [3] in a list of 3 tensors; expected one number from -3 to 2");
  expectRefusal(refusedBy(node("SequenceAt", {"x", "far"})),
                "input 0 is a tensor; expected a list of tensors (a sequence)");
  for (const char* type : {"Relu", "SplitToSequence", "SequenceConstruct", "ReverseSequence", "Shape"})
    expectRefusal(refusedBy(node(type, {"list"})), "input 0 is a list of tensors (a sequence); expected a tensor");
  for (const char* type : {"SequenceInsert", "SequenceAt", "Add", "SequenceConstruct"})
    expectRefusal(refusedBy(node(type, {"x", "list"})), "input 1 is a list of tensors (a sequence); expected a tensor");
  expectRefusal(refusedBy([](ModelMaker& maker) { maker.output("list"); }),
                "graph output 'list' is a list of tensors (a sequence); networks give tensors");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.node("SequenceConstruct", {"x", "far"}, {"mixed"});
                  maker.node("SequenceAt", {"mixed", "far"}, {"y"});
                }),
                "input 1 is INT64, but the list holds tensors of FLOAT");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.node("SequenceEmpty", {}, {"none"});
                  maker.node("ConcatFromSequence", {"none"}, {"y"});
                }),
                "the list has no tensors; expected one or more");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.floats("vector", {2}, {1, 2});
                  maker.node("SequenceInsert", {"list", "vector"}, {"more"});
                  maker.node("ConcatFromSequence", {"more"}, {"y"});
                }),
                "the list has tensors of 2 and 1 axes; expected one rank");
  expectRefusal(refusedBy(node("SequenceLength", {"list"}), {3, -1}),
                "axis 1 has an extent that is known at run time only, and with it the length of the list");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.ints("sizes", {2}, {4, 5});
                  maker.node("SplitToSequence", {"x", "sizes"}, {"parts"});
                  maker.node("SequenceAt", {"parts", "far"}, {"y"});
                }),
                "split = [4,5]; expected sizes that add up to the extent 3");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.ints("zero", {}, {0});
                  maker.node("SplitToSequence", {"x", "zero"}, {"parts"});
                  maker.node("SequenceAt", {"parts", "far"}, {"y"});
                }),
                "split = [0] of an extent of 3; expected a size of 1 or more, and 65536 pieces at most");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.node("Optional", {}, {"none"});
                  maker.node("SequenceLength", {"none"}, {"y"});
                }),
                "input 0 is an optional value that is not there; expected a list of tensors (a sequence)");
  expectRefusal(refusedBy([](ModelMaker& maker) {
                  maker.node("Optional", {}, {"none"});
                  maker.node("OptionalGetElement", {"none"}, {"y"});
                }),
                "the optional value is not there; expected one that is");
  expectRefusal(refusedBy(node("Relu", {"list"})), "input 0 is a list of tensors (a sequence); expected a tensor");
}

// Whether it is there is known while parsing, so that a branch is chosen then.
TEST(Sequences, OptionalValues) {
  const Reals x = randomReals(kRows * kColumns, 4);
  for (const bool isThere : {false, true}) {
    ModelMaker maker(18);
    maker.input("x", {kRows, kColumns});
    maker.node("Optional", isThere ? std::vector<std::string>{"x"} : std::vector<std::string>{}, {"maybe"});
    maker.node("OptionalHasElement", {"maybe"}, {"there"});
    auto& choice = maker.node("If", {"there"}, {"y"});
    for (const auto& [branch, type, input] :
         {std::tuple("then_branch", "OptionalGetElement", "maybe"), {"else_branch", "Neg", "x"}}) {
      auto* attribute = choice.add_attribute();
      attribute->set_name(branch);
      attribute->set_type(5);
      auto* node = attribute->mutable_g()->add_node();
      node->set_op_type(type);
      node->add_input(input);
      node->add_output("result");
      attribute->mutable_g()->add_output()->set_name("result");
    }
    maker.output("y");
    std::vector<double> expected;
    for (const float v : x) expected.push_back(isThere ? v : -v);
    expectNear(resultOf(maker, x), expected, 0);
  }
  ModelMaker lists(18);
  lists.input("x", {kRows, kColumns});
  lists.node("SequenceConstruct", {"x", "x"}, {"list"});
  lists.node("Optional", {"list"}, {"maybe"});
  lists.node("OptionalGetElement", {"maybe"}, {"same"});
  lists.node("SequenceLength", {"same"}, {"count"});
  ModelMaker::set(lists.node("Cast", {"count"}, {"y"}), "to", int64_t{1});
  lists.output("y");
  expectNear(resultOf(lists, x), {2}, 0);
}

// The body takes a tensor of the list, one of another list, and a tensor that is the same for all; it sees x.
TEST(Sequences, ABodyForEachTensor) {
  const Reals x = randomReals(kRows * kColumns, 5);
  const auto model = [](const char* other) {
    ModelMaker maker(17);
    maker.input("x", {kRows, kColumns});
    maker.floats("two", {}, {2});
    maker.node("SequenceConstruct", {"x", "x", "x"}, {"list"});
    maker.node("SequenceConstruct", {"two", "two"}, {"pair"});
    maker.node("SequenceConstruct", {"x", "two", "x"}, {"mixed"});
    auto& map = maker.node("SequenceMap", {"list", other, "two"}, {"sums", "products"});
    auto* attribute = map.add_attribute();
    attribute->set_name("body");
    attribute->set_type(5);
    auto& body = *attribute->mutable_g();
    for (const char* name : {"a", "b", "c"}) body.add_input()->set_name(name);
    for (const auto& [type, p, q, result] : {std::tuple("Add", "a", "b", "s"), {"Mul", "x", "c", "p"}}) {
      auto* node = body.add_node();
      node->set_op_type(type);
      node->add_input(p);
      node->add_input(q);
      node->add_output(result);
      body.add_output()->set_name(result);
    }
    maker.ints("middle", {}, {1});
    maker.node("SequenceAt", {"sums", "middle"}, {"sum"});
    maker.node("SequenceAt", {"products", "middle"}, {"product"});
    maker.node("Sub", {"sum", "product"}, {"y"});
    maker.output("y");
    return maker;
  };
  std::vector<double> expected;
  for (const float v : x) expected.push_back(v + 2.0F - 2.0F * v);
  expectNear(resultOf(model("mixed"), x), expected, 1e-6);
  auto many = model("list");
  for (int i = 3; i < 513; ++i) many.graph().mutable_node(0)->add_input("x");
  expectRefusal(refusal(many), "the list has 513 tensors, for each of which the body would be written out");
  expectRefusal(refusal(model("pair")), "input 1 is a list of 2 tensors, input 0 one of 3; expected as many");
}

pb::GraphProto branchOf(const char* type) {
  pb::GraphProto graph;
  auto* node = graph.add_node();
  node->set_op_type(type);
  node->add_input("x");
  node->add_output("result");
  graph.add_output()->set_name("result");
  return graph;
}

TEST(Sequences, BranchesGiveTensors) {
  ModelMaker maker;
  maker.input("x", {3, 10});
  maker.input("c", {}, 9);
  auto& choice = maker.node("If", {"c"}, {"list"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = choice.add_attribute();
    attribute->set_name(name);
    attribute->set_type(5);
    *attribute->mutable_g() = branchOf("SequenceConstruct");
  }
  maker.node("ConcatFromSequence", {"list"}, {"y"});
  maker.output("y");
  expectRefusal(refusal(maker),
                "is a list of tensors (a sequence), which a branch or a body that is decided at run time");
}

TEST(Sequences, IterationsGiveTensors) {
  ModelMaker maker;
  maker.input("x", {3, 10});
  maker.ints("count", {}, {2});
  auto& loop = maker.node("Loop", {"count", ""}, {"y"});
  auto* attribute = loop.add_attribute();
  attribute->set_name("body");
  attribute->set_type(5);
  auto& body = *attribute->mutable_g();
  for (const auto& [name, type] : {std::pair("i", 7), std::pair("go", 9)})
    ModelMaker::describe(*body.add_input(), name, {}, type);
  for (const auto& [type, input, output] : {std::tuple("Identity", "go", "on"), {"SequenceConstruct", "x", "list"}}) {
    auto* node = body.add_node();
    node->set_op_type(type);
    node->add_input(input);
    node->add_output(output);
    body.add_output()->set_name(output);
  }
  maker.output("y");
  expectRefusal(refusal(maker), "a result of each iteration is a list of tensors (a sequence); expected a tensor");
}

}  // namespace
}  // namespace tenon::parsers::onnx

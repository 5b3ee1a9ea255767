// Models for messages that take more than one node, and messages of bit casts.
#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

void expectMessage(const ModelMaker& maker, const std::string& message) {
  const std::string text = refusal(maker);
  EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
}

void setGraph(pb::NodeProto& node, const std::string& name, ModelMaker& inner) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  *attribute->mutable_g() = inner.graph();
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

TEST(RareRefusals, LoopsWithoutIterations) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.ints("count", {}, {0});
  ModelMaker body;
  body.input("i", {}, 7);
  body.input("go", {}, 9);
  body.input("s", {2, 3});
  body.node("Identity", {"go"}, {"on"});
  body.node("Relu", {"s"}, {"t"});
  body.node("Neg", {"s"}, {"row"});
  for (const char* name : {"on", "t", "row"}) body.output(name);
  setGraph(maker.node("Loop", {"count", "", "x"}, {"last", "y"}), "body", body);
  maker.output("y");
  expectMessage(maker, "the loop has no iterations, so the shapes of its outputs are not known");
}

TEST(RareRefusals, ConditionalsThatNestTooDeep) {
  constexpr int kDepth = 40;
  ModelMaker inner;
  inner.node("Relu", {"x"}, {"v"});
  inner.output("v");
  for (int i = 0; i < kDepth; ++i) {
    ModelMaker outer;
    auto& node = outer.node("If", {"yes"}, {"v"});
    setGraph(node, "then_branch", inner);
    setGraph(node, "else_branch", inner);
    outer.output("v");
    inner = ModelMaker();
    inner.graph() = outer.graph();
    if (i > 2) inner.graph().mutable_node(0)->mutable_attribute(1)->mutable_g()->clear_node();  // else 2^40 nodes
    if (i > 2) {
      auto* relu = inner.graph().mutable_node(0)->mutable_attribute(1)->mutable_g()->add_node();
      relu->set_op_type("Relu");
      relu->add_input("x");
      relu->add_output("v");
    }
  }
  inner.input("x", {2, 3});
  inner.initializer("yes", {}, 9).set_raw_data("\1", 1);
  expectMessage(inner, "nest more than");
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

}  // namespace
}  // namespace tenon::parsers::onnx

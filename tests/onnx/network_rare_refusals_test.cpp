// Messages that few models bring about, and those of bit casts.
#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

void expectMessage(const ModelMaker& maker, const std::string& message) {
  const std::string text = refusal(maker);
  EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
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

}  // namespace
}  // namespace tenon::parsers::onnx

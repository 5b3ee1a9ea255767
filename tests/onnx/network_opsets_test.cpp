// Models of opsets that the parser does not know as a whole: tried, with one warning; nodes are refused, not models.
#include <gtest/gtest.h>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

ModelMaker relus(int64_t opset) {
  ModelMaker maker(opset);
  maker.input("x", {2, 3});
  maker.node("Relu", {"x"}, {"a"});
  maker.node("Neg", {"a"}, {"y"});
  maker.output("y");
  return maker;
}

TEST(Opsets, OthersAreTriedWithOneWarning) {
  for (const int64_t opset : {1, 6, 29, 1000}) {
    NetworkBench bench;
    EXPECT_TRUE(bench.parse(relus(opset))) << opset << bench.errors();
    EXPECT_EQ(count(bench.logger.text, "\n"), 1u) << bench.logger.text;
    EXPECT_NE(bench.logger.text.find("opset " + std::to_string(opset) +
                                     (opset < 7 ? " is older than 7" : " is newer than 28")),
              std::string::npos)
        << bench.logger.text;
  }
  for (const int64_t opset : {7, 28}) {
    NetworkBench bench;
    EXPECT_TRUE(bench.parse(relus(opset))) << bench.errors();
    EXPECT_EQ(bench.logger.text, "");
  }
  NetworkBench asked;
  const std::string bytes = relus(6).bytes();
  EXPECT_TRUE(asked.parser->supportsModelV2(bytes.data(), bytes.size(), nullptr));
  EXPECT_EQ(asked.logger.text, "") << "who only asks is not warned";
}

TEST(Opsets, ANodeOfAnUnknownVersionIsRefused) {
  ModelMaker maker = relus(6);
  maker.node("Upsample", {"a"}, {"u"}, "up");  // what it is since 7 differs
  maker.output("u");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  ASSERT_EQ(bench.parser->getNbErrors(), 1) << bench.errors();
  EXPECT_EQ(bench.parser->getError(0)->node(), 2);
  EXPECT_EQ(bench.parser->getError(0)->code(), ErrorCode::kUNSUPPORTED_NODE);
  EXPECT_NE(bench.errors().find("imported for opsets 7 to 9, but the model uses opset 6"), std::string::npos)
      << bench.errors();
  const std::string bytes = maker.bytes();
  EXPECT_FALSE(bench.parser->supportsModelV2(bytes.data(), bytes.size(), nullptr));
  ASSERT_EQ(bench.parser->getNbSubgraphs(), 1);
  int64_t length = 0;
  bench.parser->getSubgraphNodes(0, length);
  EXPECT_EQ(length, 2);
  NetworkBench negative;
  EXPECT_FALSE(negative.parse(relus(-4)));
  EXPECT_EQ(negative.parser->getNbErrors(), 2) << negative.errors();
}

// Broadcasting by attributes: without "axis" the last axes are meant, as since opset 7.
TEST(Opsets, OperandsOfOldBroadcasting) {
  struct Case {
    std::vector<int64_t> second;
    int64_t axis;  // -9: none
    std::vector<int64_t> aligned;
  };
  for (const Case& c : {Case{{3}, 1, {1, 3, 1, 1}}, Case{{3, 4}, 1, {1, 3, 4, 1}}, Case{{5}, -9, {1, 1, 1, 5}},
                        Case{{2, 3, 4, 5}, 0, {2, 3, 4, 5}}, Case{{5}, -1, {1, 1, 1, 5}}}) {
    ModelMaker maker(6);
    maker.input("x", {2, 3, 4, 5});
    maker.input("b", c.second);
    auto& node = maker.node("Add", {"x", "b"}, {"y"});
    ModelMaker::set(node, "broadcast", int64_t{1});
    if (c.axis != -9) ModelMaker::set(node, "axis", c.axis);
    maker.output("y");
    NetworkBench bench;
    ASSERT_TRUE(bench.parse(maker)) << bench.errors();
    EXPECT_EQ(bench.outputShape(), (Dimensions{2, 3, 4, 5}));
    const auto* last = bench.network->getLayer(bench.network->getNbLayers() - 1);
    EXPECT_EQ(toDimensions(last->getInput(1)->getDimensions()), c.aligned);
  }
  ModelMaker maker(6);
  maker.input("x", {2, 3});
  maker.input("b", {2, 3});
  ModelMaker::set(maker.node("Mul", {"x", "b"}, {"y"}), "axis", int64_t{1});
  maker.output("y");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_NE(bench.errors().find("rank 2, too many from axis 1"), std::string::npos) << bench.errors();
}

TEST(Opsets, ReshapeByAttribute) {
  ModelMaker maker(1);
  maker.input("x", {2, 6});
  ModelMaker::set(maker.node("Reshape", {"x"}, {"y"}), "shape", std::vector<int64_t>{0, 2, -1});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_EQ(bench.outputShape(), (Dimensions{2, 2, 3}));
}

}  // namespace
}  // namespace tenon::parsers::onnx

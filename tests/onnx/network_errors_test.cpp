// What a refused model says; and whether every model of the collection is read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

namespace fs = std::filesystem;

ModelMaker chain(const std::vector<std::string>& types, bool infos = false) {
  ModelMaker maker;
  maker.input("t0", {2, 3});
  for (size_t i = 0; i < types.size(); ++i) {
    maker.node(types[i], {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)}, "n" + std::to_string(i));
    if (infos) {
      maker.valueInfo("t" + std::to_string(i + 1), {2, 3});
    }
  }
  maker.output("t" + std::to_string(types.size()));
  return maker;
}

TEST(Errors, AllUnknownOperatorsAreReportedAtOnce) {
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(chain({"Relu", "Nonsense", "Relu", "If", "StringNormalizer"})));
  ASSERT_EQ(bench.parser->getNbErrors(), 3) << bench.errors();
  const auto* first = bench.parser->getError(0);
  EXPECT_EQ(first->code(), ErrorCode::kUNSUPPORTED_NODE);
  EXPECT_EQ(first->node(), 1);
  EXPECT_STREQ(first->nodeName(), "n1");
  EXPECT_STREQ(first->nodeOperator(), "Nonsense");
  EXPECT_GT(first->line(), 0);
  EXPECT_NE(std::string(first->file()), "");
  EXPECT_EQ(first->localFunctionStackSize(), 0);
  EXPECT_NE(std::string(first->desc()).find("node 1 'n1' (Nonsense, opset 17)"), std::string::npos) << first->desc();
  EXPECT_NE(std::string(first->desc()).find("Register a plugin 'Nonsense'"), std::string::npos) << first->desc();
  EXPECT_NE(std::string(bench.parser->getError(1)->desc()).find("attribute 'then_branch' has no graph"),
            std::string::npos);
  EXPECT_EQ(bench.network->getNbLayers(), 0);
  EXPECT_EQ(bench.parser->getError(3), nullptr);
  EXPECT_EQ(bench.parser->getError(-1), nullptr);
  bench.parser->clearErrors();
  EXPECT_EQ(bench.parser->getNbErrors(), 0);
}

TEST(Errors, SplitsWithoutOutputs) {
  for (const int64_t opset : {11, 13, 18}) {
    NetworkBench bench;
    ModelMaker maker(opset);
    maker.input("x", {2, 3});
    maker.node("Split", {"x"}, {});
    maker.node("Relu", {"x"}, {"y"});
    maker.output("y");
    EXPECT_FALSE(bench.parse(maker));
    EXPECT_NE(bench.errors().find("0 outputs"), std::string::npos) << bench.errors();
  }
}

// Each row: what is done to a Relu chain or node, and the words the message must hold.
std::string refusal(ModelMaker& maker, ErrorCode code) {
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  if (bench.parser->getNbErrors() == 0) {
    ADD_FAILURE() << "no error is reported";
    return "";
  }
  EXPECT_EQ(bench.parser->getError(0)->code(), code) << bench.errors();
  return bench.errors();
}

TEST(Errors, Graphs) {
  ModelMaker missing = chain({"Relu"});
  missing.graph().mutable_node(0)->set_input(0, "ghost");
  EXPECT_NE(refusal(missing, ErrorCode::kINVALID_GRAPH).find("'ghost'"), std::string::npos);
  ModelMaker output = chain({"Relu"});
  output.output("ghost");
  EXPECT_NE(refusal(output, ErrorCode::kINVALID_GRAPH).find("is not the output of any node"), std::string::npos);
  ModelMaker rank = chain({"Relu"});
  rank.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_NE(refusal(rank, ErrorCode::kUNSUPPORTED_GRAPH).find("no declared rank"), std::string::npos);
  ModelMaker type = chain({"Relu"});
  type.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8);
  EXPECT_NE(refusal(type, ErrorCode::kUNSUPPORTED_NODE_DATATYPE).find("STRING"), std::string::npos);
  ModelMaker opset = chain({"Upsample"});
  EXPECT_NE(refusal(opset, ErrorCode::kUNSUPPORTED_NODE).find("imported for opsets 7 to 9"), std::string::npos);
  ModelMaker domain = chain({"Relu"});
  domain.graph().mutable_node(0)->set_domain("com.example");
  EXPECT_NE(refusal(domain, ErrorCode::kUNSUPPORTED_NODE).find("domain 'com.example'"), std::string::npos);
  ModelMaker weights = chain({"Relu"});
  weights.floats("w", {5}, {1, 2});
  EXPECT_NE(refusal(weights, ErrorCode::kINVALID_VALUE).find("tensor 'w'"), std::string::npos);
}

TEST(Errors, Nodes) {
  ModelMaker attribute = chain({"Softmax"});
  ModelMaker::set(*attribute.graph().mutable_node(0), "axis", 1.5f);
  EXPECT_NE(refusal(attribute, ErrorCode::kINVALID_NODE).find("attribute 'axis'"), std::string::npos);
  ModelMaker axis = chain({"Softmax"});
  ModelMaker::set(*axis.graph().mutable_node(0), "axis", int64_t{2});
  EXPECT_NE(refusal(axis, ErrorCode::kINVALID_NODE).find("axis = 2 is outside a tensor of rank 2"), std::string::npos);
  ModelMaker absent = chain({"Add"});
  EXPECT_NE(refusal(absent, ErrorCode::kINVALID_NODE).find("input 1 is required"), std::string::npos);
  ModelMaker shape = chain({"Reshape"});
  shape.ints("s", {2}, {4, 2});
  shape.graph().mutable_node(0)->add_input("s");
  EXPECT_NE(refusal(shape, ErrorCode::kINVALID_NODE).find("the counts differ"), std::string::npos);
  ModelMaker pool = chain({"MaxPool"});
  ModelMaker::set(*pool.graph().mutable_node(0), "kernel_shape", std::vector<int64_t>{2, 2});
  EXPECT_NE(refusal(pool, ErrorCode::kUNSUPPORTED_NODE_SHAPE).find("rank 2"), std::string::npos);
  ModelMaker mode = chain({"Gelu"});
  mode.proto().mutable_opset_import(0)->set_version(20);
  ModelMaker::set(*mode.graph().mutable_node(0), "approximate", std::string("other"));
  EXPECT_NE(refusal(mode, ErrorCode::kUNSUPPORTED_NODE_ATTR).find("'other'"), std::string::npos);
  ModelMaker computed = chain({"Abs", "ReduceSum"});
  computed.graph().mutable_node(1)->set_input(0, "t0");
  computed.graph().mutable_node(1)->add_input("t1");
  EXPECT_NE(refusal(computed, ErrorCode::kUNSUPPORTED_NODE_INPUT).find("computed at run time"), std::string::npos);
}

TEST(Errors, InsideAFunctionNameTheFunction) {
  ModelMaker maker;
  auto* function = maker.proto().add_functions();
  function->set_name("Outer");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  auto* inner = function->add_node();
  inner->set_op_type("Nonsense");
  inner->set_name("inside");
  inner->add_input("a");
  inner->add_output("b");
  maker.input("x", {2});
  maker.node("Outer", {"x"}, {"y"}, "call").set_domain("mine");
  maker.output("y");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  ASSERT_EQ(bench.parser->getNbErrors(), 1) << bench.errors();
  ASSERT_EQ(bench.parser->getError(0)->localFunctionStackSize(), 1);
  EXPECT_STREQ(bench.parser->getError(0)->localFunctionStack()[0], "Outer");
  EXPECT_STREQ(bench.parser->getError(0)->nodeName(), "inside");
  EXPECT_EQ(bench.parser->getError(0)->node(), 0);
}

TEST(Errors, AFunctionThatCallsItselfEnds) {
  ModelMaker maker;
  auto* function = maker.proto().add_functions();
  function->set_name("Outer");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  auto* inner = function->add_node();
  inner->set_op_type("Outer");
  inner->set_domain("mine");
  inner->add_input("a");
  inner->add_output("b");
  maker.input("x", {2});
  maker.node("Outer", {"x"}, {"y"}, "call").set_domain("mine");
  maker.output("y");
  EXPECT_NE(refusal(maker, ErrorCode::kINVALID_GRAPH).find("calls itself"), std::string::npos);
}

TEST(Errors, DamagedModelsNeverCrashTheParser) {
  ModelMaker maker = chain({"Relu", "Softmax", "Neg"});
  maker.floats("w", {2, 2}, {1, 2, 3, 4});
  const std::string bytes = maker.bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 3) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    NetworkBench bench;
    if (!bench.parser->parse(damaged.data(), damaged.size(), nullptr)) {
      EXPECT_GT(bench.parser->getNbErrors(), 0) << bit;
    }
  }
}

TEST(SuppliedInitializers, ReplaceThoseOfTheModel) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.floats("c", {2}, {1, 2});
  maker.node("Add", {"x", "c"}, {"y"});
  maker.output("y");
  const std::string bytes = maker.bytes();
  NetworkBench bench;
  const float supplied[] = {5, 6};
  EXPECT_FALSE(bench.parser->loadInitializer("c", supplied, sizeof supplied));
  ASSERT_TRUE(bench.parser->loadModelProto(bytes.data(), bytes.size(), nullptr));
  ASSERT_TRUE(bench.parser->loadInitializer("c", supplied, sizeof supplied));
  ASSERT_TRUE(bench.parser->parseModelProto()) << bench.errors();
  auto* constant = static_cast<nvinfer1::IConstantLayer*>(bench.network->getLayer(0));
  ASSERT_EQ(constant->getType(), nvinfer1::LayerType::kCONSTANT);
  EXPECT_EQ(static_cast<const float*>(constant->getWeights().values)[1], 6.0f);
}

// Models that must be read, by the list of the tests of whole models.
std::set<std::string> foundationModels() {
  std::ifstream file("tests/models/foundation.txt");
  std::set<std::string> stems;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') {
      const std::string path = line.substr(0, line.find(' '));
      stems.insert(path.substr(path.rfind('/') + 1));
    }
  }
  return stems;
}

// The foundation set is imported; every other model too, or it is refused with reasons.
TEST(Collection, EveryModelIsReadOrRefusedForAReason) {
  const char* variable = std::getenv("TENON_MODELS");
  const fs::path root = variable != nullptr ? variable : "../shared/models";
  if (!fs::exists(root / "onnx")) {
    GTEST_SKIP() << "no models: set TENON_MODELS, or put them at ../shared/models";
  }
  const std::set<std::string> foundation = foundationModels();
  EXPECT_GT(foundation.size(), 20u) << "tests/models/foundation.txt is missing; run from the root of the project";
  size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "onnx")) {
    if (entry.path().extension() != ".onnx") {
      continue;
    }
    NetworkBench bench;
    const bool read = bench.parser->parseFromFile(entry.path().c_str(), 2);
    if (foundation.count(entry.path().stem()) != 0) {
      EXPECT_TRUE(read) << entry.path() << ": " << bench.errors() << bench.logger.text;
      ++found;
    }
    if (read) {
      EXPECT_GT(bench.network->getNbOutputs(), 0) << entry.path();
      continue;
    }
    EXPECT_GT(bench.parser->getNbErrors(), 0) << entry.path();
    for (int i = 0; i < bench.parser->getNbErrors(); ++i) {
      const auto* error = bench.parser->getError(i);
      EXPECT_NE(error->code(), ErrorCode::kINTERNAL_ERROR) << entry.path() << ": " << error->desc();
      EXPECT_NE(error->code(), ErrorCode::kMODEL_DESERIALIZE_FAILED) << entry.path() << ": " << error->desc();
    }
  }
  EXPECT_EQ(found, foundation.size());
}

}  // namespace
}  // namespace tenon::parsers::onnx

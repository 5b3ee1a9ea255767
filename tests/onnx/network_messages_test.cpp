// What the parser says of models that ask for the impossible: the cause, the numbers, what is expected.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

namespace fs = std::filesystem;

struct Refusal {
  std::string type;
  std::vector<int64_t> input;
  std::vector<std::pair<std::string, std::vector<int64_t>>> attributes;  // lists; of one entry: a number
  std::vector<int64_t> second;                                           // a constant input, if not empty
  std::string message;
};

void expectRefusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.type + ": " + refusal.message);
    ModelMaker maker;
    maker.input("x", refusal.input);
    auto& node = maker.node(refusal.type, {"x"}, {"y"});
    for (const auto& [name, values] : refusal.attributes) {
      if (values.size() == 1) {
        ModelMaker::set(node, name, values[0]);
      } else {
        ModelMaker::set(node, name, values);
      }
    }
    if (!refusal.second.empty()) {
      maker.ints("second", {static_cast<int64_t>(refusal.second.size())}, refusal.second);
      node.add_input("second");
    }
    maker.output("y");
    NetworkBench bench;
    EXPECT_FALSE(bench.parse(maker));
    EXPECT_NE(bench.errors().find(refusal.message), std::string::npos) << bench.errors();
  }
}

TEST(Messages, BlocksThatDoNotDivide) {
  expectRefusals({
      {"SpaceToDepth",
       {1, 2, 5, 6},
       {{"blocksize", {2}}},
       {},
       "height 5 of input [1,2,5,6] does not divide by blocksize 2"},
      {"SpaceToDepth",
       {1, 2, 4, 7},
       {{"blocksize", {4}}},
       {},
       "width 7 of input [1,2,4,7] does not divide by blocksize 4"},
      {"SpaceToDepth", {1, 2, 4}, {{"blocksize", {2}}}, {}, "expected rank 4"},
      {"SpaceToDepth", {1, 2, 4, 4}, {{"blocksize", {0}}}, {}, "blocksize = 0; expected 1 to 2147483647"},
      {"DepthToSpace", {1, 6, 4, 4}, {{"blocksize", {2}}}, {}, "the 6 channels of input [1,6,4,4] do not divide by 4"},
      {"DepthToSpace", {1, -1, 4}, {{"blocksize", {2}}}, {}, "expected rank 4"},
      {"DepthToSpace", {1, 8, 4, 4}, {{"blocksize", {-2}}}, {}, "blocksize = -2; expected 1"},
      {"DepthToSpace", {1, 8, 4, 4}, {{"blocksize", {int64_t{1} << 32}}}, {}, "blocksize = 4294967296; expected 1"},
  });
}

TEST(Messages, PadsThatAreTooLarge) {
  expectRefusals({
      {"MaxPool",
       {1, 1, 4, 4},
       {{"kernel_shape", {2, 2}}, {"pads", {int64_t{1} << 40, 0, 0, 0}}},
       {},
       "entry 1099511627776 is too large; expected 0 to 2147483647"},
      {"MaxPool",
       {1, 1, 4, 4},
       {{"kernel_shape", {2, 2}}, {"pads", {0, -1, 0, 0}}},
       {},
       "entry -1 is too small; expected 0 to 2147483647"},
      {"Pad", {1, 4}, {}, {0, int64_t{1} << 40, 0, 0}, "the pad 1099511627776 of axis 1 is too large"},
      {"Pad", {1, 4}, {}, {INT64_MAX, 0, INT64_MAX, 0}, "the pad 9223372036854775807 of axis 0 is too large"},
      {"Pad", {1, 4}, {}, {INT64_MIN, 0, 0, 0}, "the pad -9223372036854775808 of axis 0 is too large"},
      {"Pad", {1, 4}, {}, {0, -3, 0, -2}, "the pads -3 and -2 take more than the 4 elements of axis 1"},
  });
}

TEST(Messages, ReshapesWhoseCountOverflows) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  expectRefusals({
      {"Reshape", {2, 3}, {}, {kLarge, kLarge}, "which has more elements than 2^63"},
      {"Reshape", {2, 3}, {}, {kLarge, -1, kLarge}, "which has more elements than 2^63"},
      {"Reshape", {2, 3}, {}, {-2, 3}, "extents must be 0 or more"},
      {"Reshape", {2, 3}, {}, {-1, -1}, "-1 once at most"},
      {"Reshape", {2, 3}, {}, {4, 2}, "the counts differ"},
  });
}

TEST(Messages, FoldersAndDevicesAreNoModels) {
  const fs::path folder = fs::temp_directory_path() / "tenon_messages_test";
  fs::remove_all(folder);
  fs::create_directories(folder / "weights");
  NetworkBench bench;
  for (const auto& [path, message] : {std::pair{folder.string(), "this is a folder"},
                                      {std::string("/dev/zero"), "this is a device"},
                                      {(folder / "none.onnx").string(), "No such file"},
                                      {std::string(""), "No such file"}}) {
    EXPECT_FALSE(bench.parser->parseFromFile(path.c_str(), 0));
    ASSERT_EQ(bench.parser->getNbErrors(), 1);
    EXPECT_NE(bench.errors().find("cannot open '" + path + "': " + message), std::string::npos) << bench.errors();
  }
  ModelMaker maker;
  maker.input("x", {2});
  auto& weights = maker.initializer("w", {2});
  weights.set_data_location(1);
  auto* entry = weights.add_external_data();
  entry->set_key("location");
  entry->set_value("weights");
  maker.node("Add", {"x", "w"}, {"y"});
  maker.output("y");
  const std::string bytes = maker.bytes();
  EXPECT_FALSE(bench.parser->parse(bytes.data(), bytes.size(), (folder / "model.onnx").c_str()));
  EXPECT_NE(bench.errors().find("external data 'weights': this is a folder"), std::string::npos) << bench.errors();
  fs::remove_all(folder);
}

// Keeps every line, whatever its severity.
class EveryLine final : public nvinfer1::ILogger {
 public:
  void log(Severity, const char* message) noexcept override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

void expectHarmless(const std::string& line) {
  EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  EXPECT_EQ(line.find('\r'), std::string::npos) << line;
  EXPECT_EQ(line.find("\n&"), std::string::npos) << line;
  for (size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n', at + 1)) {
    EXPECT_EQ(line.compare(at, 3, "\n  "), 0) << line;
  }
}

// Every text of a model tries to write a line of its own and to clear the terminal.
TEST(Messages, TextOfAModelStaysText) {
  setenv("TENON_DEVICE", "cpu", 1);
  const std::string evil = "\n&&&& PASSED\r\x1b[2J\xc2\x9b";
  for (const std::string type : {"Relu", "Nonsense", "Softmax", "Function"}) {
    ModelMaker maker;
    maker.proto().set_producer_name("p" + evil);
    maker.proto().set_producer_version("v" + evil);
    maker.proto().set_doc_string("d" + evil);
    maker.graph().set_name("g" + evil);
    maker.input("x" + evil, {-2, 3});
    maker.graph()
        .mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("N" + evil);
    auto& node = maker.node(type == "Nonsense" ? type + evil : type, {"x" + evil}, {"y" + evil}, "n" + evil);
    if (type == "Nonsense") node.set_domain("o" + evil);
    if (type == "Softmax") ModelMaker::set(node, "axis", int64_t{9});
    if (type == "Relu") ModelMaker::set(node, "a" + evil, int64_t{9});
    if (type == "Function") {
      node.set_domain("mine");
      auto* function = maker.proto().add_functions();
      function->set_name("Function");
      function->set_domain("mine");
      function->add_node()->set_op_type("Odd" + evil);
    }
    maker.output("y" + evil);
    EveryLine logger;
    const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
    const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
    Parser parser(*network, &logger);
    const std::string bytes = maker.bytes();
    EXPECT_EQ(parser.parse(bytes.data(), bytes.size(), nullptr), type == "Relu");
    for (int i = 0; i < parser.getNbErrors(); ++i) {
      const std::string text = parser.getError(i)->desc();
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      EXPECT_NE(text.find("&&&& PASSED\\r\\x1b[2J\\xc2\\x9b"), std::string::npos) << text;
      expectHarmless(text);
    }
    if (type == "Relu") {  // without a profile: the builder names the input
      const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
      const std::unique_ptr<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
      EXPECT_EQ(plan, nullptr);
    }
    EXPECT_GT(logger.lines.size(), 0u);
    for (const auto& line : logger.lines) expectHarmless(line);
    EXPECT_FALSE(parser.parseFromFile(("/nowhere/" + evil).c_str(), 0));
    expectHarmless(parser.getError(0)->desc());
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

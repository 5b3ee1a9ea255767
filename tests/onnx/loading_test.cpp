// Damaged models: every cut and many flipped bits give an error or a model, never a crash, and say where.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "error_list.h"
#include "model.h"
#include "model_maker.h"
#include "operator_table.h"
#include "wire.h"

namespace tenon::parsers::onnx {
namespace {

std::string smallModel() {
  ModelMaker maker;
  maker.input("x", {1, 3, 8, 8});
  maker.floats("w", {2, 3, 1, 1}, std::vector<float>(6, 0.5f));
  ModelMaker::set(maker.node("Conv", {"x", "w"}, {"y"}, "conv"), "strides", std::vector<int64_t>{2, 2});
  maker.node("Relu", {"y"}, {"z"}, "relu");
  maker.output("z", {1, 2, 4, 4});
  return maker.bytes();
}

std::string digits() {
  std::ifstream file("models/digits/digits.onnx", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A cut inside a message must be reported; a cut between messages may leave a smaller model.
void checkEveryCut(const std::string& bytes, size_t step) {
  for (size_t size = 0; size < bytes.size(); size += step) {
    const std::string message = messageOf([&] { loadModel(bytes.data(), size); });
    if (message.empty()) {
      EXPECT_FALSE(checkWire(reinterpret_cast<const uint8_t*>(bytes.data()), size).found) << size;
    }
  }
}

TEST(Loading, SmallModelCutAtEveryByte) { checkEveryCut(smallModel(), 1); }

TEST(Loading, ShippedModelCutAtEveryByte) {
  const std::string bytes = digits();
  ASSERT_FALSE(bytes.empty()) << "models/digits/digits.onnx is missing; run from the root of the project";
  checkEveryCut(bytes, 1);
  EXPECT_NO_THROW(loadModel(bytes.data(), bytes.size()));
}

TEST(Loading, FlippedBitsNeverCrash) {
  const std::string bytes = smallModel();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    messageOf([&] { loadModel(damaged.data(), damaged.size()); });
  }
}

// What people give by mistake says what it is.
TEST(Loading, OtherKindsOfFilesAreNamed) {
  const std::pair<std::string, const char*> files[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "run 'git lfs pull'"},
      {std::string("TENONPLN\3\0\0\0", 12), "trtexec --loadEngine"},
      {std::string("ftrt\0\0\0\0", 8), "an engine of NVIDIA TensorRT"},
      {"<!DOCTYPE html><title>Sign in</title>", "It is a web page"},
      {"<html><body></body></html>", "It is a web page"},
      {"PK\x03\x04 archive", "It is a zip archive"},
      {"\x1f\x8b\x08 model", "compressed by gzip"},
  };
  for (const auto& [bytes, message] : files) {
    const std::string text = messageOf([&] { loadModel(bytes.data(), bytes.size()); });
    EXPECT_NE(text.find("the model is damaged at byte"), std::string::npos) << text;
    EXPECT_NE(text.find(message), std::string::npos) << text;
  }
}

TEST(Loading, RandomBytesNeverCrash) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random());
    }
    messageOf([&] { loadModel(bytes.data(), bytes.size()); });
  }
}

TEST(Loading, NamesByteAndPlaceOfTheFault) {
  std::string bytes = smallModel();
  const size_t at = bytes.find("strides");
  ASSERT_NE(at, std::string::npos);
  bytes[at - 1] = 0x7f;  // the length of the attribute's name
  const std::string message = messageOf([&] { loadModel(bytes.data(), bytes.size()); });
  EXPECT_NE(message.find("graph[0].node[0].attribute[0]"), std::string::npos) << message;
  EXPECT_NE(message.find("claims 127 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("at byte "), std::string::npos) << message;
}

TEST(Loading, RefusesWhatIsNoModel) {
  EXPECT_NE(messageOf([] { loadModel(nullptr, 0); }).find("empty"), std::string::npos);
  EXPECT_NE(messageOf([] { loadModel("x", size_t{1} << 31); }).find("2 GiB"), std::string::npos);
  const std::string text = "\x08\x08";  // only an IR version
  EXPECT_NE(messageOf([&] { loadModel(text.data(), text.size()); }).find("has no graph"), std::string::npos);
  EXPECT_NE(messageOf([] { readFile("no/such/file.onnx"); }).find("cannot open"), std::string::npos);
}

TEST(Loading, RefusesEndlessNesting) {
  std::string bytes;
  for (int depth = 0; depth < 400; ++depth) {  // attribute.g inside attribute.g ...
    std::string outer;
    for (const char tag : {char(0x32), char(0x2a), char(0x0a)}) {  // g, attribute, node
      std::string length;
      for (size_t left = bytes.size();; left >>= 7) {
        length += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        if (left <= 0x7f) {
          break;
        }
      }
      bytes = std::string(1, tag) + length + bytes;
    }
  }
  bytes[0] = 0x3a;  // the outermost one is the model's graph
  EXPECT_NE(messageOf([&] { loadModel(bytes.data(), bytes.size()); }), "");
}

TEST(Table, RowsOfAnOperatorDoNotOverlap) {
  const auto& table = operatorTable();
  for (size_t i = 1; i < table.size(); ++i) {
    EXPECT_LE(table[i].firstOpset, table[i].lastOpset) << table[i].name;
    if (table[i].name == table[i - 1].name) {
      EXPECT_LT(table[i - 1].lastOpset, table[i].firstOpset) << table[i].name;
    }
  }
  EXPECT_EQ(findImporter("", "Softmax", 12), findImporter("", "Softmax", 7));
  EXPECT_NE(findImporter("", "Softmax", 12), findImporter("", "Softmax", 13));
  EXPECT_EQ(findImporter("", "Upsample", 10), nullptr);
  EXPECT_FALSE(hasImporter("", "NoSuchOperator"));
}

TEST(Docs, PageIsWhatTheTableSays) {
  const char* path = "docs/onnx.md";
  if (std::getenv("TENON_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << operatorPage();
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), operatorPage()) << "write it anew: TENON_UPDATE_DOCS=1 test_onnx --gtest_filter=Docs.*";
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Tensors of every type, sizes that do not fit, and external data that tries to leave the model's folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/half.h"
#include "model_maker.h"
#include "tensor_loader.h"

namespace tenon::parsers::onnx {
namespace {

namespace fs = std::filesystem;

pb::TensorProto tensorOf(int32_t type, const std::vector<int64_t>& shape) {
  pb::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (const int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  return tensor;
}

struct Bench {
  WeightStore store;
  ExternalFiles files{nullptr};
  TensorLoader loader{store, files, nullptr};
};

TEST(Weights, RawAndTypedFieldsAgree) {
  Bench bench;
  pb::TensorProto typed = tensorOf(6, {3});
  typed.add_int32_data(-5);
  typed.add_int32_data(0);
  typed.add_int32_data(7);
  pb::TensorProto raw = tensorOf(6, {3});
  const int32_t numbers[] = {-5, 0, 7};
  raw.set_raw_data(numbers, sizeof numbers);
  EXPECT_EQ(toInts(bench.loader.load(typed, "a")), (std::vector<int64_t>{-5, 0, 7}));
  EXPECT_EQ(toInts(bench.loader.load(raw, "b")), (std::vector<int64_t>{-5, 0, 7}));
}

TEST(Weights, NarrowTypesFromInt32Data) {
  Bench bench;
  pb::TensorProto bytes = tensorOf(3, {2});
  bytes.add_int32_data(-128);
  bytes.add_int32_data(127);
  EXPECT_EQ(toInts(bench.loader.load(bytes, "")), (std::vector<int64_t>{-128, 127}));
  pb::TensorProto half = tensorOf(10, {2});
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  EXPECT_EQ(toReals(bench.loader.load(half, "")), (std::vector<double>{1.0, -2.0}));
  pb::TensorProto bfloat = tensorOf(16, {1});
  bfloat.add_int32_data(0x4049);
  EXPECT_EQ(toReals(bench.loader.load(bfloat, "")), (std::vector<double>{3.140625}));
  pb::TensorProto nibbles = tensorOf(22, {3});
  nibbles.add_int32_data(0x21);
  nibbles.add_int32_data(0x3);
  EXPECT_EQ(bench.loader.load(nibbles, "").bytes(), 2);
}

TEST(Weights, DoublesBecomeFloatsWithClamping) {
  Bench bench;
  pb::TensorProto tensor = tensorOf(11, {4});
  for (const double value : {1.5, 1e300, -1e300, HUGE_VAL}) {
    tensor.add_double_data(value);
  }
  const WeightBytes& constant = bench.loader.load(tensor, "");
  EXPECT_EQ(constant.type, DataType::kFLOAT);
  const std::vector<double> values = toReals(constant);
  EXPECT_EQ(values[0], 1.5);
  EXPECT_NEAR(values[1], 3.4028234663852886e38, 1e32);
  EXPECT_NEAR(values[2], -3.4028234663852886e38, 1e32);
  EXPECT_TRUE(std::isinf(values[3]));
  EXPECT_EQ(bench.loader.clampedDoubles(), 2);
}

TEST(Weights, RealsThatAreNoIntegersHaveAnIntegerAll) {
  Bench bench;
  pb::TensorProto tensor = tensorOf(1, {7});
  for (const float value : {2.9f, -2.9f, 1e34f, -1e34f, 0x1p63f, std::nanf(""), -HUGE_VALF})
    tensor.add_float_data(value);
  EXPECT_EQ(toInts(bench.loader.load(tensor, "")),
            (std::vector<int64_t>{2, -2, INT64_MAX, INT64_MIN, INT64_MAX, 0, INT64_MIN}));
  pb::TensorProto half = tensorOf(10, {2});
  half.add_int32_data(0x7c00);  // infinite
  half.add_int32_data(0x7e00);  // no number
  EXPECT_EQ(toInts(bench.loader.load(half, "")), (std::vector<int64_t>{INT64_MAX, 0}));
  const std::vector<double> reals{1e300, -1e300, -1, std::nan(""), 255.9};
  EXPECT_EQ(toInts(bench.store.ofReals(DataType::kUINT8, {5}, reals)), (std::vector<int64_t>{255, 0, 0, 0, 255}));
}

TEST(Weights, SizesMustFit) {
  Bench bench;
  const auto message = [&](const pb::TensorProto& tensor) {
    return messageOf([&] { bench.loader.load(tensor, "t"); });
  };
  pb::TensorProto tensor = tensorOf(1, {2, 3});
  tensor.set_raw_data(std::string(20, '\0'));
  EXPECT_NE(message(tensor).find("needs 24 bytes, but has 20"), std::string::npos) << message(tensor);
  EXPECT_NE(message(tensorOf(1, {2, -3})).find("negative extent"), std::string::npos);
  EXPECT_NE(message(tensorOf(1, {INT64_MAX, 4})).find("2^63"), std::string::npos);
  EXPECT_NE(message(tensorOf(1, {int64_t{1} << 61})), "");
  EXPECT_NE(message(tensorOf(1, std::vector<int64_t>(9, 1))).find("rank 9"), std::string::npos);
  EXPECT_NE(message(tensorOf(8, {1})).find("STRING"), std::string::npos);
  EXPECT_NE(message(tensorOf(14, {1})).find("COMPLEX64"), std::string::npos);
  EXPECT_NE(message(tensorOf(99, {1})).find("99"), std::string::npos);
  EXPECT_EQ(message(tensorOf(1, {0, 5})), "");  // no elements, no bytes
}

TEST(Weights, HalfConversionsAreExact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = halfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
    } else {
      EXPECT_EQ(floatToHalf(value), half) << bits;
    }
    const float wide = bfloatToFloat(half);
    if (!std::isnan(wide)) {
      EXPECT_EQ(floatToBfloat(wide), half) << bits;
    }
  }
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f), 0x3c00);  // a tie goes to the even neighbour
  EXPECT_EQ(floatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);
  EXPECT_EQ(floatToHalf(0x1.8p-25f), 1);
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fs::path("tenon_onnx_" + std::to_string(::getpid()));
    fs::create_directories(root_ / "model" / "weights");
    std::ofstream(root_ / "secret.bin") << "0123456789abcdef";
    std::ofstream(root_ / "model" / "data.bin") << "0123456789abcdef";
    fs::create_symlink(root_ / "secret.bin", root_ / "model" / "outside");
    fs::create_symlink("data.bin", root_ / "model" / "inside");
    fs::create_directory_symlink(root_, root_ / "model" / "up");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string load(const std::string& location, const std::string& offset = "", const std::string& length = "") {
    pb::TensorProto tensor = tensorOf(3, {8});
    tensor.set_data_location(1);
    for (const auto& [key, value] :
         {std::pair<std::string, std::string>{"location", location}, {"offset", offset}, {"length", length}}) {
      if (!value.empty()) {
        auto* entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      }
    }
    WeightStore store;
    const ExternalFiles files((root_ / "model" / "m.onnx").c_str());
    TensorLoader loader(store, files, nullptr);
    return messageOf([&] { loaded_ = toInts(loader.load(tensor, "t")); });
  }

  fs::path root_;
  std::vector<int64_t> loaded_;
};

TEST_F(ExternalData, ReadsBesideTheModel) {
  EXPECT_EQ(load("data.bin", "2", "8"), "");
  EXPECT_EQ(loaded_, (std::vector<int64_t>{'2', '3', '4', '5', '6', '7', '8', '9'}));
  EXPECT_EQ(load("./weights/../data.bin").find("'..'") != std::string::npos, true);
  EXPECT_EQ(load("inside", "8"), "");
  EXPECT_EQ(loaded_.front(), '8');
}

TEST_F(ExternalData, RefusesEveryWayOut) {
  EXPECT_NE(load((root_ / "secret.bin").string()).find("absolute"), std::string::npos);
  EXPECT_NE(load("../secret.bin").find("'..'"), std::string::npos);
  EXPECT_NE(load("weights/../../secret.bin").find("'..'"), std::string::npos);
  EXPECT_NE(load("outside").find("symbolic link leads out"), std::string::npos);
  EXPECT_NE(load("up/secret.bin").find("symbolic link leads out"), std::string::npos);
  EXPECT_NE(load(std::string("data.bin\0x", 10)).find("zero byte"), std::string::npos);
  EXPECT_NE(load("").find("empty"), std::string::npos);
  EXPECT_NE(load("weights").find("not a regular file"), std::string::npos);
  EXPECT_NE(load("nothing.bin").find("cannot open"), std::string::npos);
}

TEST_F(ExternalData, ChecksOffsetAndLength) {
  EXPECT_NE(load("data.bin", "9", "8").find("beyond the file of 16 bytes"), std::string::npos);
  EXPECT_NE(load("data.bin", "17").find("beyond the file"), std::string::npos);
  EXPECT_NE(load("data.bin", "0", "7").find("needs 8 bytes, but external_data gives 7"), std::string::npos);
  EXPECT_NE(load("data.bin", "-1").find("not a number of bytes"), std::string::npos);
  EXPECT_NE(load("data.bin", "99999999999999999999").find("not a number of bytes"), std::string::npos);
  EXPECT_NE(load("data.bin", "9223372036854775807").find("beyond the file"), std::string::npos);
}

TEST_F(ExternalData, IsReadOnceByThoseWhoShareItAndAFewTimesInAll) {
  constexpr int64_t kSize = 20 << 20;
  std::ofstream(root_ / "model" / "large.bin").put('a');
  fs::resize_file(root_ / "model" / "large.bin", kSize);
  WeightStore store;
  const ExternalFiles files((root_ / "model" / "m.onnx").c_str());
  int64_t length = kSize - 64;
  const std::byte* first = files.read("large.bin", 0, length, store);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(files.read("large.bin", 0, length, store), first);
  const std::string message = messageOf([&] {
    for (int64_t offset = 1; offset < 20; ++offset) EXPECT_NE(files.read("large.bin", offset, length, store), first);
  });
  EXPECT_NE(message.find("tensors overlap"), std::string::npos) << message;
}

TEST(ExternalDataFromBytes, AsksForThePath) {
  Bench bench;
  pb::TensorProto tensor = tensorOf(3, {8});
  tensor.set_data_location(1);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("data.bin");
  EXPECT_NE(messageOf([&] { bench.loader.load(tensor, "t"); }).find("parseFromFile"), std::string::npos);
}

}  // namespace
}  // namespace tenon::parsers::onnx

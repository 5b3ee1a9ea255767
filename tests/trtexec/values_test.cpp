// How single values of flags are read.
#include "../../tools/trtexec/options/values.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <stdexcept>

namespace tenon::trtexec {
namespace {

using nvinfer1::DataType;
using nvinfer1::TensorFormat;

uint32_t bit(TensorFormat format) { return 1U << static_cast<uint32_t>(format); }

TEST(Values, ListsSplitOutsideOfQuotes) {
  EXPECT_TRUE(splitList("", ',').empty());
  EXPECT_EQ(splitList("a", ','), (std::vector<std::string>{"a"}));
  EXPECT_EQ(splitList("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(splitList("'a,b',c", ','), (std::vector<std::string>{"'a,b'", "c"}));
  EXPECT_THROW(splitList("'a,b", ','), std::invalid_argument);
}

TEST(Values, TheLastColonSeparates) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(splitNameAndValue("a:1x2"), (Pair{"a", "1x2"}));
  EXPECT_EQ(splitNameAndValue("a:0:1x2"), (Pair{"a:0", "1x2"}));
  EXPECT_EQ(splitNameAndValue("'a:0':1x2"), (Pair{"a:0", "1x2"}));
  EXPECT_EQ(splitNameAndValue("'a:0'"), (Pair{"a:0", ""}));
  EXPECT_EQ(splitNameAndValue("a:"), (Pair{"a", ""}));
}

TEST(Values, Shapes) {
  EXPECT_EQ(readShape("1x3x224x224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(readShape("0"), (Shape{0}));
  EXPECT_EQ(readShape("scalar"), Shape{});
  EXPECT_EQ(readShape(""), Shape{});
  EXPECT_EQ(readShape("9000000000x1"), (Shape{9000000000, 1}));
  for (const char* bad : {"x", "1x", "1xx2", "a", "1,2", "1.5", " 1", "99999999999999999999"}) {
    EXPECT_THROW(readShape(bad), std::invalid_argument) << bad;
  }
  const ShapeMap shapes = readShapes("a:1x2,'b:0':scalar,c:,d*:7");
  EXPECT_EQ(shapes, (ShapeMap{{"a", {1, 2}}, {"b:0", {}}, {"c", {}}, {"d*", {7}}}));
  EXPECT_THROW(readShapes("a"), std::invalid_argument);
  EXPECT_THROW(readShapes("a:1,a:2"), std::invalid_argument);
  EXPECT_THROW(readShapes("a**:1"), std::invalid_argument);
}

TEST(Values, ShapesSurviveTheRoundTrip) {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    Shape shape(random() % 9);
    for (int64_t& extent : shape) {
      extent = static_cast<int64_t>(random() % 100000);
    }
    EXPECT_EQ(readShape(shapeText(shape)), shape) << shapeText(shape);
  }
}

TEST(Values, Sizes) {
  constexpr size_t kMiB = 1 << 20;
  EXPECT_EQ(readSize("16", kMiB), 16 * kMiB);
  EXPECT_EQ(readSize("0.5", kMiB), kMiB / 2);
  EXPECT_EQ(readSize("0", kMiB), 0u);
  EXPECT_EQ(readSize("10B", kMiB), 10u);
  EXPECT_EQ(readSize("3k", kMiB), 3072u);
  EXPECT_EQ(readSize("2m", 1), 2 * kMiB);
  EXPECT_EQ(readSize("1.5G", 1), size_t{3} << 29);
  for (const char* bad : {"", "M", "-1", "1T", "1MB", "nan", "1e40", "inf"}) {
    EXPECT_THROW(readSize(bad, 1), std::invalid_argument) << bad;
  }
}

TEST(Values, Numbers) {
  EXPECT_EQ(readInt("7", 0, 10), 7);
  EXPECT_EQ(readInt("-1", -1, 10), -1);
  EXPECT_DOUBLE_EQ(readNumber("0.25", 0, 1), 0.25);
  for (const char* bad : {"", "x", "7x", "1.5", "11", "-1", "99999999999"}) {
    EXPECT_THROW(readInt(bad, 0, 10), std::invalid_argument) << bad;
  }
  for (const char* bad : {"", "x", "1.5", "-0.1", "nan", "inf", "1e999", "0x1", "0.5s", " 1", "1 "}) {
    EXPECT_THROW(readNumber(bad, 0, 1), std::invalid_argument) << bad;
  }
  const auto message = [](auto&& read) -> std::string {
    try {
      read();
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message([] { readInt("99999999999", 1, 2147483647); }),
            "'99999999999' is not a whole number from 1 to 2147483647");
  EXPECT_EQ(message([] { readNumber("200ms", 0, 1e9); }),
            "'200ms' is not a number from 0 to 1000000000, without a unit");
}

TEST(Values, IoFormats) {
  EXPECT_EQ(readIoFormat("fp32:chw").type, DataType::kFLOAT);
  EXPECT_EQ(readIoFormat("fp32:chw").formats, bit(TensorFormat::kLINEAR));
  EXPECT_EQ(readIoFormat("fp16").formats, bit(TensorFormat::kLINEAR));
  EXPECT_EQ(readIoFormat("int8:chw4+chw32+hwc16").formats,
            bit(TensorFormat::kCHW4) | bit(TensorFormat::kCHW32) | bit(TensorFormat::kHWC16));
  EXPECT_THROW(readIoFormat("fp99:chw"), std::invalid_argument);
  EXPECT_THROW(readIoFormat("fp32:abc"), std::invalid_argument);
}

TEST(Values, HomeFolder) {
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(expandHome("~/m.onnx"), "/home/someone/m.onnx");
  EXPECT_EQ(expandHome("~"), "/home/someone");
  EXPECT_EQ(expandHome("~other/m.onnx"), "~other/m.onnx");
  EXPECT_EQ(expandHome("a/~/m.onnx"), "a/~/m.onnx");
}

}  // namespace
}  // namespace tenon::trtexec

// The pass that computes convolutions of bytes in f32 on GPUs.
#include <gtest/gtest.h>

#include "check_pass.h"

namespace tenon::passes {
namespace {

Options onGpu() {
  Options options;
  options.device = "cuda";
  return options;
}

// Weights of i8 are small, those of u8 large: their zero point is.
std::string window(const std::string& x, const std::string& w, const std::string& y, const std::string& fields,
                   const std::string& others) {
  const std::string sign = w.substr(0, 2);
  return "graph \"g\" {\ninput %x : " + x + "\ninput %xz : " + x.substr(0, 2) +
         "[]\ninput %b : i32[6]\ninput %s : f32[6]\ninput %yz : u8[]\ninput %yi : i8[]\nconst %w : " + w +
         " = random(3)\nconst %wz : " + sign + "[1] = {" + (sign == "u8" ? "200" : "-5") + "}\n%y : " + y +
         " = byte_convolution{" + fields + "}(%x, %w, %xz, %wz" + others + ") \"c\"\noutput %y\n}";
}

int convolutionsOf(const std::string& text) {
  const auto before = graph::parse(text);
  auto after = before;
  EXPECT_EQ(runPass("widen_byte_windows", after, onGpu()), 1) << text;
  int count = 0;
  for (const auto id : after.order()) {
    EXPECT_NE(after.node(id).op.name(), "byte_convolution");
    count += after.node(id).op.name() == "convolution" ? 1 : 0;
  }
  for (uint64_t seed = 1; seed < 4; ++seed) {
    const auto inputs = randomInputs(before, 2, seed);
    const auto expected = graph::evaluate(before, test::views(inputs));
    const auto got = graph::evaluate(after, test::views(inputs));
    EXPECT_EQ(test::relativeError(got.at(0).view(), expected.at(0).view()), 0) << text;
  }
  return count;
}

TEST(WidenByteWindows, ResultsOfEachType) {
  EXPECT_EQ(
      convolutionsOf(window("u8[2,4,5,7]", "i8[6,4,3,3]", "i32[2,6,5,7]", "prePadding=[1,1] postPadding=[1,1]", "")),
      1);
  EXPECT_EQ(convolutionsOf(window("i8[1,4,5,7]", "u8[6,2,1,3]", "f32[1,6,3,3]",
                                  "strides=[2,2] groups=2 type=f32 hasBias=true", ", %b, %s")),
            1);
  EXPECT_EQ(convolutionsOf(window("u8[1,4,9]", "i8[6,4,3]", "u8[1,6,5]", "dilations=[2] type=u8", ", %s, %yz")), 1);
  EXPECT_EQ(convolutionsOf(
                window("i8[1,4,5,7]", "i8[6,4,1,1]", "i8[1,6,5,7]", "type=i8 relu=true hasBias=true", ", %b, %s, %yi")),
            1);
}

// Sums that f32 does not hold: weights in two parts, and channels in several.
TEST(WidenByteWindows, LongSums) {
  EXPECT_EQ(convolutionsOf(window("u8[1,300,3,3]", "u8[6,300,3,3]", "i32[1,6,1,1]", "", "")), 2);
  EXPECT_EQ(convolutionsOf(window("u8[1,500,3,3]", "u8[6,500,3,3]", "i32[1,6,1,1]", "", "")), 4);
}

// Rows by a matrix: products of bytes, whatever their depth.
TEST(WidenByteWindows, SinglePixelsAreProducts) {
  EXPECT_EQ(convolutionsOf(window("u8[5,37,1]", "i8[6,37,1]", "i32[5,6,1]", "", "")), 0);
  EXPECT_EQ(convolutionsOf(window("i8[5,37,1]", "u8[6,37,1]", "f32[5,6,1]", "type=f32 hasBias=true", ", %b, %s")), 0);
  EXPECT_EQ(convolutionsOf(window("u8[3,5000,1]", "u8[6,5000,1]", "u8[3,6,1]", "type=u8", ", %s, %yz")), 0);
  EXPECT_EQ(convolutionsOf(window("u8[5,37,1]", "i8[6,37,1]", "i32[5,6,3]", "prePadding=[1] postPadding=[1]", "")), 1);
}

TEST(WidenByteWindows, OthersStay) {
  auto graph = graph::parse(window("u8[1,1000,3,3]", "u8[6,500,3,3]", "i32[1,6,1,1]", "groups=2", ""));
  EXPECT_EQ(runPass("widen_byte_windows", graph, onGpu()), 0);
}

}  // namespace
}  // namespace tenon::passes

// The passes that compute networks of quantize and dequantize nodes in integers.
#include <gtest/gtest.h>

#include "check_pass.h"

namespace tenon::passes {
namespace {

// Runs the pass and compares: results of 8 bits may be off by one where a sum in f32 is at a tie.
std::string operatorsAfter(std::string_view pass, const std::string& body) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "\n}");
  auto after = before;
  runPass(pass, after);
  graph::verify(after);
  for (uint64_t seed = 1; seed < 4; ++seed) {
    const auto inputs = randomInputs(before, 2, seed);
    const auto expected = graph::evaluate(before, test::views(inputs));
    const auto got = graph::evaluate(after, test::views(inputs));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(test::relativeError(got[i].view(), expected[i].view()), 1e-5) << body << graph::text(after);
  }
  return operators(after);
}

std::string afterWindows(const std::string& body) { return operatorsAfter("quantized_windows", body); }

constexpr const char* kImage = R"g(input %x : u8[2,6,5,7]
const %xs : f32[] = {0.037}
const %xz : u8[] = {3}
const %ws : f32[8] = {0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08}
const %b : f32[8] = {0.1,-0.2,0.3,-0.4,0.5,-0.6,0.7,-0.8}
const %ys : f32[1] = {0.0213}
const %yz : u8[1] = {11}
%dx : f32[2,6,5,7] = dequantize(%x, %xs, %xz) "dx"
)g";
constexpr const char* kWeights = R"g(const %w : i8[8,3,3,3] = random(5)
%dw : f32[8,3,3,3] = dequantize{axis=0}(%w, %ws) "dw"
)g";
constexpr const char* kWindow =
    "%c : f32[2,8,5,7] = convolution{groups=2 prePadding=[1,1] postPadding=[1,1] hasBias=true}(%dx, %dw, %b) \"c\"\n";

TEST(QuantizedWindows, BetweenQuantizeNodes) {
  const std::string head = std::string(kImage) + kWeights + kWindow;
  EXPECT_EQ(afterWindows(head + "%y : u8[2,8,5,7] = quantize{type=u8}(%c, %ys, %yz) \"y\"\noutput %y"),
            "byte_convolution");
  EXPECT_EQ(afterWindows(head + "%r : f32[2,8,5,7] = pointwise{expr=\"relu(x0)\"}(%c) \"r\"\n"
                                "%y : u8[2,8,5,7] = quantize{type=u8}(%r, %ys, %yz) \"y\"\noutput %y"),
            "byte_convolution");
  // 255 - 11 steps end below 6, not below 4.
  for (const char* const bound : {"6", "4"}) {
    EXPECT_EQ(afterWindows(head + "%r : f32[2,8,5,7] = pointwise{expr=\"clip(x0,0," + bound +
                           ")\"}(%c) \"r\"\n%y : u8[2,8,5,7] = quantize{type=u8}(%r, %ys, %yz) \"y\"\noutput %y"),
              bound == std::string("6") ? "byte_convolution" : "byte_convolution pointwise quantize");
  }
}

// Real results where others read them, where no or another kind of quantize node follows.
TEST(QuantizedWindows, RealResults) {
  const std::string head = std::string(kImage) + kWeights + kWindow;
  EXPECT_EQ(afterWindows(head + "output %c"), "byte_convolution");
  EXPECT_EQ(afterWindows(head + "%y : u8[2,8,5,7] = quantize{type=u8}(%c, %ys, %yz) \"y\"\noutput %y\noutput %c"),
            "byte_convolution quantize");
  EXPECT_EQ(afterWindows(head + "%y : u8[2,8,5,7] = quantize{type=u8 axis=1}(%c, %ws) \"y\"\noutput %y"),
            "byte_convolution quantize");
  EXPECT_EQ(afterWindows(head + "%y : f32[2,8,5,7] = pointwise{expr=\"tanh(x0)\"}(%c) \"t\"\noutput %y"),
            "byte_convolution pointwise");
}

// Weights that the network quantizes, a bias that it dequantizes, a signed image.
TEST(QuantizedWindows, ConstantsOfNodes) {
  EXPECT_EQ(afterWindows(R"g(input %x : i8[1,4,9]
const %s : f32[] = {0.0517}
const %t : f32[] = {0.0371}
const %f : f32[5,4,3] = random(3)
const %i : i32[5] = {100,-7,3,0,55}
%dx : f32[1,4,9] = dequantize(%x, %s) "dx"
%q : i8[5,4,3] = quantize(%f, %s) "q"
%dw : f32[5,4,3] = dequantize(%q, %s) "dw"
%b : f32[5] = dequantize(%i, %s) "b"
%c : f32[1,5,7] = convolution{hasBias=true}(%dx, %dw, %b) "c"
%y : i8[1,5,7] = quantize(%c, %t) "y"
output %y)g"),
            "byte_convolution");
}

TEST(QuantizedWindows, ProductsWithWeights) {
  for (const char* const matrix : {"9,4", "4,9"}) {
    const bool isTransposed = matrix == std::string("4,9");
    const std::string head = fmt::format(R"g(input %x : u8[2,3,9]
const %s : f32[] = {{0.0517}}
const %t : f32[] = {{0.0371}}
const %z : u8[] = {{7}}
const %ws : f32[4] = {{0.1,0.2,0.3,0.4}}
const %b : f32[1,1,4] = {{0.1,0.2,0.3,0.4}}
const %w : i8[{0}] = random(5)
%dx : f32[2,3,9] = dequantize(%x, %s, %z) "dx"
%dw : f32[{0}] = dequantize{{axis={1}}}(%w, %ws) "dw"
%c : f32[2,3,4] = matmul{{transposeB={2}}}(%dx, %dw) "c"
)g",
                                         matrix, isTransposed ? 0 : 1, isTransposed);
    EXPECT_EQ(afterWindows(head + "output %c"), "reshape byte_convolution reshape");
    EXPECT_EQ(afterWindows(head + "%a : f32[2,3,4] = pointwise{expr=\"add(x0,x1)\"}(%c, %b) \"a\"\n"
                                  "%y : u8[2,3,4] = quantize{type=u8}(%a, %t, %z) \"y\"\noutput %y"),
              "reshape byte_convolution reshape");
  }
}

// Of two computed matrices, quantized themselves; with real results they stay, which attention may want.
TEST(QuantizedWindows, ProductsOfTwo) {
  const std::string head = R"g(input %x : u8[2,6,5]
input %w : i8[2,5,7]
const %xs : f32[] = {0.037}
const %xz : u8[] = {113}
const %ws : f32[1] = {0.013}
const %ys : f32[1] = {0.0213}
const %yz : u8[1] = {11}
const %si : i8[1] = {-7}
%dx : f32[2,6,5] = dequantize(%x, %xs, %xz) "dx"
%dw : f32[2,5,7] = dequantize(%w, %ws) "dw"
%c : f32[2,6,7] = matmul(%dx, %dw) "c"
)g";
  EXPECT_EQ(afterWindows(head + "%y : u8[2,6,7] = quantize{type=u8}(%c, %ys, %yz) \"y\"\noutput %y"),
            "byte_matmul pointwise");
  EXPECT_EQ(afterWindows(head + "%y : i8[2,6,7] = quantize{type=i8}(%c, %ys, %si) \"y\"\noutput %y"),
            "byte_matmul pointwise");
  EXPECT_EQ(afterWindows(head + "%r : f32[2,6,7] = pointwise{expr=\"relu(x0)\"}(%c) \"r\"\n"
                                "%y : u8[2,6,7] = quantize{type=u8}(%r, %ys, %yz) \"y\"\noutput %y"),
            "byte_matmul pointwise");
  EXPECT_EQ(afterWindows(head + "output %c"), "dequantize dequantize matmul");
}

TEST(QuantizedWindows, OthersStay) {
  // A scale for each channel of the image, and computed weights.
  EXPECT_EQ(afterWindows(R"g(input %x : i8[1,4,9]
const %s : f32[4] = {0.05,0.1,0.2,0.3}
const %w : i8[5,4,3] = random(3)
%dx : f32[1,4,9] = dequantize{axis=1}(%x, %s) "dx"
const %t : f32[] = {0.1}
%dw : f32[5,4,3] = dequantize(%w, %t) "dw"
%c : f32[1,5,7] = convolution(%dx, %dw) "c"
output %c)g"),
            "dequantize dequantize convolution");
  EXPECT_EQ(afterWindows(R"g(input %x : i8[1,4,9]
input %w : i8[5,4,3]
const %t : f32[] = {0.1}
%dx : f32[1,4,9] = dequantize(%x, %t) "dx"
%dw : f32[5,4,3] = dequantize(%w, %t) "dw"
%c : f32[1,5,7] = convolution(%dx, %dw) "c"
output %c)g"),
            "dequantize dequantize convolution");
}

// Sums that 32 bits might not hold.
TEST(QuantizedWindows, LongSumsStay) {
  for (const int64_t channels : {32768, 32769}) {
    auto graph = graph::parse(fmt::format(R"g(graph "g" {{
input %x : u8[1,{0},1]
const %s : f32[] = {{0.05}}
const %w : i8[2,{0},1] = random(3)
%dx : f32[1,{0},1] = dequantize(%x, %s) "dx"
%dw : f32[2,{0},1] = dequantize(%w, %s) "dw"
%c : f32[1,2,1] = convolution(%dx, %dw) "c"
output %c
}})g",
                                          channels));
    EXPECT_EQ(runPass("quantized_windows", graph), channels == 32768 ? 1 : 0);
  }
}

TEST(QuantizedScalars, SumsAndAveragesOfBytes) {
  const std::string head = R"g(input %a : u8[2,3,4,5]
input %b : i8[2,3,4,5]
const %s : f32[] = {0.0517}
const %t : f32[] = {0.0371}
const %z : u8[] = {7}
%da : f32[2,3,4,5] = dequantize(%a, %s, %z) "da"
%db : f32[2,3,4,5] = dequantize(%b, %t) "db"
)g";
  EXPECT_EQ(operatorsAfter("quantized_scalars", head + R"g(%c : f32[2,3,4,5] = pointwise{expr="add(x0,x1)"
}(%da, %db) "c"
%y : u8[2,3,4,5] = quantize{type=u8}(%c, %t, %z) "y"
output %y)g"),
            "pointwise pointwise pointwise pointwise");
  EXPECT_EQ(operatorsAfter("quantized_scalars",
                           head + R"g(%c : f32[2,3,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%da) "c"
%y : i8[2,3,1,1] = quantize{type=i8}(%c, %t) "y"
output %y
output %db)g"),
            "dequantize pointwise reduce pointwise");
  EXPECT_EQ(operatorsAfter("quantized_scalars", head + R"g(%c : f32[2,3,4,5] = pointwise{expr="add(x0,x1)"
  }(%da, %db) "c"
%y : u8[2,3,4,5] = quantize{type=u8}(%c, %t, %z) "y"
output %y
output %c)g"),
            "dequantize dequantize pointwise quantize");
}

}  // namespace
}  // namespace tenon::passes

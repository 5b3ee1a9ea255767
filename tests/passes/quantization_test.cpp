// The pass that keeps values floating which are quantized and at once brought back.
#include <gtest/gtest.h>

#include "check_pass.h"

namespace tenon::passes {
namespace {

std::string between(const std::string& x, const std::string& constants, const std::string& quantize,
                    const std::string& dequantize, const std::string& narrow, const std::string& y) {
  return "input %x : " + x + "\n" + constants + "%q : " + narrow + " = " + quantize + " \"q\"\n%y : " + y + " = " +
         dequantize + " \"d\"\noutput %y\n";
}

const std::string kScale = "const %s : f32[] = {0.0625}\n";

TEST(SimulateQuantization, OneScale) {
  expectPass("simulate_quantization",
             between("f32[3,4,5]", kScale, "quantize(%x, %s)", "dequantize(%q, %s)", "i8[3,4,5]", "f32[3,4,5]"),
             "pointwise");
}

TEST(SimulateQuantization, ScalesAlongAnAxisAndZeroPoints) {
  const std::string constants =
      "const %s : f32[4] = {0.0625,0.125,0.25,0.5}\nconst %t : f32[4] = {0.5,0.25,1,2}\n"
      "const %z : u8[4] = {0,7,128,255}\n";
  expectPass("simulate_quantization",
             between("f32[3,4,5]", constants, "quantize{axis=1 type=u8}(%x, %s, %z)", "dequantize{axis=-2}(%q, %t, %z)",
                     "u8[3,4,5]", "f32[3,4,5]"),
             "pointwise");
}

TEST(SimulateQuantization, HalvesAndFourBits) {
  expectPass(
      "simulate_quantization",
      between("f16[6,5]", kScale, "quantize{type=i4}(%x, %s)", "dequantize{type=f16}(%q, %s)", "i4[6,5]", "f16[6,5]"),
      "pointwise");
}

// GPUs have products of 8-bit floats.
TEST(SimulateQuantization, EightBitFloatsOfProcessors) {
  const auto text =
      between("f32[4,5]", kScale, "quantize{type=f8e4m3}(%x, %s)", "dequantize(%q, %s)", "f8e4m3[4,5]", "f32[4,5]");
  expectPass("simulate_quantization", text, "pointwise");
  auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
  Options options;
  options.device = "cuda";
  EXPECT_EQ(runPass("simulate_quantization", graph, options), 0);
}

TEST(SimulateQuantization, OthersStay) {
  const std::string blocks = "const %s : f32[2,5] = {1,2,3,4,5,6,7,8,9,10}\n";
  for (const auto& text :
       {between("f32[4,5]", kScale, "quantize{type=f4e2m1}(%x, %s)", "dequantize(%q, %s)", "f4e2m1[4,5]", "f32[4,5]"),
        between("f32[4,5]", blocks, "quantize(%x, %s)", "dequantize(%q, %s)", "i8[4,5]", "f32[4,5]"),
        between("f32[4,5]", "input %s : f32[]\n", "quantize(%x, %s)", "dequantize(%q, %s)", "i8[4,5]", "f32[4,5]")}) {
    auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
    EXPECT_EQ(runPass("simulate_quantization", graph), 0) << graph::text(graph);
  }
}

// Behind a convolution it becomes the epilogue.
TEST(SimulateQuantization, JoinsAConvolution) {
  auto graph = graph::parse(
      "graph \"g\" {\ninput %x : f32[1,4,9,9]\nconst %w : f32[8,4,3,3] = random(5)\n" + kScale +
      "%c : f32[1,8,7,7] = convolution(%x, %w) \"conv\"\n%r : f32[1,8,7,7] = pointwise{expr=\"relu(x0)\"}(%c) \"relu\"\n"
      "%q : i8[1,8,7,7] = quantize(%r, %s) \"q\"\n%y : f32[1,8,7,7] = dequantize(%q, %s) \"d\"\noutput %y\n}\n");
  run(graph, {});
  ASSERT_EQ(graph.order().size(), 1u) << graph::text(graph);
  EXPECT_EQ(operators(graph), "convolution");
}

}  // namespace
}  // namespace tenon::passes

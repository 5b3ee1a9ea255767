// The pass that computes contractions of halves in f32 on processors.
#include <gtest/gtest.h>

#include "check_pass.h"

namespace tenon::passes {
namespace {

TEST(WidenHalves, Products) {
  for (const char* type : {"f16", "bf16"}) {
    const std::string t = type;
    expectPass("widen_halves",
               "input %x : " + t + "[3,5,7]\nconst %w : " + t + "[7,4] = random(1)\n%y : " + t +
                   "[3,5,4] = matmul(%x, %w) \"m\"\noutput %y\n",
               "pointwise matmul pointwise");
    expectPass("widen_halves",
               "input %x : " + t + "[2,5,7]\ninput %w : " + t + "[2,4,7]\n%y : " + t +
                   "[2,5,4] = matmul{transposeB=true}(%x, %w) \"m\"\noutput %y\n",
               "pointwise pointwise matmul pointwise");
  }
}

TEST(WidenHalves, Convolutions) {
  expectPass("widen_halves",
             "input %x : f16[1,4,9,9]\nconst %w : f16[6,4,3,3] = random(5)\nconst %b : f16[6] = random(6)\n"
             "%y : f16[1,6,7,7] = convolution{hasBias=true}(%x, %w, %b) \"c\"\noutput %y\n",
             "pointwise convolution pointwise");
  expectPass("widen_halves",
             "input %x : f16[1,4,5,5]\nconst %w : f16[4,6,2,2] = random(5)\n"
             "%y : f16[1,6,10,10] = deconvolution{strides=[2,2]}(%x, %w) \"c\"\noutput %y\n",
             "pointwise deconvolution pointwise");
}

// Operators whose kernels are of f32 alone.
TEST(WidenHalves, Others) {
  expectPass("widen_halves", "input %x : f16[1,6,4,5]\n%y : f16[1,6,4,5] = lrn{window=3}(%x) \"l\"\noutput %y\n",
             "pointwise lrn pointwise");
  expectPass("widen_halves",
             "input %x : bf16[5,7]\nconst %i : i64[2,3] = {0, 4, 1, 1, 0, 3}\ninput %u : bf16[2,3]\n"
             "%y : bf16[5,7] = scatter_reduce{op=max}(%x, %i, %u) \"s\"\noutput %y\n",
             "pointwise pointwise scatter_reduce pointwise");
  expectPass("widen_halves",
             "input %r : f32[2,4]\ninput %i : i32[2,2]\ninput %x : f16[1,3,7,5]\n"
             "%y : f16[2,3,2,2] = roi_align{height=2 width=2 least=0 border=margin}(%r, %i, %x) \"r\"\noutput %y\n",
             "pointwise roi_align pointwise");
}

TEST(WidenHalves, OthersStay) {
  for (const char* text :
       {"input %x : f32[5,7]\nconst %w : f32[7,4] = random(1)\n%y : f32[5,4] = matmul(%x, %w) \"m\"\noutput %y\n",
        "input %x : f16[5,7]\n%y : f16[5,7] = softmax{axis=1}(%x) \"s\"\noutput %y\n"}) {
    auto graph = graph::parse("graph \"g\" {\n" + std::string(text) + "}\n");
    EXPECT_EQ(runPass("widen_halves", graph), 0) << graph::text(graph);
  }
}

}  // namespace
}  // namespace tenon::passes

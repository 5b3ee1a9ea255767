// The pass that makes deconvolutions of stride 1 convolutions.
#include <gtest/gtest.h>

#include <string>

#include "check_pass.h"

namespace tenon::passes {
namespace {

TEST(TurnDeconvolutions, StrideOneBecomesConvolution) {
  expectPass("turn_deconvolutions", R"g(input %x : f32[2,3,5,6]
const %w : f32[3,4,3,2] = random(1)
%y : f32[2,4,7,7] = deconvolution(%x, %w) "d"
output %y
)g",
             "convolution");
  expectPass("turn_deconvolutions", R"g(input %x : f32[2,6,5,6]
const %w : f32[6,4,3,5] = random(1)
const %b : f32[8] = random(2)
input %z : f32[2,8,8,9]
%y : f32[2,8,8,9] = deconvolution{strides=[1,1] dilations=[2,1] prePadding=[1,0] postPadding=[0,1] groups=2 hasBias=true epilogue="add(x0,x1);relu(t0)"}(%x, %w, %b, %z) "d"
output %y
)g",
             "convolution");
  expectPass("turn_deconvolutions", R"g(input %x : f32[1,2,9]
const %w : f32[2,1,4] = random(1)
%y : f32[1,2,13] = deconvolution{groups=2 postPadding=[-1]}(%x, %w) "d"
output %y
)g",
             "convolution");
  expectPass("turn_deconvolutions", R"g(input %x : f32[1,2,3,4,5]
const %w : f32[2,3,2,1,3] = random(1)
%y : f32[1,3,4,4,5] = deconvolution{prePadding=[0,0,2] postPadding=[0,0,0]}(%x, %w) "d"
output %y
)g",
             "convolution");
}

TEST(TurnDeconvolutions, OthersStay) {
  for (const std::string text : {R"g(input %x : f32[2,3,5,6]
const %w : f32[3,4,3,2] = random(1)
%y : f32[2,4,7,12] = deconvolution{strides=[1,2]}(%x, %w) "d"
output %y
)g",
                                 R"g(input %x : f32[2,3,5,6]
input %w : f32[3,4,3,2]
%y : f32[2,4,7,7] = deconvolution(%x, %w) "d"
output %y
)g",
                                 R"g(input %x : f32[2,3,5,6]
const %w : f32[3,4,3,2] = random(1)
%y : f32[2,4,4,7] = deconvolution{prePadding=[3,0]}(%x, %w) "d"
output %y
)g",
                                 R"g(input %x : f32[1,4,5,6]
const %w : f32[4,1,2,2] = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}
%y : f32[1,1,6,7] = deconvolution(%x, %w) "blocks"
output %y
)g"}) {
    auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
    EXPECT_EQ(runPass("turn_deconvolutions", graph), 0) << graph::text(graph);
  }
}

}  // namespace
}  // namespace tenon::passes

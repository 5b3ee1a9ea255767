// Transposes that move channels behind the pixels or back: views where one side is channels-last, copies where they may
// not be.
#include "placement.h"

namespace tenon::test {
namespace {

// Two heads of a detector as exporters of channels-last frameworks write them.
std::string heads(const std::string& between) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[2,9,8,5]
  const %w : f32[16,5,3,3] = random(1)
  const %a : f32[6,16,1,1] = random(2)
  const %b : f32[4,16,1,1] = random(3)
  %i : f32[2,5,9,8] = transpose{{permutation=[0,3,1,2]}}(%x) "channelsFirst"
  %c : f32[2,16,7,6] = convolution{{epilogue="relu(x0)"}}(%i, %w) "body"
  {}
  %p : f32[2,6,7,6] = convolution(%c, %a) "first"
  %q : f32[2,4,7,6] = convolution(%c, %b) "second"
  %r : f32[2,7,6,6] = transpose{{permutation=[0,2,3,1]}}(%p) "firstBehind"
  %s : f32[2,7,6,4] = transpose{{permutation=[0,2,3,1]}}(%q) "secondBehind"
  %t : f32[2,126,2] = reshape{{shape=[2,126,2]}}(%r) "firstRows"
  %u : f32[2,84,2] = reshape{{shape=[2,84,2]}}(%s) "secondRows"
  %y : f32[2,210,2] = concat{{axis=1}}(%t, %u) "join"
  output %y
}})g",
                     between);
}

TEST(MovedChannels, AreViews) {
  EXPECT_EQ(check(heads("")).moved, 0);
  // Who else reads a view or what it views.
  EXPECT_EQ(check(heads("%z : f32[2,9,8,5] = pointwise{expr=\"tanh(x0)\"}(%x) \"reader\"\n  output %z")).moved, 0);
  EXPECT_EQ(check(heads("%z : f32[2,7,6,16] = transpose{permutation=[0,2,3,1]}(%c) \"result\"\n  output %z")).moved, 0);
  EXPECT_EQ(check(heads("%z : f32[2,7,6,16] = transpose{permutation=[0,2,3,1]}(%c) \"back\"\n"
                        "  %v : f32[2,7,6,16] = pointwise{expr=\"tanh(x0)\"}(%z) \"mayBeInPlace\"\n  output %v"))
                .moved,
            0);
  // Between an input and an output, and of volumes.
  EXPECT_EQ(check(R"g(graph "g" { input %x : f32[2,9,8,5]
    %i : f32[2,5,9,8] = transpose{permutation=[0,3,1,2]}(%x) "there"
    %y : f32[2,9,8,5] = transpose{permutation=[0,2,3,1]}(%i) "back"
    output %y })g")
                .moved,
            0);
  EXPECT_EQ(check(R"g(graph "g" { input %x : f32[2,3,4,5,6]
    const %w : f32[7,6,3,3,3] = random(1)
    %i : f32[2,6,3,4,5] = transpose{permutation=[0,4,1,2,3]}(%x) "there"
    %y : f32[2,7,1,2,3] = convolution(%i, %w) "volume"
    output %y })g")
                .moved,
            1);  // of the result, which is row-major
  // Other axes are copied.
  EXPECT_GT(check(R"g(graph "g" { input %x : f32[2,9,8,5]
    const %w : f32[7,8,1,1] = random(1)
    %i : f32[2,8,9,5] = transpose{permutation=[0,2,1,3]}(%x) "others"
    %y : f32[2,7,9,5] = convolution(%i, %w) "reader"
    output %y })g")
                .moved,
            0);
}

// So many channels and pixels that no kernel takes the row-major image.
TEST(MovedChannels, ThatAreShownAreCopied) {
  EXPECT_EQ(check(R"g(graph "g" { input %x : f32[2,67,66,5]
    const %w : f32[70,5,3,3] = random(1)
    %i : f32[2,5,67,66] = transpose{permutation=[0,3,1,2]}(%x) "shown" debug
    %y : f32[2,70,65,64] = convolution(%i, %w) "reader"
    output %y })g")
                .moved,
            2);  // it, and the result, which is row-major
}

TEST(MovedChannels, OfConstantsAreCopied) {
  for (const auto& [type, permutation] :
       {std::pair("f32[2,9,8,5]", "[0,2,3,1]"), std::pair("f32[2,8,5,9]", "[0,3,1,2]")}) {
    EXPECT_GT(check(fmt::format(R"g(graph "g" {{ input %x : {0}
      const %k : f32[2,5,9,8] = random(1)
      %t : {0} = transpose{{permutation={1}}}(%k) "moved"
      %y : {0} = pointwise{{expr="add(x0,x1)"}}(%x, %t) "sum"
      output %y }})g",
                                type, permutation))
                  .moved,
              0);
  }
}

TEST(MovedChannels, FollowShapes) {
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 4, 4, 5};
  range.opt = {2, 9, 8, 5};
  range.max = {3, 16, 9, 5};
  options.profiles = {{{"x", range}}};
  for (const Dims& dims : {Dims{1, 4, 4, 5}, Dims{2, 9, 8, 5}, Dims{3, 5, 7, 5}}) {
    const auto counts = check(R"g(graph "g" { input %x : f32[N,H,W,5]
      const %w : f32[7,5,1,1] = random(1)
      %i : f32[N,5,H,W] = transpose{permutation=[0,3,1,2]}(%x) "there"
      %c : f32[N,7,H,W] = convolution(%i, %w) "reader"
      %y : f32[N,H,W,7] = transpose{permutation=[0,2,3,1]}(%c) "back"
      output %y })g",
                              options, {dims});
    EXPECT_EQ(counts.moved, 0);
  }
}

}  // namespace
}  // namespace tenon::test

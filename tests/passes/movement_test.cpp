// Passes that move, merge and cancel what only moves data: transposes, reshapes, reductions; equal nodes.
#include "check_pass.h"

namespace tenon::passes {
namespace {

TEST(MergeEqual, TheLaterOfTwoEqualNodesGoes) {
  expectPass("merge_equal", R"g(input %x : f32[3,5]
    %a : f32[3,5] = pointwise{expr="exp(x0)"}(%x) "a"
    %b : f32[3,5] = pointwise{expr="exp(x0)"}(%x) "b"
    %c : f32[3,5] = pointwise{expr="neg(x0)"}(%a) "c"
    %d : f32[3,5] = pointwise{expr="neg(x0)"}(%b) "d"
    %e : f32[3,5] = pointwise{expr="add(x0,x1)"}(%c, %d) "e"
    output %e
)g",
             "pointwise pointwise pointwise");
  expectPass("merge_equal", R"g(input %x : f32[3,5]
    %a : f32[3,5] = pointwise{expr="exp(x0)"}(%x) "a"
    %b : f32[3,5] = pointwise{expr="exp(x0)"}(%x) "b"
    output %a
    output %b
)g",
             "pointwise pointwise");
}

TEST(RemoveNoops, ReluOfWhatIsNeverNegativeGoes) {
  expectPass("remove_noops", R"g(input %x : f32[1,3,6,6]
    %r : f32[1,3,6,6] = pointwise{expr="relu(x0)"}(%x) "r"
    %p : f32[1,3,3,3] = pooling{type=average window=[2,2] strides=[2,2]}(%r) "p"
    %q : f32[1,3,3,3] = pooling{window=[2,2] strides=[2,2]}(%r) "q"
    %c : f32[1,6,3,3] = concat{axis=1}(%p, %q) "c"
    %y : f32[1,6,3,3] = pointwise{expr="relu(x0)"}(%c) "y"
    %z : f32[1,6,9] = reshape{shape=[1,6,9]}(%y) "z"
    output %z
)g",
             "pointwise pooling pooling concat reshape");
}

TEST(MergeReductions, ReductionsOfReductions) {
  for (const char* op : {"sum", "max", "min", "avg", "prod"}) {
    expectPass("merge_reductions",
               std::string("input %x : f32[2,3,4,5]\n%a : f32[2,4,5] = reduce{op=") + op +
                   " axes=[1]}(%x) \"a\"\n%b : f32[2,5] = reduce{op=" + op + " axes=[-2]}(%a) \"b\"\noutput %b\n",
               "reduce");
    expectPass("merge_reductions",
               std::string("input %x : f32[2,3,4,5]\n%a : f32[2,3,1,5] = reduce{op=") + op +
                   " axes=[2] keepDims=true}(%x) \"a\"\n%b : f32[1,3,1,5] = reduce{op=" + op +
                   " axes=[0] keepDims=true}(%a) \"b\"\noutput %b\n",
               "reduce");
  }
  expectPass("merge_reductions", R"g(input %x : f32[2,3,4]
    %a : f32[2,4] = reduce{op=sum axes=[1]}(%x) "a"
    %b : f32[2] = reduce{op=max axes=[1]}(%a) "b"
    output %b
)g",
             "reduce reduce");
}

TEST(MergeReductions, PoolingOfWholeImages) {
  for (const char* type : {"average", "max"}) {
    expectPass("merge_reductions",
               std::string("input %x : f32[2,3,4,5]\n%a : f32[2,3,1,1] = pooling{type=") + type +
                   " window=[4,5]}(%x) \"a\"\noutput %a\n",
               "reduce");
  }
  expectPass("merge_reductions",
             "input %x : f32[2,3,4,5]\n%a : f32[2,3,1,2] = pooling{type=average window=[4,4]}(%x) \"a\"\noutput %a\n",
             "pooling");
}

TEST(HoistPointwise, AboveReshapes) {
  expectPass("hoist_pointwise", R"g(input %x : f32[1,4,5,5]
    const %w : f32[6,4,3,3] = random(1)
    const %h : f32[1,1] = {0.5}
    %c : f32[1,6,3,3] = convolution(%x, %w) "c"
    %r : f32[1,54] = reshape{shape=[1,54]}(%c) "r"
    %s : f32[1,54] = pointwise{expr="sigmoid(x0);mul(t0,x1)"}(%r, %h) "s"
    output %s
)g",
             "convolution pointwise reshape");
  expectPass("hoist_pointwise", R"g(input %x : f32[1,54]
    %r : f32[6,9] = reshape{shape=[6,9]}(%x) "r"
    %s : f32[6,9] = pointwise{expr="sigmoid(x0)"}(%r) "s"
    output %s
)g",
             "reshape pointwise");
}

TEST(HoistPointwise, IntoThePiecesOfConcatenations) {
  const std::string head =
      "input %x : f32[1,4,5,5]\nconst %w : f32[6,4,3,3] = random(1)\n%c : f32[1,6,3,3] = convolution(%x, %w) \"c\"\n"
      "%a : f32[1,4,5,5] = pointwise{expr=\"abs(x0)\"}(%x) \"a\"\n%p : f32[1,4,3,3] = pooling{window=[3,3]}(%a) \"p\"\n";
  expectPass(
      "hoist_pointwise",
      head +
          "%d : f32[1,10,3,3] = concat{axis=1}(%c, %p) \"d\"\n%y : f32[1,10,3,3] = pointwise{expr=\"relu(x0)\"}(%d) \"y\"\noutput %y\n",
      "convolution pointwise pooling pointwise concat");
  expectPass(
      "hoist_pointwise",
      head +
          "%d : f32[1,10,3,3] = concat{axis=1}(%c, %p) \"d\"\n%y : f32[1,10,3,3] = pointwise{expr=\"tanh(x0)\"}(%d) \"y\"\noutput %y\n",
      "convolution pointwise pooling concat pointwise");
}

TEST(SinkTransposes, BehindPointwiseNodes) {
  const auto after = expectPass("sink_transposes", R"g(input %x : f32[2,5,3]
    input %z : f32[2,5,3]
    const %s : f32[3,1] = random(1)
    const %t : f32[1,1,5] = random(2)
    %a : f32[2,3,5] = transpose{permutation=[0,2,1]}(%x) "a"
    %b : f32[2,3,5] = transpose{permutation=[0,2,1]}(%z) "b"
    %c : f32[2,3,5] = pointwise{expr="mul(x0,x1);add(t0,x2);add(t1,x3)"}(%a, %s, %b, %t) "c"
    output %c
)g",
                                "pointwise transpose");
  EXPECT_EQ(after.outputName(0), "c");
  expectPass("sink_transposes", R"g(input %x : f32[2,5,3]
    input %z : f32[2,3,5]
    %a : f32[2,3,5] = transpose{permutation=[0,2,1]}(%x) "a"
    %c : f32[2,3,5] = pointwise{expr="add(x0,x1)"}(%a, %z) "c"
    output %c
)g",
             "transpose pointwise");
}

// Two that meet and cancel are gone, with their names: one that sank through a long chain would bear those of all.
TEST(SinkTransposes, WhatCancelsIsGone) {
  std::string body = "input %x0 : f32[1,4,4,4]\n";
  constexpr int kPairs = 40;
  for (int i = 0; i < kPairs; ++i) {
    body +=
        fmt::format("%t{0} : f32[1,4,4,4] = transpose{{permutation=[0,2,1,3]}}(%x{0}) \"t{0}\" from(\"t{0}\")\n", i);
    body +=
        fmt::format("%x{1} : f32[1,4,4,4] = pointwise{{expr=\"sin(x0)\"}}(%t{0}) \"p{0}\" from(\"p{0}\")\n", i, i + 1);
  }
  body += fmt::format("output %x{}\n", kPairs);
  std::string left;
  for (int i = 0; i < kPairs; ++i) left += i == 0 ? "pointwise" : " pointwise";
  const auto after = expectPass("sink_transposes", body, left);
  for (const auto id : after.order()) EXPECT_LE(after.node(id).origins.size(), 2u) << after.node(id).name;
  // The output of the network keeps its name, and an input does not become one.
  expectPass("sink_transposes", R"g(input %x : f32[2,3]
    %a : f32[3,2] = transpose{permutation=[1,0]}(%x) "a"
    %y : f32[2,3] = transpose{permutation=[1,0]}(%a) "y"
    output %y
  )g",
             "transpose");
}

TEST(SinkTransposes, OutOfReductions) {
  expectPass("sink_transposes", R"g(input %x : f32[2,3,4,5]
    %a : f32[2,4,5,3] = transpose{permutation=[0,2,3,1]}(%x) "a"
    %r : f32[2,3] = reduce{op=avg axes=[1,2]}(%a) "r"
    output %r
)g",
             "reduce");
  expectPass("sink_transposes", R"g(input %x : f32[2,3,4,5]
    %a : f32[5,4,3,2] = transpose{permutation=[3,2,1,0]}(%x) "a"
    %r : f32[5,3,2] = reduce{op=max axes=[1]}(%a) "r"
    %q : f32[1,4,3,2] = reduce{op=sum axes=[-4] keepDims=true}(%a) "q"
    output %r
    output %q
)g",
             "reduce transpose reduce transpose");
}

TEST(SinkTransposes, IntoMatrixProducts) {
  expectPass("sink_transposes", R"g(input %x : f32[2,5,3]
    input %y : f32[2,7,5]
    %a : f32[2,3,5] = transpose{permutation=[0,2,1]}(%x) "a"
    %b : f32[2,5,7] = transpose{permutation=[0,2,1]}(%y) "b"
    %m : f32[2,3,7] = matmul(%a, %b) "m"
    output %m
)g",
             "matmul");
  expectPass("sink_transposes", R"g(input %x : f32[2,5,3]
    const %w : f32[5,4] = random(1)
    %a : f32[2,3,5] = transpose{permutation=[0,2,1]}(%x) "a"
    %m : f32[2,3,4] = matmul(%a, %w) "m"
    output %m
)g",
             "transpose matmul");
}

TEST(SinkTransposes, ShufflesOfEqualPieces) {
  expectPass("sink_transposes", R"g(input %x : f32[2,3,4,5]
    input %y : f32[2,3,4,5]
    %c : f32[2,6,4,5] = concat{axis=1}(%x, %y) "c"
    %r : f32[2,2,3,4,5] = reshape{shape=[2,2,3,4,5]}(%c) "r"
    %t : f32[2,3,2,4,5] = transpose{permutation=[0,2,1,3,4]}(%r) "t"
    %s : f32[2,6,4,5] = reshape{shape=[2,6,4,5]}(%t) "s"
    output %s
)g",
             "reshape reshape concat reshape");
  expectPass("sink_transposes", R"g(input %x : f32[2,2,4,5]
    input %y : f32[2,4,4,5]
    %c : f32[2,6,4,5] = concat{axis=1}(%x, %y) "c"
    %r : f32[2,2,3,4,5] = reshape{shape=[2,2,3,4,5]}(%c) "r"
    %t : f32[2,3,2,4,5] = transpose{permutation=[0,2,1,3,4]}(%r) "t"
    output %t
)g",
             "concat reshape transpose");
}

}  // namespace
}  // namespace tenon::passes

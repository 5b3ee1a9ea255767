// What keeps networks of sound and text free of movement: slices read where they lie, rows that are pictures of one
// column, convolutions of single pixels as products of rows.
#include "check_pass.h"
#include "ops/op/sliced_pointwise.h"
#include "passes/pipeline.h"

namespace tenon::passes {
namespace {

Options onCuda(bool computes = true) {
  Options options;
  options.device = "cuda";
  options.computes = [computes](const ops::Operator&, std::span<const ops::TensorType>) { return computes; };
  return options;
}

// A gated unit of x, of so many elements of its axis.
std::string gate(const std::string& shape, const std::string& half, const std::string& second,
                 const std::string& rest = "") {
  const std::string zero(second.size() == 5 ? "0,0,0" : "0,0,0,0");
  return "input %x : f32[" + shape + "]\n%a : f32[" + half + "] = slice{start=[" + zero + "] size=[" + half +
         "]}(%x) \"a\" from(\"a\")\n%b : f32[" + half + "] = slice{start=[" + second + "] size=[" + half +
         "]}(%x) \"b\" from(\"b\")\n%y : f32[" + half +
         "] = pointwise{expr=\"sigmoid(x0);mul(x1,t0)\"}(%b, %a) \"gate\" from(\"gate\")\noutput %y\n" + rest;
}

TEST(FuseSlices, GatedUnits) {
  const auto graph = expectPass("fuse_slices", gate("2,8,5", "2,4,5", "0,4,0"), "sliced_pointwise", onCuda());
  const auto& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.op.text(), "sliced_pointwise{axis=1 size=4 starts=[4,0] expr=\"sigmoid(x0);mul(x1,t0)\"}");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"b", "a", "gate"}));
  expectPass("fuse_slices", gate("2,5,8", "2,5,3", "0,0,5"), "sliced_pointwise", onCuda());
  expectPass("fuse_slices", gate("6,1,8", "3,1,8", "3,0,0"), "sliced_pointwise", onCuda());
}

TEST(FuseSlices, OneSliceAmongOthers) {
  const std::string body =
      "input %x : f16[2,4,6]\ninput %z : f16[2,4,3]\nconst %c : f16[4,1] = random(1)\n"
      "%s : f16[2,4,3] = slice{start=[0,0,2] size=[2,4,3] stride=[1,1,1]}(%x) \"s\"\n"
      "%y : f16[2,4,3] = pointwise{expr=\"mul(x0,x1);add(t0,x2)\"}(%z, %c, %s) \"p\"\noutput %y\n";
  const auto graph = expectPass("fuse_slices", body, "sliced_pointwise", onCuda());
  EXPECT_EQ(graph.node(graph.order()[0]).op.as<ops::SlicedPointwise>()->starts, (std::vector<int64_t>{-1, -1, 2}));
}

// Gates of a cell: the new memory and the new state are results of one node.
TEST(FuseSlices, SeveralResults) {
  const std::string body =
      "input %x : f32[2,6,5]\ninput %c : f32[2,3,5]\n"
      "%a : f32[2,3,5] = slice{start=[0,0,0] size=[2,3,5]}(%x) \"a\"\n"
      "%b : f32[2,3,5] = slice{start=[0,3,0] size=[2,3,5]}(%x) \"b\"\n"
      "%m : f32[2,3,5], %h : f32[2,3,5] = multi_pointwise{expr=\"mul(x0,x1);tanh(t0);mul(t1,x2)\" results=[0,2]}"
      "(%a, %c, %b) \"cell\"\noutput %m\noutput %h\n";
  const auto graph = expectPass("fuse_slices", body, "sliced_pointwise", onCuda());
  EXPECT_EQ(graph.node(graph.order()[0]).op.as<ops::SlicedPointwise>()->results, (std::vector<int64_t>{0, 2}));
}

TEST(FuseSlices, WhatStays) {
  expectPass("fuse_slices", gate("2,8,5", "2,4,5", "0,4,0"), "slice slice pointwise", onCuda(false));
  expectPass("fuse_slices", gate("2,8,5", "2,4,5", "0,4,0", "output %a\n"), "slice sliced_pointwise", onCuda());
  // Along two axes, with steps, beyond the tensor, larger results.
  expectPass("fuse_slices", gate("2,8,6", "2,4,3", "0,4,3"), "slice slice pointwise", onCuda());
  for (const std::string slice : {"start=[0,0] size=[4,3] stride=[1,2]", "start=[0,-1] size=[4,3] mode=fill"}) {
    expectPass("fuse_slices",
               "input %x : f32[4,6]\n%s : f32[4,3] = slice{" + slice +
                   "}(%x) \"s\"\n%y : f32[4,3] = pointwise{expr=\"tanh(x0)\"}(%s) \"p\"\noutput %y\n",
               "slice pointwise", onCuda());
  }
  expectPass("fuse_slices",
             "input %x : f32[4,6]\ninput %z : f32[2,4,3]\n%s : f32[4,3] = slice{start=[0,1] size=[4,3]}(%x) \"s\"\n"
             "%y : f32[2,4,3] = pointwise{expr=\"mul(x0,x1)\"}(%s, %z) \"p\"\noutput %y\n",
             "slice pointwise", onCuda());
}

// The expression may name its operands in any order, of symbolic extents, too.
TEST(FuseSlices, SymbolicExtents) {
  expectPass("fuse_slices", gate("N,8,L", "N,4,L", "0,4,0"), "sliced_pointwise", onCuda());
}

TEST(PointsToMatMul, RowsInFront) {
  const std::string body =
      "input %x : f32[2,7,6]\nconst %w : f32[8,6,1,1] = random(1)\nconst %b : f32[8] = random(2)\n"
      "%t : f32[2,6,7] = transpose{permutation=[0,2,1]}(%x) \"t\"\n"
      "%p : f32[2,6,7,1] = reshape{shape=[2,6,7,1]}(%t) \"p\"\n"
      "%y : f32[2,8,7,1] = convolution{hasBias=true}(%p, %w, %b) \"conv\"\noutput %y\n";
  expectPass("points_to_matmul", body, "matmul pointwise transpose reshape", onCuda());
}

TEST(PointsToMatMul, RowsBehind) {
  const std::string body =
      "input %x : f32[2,6,7,3]\nconst %w : f32[8,6,1,1] = random(1)\n"
      "%y : f32[2,8,7,3] = convolution(%x, %w) \"conv\"\n"
      "%p : f32[2,8,21] = reshape{shape=[2,8,21]}(%y) \"p\"\n"
      "%t : f32[2,21,8] = transpose{permutation=[0,2,1]}(%p) \"t\"\noutput %t\n";
  expectPass("points_to_matmul", body, "reshape transpose matmul transpose reshape reshape transpose", onCuda());
}

TEST(PlaceToMatMul, OfOnePlaceForEachImage) {
  const auto body = [](const char* x, const char* w, const char* y, const char* attributes) {
    return fmt::format(
        "input %x : f32[{}]\nconst %w : f32[{}] = random(3)\n%y : f32[{}] = deconvolution{{{}}}(%x, %w) \"d\"\n"
        "output %y\n",
        x, w, y, attributes);
  };
  expectPass("place_to_matmul", body("3,5,1,1", "5,4,2,3", "3,4,2,3", "strides=[2,1]"),
             "reshape matmul reshape transpose", onCuda());
  expectPass("place_to_matmul", body("2,5,1", "5,4,3", "2,4,3", ""), "reshape matmul reshape transpose", onCuda());
  expectPass("place_to_matmul",
             "input %x : f32[2,3,1,1,1]\ninput %b : f32[4]\nconst %w : f32[3,4,2,1,2] = random(3)\n"
             "%y : f32[2,4,2,1,2] = deconvolution{hasBias=true}(%x, %w, %b) \"d\"\noutput %y\n",
             "reshape matmul reshape transpose reshape pointwise", onCuda());
  expectPass("place_to_matmul", body("3,5,1,2", "5,4,2,3", "3,4,2,4", ""), "deconvolution", onCuda());
  expectPass("place_to_matmul", body("3,6,1,1", "6,4,2,3", "3,8,2,3", "groups=2"), "deconvolution", onCuda());
  expectPass("place_to_matmul", body("3,5,1,1", "5,4,2,3", "3,4,1,3", "prePadding=[1,0]"), "deconvolution", onCuda());
  expectPass("place_to_matmul", body("3,5,1,1", "5,4,2,3", "3,4,3,3", "dilations=[2,1]"), "deconvolution", onCuda());
}

TEST(PointsToMatMul, OtherConvolutionsStay) {
  const auto body = [](const std::string& fields, const std::string& weights, const std::string& result) {
    return "input %x : f32[2,7,6]\nconst %w : f32[" + weights +
           "] = random(1)\n%t : f32[2,6,7] = transpose{permutation=[0,2,1]}(%x) \"t\"\n"
           "%p : f32[2,6,7,1] = reshape{shape=[2,6,7,1]}(%t) \"p\"\n%y : f32[" +
           result + "] = convolution" + fields + "(%p, %w) \"conv\"\noutput %y\n";
  };
  expectPass("points_to_matmul", body("", "8,6,3,1", "2,8,5,1"), "transpose reshape convolution", onCuda());
  expectPass("points_to_matmul", body("{groups=2}", "8,3,1,1", "2,8,7,1"), "transpose reshape convolution", onCuda());
  expectPass("points_to_matmul", body("{strides=[2,1]}", "8,6,1,1", "2,8,4,1"), "transpose reshape convolution",
             onCuda());
  expectPass("points_to_matmul", body("{prePadding=[1,0] postPadding=[0,0]}", "8,6,1,1", "2,8,8,1"),
             "transpose reshape convolution", onCuda());
  expectPass("points_to_matmul",
             "input %x : f32[2,6,7,1]\nconst %w : f32[8,6,1,1] = random(1)\n"
             "%y : f32[2,8,7,1] = convolution(%x, %w) \"conv\"\noutput %y\n",
             "convolution", onCuda());
}

TEST(SinkUnitAxes, SlicesAndScalarWork) {
  const std::string begin =
      "input %x : f32[2,3,9,1]\ninput %z : f32[2,4,9]\nconst %w : f32[8,3,1,1] = random(1)\n"
      "const %c : f32[4,1] = random(2)\n%v : f32[2,8,9,1] = convolution(%x, %w) \"conv\"\n"
      "%r : f32[2,8,9] = reshape{shape=[2,8,9]}(%v) \"line\"\n";
  expectPass("sink_unit_axes",
             begin +
                 "%s : f32[2,4,9] = slice{start=[0,4,0] size=[2,4,9]}(%r) \"s\"\n"
                 "%y : f32[2,4,9] = pointwise{expr=\"mul(x0,x1);add(t0,x2)\"}(%s, %c, %z) \"p\"\noutput %y\n",
             "convolution slice reshape pointwise reshape", onCuda());
  expectPass("sink_unit_axes",
             begin + "%s : f32[2,8,11] = slice{start=[0,0,-2] size=[2,8,11] mode=fill}(%r) \"s\"\noutput %s\n",
             "convolution slice reshape", onCuda());
  // Sums of two lines, on every device.
  const std::string sum = begin +
                          "%q : f32[2,8,9] = reshape{shape=[2,8,9]}(%v) \"other\"\n"
                          "%y : f32[2,8,9] = pointwise{expr=\"add(x0,x1);relu(t0)\"}(%r, %q) \"p\"\noutput %y\n";
  expectPass("sink_unit_axes", sum, "convolution pointwise reshape");
  expectPass("sink_unit_axes", sum, "convolution pointwise reshape", onCuda());
  // Other reshapes, and results that are larger, stay.
  expectPass("sink_unit_axes",
             "input %k : f32[5,2,8,9]\n" + begin +
                 "%y : f32[5,2,8,9] = pointwise{expr=\"add(x0,x1)\"}(%r, %k) \"p\"\noutput %y\n",
             "convolution reshape pointwise", onCuda());
}

TEST(MoveChannels, BetweenRowsAndPictures) {
  expectPass("move_channels",
             "input %x : f32[2,12,5]\n%t : f32[2,5,12] = transpose{permutation=[0,2,1]}(%x) \"t\"\n"
             "%y : f32[2,5,3,4] = reshape{shape=[2,5,3,4]}(%t) \"r\"\noutput %y\n",
             "reshape transpose", onCuda());
  expectPass("move_channels",
             "input %x : f32[2,5,3,4]\n%f : f32[2,5,12] = reshape{shape=[2,5,12]}(%x) \"r\"\n"
             "%y : f32[2,12,5] = transpose{permutation=[0,2,1]}(%f) \"t\"\noutput %y\n",
             "transpose reshape", onCuda());
  expectPass("move_channels",  // no picture
             "input %x : f32[2,12,5]\n%t : f32[2,5,12] = transpose{permutation=[0,2,1]}(%x) \"t\"\n"
             "%y : f32[5,2,3,4] = reshape{shape=[5,2,3,4]}(%t) \"r\"\noutput %y\n",
             "transpose reshape", onCuda());
}

// Pictures whose channels stand in front of their pixels within rows of a product.
TEST(MoveChannels, IntoTheWeightsOfProducts) {
  const std::string flat =
      "input %x : f32[2,3,4,5]\nconst %k : f32[8,3,1,1] = random(1)\nconst %w : f32[160,6] = random(2)\n"
      "%c : f32[2,8,4,5] = convolution(%x, %k) \"conv\"\n%r : f32[2,160] = reshape{shape=[2,160]}(%c) \"r\"\n"
      "%y : f32[2,6] = matmul(%r, %w) \"product\"\noutput %y\n";
  expectPass("move_channels", flat, "convolution transpose reshape matmul", onCuda());
  expectPass("move_channels", flat + "output %r\n", "convolution reshape matmul", onCuda());
  expectPass("move_channels",
             "input %x : f32[2,8,4,5]\nconst %w : f32[1,6,40] = random(2)\n"
             "%t : f32[2,4,8,5] = transpose{permutation=[0,2,1,3]}(%x) \"t\"\n"
             "%r : f32[2,4,40] = reshape{shape=[2,4,40]}(%t) \"r\"\n"
             "%y : f32[2,4,6] = matmul{transposeB=true}(%r, %w) \"product\"\noutput %y\n",
             "transpose reshape matmul", onCuda());
  expectPass("move_channels",  // nothing that is channels-last
             "input %x : f32[2,8,4,5]\nconst %w : f32[160,6] = random(2)\n"
             "%r : f32[2,160] = reshape{shape=[2,160]}(%x) \"r\"\n"
             "%y : f32[2,6] = matmul(%r, %w) \"product\"\noutput %y\n",
             "reshape matmul", onCuda());
}

std::string causal(const std::string& fields, const std::string& shape, const std::string& slice,
                   const std::string& rest = "") {
  return "input %x : f32[2,6,11,1]\nconst %w : f32[6,1,4,1] = random(1)\n%c : f32[" + shape +
         "] = convolution{groups=6 " + fields + "}(%x, %w) \"conv\" from(\"conv\")\n%y : f32[2,6,11,1] = slice{" +
         slice + "}(%c) \"cut\" from(\"cut\")\noutput %y\n" + rest;
}

TEST(CropWindows, ZerosThatAreCutOff) {
  const std::string begin = "start=[0,0,0,0] size=[2,6,11,1]";
  const auto graph =
      expectPass("crop_windows", causal("prePadding=[3,0] postPadding=[3,0]", "2,6,14,1", begin), "convolution");
  EXPECT_EQ(graph.node(graph.order()[0]).op.text(), "convolution{prePadding=[3,0] postPadding=[0,0] groups=6}");
  expectPass("crop_windows",
             causal("prePadding=[3,0] postPadding=[3,0]", "2,6,14,1", "start=[0,0,2,0] size=[2,6,11,1]"),
             "convolution");
  expectPass("crop_windows", causal("strides=[2,1] prePadding=[8,0] postPadding=[8,0]", "2,6,12,1", begin),
             "convolution");
  // More than zeros, or read elsewhere.
  expectPass("crop_windows", causal("prePadding=[6,0] postPadding=[0,0]", "2,6,14,1", begin), "convolution slice");
  expectPass("crop_windows", causal("prePadding=[3,0] postPadding=[3,0]", "2,6,14,1", begin, "output %c\n"),
             "convolution slice");
}

TEST(SinkTransposes, BelowSlicesOfOneTensor) {
  const std::string gated =
      "input %x : f32[2,9,8]\n%t : f32[2,8,9] = transpose{permutation=[0,2,1]}(%x) \"t\"\n"
      "%a : f32[2,4,9] = slice{start=[0,0,0] size=[2,4,9]}(%t) \"a\"\n"
      "%b : f32[2,4,9] = slice{start=[0,4,0] size=[2,4,9]}(%t) \"b\"\n"
      "%y : f32[2,4,9] = pointwise{expr=\"sigmoid(x0);mul(x1,t0)\"}(%b, %a) \"gate\"\noutput %y\n";
  expectPass("sink_transposes", gated, "slice slice pointwise transpose", onCuda());
  expectPass("sink_transposes", gated + "output %t\n", "transpose slice slice pointwise", onCuda());
  expectPass("sink_transposes",  // rotary embedding
             "input %x : f32[1,5,3,8]\nconst %c : f32[5,8] = random(1)\nconst %d : f32[5,8] = random(2)\n"
             "%t : f32[1,3,5,8] = transpose{permutation=[0,2,1,3]}(%x) \"t\"\n"
             "%r : f32[1,3,5,8] = slice{start=[0,0,0,4] size=[1,3,5,8] mode=wrap}(%t) \"r\"\n"
             "%y : f32[1,3,5,8] = pointwise{expr=\"mul(x0,x1);mul(x2,x3);add(t0,t1)\"}(%t, %c, %r, %d) \"p\"\n"
             "output %y\n",
             "slice pointwise transpose", onCuda());
}

TEST(HoistTransposes, WhereTheyMoveLess) {
  const auto body = [](const std::string& operand, const std::string& more = "") {
    return "input %x : f32[2,8,3,5]\ninput %z : f32[2,3,5,8]\ninput %s : f32[2,3,5,1]\ninput %c : f32[3,1,8]\nconst %k : f32[5,8] = random(1)\n"
           "%t : f32[2,3,5,8] = transpose{permutation=[0,2,3,1]}(%x) \"t\"\n"
           "%p : f32[2,3,5,8] = pointwise{expr=\"mul(x0,x1);add(t0,x2)\"}(%t, " +
           operand + ", %k) \"p\"\n%y : f32[2,3,8,5] = transpose{permutation=[0,1,3,2]}(%p) \"y\"\noutput %y\n" + more;
  };
  expectPass("hoist_transposes", body("%s"), "transpose transpose reshape pointwise", onCuda());
  expectPass("hoist_transposes", body("%s", "output %p\n"), "transpose pointwise transpose", onCuda());
  expectPass("hoist_transposes", body("%z"), "transpose pointwise transpose", onCuda());
  expectPass("hoist_transposes",  // two operands that make the result by broadcasting
             "input %a : f32[2,5,7,1]\ninput %b : f32[2,1,7,9]\n"
             "%p : f32[2,5,7,9] = pointwise{expr=\"mul(x0,x1)\"}(%a, %b) \"p\"\n"
             "%y : f32[2,9,5,7] = transpose{permutation=[0,3,1,2]}(%p) \"y\"\noutput %y\n",
             "reshape transpose pointwise", onCuda());
}

// A block of a conformer: no transpose is left but those that move the channels of pictures.
TEST(Lines, ConformerConvolutions) {
  const std::string text = R"g(graph "conformer" {
    input %x : f32[1,9,8]
    const %w : f32[16,8,1,1] = random(1)
    const %b : f32[16] = random(2)
    const %d : f32[8,1,3,1] = random(3)
    const %n : f32[8,8,1,1] = random(4)
    %t : f32[1,8,9] = transpose{permutation=[0,2,1]}(%x) "t"
    %p : f32[1,8,9,1] = reshape{shape=[1,8,9,1]}(%t) "p"
    %v : f32[1,16,9,1] = convolution{hasBias=true}(%p, %w, %b) "wide"
    %l : f32[1,16,9] = reshape{shape=[1,16,9]}(%v) "l"
    %g : f32[1,8,9] = slice{start=[0,0,0] size=[1,8,9]}(%l) "g"
    %h : f32[1,8,9] = slice{start=[0,8,0] size=[1,8,9]}(%l) "h"
    %s : f32[1,8,9] = pointwise{expr="sigmoid(x0);mul(x1,t0)"}(%h, %g) "s"
    %q : f32[1,8,9,1] = reshape{shape=[1,8,9,1]}(%s) "q"
    %e : f32[1,8,9,1] = convolution{prePadding=[1,0] postPadding=[1,0] groups=8}(%q, %d) "deep"
    %m : f32[1,8,9,1] = convolution(%e, %n) "narrow"
    %k : f32[1,8,9] = reshape{shape=[1,8,9]}(%m) "k"
    %y : f32[1,9,8] = transpose{permutation=[0,2,1]}(%k) "y"
    output %y
  })g";
  const auto before = graph::parse(text);
  auto graph = before;
  run(graph, onCuda());
  EXPECT_EQ(operators(graph), "matmul reshape sliced_pointwise transpose convolution transpose matmul reshape");
  expectSameValues(before, graph);
}

}  // namespace
}  // namespace tenon::passes

// Slices and concatenations without copies: what shares memory, what does not, and that values stay right.
#include "placement.h"

namespace tenon::test {
namespace {

// Channels-last wherever a tactic offers it, one of the given tactics where it offers itself.
decltype(compile::BuildOptions::filter) channelsLast(std::vector<std::string> tactics = {}) {
  return [tactics](const graph::Node&, std::vector<compile::Candidate> candidates) {
    const auto keep = [&](auto&& wanted) {
      auto kept = candidates;
      std::erase_if(kept, [&](const auto& candidate) { return !wanted(candidate); });
      if (!kept.empty()) candidates = std::move(kept);
    };
    keep([&](const auto& candidate) { return std::count(tactics.begin(), tactics.end(), candidate.tactic) != 0; });
    keep([](const auto& candidate) {
      return candidate.tactic.find("dnnl") == std::string::npos && candidate.tactic.rfind("ref", 0) != 0;
    });
    keep([](const auto& candidate) { return candidate.outputs[0] == Layout::kChannelsLast; });
    return candidates;
  };
}

compile::BuildOptions inChannelsLast(std::vector<std::string> tactics = {}) {
  compile::BuildOptions options;
  options.filter = channelsLast(std::move(tactics));
  return options;
}

// Two producers of a concatenation along the channels, and readers of both the parts and the whole.
std::string joined(const std::string& first, int64_t a, int64_t b) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[2,{1},7,5]
  const %w : f32[{2},{1},1,1] = random(1)
  const %v : f32[11,{3},3,3] = random(2)
  {0}
  %q : f32[2,{2},7,5] = convolution(%x, %w) "second"
  %y : f32[2,{3},7,5] = concat{{axis=1}}(%p, %q) "join"
  %c : f32[2,11,7,5] = convolution{{prePadding=[1,1] postPadding=[1,1]}}(%y, %v) "reader"
  %r : f32[2,{1},7,5] = pooling{{type=max window=[3,3] prePadding=[1,1] postPadding=[1,1]}}(%p) "partReader"
  output %c
  output %r
}})g",
                     first, a, b, a + b);
}

TEST(Placement, ProducersWriteIntoTheWhole) {
  const std::string tactics[] = {"cpu.convolution", "cpu.winograd",  "cpu.depthwise", "cpu.pooling",
                                 "cpu.resize",      "cpu.pointwise", "cpu.gather",    "cpu.movement"};
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{16, 16}, {17, 33}, {20, 7}}) {
    const auto image = fmt::format("f32[2,{},7,5]", a);
    const std::vector<std::string> producers{
        fmt::format("const %k : f32[{0},{0},1,1] = random(3)\n  %p : {1} = convolution(%x, %k) \"first\"", a, image),
        fmt::format(
            "const %k : f32[{0},{0},3,3] = random(3)\n  %p : {1} = convolution{{prePadding=[1,1] postPadding=[1,1] epilogue=\"relu(x0)\"}}(%x, %k) \"first\"",
            a, image),
        fmt::format(
            "const %k : f32[{0},1,3,3] = random(3)\n  %p : {1} = convolution{{prePadding=[1,1] postPadding=[1,1] groups={0} epilogue=\"sigmoid(x0);mul(t0,x0)\"}}(%x, %k) \"first\"",
            a, image),
        fmt::format("%p : {} = pooling{{type=average window=[3,3] prePadding=[1,1] postPadding=[1,1]}}(%x) \"first\"",
                    image),
        fmt::format(
            "%s : f32[2,{0},4,5] = pooling{{type=max window=[4,1]}}(%x) \"small\"\n  %p : {1} = resize{{shape=[2,{0},7,5] mode=linear}}(%s) \"first\"",
            a, image),
        fmt::format("%p : {} = pointwise{{expr=\"tanh(x0)\"}}(%x) \"first\"", image),
        fmt::format(
            "%p : {0}, %o : {0} = multi_pointwise{{expr=\"tanh(x0);mul(t0,x0)\" results=[1,0]}}(%x) \"first\"\n  output %o",
            image),
        fmt::format(
            "%t : {0} = pointwise{{expr=\"tanh(x0)\"}}(%x) \"before\"\n  %p : {0} = slice{{start=[0,0,6,0] size=[2,{1},7,5] stride=[1,1,-1,1]}}(%t) \"first\"",
            image, a),
    };
    for (const auto& producer : producers) {
      for (const auto& tactic : {"cpu.convolution", "cpu.winograd"}) {
        const auto counts = check(joined(producer, a, b), inChannelsLast({tactic, tactics[2]}));
        EXPECT_EQ(counts.views, 1) << producer;
        EXPECT_EQ(counts.concats, 0) << producer;
      }
    }
  }
}

TEST(Placement, ReadersFindSlicesWhereTheyAre) {
  for (const int64_t cut : {5, 16, 31}) {
    const auto counts = check(fmt::format(R"g(graph "g" {{
  input %x : f32[2,8,7,5]
  const %w : f32[40,8,1,1] = random(1)
  const %v : f32[9,{1},3,3] = random(2)
  const %d : f32[{0},1,3,3] = random(3)
  const %i : i64[2] = {{3,1}}
  %y : f32[2,40,7,5] = convolution(%x, %w) "make"
  %a : f32[2,{0},7,5] = slice{{start=[0,0,0,0] size=[2,{0},7,5]}}(%y) "head"
  %b : f32[2,{1},7,5] = slice{{start=[0,{0},0,0] size=[2,{1},7,5]}}(%y) "tail"
  %c : f32[2,9,7,5] = convolution{{prePadding=[1,1] postPadding=[1,1]}}(%b, %v) "wide"
  %e : f32[2,{0},5,3] = convolution{{groups={0}}}(%a, %d) "deep"
  %f : f32[2,{1},3,2] = pooling{{type=max window=[2,2] strides=[2,2]}}(%b) "pool"
  %g : f32[2,{0},7,5] = pointwise{{expr="add(x0,x1)"}}(%a, %a) "twice"
  %h : f32[2,2,7,5] = gather{{axis=1}}(%a, %i) "pick"
  %j : f32[2,5,7,{0}] = transpose{{permutation=[0,3,2,1]}}(%a) "turn"
  output %c
  output %e
  output %f
  output %g
  output %h
  output %j
}})g",
                                          cut, 40 - cut),
                              inChannelsLast());
    EXPECT_EQ(counts.views, 2);
    EXPECT_EQ(counts.slices, 0);
  }
}

// Residuals of an epilogue that lie within wider tensors.
TEST(Placement, AddedMatricesMayBePitched) {
  for (const char* expression : {"add(x0,x1);relu(t0)", "add(x0,x1);sigmoid(t0);mul(t1,x1)"}) {
    for (const char* tactic : {"cpu.convolution", "cpu.winograd"}) {
      const auto counts = check(fmt::format(R"g(graph "g" {{
  input %x : f32[1,16,9,7]
  const %w : f32[48,16,1,1] = random(1)
  const %v : f32[19,16,3,3] = random(2)
  %y : f32[1,48,9,7] = convolution(%x, %w) "make"
  %a : f32[1,19,9,7] = slice{{start=[0,7,0,0] size=[1,19,9,7]}}(%y) "cut"
  %c : f32[1,19,9,7] = convolution{{prePadding=[1,1] postPadding=[1,1] epilogue="{}"}}(%x, %v, %a) "sum"
  %d : f32[1,3,9,7] = slice{{start=[0,45,0,0] size=[1,3,9,7]}}(%y) "rest"
  %e : f32[1,22,9,7] = concat{{axis=1}}(%c, %d) "join"
  %f : f32[1,22,9,7] = pointwise{{expr="neg(x0)"}}(%e) "neg"
  output %f
}})g",
                                            expression),
                                inChannelsLast({tactic}));
      EXPECT_EQ(counts.concats, 0);
      EXPECT_EQ(counts.slices, 1) << "the part of the whole is copied by its slice";
      EXPECT_EQ(counts.views, 2);
    }
  }
}

// Kernels of several convolutions, which read slices of wider tensors and write into them.
TEST(Placement, CompositesMayBePitched) {
  for (const int size : {1, 3}) {
    const auto counts = check(fmt::format(R"g(graph "g" {{
  input %x : f32[2,16,9,7]
  const %w : f32[48,16,1,1] = random(1)
  const %u : f32[3,29,{0},{0}] = random(2)
  const %v : f32[37,29,{0},{0}] = random(3)
  const %t : f32[10,29,{0},{0}] = random(4)
  %y : f32[2,48,9,7] = convolution(%x, %w) "make"
  %a : f32[2,29,9,7] = slice{{start=[0,7,0,0] size=[2,29,9,7]}}(%y) "cut"
  %c : f32[2,3,9,7], %d : f32[2,37,9,7], %g : f32[2,10,9,7] = composite{{parts=[
    {{convolution{{prePadding=[{1},{1}] postPadding=[{1},{1}]}} [0,1]}},
    {{convolution{{prePadding=[{1},{1}] postPadding=[{1},{1}] epilogue="sigmoid(x0)"}} [0,2]}},
    {{convolution{{prePadding=[{1},{1}] postPadding=[{1},{1}] epilogue="relu(x0)"}} [0,3]}}] outputs=[0,1,2]}}(%a, %u, %v, %t) "all"
  %e : f32[2,50,9,7] = concat{{axis=1}}(%d, %c, %g) "join"
  %f : f32[2,50,9,7] = pointwise{{expr="neg(x0)"}}(%e) "neg"
  output %f
}})g",
                                          size, size / 2),
                              inChannelsLast({"cpu.branches", "cpu.convolution"}));
    EXPECT_EQ(counts.views, 2);
    EXPECT_EQ(counts.slices + counts.concats, 0);
  }
}

// As in DenseNet: each whole is the beginning of the next one.
TEST(Placement, WholesWithinWholes) {
  const auto counts = check(R"g(graph "g" {
  input %x : f32[2,8,6,6]
  const %w : f32[8,8,1,1] = random(1)
  const %w1 : f32[4,8,3,3] = random(2)
  const %w2 : f32[4,12,3,3] = random(3)
  const %w3 : f32[4,16,3,3] = random(4)
  %a : f32[2,8,6,6] = convolution(%x, %w) "begin"
  %b : f32[2,4,6,6] = convolution{prePadding=[1,1] postPadding=[1,1]}(%a, %w1) "one"
  %ab : f32[2,12,6,6] = concat{axis=1}(%a, %b) "join1"
  %n1 : f32[2,12,6,6] = pointwise{expr="relu(x0)"}(%ab) "norm1"
  %c : f32[2,4,6,6] = convolution{prePadding=[1,1] postPadding=[1,1]}(%n1, %w2) "two"
  %abc : f32[2,16,6,6] = concat{axis=1}(%ab, %c) "join2"
  %n2 : f32[2,16,6,6] = pointwise{expr="tanh(x0)"}(%abc) "norm2"
  %d : f32[2,4,6,6] = convolution{prePadding=[1,1] postPadding=[1,1]}(%n2, %w3) "three"
  %abcd : f32[2,20,6,6] = concat{axis=1}(%abc, %d) "join3"
  %n3 : f32[2,20,6,6] = pointwise{expr="sigmoid(x0)"}(%abcd) "norm3"
  output %n3
})g",
                            inChannelsLast());
  EXPECT_EQ(counts.views, 3);
  EXPECT_EQ(counts.concats, 0);
}

TEST(Placement, RowsOfOneImageAreContiguous) {
  const auto counts = check(R"g(graph "g" {
  input %x : f32[1,6,5,7]
  const %w : f32[6,6,3,3] = random(1)
  %a : f32[1,6,5,7] = pointwise{expr="tanh(x0)"}(%x) "a"
  %b : f32[1,4,5,7] = slice{start=[0,1,0,0] size=[1,4,5,7]}(%a) "b"
  %c : f32[1,6,5,7] = convolution{prePadding=[1,1] postPadding=[1,1]}(%x, %w) "c"
  %v : f32[1,3,10,7] = reshape{shape=[1,3,10,7]}(%c) "v"
  %s : f32[1,2,10,7] = reshape{shape=[1,2,10,7]}(%b) "s"
  %e : f32[1,2,10,7] = pointwise{expr="neg(x0)"}(%s) "e"
  %y : f32[1,5,10,7] = concat{axis=1}(%v, %e) "y"
  %z : f32[1,5,10,7] = pointwise{expr="exp(x0)"}(%y) "z"
  output %z
})g");
  EXPECT_EQ(counts.concats, 0);
  EXPECT_EQ(counts.slices, 0);
}

// Constants lie as the model has them, whatever the format of the whole.
TEST(Placement, ConstantsAreBroughtIntoTheFormatOfTheWhole) {
  for (const int axis : {1, 2}) {
    const auto counts = check(fmt::format(R"g(graph "g" {{
  input %x : f32[1,5,3,4]
  const %k : f32[1,5,3,4] = random(1)
  const %w : f32[5,{0},3,3] = random(2)
  %a : f32[1,5,3,4] = pointwise{{expr="tanh(x0)"}}(%x) "a"
  %y : f32[1,{0},{1},4] = concat{{axis={2}}}(%k, %a) "y"
  %c : f32[1,5,{1},4] = convolution{{prePadding=[1,1] postPadding=[1,1]}}(%y, %w) "c"
  output %c
}})g",
                                          axis == 1 ? 10 : 5, axis == 2 ? 6 : 3, axis),
                              inChannelsLast({"cpu.convolution"}));
    EXPECT_EQ(counts.views, 1);
    EXPECT_EQ(counts.concats, 1) << "of the constant alone";
  }
}

// Parts that have another home: inputs, constants, outputs, parts of another whole, the same part twice.
TEST(Placement, WhatHasAnotherHomeIsCopied) {
  const auto counts = check(R"g(graph "g" {
  input %x : f32[1,3,4,4]
  const %k : f32[1,2,4,4] = random(1)
  %a : f32[1,3,4,4] = pointwise{expr="tanh(x0)"}(%x) "a"
  %b : f32[1,3,4,4] = pointwise{expr="neg(x0)"}(%x) "b"
  %o : f32[1,3,4,4] = pointwise{expr="exp(x0)"}(%x) "o"
  %y : f32[1,17,4,4] = concat{axis=1}(%x, %k, %a, %b, %b, %o) "y"
  %z : f32[1,6,4,4] = concat{axis=1}(%a, %o) "z"
  %q : f32[1,3,4,4] = pooling{type=max window=[3,3] prePadding=[1,1] postPadding=[1,1]}(%a) "q"
  output %y
  output %z
  output %o
  output %q
})g");
  EXPECT_EQ(counts.views, 1) << "one of the two has the shared part";
}

TEST(Placement, DynamicExtents) {
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 4, 1};
  range.opt = {2, 4, 3};
  range.max = {6, 4, 9};
  options.profiles = {{{"x", range}}};
  const std::string text = R"g(graph "g" {
  symbol "N" = extent(%x, 0)
  symbol "W" = extent(%x, 2)
  input %x : f32[N,4,W]
  %a : f32[N,4,W] = pointwise{expr="tanh(x0)"}(%x) "a"
  %b : f32[N,4,W] = pointwise{expr="neg(x0)"}(%x) "b"
  %y : f32[2*N,4,W] = concat{axis=0}(%a, %b) "y"
  %z : f32[2*N,4,W] = pooling{type=max window=[1]}(%y) "z"
  %s : f32[N,4,W] = slice{start=[N,0,0] size=[N,4,W]}(%z) "s"
  %t : f32[N,4,W] = pointwise{expr="add(x0,x1)"}(%s, %x) "t"
  output %t
})g";
  for (const int64_t batch : {1, 2, 6}) {
    for (const int64_t width : {1, 3, 9}) {
      const auto counts = check(text, options, {{batch, 4, width}});
      EXPECT_EQ(counts.concats + counts.slices, 0);
    }
  }
}

// The element-wise step after a slice may not take the memory of the slice's source, though both have the same upper
// bound.
TEST(Placement, SlicesAreNotOverwrittenInPlace) {
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {2, 5};
  range.opt = {3, 5};
  range.max = {4, 5};
  options.profiles = {{{"x", range}}};
  const std::string text = R"g(graph "g" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,5]
  %a : f32[N,5] = softmax{axis=1}(%x) "a"
  %s : f32[N-1,5] = slice{start=[1,0] size=[N-1,5]}(%a) "s"
  %t : f32[N-1,5] = pointwise{expr="neg(x0)"}(%s) "t"
  %u : f32[N-1,5] = softmax{axis=1}(%t) "u"
  output %u
})g";
  for (const int64_t batch : {2, 3, 4}) check(text, options, {{batch, 5}});
}

TEST(Placement, MayBeLeftOut) {
  const Setting disable("TENON_DISABLE", "share_memory");
  const auto counts =
      check(joined("%p : f32[2,16,7,5] = pointwise{expr=\"tanh(x0)\"}(%x) \"first\"", 16, 16), inChannelsLast());
  EXPECT_EQ(counts.views, 0);
  EXPECT_EQ(counts.concats, 1);
}

// A slower kernel that can write into the whole takes over where the copy costs more than it loses.
TEST(Placement, SparesTakeOverWhereTheyPay) {
  RecordingLog log;
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.timingCache = &cache;
  const auto graph = graph::parse(
      joined("const %k : f32[16,16,1,1] = random(3)\n  %p : f32[2,16,7,5] = convolution(%x, %k) \"first\"", 16, 16));
  const auto first = compile::build(graph, options);
  options.errorOnTimingCacheMiss = true;
  const auto second = compile::build(graph, options);
  EXPECT_EQ(runtime::Engine::make(plan::Plan(first), {}, log)->serialize(),
            runtime::Engine::make(plan::Plan(second), {}, log)->serialize());
}

}  // namespace
}  // namespace tenon::test

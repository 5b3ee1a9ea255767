// Channels that are no whole packs of halves, between convolutions on GPUs.
#include "check_pass.h"

#include <limits>

#include "ops/op/convolution.h"

namespace tenon::passes {
namespace {

Options onCuda() {
  Options options;
  options.device = "cuda";
  return options;
}

// Two convolutions of single pixels and a depthwise one between them; 18 channels between.
std::string bottleneck(const std::string& type, int channels, const std::string& rest = "") {
  return fmt::format(
             "input %x : {0}[2,8,5,4]\nconst %u : {0}[{1},8,1,1] = random(1)\nconst %a : {0}[{1}] = random(2)\n"
             "const %v : {0}[{1},1,3,3] = random(3)\nconst %s : {0}[1,{1},1,1] = random(4)\nconst %w : {0}[9,{1},1,1] = random(5)\n"
             "%b : {0}[2,{1},5,4] = convolution{{hasBias=true epilogue=\"relu(x0)\"}}(%x, %u, %a) \"wide\"\n"
             "%c : {0}[2,{1},5,4] = convolution{{prePadding=[1,1] postPadding=[1,1] groups={1} epilogue=\"mul(x0,x1)\"}}(%b, %v, %s) \"deep\"\n"
             "%y : {0}[2,9,5,4] = convolution(%c, %w) \"narrow\"\noutput %y\n",
             type, channels) +
         rest;
}

int64_t channelsIn(const graph::Graph& graph, size_t node) {
  return graph.value(graph.node(graph.order()[node]).outputs[0]).type.shape[1].constant();
}

TEST(PadChannels, BetweenConvolutions) {
  for (const int channels : {18, 23, 58, 116}) {
    const auto graph =
        expectPass("pad_channels", bottleneck("f16", channels), "convolution convolution convolution", onCuda());
    for (const size_t node : {0, 1}) EXPECT_EQ(channelsIn(graph, node), (channels + 7) / 8 * 8);
    EXPECT_EQ(channelsIn(graph, 2), 9);  // an output
    EXPECT_EQ(graph.node(graph.order()[1]).op.as<ops::Convolution>()->groups, (channels + 7) / 8 * 8);
  }
}

TEST(PadChannels, WhatStays) {
  const auto stays = [](const std::string& text, const std::string& left, int64_t channels, const Options& options) {
    const auto graph = expectPass("pad_channels", text, left, options);
    EXPECT_EQ(channelsIn(graph, 0), channels);
  };
  const std::string all = "convolution convolution convolution";
  stays(bottleneck("f16", 18), all, 18, {});        // on the host
  stays(bottleneck("f32", 18), all, 18, onCuda());  // kernels of f32 have narrower packs
  stays(bottleneck("f16", 24), all, 24, onCuda());  // whole packs
  stays(bottleneck("f16", 10), all, 10, onCuda());  // few
  stays(bottleneck("f16", 18, "output %c\n"), all, 18, onCuda());
  const std::string reader = "%z : f16[2,18,5,4] = softmax{axis=1}(%b) \"reader\"\noutput %z\n";
  stays(bottleneck("f16", 18, reader), all + " softmax", 18, onCuda());
}

TEST(PadChannels, OfPicks) {
  expectPass(
      "pad_channels",
      "input %x : f16[2,8,5,4]\ninput %z : f16[2,3,5,4]\nconst %u : f16[18,8,1,1] = random(1)\nconst %w : f16[9,20,1,1] = random(2)\n"
      "const %i : i32[20] = {20,0,-1,3,19,5,17,16,15,14,13,12,11,10,9,8,7,6,4,-3}\n"
      "%b : f16[2,18,5,4] = convolution(%x, %u) \"wide\"\n%c : f16[2,20,5,4] = concat_gather{axis=1}(%b, %i, %z) \"pick\"\n"
      "%y : f16[2,9,5,4] = convolution(%c, %w) \"narrow\"\noutput %y\n",
      "convolution concat_gather convolution", onCuda());
}

// Halves of 36 channels, of which one gates the other.
TEST(PadChannels, ThroughSlicesAndScalarWork) {
  const std::string gated =
      "input %x : f16[2,8,5,4]\nconst %u : f16[36,8,1,1] = random(1)\nconst %v : f16[36,1,3,3] = random(2)\nconst %s : f16[18,1,1] = random(3)\n"
      "const %w : f16[9,18,1,1] = random(4)\n%b : f16[2,36,5,4] = convolution(%x, %u) \"into\"\n"
      "%c : f16[2,36,5,4] = convolution{prePadding=[1,1] postPadding=[1,1] groups=36}(%b, %v) \"wide\"\n"
      "%d : f16[2,18,5,4] = slice{start=[0,0,0,0] size=[2,18,5,4]}(%c) \"half\"\n"
      "%e : f16[2,18,5,4] = slice{start=[0,18,0,0] size=[2,18,5,4]}(%c) \"gate\"\n"
      "%f : f16[2,18,5,4] = pointwise{expr=\"tanh(x0);mul(t0,x1);mul(t1,x2)\"}(%d, %e, %s) \"gated\"\n"
      "%y : f16[2,9,5,4] = convolution(%f, %w) \"narrow\"\noutput %y\n";
  const auto graph = expectPass("pad_channels", gated,
                                "convolution convolution concat_gather concat_gather pointwise convolution", onCuda());
  EXPECT_EQ(channelsIn(graph, 0), 40);
  EXPECT_EQ(channelsIn(graph, 4), 24);
  // What reads the gated halves otherwise keeps them, and slices read the first of more channels.
  const auto kept =
      expectPass("pad_channels", gated + "%z : f16[2,18,5,4] = softmax{axis=1}(%f) \"reader\"\noutput %z\n",
                 "convolution convolution slice slice pointwise convolution softmax", onCuda());
  EXPECT_EQ(channelsIn(kept, 1), 40);
}

// A residual sum in an epilogue has as many channels as what it is added to.
TEST(PadChannels, ResidualSums) {
  const std::string text =
      "input %x : f16[2,8,5,4]\nconst %u : f16[18,8,1,1] = random(1)\nconst %v : f16[18,18,3,3] = random(2)\nconst %w : f16[9,18,1,1] = random(3)\n"
      "%b : f16[2,18,5,4] = convolution(%x, %u) \"first\"\n"
      "%c : f16[2,18,5,4] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue=\"add(x0,x1)\"}(%b, %v, %a) \"second\"\n"
      "%y : f16[2,9,5,4] = convolution(%c, %w) \"last\"\noutput %y\n";
  auto other = text;
  other.replace(other.find("%v, %a"), 6, "%v, %x2");
  const std::string all = "convolution convolution convolution";
  EXPECT_EQ(channelsIn(expectPass("pad_channels", "input %x2 : f16[2,18,5,4]\n" + other, all, onCuda()), 1), 18);
  auto own = text;
  own.replace(own.find("%v, %a"), 6, "%v, %d");
  own.insert(own.find("%c :"), "%d : f16[2,18,5,4] = convolution(%x, %u) \"side\"\n");
  EXPECT_EQ(channelsIn(expectPass("pad_channels", own, all + " convolution", onCuda()), 2), 24);
}

// A clip makes an infinity finite: no channel that was added may make it NaN.
TEST(PadChannels, InfinitiesStay) {
  auto text = bottleneck("f16", 18);
  text.replace(text.find("relu(x0)"), 8, "min(x0,6);max(t0,-6)");
  const auto before = graph::parse("graph \"g\" {\n" + text + "}\n");
  auto after = before;
  EXPECT_GT(runPass("pad_channels", after, onCuda()), 0);
  HostTensor x(DataType::kF16, {2, 8, 5, 4});
  for (int64_t i = 0; i < x.view().count(); ++i)
    x.view().storeDouble(i, i == 7 ? std::numeric_limits<double>::infinity() : 0.25);
  const TensorView inputs[] = {x.view()};
  const auto expected = graph::evaluate(before, inputs), got = graph::evaluate(after, inputs);
  for (int64_t i = 0; i < expected[0].view().count(); ++i) {
    const double a = expected[0].view().loadDouble(i), b = got[0].view().loadDouble(i);
    EXPECT_TRUE(a == b || std::abs(a - b) <= 1e-2 * std::abs(a) + 1e-2) << i << ": " << a << ", then " << b;
  }
}

}  // namespace
}  // namespace tenon::passes

// The pass that finds dilation which an exporter wrote out as zeros between the weights.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "check_pass.h"
#include "ops/op/convolution.h"

namespace tenon::passes {
namespace {

// A window of height x width as text, one for each of two channels, with numbers at these rows and columns only.
std::string window(int height, int width, const std::set<int>& rows, const std::set<int>& columns) {
  std::string text;
  for (int i = 0; i < 2 * height * width; ++i) {
    const bool tap = rows.count(i / width % height) != 0 && columns.count(i % width) != 0;
    text += (i == 0 ? "" : ",") + std::string(tap ? std::to_string(i % 7 + 1) : "0");
  }
  return fmt::format("const %w : f32[2,1,{},{}] = {{{}}}\n", height, width, text);
}

std::string body(const std::string& weights, int height, int width, const std::string& fields) {
  return "input %x : f32[2,2,13,14]\n" + weights +
         fmt::format("%c : f32[2,2,{},{}] = convolution{{{} groups=2}}(%x, %w) \"conv\"\noutput %c\n", height, width,
                     fields);
}

std::vector<int64_t> dilationsOf(const graph::Graph& graph) {
  return graph.node(graph.order().at(0)).op.as<ops::Convolution>()->dilations;
}

TEST(ThinWindows, ZerosBetweenTapsBecomeDilation) {
  const auto both = expectPass("detect_dilation", body(window(9, 9, {0, 4, 8}, {0, 4, 8}), 5, 6, ""), "convolution");
  EXPECT_EQ(dilationsOf(both), (std::vector<int64_t>{4, 4}));
  const auto one = expectPass("detect_dilation", body(window(5, 3, {0, 2, 4}, {0, 1, 2}), 9, 12, ""), "convolution");
  EXPECT_EQ(dilationsOf(one), (std::vector<int64_t>{2, 1}));
  const std::string fields = "strides=[2,3] dilations=[1,2] prePadding=[1,0]";
  const auto more = expectPass("detect_dilation", body(window(3, 5, {0, 2}, {0, 4}), 6, 2, fields), "convolution");
  EXPECT_EQ(dilationsOf(more), (std::vector<int64_t>{2, 8}));
}

TEST(ThinWindows, OtherWindowsStay) {
  for (const auto& text :
       {body(window(4, 4, {0, 2}, {0, 2}), 10, 11, ""), body(window(1, 1, {0}, {0}), 13, 14, ""),
        body(window(3, 3, {0, 1, 2}, {0, 1, 2}), 11, 12, ""), body(window(3, 3, {1}, {0, 1, 2}), 11, 12, ""),
        body(window(5, 5, {1, 3}, {1, 3}), 9, 10, "")}) {
    auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
    EXPECT_EQ(runPass("detect_dilation", graph), 0) << graph::text(graph);
  }
}

TEST(ThinWindows, WeightsOfOneTapAndOfNone) {
  const auto corner = expectPass("detect_dilation", body(window(3, 3, {0}, {0}), 11, 12, ""), "convolution");
  EXPECT_EQ(dilationsOf(corner), (std::vector<int64_t>{2, 2}));
  expectPass("detect_dilation", body(window(3, 3, {}, {}), 11, 12, ""), "convolution");
}

constexpr const char* kConvolution = R"g(input %x : f32[1,3,6,7]
  const %w : f32[4,3,1,1] = random(1)
  %c : f32[1,4,6,7] = convolution(%x, %w) "conv"
)g";

TEST(SinkWindows, NearestNeighboursRepeatWhatIsComputedOnce) {
  const std::string resize = "%r : f32[1,4,12,21] = resize{shape=[1,4,12,21]}(%c) \"resize\"\n";
  const std::string perChannel =
      "const %s : f32[1,4,1,1] = random(2)\n%y : f32[1,4,12,21] = pointwise{expr=\"mul(x0,x1);tanh(t0)\"}(%r, %s) \"y\"\n";
  expectPass("sink_windows", kConvolution + resize + perChannel + "output %y\n", "convolution pointwise resize");
  const std::string square = "%y : f32[1,4,12,21] = pointwise{expr=\"mul(x0,x1)\"}(%r, %r) \"y\"\noutput %y\n";
  expectPass("sink_windows", kConvolution + resize + square, "convolution pointwise resize");
  // What differs from place to place, what others read, what interpolates and what gets smaller stays.
  const std::string perColumn =
      "const %s : f32[21] = random(2)\n%y : f32[1,4,12,21] = pointwise{expr=\"add(x0,x1)\"}(%r, %s) \"y\"\noutput %y\n";
  expectPass("sink_windows", kConvolution + resize + perColumn, "convolution resize pointwise");
  expectPass("sink_windows", kConvolution + resize + perChannel + "output %y\noutput %r\n",
             "convolution resize pointwise");
  const std::string linear = "%r : f32[1,4,12,21] = resize{mode=linear shape=[1,4,12,21]}(%c) \"resize\"\n";
  expectPass("sink_windows", kConvolution + linear + perChannel + "output %y\n", "convolution resize pointwise");
  expectPass("sink_windows", kConvolution + std::string(R"g(%r : f32[1,4,3,7] = resize{shape=[1,4,3,7]}(%c) "resize"
    %y : f32[1,4,3,7] = pointwise{expr="relu(x0)"}(%r) "y"
    output %y
  )g"),
             "convolution resize pointwise");
}

TEST(SinkWindows, MaximaOfWhatKeepsTheOrder) {
  const auto body = [](const std::string& fields, const std::string& expr) {
    return kConvolution +
           ("%p : f32[1,4,3,4] = pooling{" + fields + "}(%c) \"pool\"\n%y : f32[1,4,3,4] = pointwise{expr=\"" + expr +
            "\"}(%p) \"y\"\noutput %y\n");
  };
  const std::string padded = "window=[2,2] strides=[2,2] prePadding=[0,1]";
  for (const char* expr : {"relu(x0)", "tanh(x0)", "sigmoid(x0)", "clip(x0,-0.25,0.5)", "leaky_relu(x0,0.1)"}) {
    expectPass("sink_windows", body(padded, expr), "convolution pointwise pooling");
  }
  for (const char* expr : {"neg(x0)", "leaky_relu(x0,-0.1)", "mul(x0,x0)", "sub(1,x0)"}) {
    expectPass("sink_windows", body(padded, expr), "convolution pooling pointwise");
  }
  expectPass("sink_windows", body("type=average " + padded, "relu(x0)"), "convolution pooling pointwise");
  // A window of padding alone gives the lowest number, which relu would make 0.
  expectPass("sink_windows", body("window=[2,2] strides=[2,2] prePadding=[0,2] postPadding=[0,-1]", "relu(x0)"),
             "convolution pooling pointwise");
}

}  // namespace
}  // namespace tenon::passes

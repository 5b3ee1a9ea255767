// SPDX-License-Identifier: Apache-2.0
// Normalizations over groups of channels, against their formula.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

// Opset 21: scale and bias for each channel. One group is all channels.
TEST(GroupNormalization, OverTheChannelsOfAGroup) {
  constexpr size_t kImages = 2, kChannels = 4, kPixels = 6;
  const Reals x = randomReals(kImages * kChannels * kPixels, 31), scale = randomReals(kChannels, 32),
              bias = randomReals(kChannels, 33);
  for (const size_t groups : {1U, 2U, 4U}) {
    ModelMaker maker(21);
    maker.input("x", {2, 4, 2, 3});
    maker.floats("scale", {4}, scale);
    maker.floats("bias", {4}, bias);
    ModelMaker::set(maker.node("GroupNormalization", {"x", "scale", "bias"}, {"y"}), "num_groups",
                    static_cast<int64_t>(groups));
    maker.output("y");
    std::vector<double> expected;
    const size_t count = kChannels / groups * kPixels;
    for (size_t first = 0; first < x.size(); first += count) {
      double mean = 0, square = 0;
      for (size_t i = 0; i < count; ++i) mean += x[first + i] / static_cast<double>(count);
      for (size_t i = 0; i < count; ++i) square += std::pow(x[first + i] - mean, 2) / static_cast<double>(count);
      for (size_t i = 0; i < count; ++i) {
        const size_t channel = (first + i) / kPixels % kChannels;
        expected.push_back((x[first + i] - mean) / std::sqrt(square + 1e-5) * scale[channel] + bias[channel]);
      }
    }
    expectNear(runModel(maker, {x}).at(0), expected);
  }
}

// 3000 halves of 30: they are 90000 in all and their squares 2700000, which no half holds.
TEST(Halves, SumsBeyondTheirRange) {
  const auto run = [](const char* type) {
    ModelMaker maker(13);
    maker.input("x", {3000});
    ModelMaker::set(maker.node("Cast", {"x"}, {"half"}), "to", int64_t{10});
    maker.node(type, {"half"}, {"made"});
    ModelMaker::set(maker.node("Cast", {"made"}, {"y"}), "to", int64_t{1});
    maker.output("y");
    return runModel(maker, {Reals(3000, 30)}).at(0);
  };
  EXPECT_NEAR(run("ReduceL2").at(0), 1643.17, 1);
  for (const float y : run("LpNormalization")) EXPECT_NEAR(y, 0.0182574, 2e-5);
  EXPECT_NEAR(run("ReduceLogSum").at(0), 11.4076, 8e-3);
}

}  // namespace
}  // namespace tenon::parsers::onnx

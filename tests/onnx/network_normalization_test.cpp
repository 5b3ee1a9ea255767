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

}  // namespace
}  // namespace tenon::parsers::onnx

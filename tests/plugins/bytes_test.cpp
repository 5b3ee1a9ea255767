// SPDX-License-Identifier: Apache-2.0
// Plugins on quantized tensors, between layers that quantize and dequantize.
#include <algorithm>
#include <cmath>

#include "support.h"

namespace tenon::test {
namespace {

class PluginBytes : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(log().take(), "");
    EXPECT_EQ(library_.liveObjects(), 0);
  }
  // x -> INT8 by one scale -> plugin -> FP32 by another one.
  static std::unique_ptr<nv::ICudaEngine> engine(nv::IPluginV3& plugin, const nv::Dims& shape, uint32_t flags,
                                                 const std::map<std::string, Range>& ranges = {}) {
    static const float in = 0.25F, out = 0.5F;
    const auto plan = build(
        [&](nv::INetworkDefinition& network) {
          const auto scale = [&](const float& value) {
            return network.addConstant(dims({}), {nv::DataType::kFLOAT, &value, 1})->getOutput(0);
          };
          nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, shape);
          nv::ITensor* bytes = network.addQuantize(*x, *scale(in), nv::DataType::kINT8)->getOutput(0);
          nv::ILayer* layer = network.addPluginV3(&bytes, 1, nullptr, 0, plugin);
          if (layer == nullptr) return false;
          layer->setName("the layer");
          nv::ITensor* y = network.addDequantize(*layer->getOutput(0), *scale(out), nv::DataType::kFLOAT)->getOutput(0);
          y->setName("y0");
          network.markOutput(*y);
          return true;
        },
        ranges, 3, flags);
    return plan != nullptr ? load(*plan) : nullptr;
  }
  static float quantized(float x) { return std::clamp(std::nearbyint(x / 0.25F), -128.0F, 127.0F); }
  static constexpr auto kStrong = 1U << static_cast<uint32_t>(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  Library library_;
};

TEST_F(PluginBytes, RowMajor) {
  const float factor = 3;
  const auto plugin = make("Scale", {{"factor", &factor, nv::PluginFieldType::kFLOAT32, 1}});
  for (const auto flags : {0U, kStrong}) {
    const auto made = engine(*plugin, dims({-1, 5}), flags, {{"x", {dims({1, 5}), dims({3, 5}), dims({8, 5})}}});
    ASSERT_NE(made, nullptr) << log().take();
    for (const int64_t rows : {3, 1, 8}) {
      const auto x = eighths(dims({rows, 5}), static_cast<int>(rows));
      auto expected = x.values;
      for (float& value : expected) value = 0.5F * std::clamp(3 * quantized(value), -128.0F, 127.0F);
      EXPECT_EQ(run(*made, {{"x", x}})["y0"].values, expected);
    }
  }
}

TEST_F(PluginBytes, InVectorsOfChannels) {
  const auto plugin = make("Bytes");
  for (const auto& shape : {dims({1, 32, 2, 3}), dims({2, 5, 3, 1}), dims({1, 67, 1, 2})}) {
    for (const auto flags : {0U, kStrong}) {
      const auto made = engine(*plugin, shape, flags);
      ASSERT_NE(made, nullptr) << log().take();
      const auto x = eighths(shape);
      auto expected = x.values;
      const auto plane = static_cast<size_t>(shape.d[2] * shape.d[3]);
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto channel = static_cast<float>(i / plane % static_cast<size_t>(shape.d[1]));
        expected[i] = 0.5F * std::clamp(quantized(expected[i]) + channel, -128.0F, 127.0F);
      }
      EXPECT_EQ(run(*made, {{"x", x}})["y0"].values, expected);
    }
  }
}

}  // namespace
}  // namespace tenon::test

// Products of matrices of INT32 and INT64, and quantized convolutions that are one convolution or two.
#include <cmath>
#include <random>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int32_t kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7;

void castInput(ModelMaker& maker, const std::string& name, const Ints& shape, int64_t type) {
  maker.input("real_" + name, shape);
  ModelMaker::set(maker.node("Cast", {"real_" + name}, {name}), "to", type);
}

Reals wholeNumbers(int64_t count, int low, int high, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(low, high);
  Reals result(static_cast<size_t>(count));
  for (float& value : result) value = static_cast<float>(draw(random));
  return result;
}

// Batches that broadcast, and vectors on either side: [2, 3] matrices of [3, 5] by [5, 4], or fewer.
TEST(IntegerSums, MatricesOfWideIntegers) {
  struct Case {
    Ints a, b;
    int64_t batchA, rows, batchB,
        columns;  // how many matrices the operands have, of which the result has the larger number
  };
  for (const auto& c :
       {Case{{3, 5}, {5, 4}, 1, 3, 1, 4}, Case{{1, 3, 5}, {2, 5, 4}, 1, 3, 2, 4}, Case{{2, 3, 5}, {5, 4}, 2, 3, 1, 4},
        Case{{5}, {2, 5, 4}, 1, 1, 2, 4}, Case{{2, 3, 5}, {5}, 2, 3, 1, 1}}) {
    constexpr int64_t kInner = 5;
    const Reals a = wholeNumbers(c.batchA * c.rows * kInner, -1000, 1000, 1);
    const Reals b = wholeNumbers(c.batchB * kInner * c.columns, -1000, 1000, 2);
    std::vector<int64_t> expected;
    for (int64_t batch = 0; batch < std::max(c.batchA, c.batchB); ++batch) {
      for (int64_t i = 0; i < c.rows; ++i) {
        for (int64_t j = 0; j < c.columns; ++j) {
          int64_t sum = 0;
          for (int64_t k = 0; k < kInner; ++k) {
            sum +=
                static_cast<int64_t>(a[static_cast<size_t>(((c.batchA == 1 ? 0 : batch) * c.rows + i) * kInner + k)]) *
                static_cast<int64_t>(
                    b[static_cast<size_t>(((c.batchB == 1 ? 0 : batch) * kInner + k) * c.columns + j)]);
          }
          expected.push_back(sum);
        }
      }
    }
    const auto maker = [&](int32_t type) {
      ModelMaker result(17);
      castInput(result, "a", c.a, type);
      castInput(result, "b", c.b, type);
      result.node("MatMul", {"a", "b"}, {"y"});
      result.output("y", {}, type);
      return result;
    };
    auto wide = maker(kInt64);
    EXPECT_EQ(runModel<int64_t>(wide, {a, b}).at(0), expected);
    auto narrow = maker(kInt32);
    EXPECT_EQ(runModel<int32_t>(narrow, {a, b}).at(0), std::vector<int32_t>(expected.begin(), expected.end()));
  }
}

// Lines, which are images of one row: strides, dilations, paddings that differ, groups.
TEST(IntegerSums, ConvolutionsOfLines) {
  struct Case {
    int64_t stride, dilation, before, behind, groups;
  };
  for (const auto& c : {Case{1, 1, 1, 1, 1}, Case{2, 1, 0, 2, 1}, Case{1, 3, 4, 1, 2}, Case{3, 2, 2, 0, 4}}) {
    constexpr int64_t kImages = 2, kChannels = 4, kLength = 23, kFilters = 8, kTaps = 3, kZero = 7;
    const int64_t each = kChannels / c.groups;
    const Reals x = wholeNumbers(kImages * kChannels * kLength, 0, 255, 5);
    const Reals w = wholeNumbers(kFilters * each * kTaps, -100, 100, 6);
    const int64_t length = (kLength + c.before + c.behind - c.dilation * (kTaps - 1) - 1) / c.stride + 1;
    std::vector<int32_t> expected;
    for (int64_t i = 0; i < kImages * kFilters * length; ++i) {
      const int64_t filter = i / length % kFilters;
      const int64_t first = filter / (kFilters / c.groups) * each;
      int32_t sum = 0;
      for (int64_t channel = 0; channel < each; ++channel) {
        for (int64_t tap = 0; tap < kTaps; ++tap) {
          const int64_t at = i % length * c.stride + tap * c.dilation - c.before;
          if (at < 0 || at >= kLength) continue;
          const int64_t place = ((i / length / kFilters) * kChannels + first + channel) * kLength + at;
          sum += (static_cast<int32_t>(x[static_cast<size_t>(place)]) - static_cast<int32_t>(kZero)) *
                 static_cast<int32_t>(w[static_cast<size_t>((filter * each + channel) * kTaps + tap)]);
        }
      }
      expected.push_back(sum);
    }
    ModelMaker maker(17);
    castInput(maker, "x", {kImages, kChannels, kLength}, kUint8);
    std::string raw;
    for (const float value : w) raw.push_back(static_cast<char>(static_cast<int>(value)));
    maker.initializer("w", {kFilters, each, kTaps}, kInt8).set_raw_data(raw);
    maker.initializer("zx", {}, kUint8).set_raw_data(std::string(1, static_cast<char>(kZero)));
    auto& node = maker.node("ConvInteger", {"x", "w", "zx"}, {"y"});
    ModelMaker::set(node, "strides", Ints{c.stride});
    ModelMaker::set(node, "dilations", Ints{c.dilation});
    ModelMaker::set(node, "pads", Ints{c.before, c.behind});
    ModelMaker::set(node, "group", c.groups);
    maker.output("y", {}, kInt32);
    EXPECT_EQ(runModel<int32_t>(maker, {x}).at(0), expected);
  }
}

// Few channels, whose sums a float holds, and many large weights, which are split; with and without a bias, which may
// be too large for a float itself.
TEST(IntegerSums, QuantizedConvolutions) {
  for (const int64_t channels : {3, 70}) {
    for (const int64_t bias : {0, 777, 1 << 30}) {
      for (const bool isSigned : {false, true}) {
        constexpr int64_t kSize = 5, kFilters = 2;
        const Reals x = wholeNumbers(channels * kSize * kSize, 0, 255, 3);
        const Reals w = wholeNumbers(kFilters * channels * 9, 90, 127, 4);
        const int64_t zeroX = 13, zeroY = isSigned ? -5 : 7;
        const std::vector<float> scaleW{0.01F, 0.002F};
        const float scaleX = 0.02F;
        const float scaleY = bias > 1000 ? 1e4F : static_cast<float>(channels) * 0.9F;
        ModelMaker maker(17);
        castInput(maker, "x", {1, channels, kSize, kSize}, kUint8);
        std::string raw;
        for (const float value : w) raw.push_back(static_cast<char>(static_cast<int>(value)));
        maker.initializer("w", {kFilters, channels, 3, 3}, kInt8).set_raw_data(raw);
        maker.floats("sx", {}, {scaleX});
        maker.floats("sw", {kFilters}, scaleW);
        maker.floats("sy", {}, {scaleY});
        maker.initializer("zx", {}, kUint8).set_raw_data(std::string(1, static_cast<char>(zeroX)));
        maker.initializer("zw", {}, kInt8).set_raw_data(std::string(1, '\0'));
        maker.initializer("zy", {}, isSigned ? kInt8 : kUint8).set_raw_data(std::string(1, static_cast<char>(zeroY)));
        std::vector<std::string> inputs{"x", "sx", "zx", "w", "sw", "zw", "sy", "zy"};
        if (bias != 0) {
          const int32_t values[] = {static_cast<int32_t>(bias), -static_cast<int32_t>(bias)};
          maker.initializer("bias", {kFilters}, kInt32).set_raw_data(values, sizeof(values));
          inputs.emplace_back("bias");
        }
        ModelMaker::set(maker.node("QLinearConv", inputs, {"q"}), "pads", Ints{1, 1, 1, 1});
        ModelMaker::set(maker.node("Cast", {"q"}, {"y"}), "to", int64_t{1});
        maker.output("y");
        const auto y = runModel(maker, {x}).at(0);
        ASSERT_EQ(y.size(), static_cast<size_t>(kFilters * kSize * kSize));
        for (int64_t at = 0; at < kFilters * kSize * kSize; ++at) {
          const int64_t filter = at / kSize / kSize, row = at / kSize % kSize, column = at % kSize;
          int64_t sum = filter == 0 ? bias : -bias;
          for (int64_t i = 0; i < channels * 9; ++i) {
            const int64_t r = row + i % 9 / 3 - 1, s = column + i % 3 - 1;
            if (r < 0 || r >= kSize || s < 0 || s >= kSize) continue;
            sum += (static_cast<int64_t>(x[static_cast<size_t>((i / 9 * kSize + r) * kSize + s)]) - zeroX) *
                   static_cast<int64_t>(w[static_cast<size_t>(filter * channels * 9 + i)]);
          }
          const float scale = scaleX * scaleW[static_cast<size_t>(filter)] / scaleY;
          const double real = std::nearbyint(static_cast<float>(sum) * scale) + static_cast<double>(zeroY);
          const double expected = std::clamp(real, isSigned ? -128. : 0., isSigned ? 127. : 255.);
          EXPECT_EQ(static_cast<double>(y[static_cast<size_t>(at)]), expected)
              << at << " of " << channels << ", bias " << bias;
        }
      }
    }
  }
}

// The node of com.microsoft over x of UINT8 with zero point 3, its result with zero point 7; real numbers of the
// result.
ModelMaker quantizedMean(const char* type, const Ints& shape) {
  ModelMaker maker(17);
  maker.proto().add_opset_import()->set_domain("com.microsoft");
  maker.proto().mutable_opset_import(1)->set_version(1);
  castInput(maker, "x", shape, kUint8);
  maker.floats("sx", {}, {0.02F});
  maker.floats("sy", {}, {0.05F});
  maker.initializer("zx", {}, kUint8).set_raw_data(std::string(1, '\3'));
  maker.initializer("zy", {}, kUint8).set_raw_data(std::string(1, '\7'));
  maker.node(type, {"x", "sx", "zx", "sy", "zy"}, {"q"}).set_domain("com.microsoft");
  ModelMaker::set(maker.node("Cast", {"q"}, {"y"}), "to", int64_t{1});
  maker.output("y");
  return maker;
}

// What differs from the formula by the rounding of a sum may come to the next number.
void expectMean(float got, double sum, double count) {
  const double expected = std::clamp(sum / count * 0.02 / 0.05 + 7, 0., 255.);
  EXPECT_LE(std::abs(static_cast<double>(got) - expected), 0.501) << sum << " of " << count;
  EXPECT_EQ(got, std::nearbyint(got));
}

TEST(IntegerSums, QuantizedAveragePool) {
  constexpr int64_t kChannels = 3, kRows = 5, kColumns = 7;
  const Reals x = wholeNumbers(kChannels * kRows * kColumns, 0, 255, 8);
  for (const bool last : {false, true}) {
    for (const bool includes : {false, true}) {
      auto maker = quantizedMean("QLinearAveragePool",
                                 last ? Ints{1, kRows, kColumns, kChannels} : Ints{1, kChannels, kRows, kColumns});
      auto& node = *maker.graph().mutable_node(1);
      ModelMaker::set(node, "kernel_shape", Ints{3, 2});
      ModelMaker::set(node, "pads", Ints{1, 0, 1, 1});
      ModelMaker::set(node, "strides", Ints{2, 1});
      ModelMaker::set(node, "channels_last", static_cast<int64_t>(last));
      ModelMaker::set(node, "count_include_pad", static_cast<int64_t>(includes));
      const auto y = runModel(maker, {x}).at(0);
      ASSERT_EQ(y.size(), static_cast<size_t>(kChannels * 3 * kColumns));
      for (int64_t i = 0; i < kChannels * 3 * kColumns; ++i) {
        const int64_t c = last ? i % kChannels : i / kColumns / 3;
        const int64_t place = last ? i / kChannels : i % (3 * kColumns);
        double sum = 0, count = 0;
        for (int64_t tap = 0; tap < 6; ++tap) {
          const int64_t row = place / kColumns * 2 + tap / 2 - 1, column = place % kColumns + tap % 2;
          const bool inside = row >= 0 && row < kRows && column < kColumns;
          const int64_t at = last ? (row * kColumns + column) * kChannels + c : (c * kRows + row) * kColumns + column;
          sum += inside ? static_cast<double>(x[static_cast<size_t>(at)]) - 3 : 0;
          count += inside || includes ? 1 : 0;
        }
        expectMean(y[static_cast<size_t>(i)], sum, count);
      }
    }
  }
}

TEST(IntegerSums, QuantizedReduceMean) {
  const Reals x = wholeNumbers(4 * 5 * 6, 0, 255, 9);
  for (const bool all : {false, true}) {
    auto maker = quantizedMean("QLinearReduceMean", {4, 5, 6});
    if (!all) ModelMaker::set(*maker.graph().mutable_node(1), "axes", Ints{0, -1});
    ModelMaker::set(*maker.graph().mutable_node(1), "keepdims", int64_t{all ? 1 : 0});
    const auto y = runModel(maker, {x}).at(0);
    ASSERT_EQ(y.size(), all ? 1U : 5U);
    for (size_t k = 0; k < y.size(); ++k) {
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) sum += all || i / 6 % 5 == k ? static_cast<double>(x[i]) - 3 : 0;
      expectMean(y[k], sum, all ? 120 : 24);
    }
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

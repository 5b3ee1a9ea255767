// Operators of integers and quantized values against their definitions: exact, whatever overflows.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int32_t kInt32 = 6;
constexpr int32_t kInt64 = 7;

// x cast to `type`, under the name `name`.
void castInput(ModelMaker& maker, const std::string& name, const Ints& shape, int64_t type) {
  maker.input("real_" + name, shape);
  ModelMaker::set(maker.node("Cast", {"real_" + name}, {name}), "to", type);
}

template <typename T>
void checkBits(int32_t type) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = 8 * sizeof(T);
  const std::vector<double> a{0, 1, -1, 12345, -12345, 1 << 24, 77, -128}, b{0, 3, 31, 4, 7, 2, 40, 65};
  std::vector<T> x, y;
  for (const double value : a) x.push_back(static_cast<T>(static_cast<int64_t>(value)));
  for (const double value : b) y.push_back(static_cast<T>(static_cast<int64_t>(value)));
  const auto run = [&](const std::string& op, const std::string& direction) {
    ModelMaker maker(28);
    castInput(maker, "a", {8}, type);
    castInput(maker, "b", {8}, type);
    auto& node =
        maker.node(op, op == "BitwiseNot" ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"}, {"y"});
    if (!direction.empty()) ModelMaker::set(node, "direction", direction);
    maker.output("y", {}, type);
    return runModel<T>(maker, {Reals(x.begin(), x.end()), Reals(y.begin(), y.end())}).at(0);
  };
  const auto left = run("BitShift", "LEFT"), right = run("BitShift", "RIGHT"), none = run("BitwiseNot", "");
  const auto all = run("BitwiseAnd", ""), any = run("BitwiseOr", ""), odd = run("BitwiseXor", "");
  for (size_t i = 0; i < a.size(); ++i) {
    const bool inside = y[i] < kBits;
    const T sign = static_cast<T>(x[i] < 0 ? -1 : 0);
    EXPECT_EQ(left[i], inside ? static_cast<T>(static_cast<U>(x[i]) << y[i]) : T(0)) << i;
    EXPECT_EQ(right[i], inside ? static_cast<T>(x[i] >> y[i]) : sign) << i;
    EXPECT_EQ(all[i], static_cast<T>(x[i] & y[i])) << i;
    EXPECT_EQ(any[i], static_cast<T>(x[i] | y[i])) << i;
    EXPECT_EQ(odd[i], static_cast<T>(x[i] ^ y[i])) << i;
    EXPECT_EQ(none[i], static_cast<T>(~x[i])) << i;
  }
}

TEST(Bits, ShiftsAndLogicAreThoseOfTheProcessor) {
  checkBits<int32_t>(kInt32);
  checkBits<int64_t>(kInt64);
  checkBits<uint8_t>(2);
}

TEST(Bits, OperandsAreBroadcast) {
  ModelMaker maker(28);
  castInput(maker, "a", {2, 3}, kInt32);
  castInput(maker, "b", {3}, kInt32);
  maker.node("BitwiseXor", {"a", "b"}, {"y"});
  maker.output("y", {}, kInt32);
  EXPECT_EQ(runModel<int32_t>(maker, {{1, 2, 3, 4, 5, 6}, {7, 8, 9}}).at(0),
            (std::vector<int32_t>{1 ^ 7, 2 ^ 8, 3 ^ 9, 4 ^ 7, 5 ^ 8, 6 ^ 9}));
}

TEST(Integers, ProductsAreExact) {
  const int64_t rows = 3, inner = 5000, columns = 2;  // more terms than a float counts exactly
  std::mt19937 random(3);
  std::uniform_int_distribution<int> bytes(0, 255);
  Reals a(static_cast<size_t>(rows * inner)), b(static_cast<size_t>(inner * columns));
  for (float& value : a) value = static_cast<float>(bytes(random));
  for (float& value : b) value = static_cast<float>(bytes(random));
  ModelMaker maker(17);
  castInput(maker, "a", {rows, inner}, 2);
  castInput(maker, "b", {inner, columns}, 2);
  const unsigned char zero = 200;
  maker.initializer("za", {}, 2).set_raw_data(&zero, 1);
  maker.node("MatMulInteger", {"a", "b", "za"}, {"y"});
  maker.output("y", {}, kInt32);
  const auto y = runModel<int32_t>(maker, {a, b}).at(0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += (static_cast<int64_t>(a[static_cast<size_t>(i * inner + k)]) - zero) *
               static_cast<int64_t>(b[static_cast<size_t>(k * columns + j)]);
      }
      EXPECT_EQ(y[static_cast<size_t>(i * columns + j)], sum) << i << "," << j;
    }
  }
}

// Rows of any rank by a constant matrix, with a scale and a zero point for each column.
TEST(Integers, QuantizedProductsOfRows) {
  const int64_t rows = 6, inner = 37, columns = 19;
  std::mt19937 random(5);
  std::uniform_int_distribution<int> bytes(0, 255);
  Reals a(static_cast<size_t>(rows * inner)), scales;
  for (float& value : a) value = static_cast<float>(bytes(random));
  std::string b, zeros;
  for (int64_t i = 0; i < inner * columns; ++i) b.push_back(static_cast<char>(bytes(random) - 128));
  for (int64_t j = 0; j < columns; ++j) {
    zeros.push_back(static_cast<char>(j - 9));
    scales.push_back(0.001f * static_cast<float>(j + 1));
  }
  ModelMaker maker(17);
  castInput(maker, "a", {2, 3, inner}, 2);
  maker.initializer("b", {inner, columns}, 3).set_raw_data(b);
  maker.floats("as", {}, {0.5f});
  maker.initializer("az", {}, 2).set_raw_data("\x64", 1);
  maker.floats("bs", {columns}, scales);
  maker.initializer("bz", {columns}, 3).set_raw_data(zeros);
  maker.floats("ys", {}, {2.0f});
  maker.initializer("yz", {}, 2).set_raw_data("\x80", 1);
  maker.node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"q"});
  ModelMaker::set(maker.node("Cast", {"q"}, {"y"}), "to", int64_t{1});
  maker.output("y");
  const auto y = runModel(maker, {a}).at(0);
  ASSERT_EQ(y.size(), static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += (static_cast<double>(a[static_cast<size_t>(i * inner + k)]) - 100) *
               (static_cast<signed char>(b[static_cast<size_t>(k * columns + j)]) - static_cast<double>(j - 9));
      const double real = sum * 0.5 * static_cast<double>(scales[static_cast<size_t>(j)]) / 2;
      EXPECT_NEAR(y[static_cast<size_t>(i * columns + j)], std::clamp(std::nearbyint(real) + 128, 0., 255.), 1)
          << i << "," << j;
    }
  }
}

// What is ignored counts nothing, whatever class it names.
TEST(Losses, IgnoredTargetsMayNameNoClass) {
  const Reals scores{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12};
  const auto lossOf = [&](const std::string& reduction) {
    ModelMaker maker(17);
    maker.input("x", {4, 3});
    castInput(maker, "t", {4}, kInt32);
    maker.floats("w", {3}, {1, 2, 4});
    auto& made = maker.node("NegativeLogLikelihoodLoss", {"x", "t", "w"}, {"y"});
    ModelMaker::set(made, "ignore_index", int64_t{-7});
    ModelMaker::set(made, "reduction", reduction);
    maker.output("y");
    return runModel(maker, {scores, {2, -7, 0, 1}}).at(0);
  };
  EXPECT_EQ(lossOf("none"), (Reals{12, 0, 7, 22}));
  EXPECT_EQ(lossOf("sum"), (Reals{41}));
  EXPECT_NEAR(lossOf("mean").at(0), 41. / 7, 1e-5);
}

// 520 channels of 3 x 3 places: more products than a float counts exactly.
TEST(Integers, LongConvolutionsAreExact) {
  constexpr int64_t kChannels = 520, kSize = 4;
  std::mt19937 random(3);
  std::uniform_int_distribution<int> bytes(150, 255);
  Reals x(static_cast<size_t>(kChannels * kSize * kSize)), w(static_cast<size_t>(kChannels * 9));
  for (Reals* list : {&x, &w})
    for (float& value : *list) value = static_cast<float>(bytes(random));
  ModelMaker maker(17);
  castInput(maker, "x", {1, kChannels, kSize, kSize}, 2);
  castInput(maker, "w", {1, kChannels, 3, 3}, 2);
  maker.node("ConvInteger", {"x", "w"}, {"y"});
  maker.output("y", {}, kInt32);
  const auto y = runModel<int32_t>(maker, {x, w}).at(0);
  for (int64_t place = 0; place < 4; ++place) {
    int64_t sum = 0;
    for (int64_t i = 0; i < kChannels * 9; ++i) {
      const int64_t row = place / 2 + i % 9 / 3, column = place % 2 + i % 3;
      sum += static_cast<int64_t>(x[static_cast<size_t>((i / 9 * kSize + row) * kSize + column)]) *
             static_cast<int64_t>(w[static_cast<size_t>(i)]);
    }
    EXPECT_EQ(y[static_cast<size_t>(place)], sum) << place;
  }
}

// Bytes of either sign, with zero points for all, for rows and for columns.
TEST(Integers, ProductsOfEitherSign) {
  const int64_t rows = 5, inner = 37, columns = 6;
  std::mt19937 random(5);
  for (const bool signedA : {false, true}) {
    for (const bool signedB : {false, true}) {
      const auto draw = [&](bool isSigned, int64_t count) {
        std::uniform_int_distribution<int> bytes(isSigned ? -128 : 0, isSigned ? 127 : 255);
        Reals values(static_cast<size_t>(count));
        for (float& value : values) value = static_cast<float>(bytes(random));
        return values;
      };
      const Reals a = draw(signedA, rows * inner), b = draw(signedB, inner * columns);
      const Reals za = draw(signedA, rows), zb = draw(signedB, columns);
      const auto raw = [](const Reals& values) {
        std::string text;
        for (const float value : values) text.push_back(static_cast<char>(static_cast<int>(value)));
        return text;
      };
      const auto type = [](bool isSigned) { return isSigned ? 3 : 2; };
      ModelMaker maker(17);
      castInput(maker, "a", {rows, inner}, type(signedA));
      maker.initializer("b", {inner, columns}, type(signedB)).set_raw_data(raw(b));
      maker.initializer("za", {rows, 1}, type(signedA)).set_raw_data(raw(za));
      maker.initializer("zb", {columns}, type(signedB)).set_raw_data(raw(zb));
      maker.node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
      maker.node("MatMulInteger", {"a", "b"}, {"z"});
      maker.output("y", {}, kInt32);
      maker.output("z", {}, kInt32);
      const auto outputs = runModel<int32_t>(maker, {a});
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double with = 0, without = 0;
          for (int64_t k = 0; k < inner; ++k) {
            const double x = a[static_cast<size_t>(i * inner + k)], w = b[static_cast<size_t>(k * columns + j)];
            without += x * w;
            with += (x - za[static_cast<size_t>(i)]) * (w - zb[static_cast<size_t>(j)]);
          }
          const auto at = static_cast<size_t>(i * columns + j);
          EXPECT_EQ(outputs.at(0)[at], with) << signedA << signedB << " " << i << "," << j;
          EXPECT_EQ(outputs.at(1)[at], without) << signedA << signedB << " " << i << "," << j;
        }
      }
    }
  }
}

// Two computed operands of either sign, whose zero points are computed, too, or left out.
TEST(Integers, ProductsOfComputedBytes) {
  const int64_t batch = 2, rows = 5, inner = 37, columns = 6;
  std::mt19937 random(6);
  for (const bool signedA : {false, true}) {
    for (const bool signedB : {false, true}) {
      const auto draw = [&](bool isSigned, int64_t count) {
        std::uniform_int_distribution<int> bytes(isSigned ? -128 : 0, isSigned ? 127 : 255);
        Reals values(static_cast<size_t>(count));
        for (float& value : values) value = static_cast<float>(bytes(random));
        return values;
      };
      const Reals a = draw(signedA, batch * rows * inner), b = draw(signedB, batch * inner * columns);
      const Reals za = draw(signedA, 1), zb = draw(signedB, columns);
      ModelMaker maker(17);
      castInput(maker, "a", {batch, rows, inner}, signedA ? 3 : 2);
      castInput(maker, "b", {batch, inner, columns}, signedB ? 3 : 2);
      castInput(maker, "za", {1}, signedA ? 3 : 2);
      castInput(maker, "zb", {columns}, signedB ? 3 : 2);
      maker.node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
      maker.node("MatMulInteger", {"a", "b"}, {"z"});
      maker.output("y", {}, kInt32);
      maker.output("z", {}, kInt32);
      const auto outputs = runModel<int32_t>(maker, {a, b, za, zb});
      for (int64_t i = 0; i < batch * rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double with = 0, without = 0;
          for (int64_t k = 0; k < inner; ++k) {
            const double x = a[static_cast<size_t>(i * inner + k)];
            const double w = b[static_cast<size_t>((i / rows * inner + k) * columns + j)];
            without += x * w;
            with += (x - za[0]) * (w - zb[static_cast<size_t>(j)]);
          }
          const auto at = static_cast<size_t>(i * columns + j);
          EXPECT_EQ(outputs.at(0)[at], with) << signedA << signedB << " " << i << "," << j;
          EXPECT_EQ(outputs.at(1)[at], without) << signedA << signedB << " " << i << "," << j;
        }
      }
    }
  }
}

// One scale and zero point for the tensor, and one for each slice of an axis.
TEST(Quantization, UnsignedBytes) {
  for (const bool perAxis : {false, true}) {
    ModelMaker maker(17);
    maker.input("x", {2, 3, 5});
    const Reals scales = perAxis ? Reals{0.5f, 0.03f, 2.0f} : Reals{0.25f};
    const std::string zeros = perAxis ? std::string("\x03\x80\xc8", 3) : std::string("\x11", 1);
    const Ints shape = perAxis ? Ints{3} : Ints{};
    maker.floats("scale", shape, scales);
    maker.initializer("zero", shape, 2).set_raw_data(zeros);
    for (auto* node :
         {&maker.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}), &maker.node("Identity", {"q"}, {"kept"}),
          &maker.node("DequantizeLinear", {"kept", "scale", "zero"}, {"y"})}) {
      if (node->op_type() != "Identity") ModelMaker::set(*node, "axis", int64_t{1});
    }
    ModelMaker::set(maker.node("Cast", {"q"}, {"bytes"}), "to", int64_t{1});
    maker.output("y");
    maker.output("bytes");
    const Reals x = randomReals(30, 7, -40.0f, 90.0f);
    std::vector<double> bytes, expected;
    for (size_t i = 0; i < 30; ++i) {
      const size_t k = perAxis ? i / 5 % 3 : 0;
      const double zero = static_cast<unsigned char>(zeros[k]);
      const double scaled = static_cast<double>(x[i]) / static_cast<double>(scales[k]);
      bytes.push_back(std::clamp(std::nearbyint(scaled) + zero, 0.0, 255.0));
      expected.push_back((bytes.back() - zero) * static_cast<double>(scales[k]));
    }
    const auto outputs = runModel(maker, {x});
    expectNear(outputs.at(0), expected);
    expectNear(outputs.at(1), bytes);
  }
}

TEST(Quantization, ZeroPointsAndBlocks) {
  ModelMaker maker(21);
  maker.input("x", {2, 4});
  maker.floats("scale", {2, 2}, {0.5f, 0.25f, 0.1f, 2.0f});
  const unsigned char zeros[] = {3, 128, 0, 200};
  maker.initializer("zero", {2, 2}, 2).set_raw_data(zeros, 4);
  auto& quantize = maker.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  auto& dequantize = maker.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  for (auto* node : {&quantize, &dequantize}) {
    ModelMaker::set(*node, "axis", int64_t{1});
    ModelMaker::set(*node, "block_size", int64_t{2});
  }
  maker.output("y");
  const Reals x{0.25f, -9, 1.125f, 400, 0.05f, -1, 99, -500};
  const float scales[] = {0.5f, 0.25f, 0.1f, 2.0f};
  std::vector<double> expected;
  for (size_t i = 0; i < 8; ++i) {
    const size_t block = i / 4 * 2 + i % 4 / 2;
    const double q = std::clamp<double>(std::nearbyint(x[i] / scales[block]) + zeros[block], 0.0, 255.0);
    expected.push_back((q - zeros[block]) * scales[block]);
  }
  expectNear(runModel(maker, {x}).at(0), expected);
}

TEST(Formulas, QuantizedChoices) {
  ModelMaker maker(17);
  maker.proto().add_opset_import()->set_domain("com.microsoft");
  maker.proto().mutable_opset_import(1)->set_version(1);
  castInput(maker, "chosen", {4}, 9);
  castInput(maker, "x", {4}, 2);
  castInput(maker, "z", {4}, 2);
  const unsigned char zero = 10;
  maker.initializer("zero", {}, 2).set_raw_data(&zero, 1);
  for (const auto& [name, step] : {std::pair{"a", 0.5F}, std::pair{"b", 0.25F}, std::pair{"c", 1.F}})
    maker.floats(name, {}, {step});
  maker.node("QLinearWhere", {"chosen", "x", "a", "zero", "z", "b", "zero", "c", "zero"}, {"y"})
      .set_domain("com.microsoft");
  ModelMaker::set(maker.node("Cast", {"y"}, {"whole"}), "to", int64_t{kInt32});
  maker.output("whole", {}, kInt32);
  EXPECT_EQ(runModel<int32_t>(maker, {{1, 0, 1, 0}, {20, 20, 4, 4}, {30, 30, 2, 2}}).at(0),
            (std::vector<int32_t>{15, 15, 7, 8}));
}

// Operators that com.microsoft has too, under versions of its own, where they take numbers as inputs.

}  // namespace
}  // namespace tenon::parsers::onnx

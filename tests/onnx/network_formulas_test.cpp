// Operators that are written as formulas of layers, against their definitions.
#include <cmath>
#include <complex>

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

TEST(Fourier, TransformsAndBack) {
  const size_t n = 7;
  const Reals x = randomReals(2 * n, 4);
  ModelMaker maker(20);
  maker.input("x", {2, static_cast<int64_t>(n), 1});
  maker.node("DFT", {"x"}, {"y"});
  auto& back = maker.node("DFT", {"y"}, {"z"});
  ModelMaker::set(back, "inverse", int64_t{1});
  maker.output("y");
  maker.output("z");
  const auto outputs = runModel(maker, {x});
  std::vector<double> spectrum, original;
  for (size_t row = 0; row < 2; ++row) {
    for (size_t k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += std::polar(static_cast<double>(x[row * n + i]), -2 * M_PI * static_cast<double>(i * k) / n);
      }
      spectrum.push_back(sum.real());
      spectrum.push_back(sum.imag());
      original.push_back(x[row * n + k]);
      original.push_back(0);
    }
  }
  expectNear(outputs.at(0), spectrum);
  expectNear(outputs.at(1), original);
}

// Lengths that are a product of two factors go by both, others do not.
TEST(Fourier, OfLongRows) {
  for (const size_t n : {256, 480, 521, 600}) {
    for (const bool oneSided : {true, false}) {
      SCOPED_TRACE(std::to_string(n) + (oneSided ? " one-sided" : ""));
      const size_t rows = 3;
      const Reals x = randomReals(rows * n, 4);
      ModelMaker maker(20);
      maker.input("x", {static_cast<int64_t>(rows), static_cast<int64_t>(n), 1});
      ModelMaker::set(maker.node("DFT", {"x"}, {"y"}), "onesided", int64_t{oneSided});
      maker.output("y");
      const auto y = runModel(maker, {x}).at(0);
      const size_t bins = oneSided ? n / 2 + 1 : n;
      ASSERT_EQ(y.size(), rows * bins * 2);
      double worst = 0;
      for (size_t row = 0; row < rows; ++row) {
        for (size_t k = 0; k < bins; ++k) {
          std::complex<double> sum = 0;
          for (size_t i = 0; i < n; ++i) {
            sum += std::polar(static_cast<double>(x[row * n + i]),
                              -2 * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n));
          }
          const size_t at = (row * bins + k) * 2;
          worst = std::max({worst, std::abs(static_cast<double>(y[at]) - sum.real()),
                            std::abs(static_cast<double>(y[at + 1]) - sum.imag())});
        }
      }
      EXPECT_LT(worst, 1e-4 * std::sqrt(static_cast<double>(n)));
    }
  }
}

TEST(Loss, WeightsAndIgnoredClasses) {
  const Reals x = randomReals(4 * 3, 2), weights{0.5f, 2, 1};
  ModelMaker maker(17);
  maker.input("x", {4, 3});
  maker.ints("t", {4}, {2, 0, 1, 0});
  maker.floats("w", {3}, weights);
  auto& node = maker.node("SoftmaxCrossEntropyLoss", {"x", "t", "w"}, {"y"});
  ModelMaker::set(node, "ignore_index", int64_t{1});
  maker.output("y");
  double loss = 0, total = 0;
  const size_t targets[] = {2, 0, 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    if (targets[i] == 1) continue;
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += std::exp(x[i * 3 + c]);
    loss -= weights[targets[i]] * (x[i * 3 + targets[i]] - std::log(sum));
    total += weights[targets[i]];
  }
  expectNear(runModel(maker, {x}).at(0), {loss / total});
}

TEST(Windows, MaximaWithDilationsAndTheirPlaces) {
  const Reals x = randomReals(36, 9);
  ModelMaker maker(17);
  maker.input("x", {1, 1, 6, 6});
  auto& node = maker.node("MaxPool", {"x"}, {"y", "places"});
  ModelMaker::set(node, "kernel_shape", Ints{2, 3});
  ModelMaker::set(node, "dilations", Ints{3, 2});
  ModelMaker::set(node, "pads", Ints{1, 1, 0, 1});
  maker.node("Cast", {"places"}, {"where"}).add_attribute();
  auto* to = maker.graph().mutable_node(1)->mutable_attribute(0);
  to->set_name("to");
  to->set_type(2);
  to->set_i(1);
  maker.output("y");
  maker.output("where");
  const auto outputs = runModel(maker, {x});
  std::vector<double> best, places;
  for (int row = -1; row + 3 < 6; ++row) {
    for (int column = -1; column + 4 < 7; ++column) {
      double most = -INFINITY;
      int place = -1;
      for (const int dy : {0, 3}) {
        for (const int dx : {0, 2, 4}) {
          const int r = row + dy, c = column + dx;
          if (r < 0 || c < 0 || r > 5 || c > 5 || x[static_cast<size_t>(r * 6 + c)] <= most) continue;
          place = r * 6 + c;
          most = x[static_cast<size_t>(place)];
        }
      }
      best.push_back(most);
      places.push_back(place);
    }
  }
  expectNear(outputs.at(0), best);
  expectNear(outputs.at(1), places);
}

// Without places, padded as said and to the same extent.
TEST(Windows, DilatedPools) {
  const Reals x = randomReals(2 * 7 * 9, 9);
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const bool same : {false, true}) {
      ModelMaker maker(19);
      maker.input("x", {1, 2, 7, 9});
      auto& node = maker.node(op, {"x"}, {"y"});
      ModelMaker::set(node, "kernel_shape", Ints{2, 3});
      ModelMaker::set(node, "dilations", Ints{3, 2});
      ModelMaker::set(node, "strides", Ints{1, 2});
      if (same) {
        ModelMaker::set(node, "auto_pad", std::string("SAME_UPPER"));
      } else {
        ModelMaker::set(node, "pads", Ints{1, 1, 2, 1});
      }
      maker.output("y");
      const int before = 1;  // both ways: 3 rows more than 7 in all, of which one in front
      const int left = same ? 2 : 1;
      std::vector<double> expected;
      for (int channel = 0; channel < 2; ++channel) {
        for (int row = 0; row < 7; ++row) {
          for (int column = 0; column < (same ? 5 : 4); ++column) {
            double most = -INFINITY, sum = 0;
            int cells = 0;
            for (int tap = 0; tap < 6; ++tap) {
              const int r = row - before + tap / 3 * 3, c = column * 2 - left + tap % 3 * 2;
              if (r < 0 || c < 0 || r > 6 || c > 8) continue;
              const auto value = static_cast<double>(x[static_cast<size_t>((channel * 7 + r) * 9 + c)]);
              most = std::max(most, value);
              sum += value;
              ++cells;
            }
            expected.push_back(op[0] == 'M' ? most : sum / cells);
          }
        }
      }
      expectNear(runModel(maker, {x}).at(0), expected);
    }
  }
}

TEST(Scatter, AddsUpdatesThatMeet) {
  const Reals x = randomReals(10, 1), updates = randomReals(6, 2);
  ModelMaker maker(18);
  maker.input("x", {2, 5});
  maker.input("u", {2, 3});
  maker.ints("i", {2, 3}, {0, 4, 0, -1, 2, 2});
  ModelMaker::set(maker.node("ScatterElements", {"x", "i", "u"}, {"y"}), "axis", int64_t{1});
  ModelMaker::set(*maker.graph().mutable_node(0), "reduction", std::string("add"));
  maker.output("y");
  std::vector<double> expected(x.begin(), x.end());
  const size_t places[] = {0, 4, 0, 9, 7, 7};
  for (size_t i = 0; i < 6; ++i) expected[places[i]] += updates[i];
  expectNear(runModel(maker, {x, updates}).at(0), expected);
}

TEST(Matrices, DeterminantsAndRunningProducts) {
  const Reals x = randomReals(16, 6);
  ModelMaker maker(26);
  maker.input("x", {4, 4});
  maker.ints("axis", {}, {1});
  maker.node("Det", {"x"}, {"d"});
  ModelMaker::set(maker.node("CumProd", {"x", "axis"}, {"p"}), "exclusive", int64_t{1});
  maker.output("d");
  maker.output("p");
  const auto outputs = runModel(maker, {x});
  // Elimination with pivots, where the importer expands cofactors.
  std::vector<double> m(x.begin(), x.end());
  double determinant = 1;
  for (size_t k = 0; k < 4; ++k) {
    size_t pivot = k;
    for (size_t r = k; r < 4; ++r) pivot = std::fabs(m[r * 4 + k]) > std::fabs(m[pivot * 4 + k]) ? r : pivot;
    for (size_t c = 0; c < 4 && pivot != k; ++c) std::swap(m[k * 4 + c], m[pivot * 4 + c]);
    determinant *= (pivot != k ? -1 : 1) * m[k * 4 + k];
    for (size_t r = k + 1; r < 4; ++r) {
      const double factor = m[r * 4 + k] / m[k * 4 + k];
      for (size_t c = k; c < 4; ++c) m[r * 4 + c] -= factor * m[k * 4 + c];
    }
  }
  expectNear(outputs.at(0), {determinant});
  std::vector<double> products;
  for (size_t i = 0; i < 16; ++i) products.push_back(i % 4 == 0 ? 1 : products[i - 1] * x[i - 1]);
  expectNear(outputs.at(1), products);
}

// a [2, 5] times a matrix [3, 5] of 4-bit numbers in blocks of 4, the low half of a byte first.
TEST(Packed, MatricesOfFourBits) {
  const Reals a = randomReals(10, 8), scales = randomReals(6, 9);
  std::string bytes;
  std::mt19937 random(5);
  for (int i = 0; i < 3 * 2 * 2; ++i) bytes.push_back(static_cast<char>(random() & 0xFF));
  ModelMaker maker(17);
  maker.proto().add_opset_import()->set_domain("com.microsoft");
  maker.proto().mutable_opset_import(1)->set_version(1);
  maker.input("a", {2, 5});
  maker.initializer("b", {3, 2, 2}, 2).set_raw_data(bytes);
  maker.floats("s", {6}, scales);
  auto& node = maker.node("MatMulNBits", {"a", "b", "s"}, {"y"});
  node.set_domain("com.microsoft");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, int>>{{"K", 5}, {"N", 3}, {"bits", 4}, {"block_size", 4}}) {
    ModelMaker::set(node, name, int64_t{value});
  }
  maker.output("y");
  std::vector<double> expected;
  for (size_t row = 0; row < 2; ++row) {
    for (size_t n = 0; n < 3; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 5; ++k) {
        const auto byte = static_cast<unsigned char>(bytes[n * 4 + k / 2]);
        sum += a[row * 5 + k] * (static_cast<double>(k % 2 == 0 ? byte & 15 : byte >> 4) - 8) * scales[n * 2 + k / 4];
      }
      expected.push_back(sum);
    }
  }
  expectNear(runModel(maker, {a}).at(0), expected);
}

// Distances of the rows of a [2, 3] from those of b [4, 3].
TEST(Formulas, DistancesOfRows) {
  const Reals a = randomReals(6, 1), b = randomReals(12, 2);
  for (const bool root : {false, true}) {
    ModelMaker maker(17);
    maker.proto().add_opset_import()->set_domain("com.microsoft");
    maker.proto().mutable_opset_import(1)->set_version(1);
    maker.input("a", {2, 3});
    maker.floats("b", {4, 3}, b);
    auto& node = maker.node("CDist", {"a", "b"}, {"y"});
    node.set_domain("com.microsoft");
    if (root) ModelMaker::set(node, "metric", "euclidean");
    maker.output("y");
    std::vector<double> expected;
    for (size_t i = 0; i < 8; ++i) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k) sum += std::pow(double{a[i / 4 * 3 + k]} - b[i % 4 * 3 + k], 2);
      expected.push_back(root ? std::sqrt(sum) : sum);
    }
    expectNear(runModel(maker, {a}).at(0), expected, 1e-5);
  }
}

// Two lists of bytes with steps of their own, chosen between and rounded to the steps of the result.
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
TEST(Formulas, OperatorsOfBothDomains) {
  const Reals x = randomReals(2 * 3 * 4 * 5, 7);
  const auto resultIn = [&](const char* domain, const std::string& type) {
    ModelMaker maker(17);
    maker.proto().add_opset_import()->set_domain("com.microsoft");
    maker.proto().mutable_opset_import(1)->set_version(1);
    maker.input("x", {2, 3, 4, 5});
    maker.ints("pads", {8}, {0, 0, 1, 2, 0, 0, 0, 1});
    maker.floats("fill", {}, {3.5F});
    maker.ints("k", {}, {1});
    maker.ints("places", {2, 3}, {0, 2, 1, 1, 0, 3});
    maker.floats("grid", {2, 2, 3, 2}, randomReals(24, 8));
    const std::vector<std::string> more = type == "Pad"        ? std::vector<std::string>{"pads", "fill"}
                                          : type == "Trilu"    ? std::vector<std::string>{"k"}
                                          : type == "GatherND" ? std::vector<std::string>{"places"}
                                                               : std::vector<std::string>{"grid"};
    std::vector<std::string> inputs{"x"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    maker.node(type, inputs, {"y"}).set_domain(domain);
    maker.output("y");
    return runModel(maker, {x}).at(0);
  };
  for (const char* type : {"Pad", "Trilu", "GatherND", "GridSample"}) {
    SCOPED_TRACE(type);
    const auto result = resultIn("com.microsoft", type);
    EXPECT_FALSE(result.empty());
    EXPECT_EQ(result, resultIn("", type));
  }
}

TEST(LayerNormalization, GivesMeanAndInverseDeviation) {
  ModelMaker maker(17);
  maker.input("x", {2, 3, 4});
  maker.floats("scale", {3, 4}, Reals(12, 1.0f));
  ModelMaker::set(maker.node("LayerNormalization", {"x", "scale"}, {"y", "mean", "inverse"}), "axis", int64_t{1});
  maker.output("y");
  maker.output("mean");
  maker.output("inverse");
  const Reals x = randomReals(24, 9);
  const auto outputs = runModel(maker, {x});
  std::vector<double> y, means, inverses;
  for (size_t row = 0; row < 2; ++row) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < 12; ++i) mean += x[row * 12 + i] / 12.0;
    for (size_t i = 0; i < 12; ++i) square += (x[row * 12 + i] - mean) * (x[row * 12 + i] - mean) / 12.0;
    means.push_back(mean);
    inverses.push_back(1 / std::sqrt(square + 1e-5));
    for (size_t i = 0; i < 12; ++i) y.push_back((x[row * 12 + i] - mean) * inverses.back());
  }
  expectNear(outputs.at(0), y);
  expectNear(outputs.at(1), means);
  expectNear(outputs.at(2), inverses);
}

// A body of one node, added to what is carried: x * 1 + x * 1 + ... by the trip count.
TEST(Control, LoopsWithAConstantCountAreRepeated) {
  ModelMaker maker(17);
  maker.input("x", {3});
  maker.ints("count", {}, {4});
  maker.floats("zero", {3}, {0, 0, 0});
  auto& node = maker.node("Loop", {"count", "", "zero"}, {"sum", "all"}, "loop");
  auto* attribute = node.add_attribute();
  attribute->set_name("body");
  attribute->set_type(5);
  auto* body = attribute->mutable_g();
  for (const char* name : {"i", "on", "carried"}) body->add_input()->set_name(name);
  const auto add = [&](const std::string& type, const std::vector<std::string>& in, const std::string& out) {
    auto* one = body->add_node();
    one->set_op_type(type);
    for (const auto& name : in) one->add_input(name);
    one->add_output(out);
  };
  add("Identity", {"on"}, "again");
  add("Add", {"carried", "x"}, "next");  // x is a name of the graph outside
  add("Identity", {"next"}, "copy");
  for (const char* name : {"again", "next", "copy"}) body->add_output()->set_name(name);
  maker.output("sum");
  maker.output("all");
  const Reals x = randomReals(3, 4);
  const auto outputs = runModel(maker, {x});
  std::vector<double> sum, all;
  for (const float value : x) sum.push_back(4.0 * value);
  for (int i = 1; i <= 4; ++i) {
    for (const float value : x) all.push_back(i * value);
  }
  expectNear(outputs.at(0), sum);
  expectNear(outputs.at(1), all);
}

TEST(Sparse, InitializersAreWrittenOut) {
  const auto model = [](const std::vector<int64_t>& places, const Ints& shape) {
    ModelMaker maker(17);
    maker.input("x", {2, 3});
    auto* sparse = maker.graph().add_sparse_initializer();
    sparse->mutable_values()->set_name("s");
    sparse->mutable_values()->set_data_type(1);
    sparse->mutable_values()->add_dims(2);
    const float values[] = {5, -7};
    sparse->mutable_values()->set_raw_data(values, 8);
    sparse->mutable_indices()->set_data_type(kInt64);
    for (const int64_t extent : shape) sparse->mutable_indices()->add_dims(extent);
    sparse->mutable_indices()->set_raw_data(places.data(), places.size() * sizeof(int64_t));
    sparse->add_dims(2);
    sparse->add_dims(3);
    maker.node("Add", {"x", "s"}, {"y"});
    maker.output("y");
    return maker;
  };
  const Reals x(6, 0.5f);
  expectNear(runModel(model({1, 5}, {2}), {x}).at(0), {0.5, 5.5, 0.5, 0.5, 0.5, -6.5});
  expectNear(runModel(model({0, 2, 1, 0}, {2, 2}), {x}).at(0), {0.5, 0.5, 5.5, -6.5, 0.5, 0.5});
  EXPECT_NE(refusal(model({1, 6}, {2})).find("index 6; expected 0 to 5"), std::string::npos);
  EXPECT_NE(refusal(model({1, 2, 3}, {3})).find("sparse tensor 's'"), std::string::npos);
}

// Ones and pairs of a pool, skips between the items of a pair, places of the output that no n-gram has.
TEST(TfIdfVectorizer, CountsAndWeights) {
  const auto model = [](const char* mode, bool weighted, const Ints& starts = {0, 2}) {
    ModelMaker maker(17);
    maker.input("x", {2, 6});
    ModelMaker::set(maker.node("Cast", {"x"}, {"items"}), "to", int64_t{6});
    auto& node = maker.node("TfIdfVectorizer", {"items"}, {"y"});
    ModelMaker::set(node, "mode", std::string(mode));
    ModelMaker::set(node, "min_gram_length", int64_t{1});
    ModelMaker::set(node, "max_gram_length", int64_t{2});
    ModelMaker::set(node, "max_skip_count", int64_t{1});
    ModelMaker::set(node, "ngram_counts", starts);
    ModelMaker::set(node, "ngram_indexes", Ints{4, 0, 2});
    ModelMaker::set(node, "pool_int64s", Ints{7, 3, 3, 7});
    if (weighted) {
      auto* attribute = node.add_attribute();
      attribute->set_name("weights");
      attribute->set_type(6);
      for (const float weight : {0.5F, 2.0F, -1.0F}) attribute->add_floats(weight);
    }
    maker.output("y");
    return maker;
  };
  const Reals x{3, 7, 7, 3, 1, 7, 1, 1, 1, 1, 1, 3};
  // Sevens at 4, threes at 0, pairs (3, 7) with nothing or one item between at 2: places 0-1, 0-2 and 3-5.
  expectNear(runModel(model("TF", true), {x}).at(0), {2, 0, 3, 0, 3, 1, 0, 0, 0, 0});
  expectNear(runModel(model("IDF", true), {x}).at(0), {2, 0, -1, 0, 0.5, 2, 0, 0, 0, 0});
  expectNear(runModel(model("TFIDF", true), {x}).at(0), {4, 0, -3, 0, 1.5, 2, 0, 0, 0, 0});
  expectNear(runModel(model("IDF", false), {x}).at(0), {1, 0, 1, 0, 1, 1, 0, 0, 0, 0});
  const auto said = refusal(model("TF", false, {3, 2}));
  EXPECT_NE(said.find("ngram_counts has 2 behind 3"), std::string::npos) << said;
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Einsum against the sum over all indices, and layers of indices and grids against their definitions.
#include <cmath>
#include <map>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

// The value of an equation without ellipsis by its definition: for each index of the result the sum of the products
// over all other indices.
std::vector<double> einsum(const std::vector<std::string>& terms, const std::string& result,
                           const std::map<char, int64_t>& extents, const std::vector<Reals>& operands) {
  std::string letters;
  for (const auto& [letter, extent] : extents) letters += letter;
  int64_t total = 1, size = 1;
  for (const char letter : letters) total *= extents.at(letter);
  for (const char letter : result) size *= extents.at(letter);
  std::vector<double> sums(static_cast<size_t>(size), 0);
  for (int64_t number = 0; number < total; ++number) {
    std::map<char, int64_t> index;
    int64_t rest = number;
    for (const char letter : letters) {
      index[letter] = rest % extents.at(letter);
      rest /= extents.at(letter);
    }
    const auto place = [&](const std::string& term) {
      int64_t at = 0;
      for (const char letter : term) at = at * extents.at(letter) + index[letter];
      return static_cast<size_t>(at);
    };
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i) product *= operands[i][place(terms[i])];
    sums[place(result)] += product;
  }
  return sums;
}

// `type`: what the operands are cast to; 0: they stay as they are.
void check(const std::string& equation, const std::vector<std::string>& terms, const std::string& result,
           const std::map<char, int64_t>& extents, int64_t type = 0) {
  SCOPED_TRACE(equation);
  ModelMaker maker(17);
  std::vector<Reals> operands;
  std::vector<std::string> names;
  for (size_t i = 0; i < terms.size(); ++i) {
    Ints shape;
    for (const char letter : terms[i]) shape.push_back(extents.at(letter));
    names.push_back("x" + std::to_string(i));
    maker.input(names.back(), shape);
    operands.push_back(randomReals(static_cast<size_t>(elementCount(shape)), static_cast<unsigned>(i) + 5, -9, 9));
    if (type == 0) continue;
    for (float& value : operands.back()) value = std::trunc(value);
    ModelMaker::set(maker.node("Cast", {names.back()}, {"w" + std::to_string(i)}), "to", type);
    names.back() = "w" + std::to_string(i);
  }
  ModelMaker::set(maker.node("Einsum", names, {type == 0 ? "y" : "v"}), "equation", equation);
  if (type != 0) ModelMaker::set(maker.node("Cast", {"v"}, {"y"}), "to", int64_t{1});
  maker.output("y");
  const auto outputs = runModel(maker, operands);
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], einsum(terms, result, extents, operands));
}

TEST(Einsum, ComputesTheSumOverAllOtherIndices) {
  const std::map<char, int64_t> e{{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}, {'l', 3}};
  const auto with = [&](const std::string& letters) {
    std::map<char, int64_t> some;
    for (const char letter : letters) some[letter] = e.at(letter);
    return some;
  };
  check("ij,jk->ik", {"ij", "jk"}, "ik", with("ijk"));
  check("bij,bjk->bik", {"bij", "bjk"}, "bik", with("bijk"));
  check(" ij , ij -> ij ", {"ij", "ij"}, "ij", with("ij"));
  check("ij,ij", {"ij", "ij"}, "", with("ij"));
  check("ji", {"ji"}, "ij", with("ij"));
  check("ij->", {"ij"}, "", with("ij"));
  check("ij->j", {"ij"}, "j", with("ij"));
  check("ii->i", {"ii"}, "i", with("i"));
  check("bii->b", {"bii"}, "b", with("bi"));
  check("i,j->ji", {"i", "j"}, "ji", with("ij"));
  check("bij,kj,il->kbl", {"bij", "kj", "il"}, "kbl", with("bijkl"));
  check("ijb,jk->ib", {"ijb", "jk"}, "ib", with("ijbk"));
  check("bji,bjk->ikb", {"bji", "bjk"}, "ikb", with("bijk"));
}

TEST(Einsum, EllipsesStandForTheRest) {
  const std::map<char, int64_t> e{{'a', 2}, {'b', 3}, {'i', 4}, {'j', 2}, {'k', 3}};
  check("...ij,...jk->...ik", {"abij", "abjk"}, "abik", e);
  check("...ij->...", {"abij"}, "ab", {{'a', 2}, {'b', 3}, {'i', 4}, {'j', 2}});
  check("...ij,jk", {"aij", "jk"}, "aik", {{'a', 2}, {'i', 4}, {'j', 2}, {'k', 3}});
}

TEST(Einsum, OfIntegers) {
  const std::map<char, int64_t> e{{'a', 2}, {'b', 3}, {'i', 4}, {'j', 5}, {'k', 3}};
  constexpr int64_t kInt32 = 6, kInt64 = 7;
  for (const int64_t type : {kInt32, kInt64}) {
    const auto with = [&](const std::string& letters) {
      std::map<char, int64_t> some;
      for (const char letter : letters) some[letter] = e.at(letter);
      return some;
    };
    check("ij,jk->ik", {"ij", "jk"}, "ik", with("ijk"), type);
    check("ij,jk", {"ij", "jk"}, "ik", with("ijk"), type);
    check("kj,bij->bki", {"kj", "bij"}, "bki", with("bijk"), type);
    check("i,ij,j->", {"i", "ij", "j"}, "", with("ij"), type);
    check("ij,ji->ij", {"ij", "ji"}, "ij", with("ij"), type);
    check("...ij,...jk->...ik", {"abij", "abjk"}, "abik", e, type);
    check("...ij,jk->i...k", {"abij", "jk"}, "iabk", e, type);
    check("...ij,...jk", {"bij", "abjk"}, "abik", e, type);
    check("...j,j->", {"abj", "j"}, "", with("abj"), type);
    check("ii->i", {"ii"}, "i", with("i"), type);
  }
}

TEST(Einsum, WrongEquationsAreRefused) {
  const auto refused = [](const std::string& equation) {
    ModelMaker maker(17);
    maker.input("x", {2, 3});
    ModelMaker::set(maker.node("Einsum", {"x"}, {"y"}, "sum"), "equation", equation);
    maker.output("y");
    return refusal(maker);
  };
  EXPECT_NE(refused("i->i").find("'sum'"), std::string::npos);
  EXPECT_NE(refused("i->i").find("operand 0 has 2 dimensions; the equation names 1 of it"), std::string::npos)
      << refused("i->i");
  EXPECT_NE(refused("i2->i").find("got '2' in a term"), std::string::npos) << refused("i2->i");
  EXPECT_NE(refused("ij->k").find("names 'k', which no operand has"), std::string::npos);
  EXPECT_NE(refused("ij->ii").find("names 'i' twice"), std::string::npos);
  EXPECT_NE(refused("ij,jk->ik").find("2 operands, the layer 1 inputs"), std::string::npos) << refused("ij,jk->ik");
}

TEST(OneHot, PutsOnWhereTheIndexStands) {
  for (const int64_t axis : {-1, 0, 1}) {
    ModelMaker maker(17);
    maker.input("x", {3, 2});
    maker.ints("depth", {}, {4});
    maker.floats("values", {2}, {-0.5f, 2.5f});
    ModelMaker::set(maker.node("OneHot", {"x", "depth", "values"}, {"y"}), "axis", axis);
    maker.output("y");
    const Reals x{0, 3, -1, 9, 2, -4};  // 9 is outside: a row without a place
    const auto outputs = runModel(maker, {x});
    std::vector<double> expected(24, -0.5);
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t index = static_cast<int64_t>(x[static_cast<size_t>(i)]) + (x[static_cast<size_t>(i)] < 0 ? 4 : 0);
      if (index > 3) continue;
      const int64_t row = i / 2, column = i % 2;
      const int64_t place = axis == 0 ? index * 6 + i : axis == 1 ? (row * 4 + index) * 2 + column : i * 4 + index;
      expected[static_cast<size_t>(place)] = 2.5;
    }
    ASSERT_EQ(outputs.size(), 1u);
    expectNear(outputs[0], expected);
  }
}

TEST(ReverseSequence, TurnsTheFirstElements) {
  ModelMaker maker(17);
  maker.input("x", {5, 3, 2});
  maker.ints("lengths", {3}, {5, 1, 3});
  maker.node("ReverseSequence", {"x", "lengths"}, {"y"});
  maker.output("y");
  const Reals x = randomReals(30, 3);
  const auto outputs = runModel(maker, {x});
  const Ints lengths{5, 1, 3};
  std::vector<double> expected;
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t length = lengths[static_cast<size_t>(b)];
      const int64_t from = t < length ? length - 1 - t : t;
      for (int64_t i = 0; i < 2; ++i) expected.push_back(x[static_cast<size_t>((from * 3 + b) * 2 + i)]);
    }
  }
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], expected);
}

// Batch before steps, and axes behind others.
TEST(ReverseSequence, OtherAxes) {
  struct Case {
    int64_t batch, time;
  };
  for (const auto& [batch, time] : {Case{0, 1}, Case{1, 0}, Case{2, 0}, Case{1, 2}}) {
    const Ints shape{4, 3, 4, 2};
    const Ints lengths{4, 1, 3, 2};
    const auto rows = shape[static_cast<size_t>(batch)];
    const Ints given(lengths.begin(), lengths.begin() + rows);
    Ints fitting;  // no length beyond its axis
    for (const int64_t length : given) fitting.push_back(std::min(length, shape[static_cast<size_t>(time)]));
    ModelMaker maker(17);
    maker.input("x", shape);
    maker.ints("lengths", {rows}, fitting);
    auto& node = maker.node("ReverseSequence", {"x", "lengths"}, {"y"});
    ModelMaker::set(node, "batch_axis", batch);
    ModelMaker::set(node, "time_axis", time);
    maker.output("y");
    const Reals x = randomReals(96, 3);
    std::vector<double> expected;
    for (int64_t i = 0; i < 96; ++i) {
      Ints at{i / 24, i / 8 % 3, i / 2 % 4, i % 2};
      const int64_t length = fitting[static_cast<size_t>(at[static_cast<size_t>(batch)])];
      int64_t& step = at[static_cast<size_t>(time)];
      step = step < length ? length - 1 - step : step;
      expected.push_back(x[static_cast<size_t>(((at[0] * 3 + at[1]) * 4 + at[2]) * 2 + at[3])]);
    }
    SCOPED_TRACE(fmt::format("batch {}, time {}", batch, time));
    expectNear(runModel(maker, {x}).at(0), expected);
  }
}

double pixelAt(const Reals& image, int64_t height, int64_t width, int64_t row, int64_t column, bool border) {
  if (border) {
    row = std::min(std::max<int64_t>(row, 0), height - 1);
    column = std::min(std::max<int64_t>(column, 0), width - 1);
  }
  const bool inside = row >= 0 && row < height && column >= 0 && column < width;
  return inside ? image[static_cast<size_t>(row * width + column)] : 0.0;
}

TEST(GridSample, BilinearWithBothPaddings) {
  const int64_t height = 5, width = 4;
  const Reals image = randomReals(20, 5), grid = randomReals(2 * 21, 6, -1.4f, 1.4f);
  for (const bool corners : {false, true}) {
    for (const bool border : {false, true}) {
      ModelMaker maker(20);
      maker.input("x", {1, 1, height, width});
      maker.input("grid", {1, 7, 3, 2});
      auto& node = maker.node("GridSample", {"x", "grid"}, {"y"});
      ModelMaker::set(node, "align_corners", int64_t{corners});
      ModelMaker::set(node, "padding_mode", std::string(border ? "border" : "zeros"));
      maker.output("y");
      const auto outputs = runModel(maker, {image, grid});
      std::vector<double> expected;
      const auto pixels = [&](double place, int64_t size) {
        const double pixel = corners ? (place + 1) / 2 * static_cast<double>(size - 1)
                                     : ((place + 1) * static_cast<double>(size) - 1) / 2;
        return border ? std::min(std::max(pixel, 0.0), static_cast<double>(size - 1)) : pixel;
      };
      for (size_t i = 0; i < 21; ++i) {
        const double column = pixels(grid[2 * i], width), row = pixels(grid[2 * i + 1], height);
        const double left = std::floor(column), top = std::floor(row);
        double sum = 0;
        for (const int64_t dy : {0, 1}) {
          for (const int64_t dx : {0, 1}) {
            const double weight =
                (dy != 0 ? row - top : 1 - (row - top)) * (dx != 0 ? column - left : 1 - (column - left));
            sum += weight * pixelAt(image, height, width, static_cast<int64_t>(top) + dy,
                                    static_cast<int64_t>(left) + dx, border);
          }
        }
        expected.push_back(sum);
      }
      ASSERT_EQ(outputs.size(), 1u);
      expectNear(outputs[0], expected);
    }
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

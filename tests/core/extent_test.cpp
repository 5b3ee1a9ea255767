// Symbolic extents: canonical form, evaluation, bounds, text, checked by random expressions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/error.h"
#include "core/extent.h"

namespace tenon {
namespace {

const Extent kN = Extent::symbol("N");
const Extent kM = Extent::symbol("M");

int64_t naiveFloor(int64_t a, int64_t b) { return static_cast<int64_t>(std::floor(static_cast<long double>(a) / b)); }
int64_t naiveCeil(int64_t a, int64_t b) { return static_cast<int64_t>(std::ceil(static_cast<long double>(a) / b)); }

// A random expression together with its value under given symbol values, computed without Extent.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {
    for (const auto* name : {"N", "M", "batch size", "k.1"}) values[name] = pick(-9, 9);
  }

  struct Result {
    Extent extent;
    int64_t value;
  };

  Result expression(int depth) {
    if (depth == 0 || pick(0, 4) == 0) return leaf();
    const Result a = expression(depth - 1);
    const Result b = expression(depth - 1);
    switch (pick(0, 10)) {
      case 0: return {a.extent + b.extent, a.value + b.value};
      case 1: return {a.extent - b.extent, a.value - b.value};
      case 2: return {a.extent * b.extent, a.value * b.value};
      case 3: return {min(a.extent, b.extent), std::min(a.value, b.value)};
      case 4: return {max(a.extent, b.extent), std::max(a.value, b.value)};
      case 5: return {equal(a.extent, b.extent), a.value == b.value};
      case 6: return {less(a.extent, b.extent), a.value < b.value};
      case 7: {
        const int64_t divisor = pick(0, 1) == 0 ? pick(1, 7) : pick(-7, -1);
        return {floorDiv(a.extent, divisor), naiveFloor(a.value, divisor)};
      }
      case 8: {
        const int64_t divisor = pick(0, 1) == 0 ? pick(1, 7) : pick(-7, -1);
        return {ceilDiv(a.extent, divisor), naiveCeil(a.value, divisor)};
      }
      case 9:
        if (b.value == 0) return a;
        return {floorDiv(a.extent, b.extent), naiveFloor(a.value, b.value)};
      default: {
        const Extent divisor = max(b.extent, 1);
        return {ceilDiv(a.extent, divisor), naiveCeil(a.value, std::max<int64_t>(b.value, 1))};
      }
    }
  }

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

  SymbolValues values;

 private:
  Result leaf() {
    if (pick(0, 1) == 0) {
      const int64_t value = pick(-5, 20);
      return {value, value};
    }
    auto chosen = values.begin();
    std::advance(chosen, pick(0, static_cast<int64_t>(values.size()) - 1));
    return {Extent::symbol(chosen->first), chosen->second};
  }

  std::mt19937_64 engine_;
};

TEST(Extent, RandomExpressionsEvaluateToTheirValue) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const auto [extent, value] = random.expression(3);
    EXPECT_EQ(extent.evaluate(random.values), value) << extent.text() << " seed " << seed;
  }
}

TEST(Extent, TextReadsBack) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Extent extent = random.expression(3).extent;
    const Extent read = Extent::parse(extent.text());
    EXPECT_EQ(read, extent) << extent.text() << " seed " << seed;
    EXPECT_EQ(read.text(), extent.text()) << "seed " << seed;
  }
}

TEST(Extent, SubstitutionOfConstantsIsEvaluation) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const auto [extent, value] = random.expression(3);
    std::map<std::string, Extent, std::less<>> constants;
    for (const auto& [name, number] : random.values) constants.emplace(name, number);
    const Extent result = extent.substitute(constants);
    ASSERT_TRUE(result.isConstant()) << extent.text();
    EXPECT_EQ(result.constant(), value) << extent.text() << " seed " << seed;
  }
}

TEST(Extent, PartialSubstitutionKeepsTheValue) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const auto [extent, value] = random.expression(3);
    const auto replacement = Extent::symbol("M") + Extent(random.values["N"] - random.values["M"]);
    EXPECT_EQ(extent.substitute({{"N", replacement}}).evaluate(random.values), value) << extent.text();
  }
}

TEST(Extent, BoundsContainTheValue) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const auto [extent, value] = random.expression(3);
    SymbolIntervals intervals;
    for (const auto& [name, number] : random.values) {
      intervals[name] = {number - random.pick(0, 3), number + random.pick(0, 3)};
    }
    const auto bounds = extent.bounds(intervals);
    EXPECT_LE(bounds.low, value) << extent.text() << " seed " << seed;
    EXPECT_GE(bounds.high, value) << extent.text() << " seed " << seed;
  }
}

TEST(Extent, SumsAndProductsAreCanonical) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const Extent a = random.expression(2).extent;
    const Extent b = random.expression(2).extent;
    const Extent c = random.expression(2).extent;
    EXPECT_EQ(a + b, b + a);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ((a + b) + c, a + (b + c));
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * (b + c), a * b + a * c);
    EXPECT_EQ(a - a, Extent(0));
    EXPECT_EQ(min(a, b), min(b, a));
    EXPECT_EQ(max(a, b), max(b, a));
    EXPECT_EQ(equal(a, b), equal(b, a));
    EXPECT_EQ(max(a, a), a);
    EXPECT_EQ(max(a, max(b, c)), max(max(a, b), c));
    EXPECT_EQ(max(a, min(a, b)), a);
  }
}

TEST(Extent, KnownForms) {
  EXPECT_EQ((kN * 2 + 1).text(), "2*N+1");
  EXPECT_EQ((Extent(1) - kN).text(), "-N+1");
  EXPECT_EQ(floorDiv(kN * 4 + 3, 2), kN * 2 + 1);
  EXPECT_EQ(floorDiv(kN + 1, 2).text(), "floordiv(N+1,2)");
  EXPECT_EQ(ceilDiv(kN * 2, 2), kN);
  EXPECT_EQ(ceilDiv(kN, 2), floorDiv(kN + 1, 2));
  EXPECT_EQ(floorDiv(kN * kM * 6, kN * 3), kM * 2);
  EXPECT_EQ(ceilDiv(kN * kM, kM), kN);
  EXPECT_EQ(floorDiv((kN + 1) * (kM + 1) * 16, (kN + 1) * (kM + 1)), Extent(16));
  EXPECT_EQ(floorDiv((kN + 2) * (kN - kM), kN + 2), kN - kM);
  EXPECT_EQ(floorDiv((Extent(1) - kN) * (kM + 3), Extent(1) - kN), kM + 3);
  EXPECT_EQ(ceilDiv((kN + kM) * (kN + kM) * 3, kN + kM), (kN + kM) * 3);
  EXPECT_EQ(floorDiv(kN * 2 + 1, kN + 1).text(), "floordiv(2*N+1,N+1)");
  EXPECT_EQ(max(kN, kN + 2), kN + 2);
  EXPECT_EQ(min(kN, kN + 2), kN);
  EXPECT_EQ(max(kN, min(kN, 1)), kN);
  EXPECT_EQ(min(max(kM, kN), kN), kN);
  EXPECT_EQ(max(max(kN, kM), max(kM, kN + 1)), max(kM, kN + 1));
  EXPECT_EQ(max(min(512, min(9999, kM)), kM), kM);
  EXPECT_EQ(max(kN, max(kM, 3)).text(), "max(max(3,M),N)");
  EXPECT_EQ(less(kN, kN + 1), Extent(1));
  EXPECT_EQ(Extent::symbol("batch size").text(), "'batch size'");
  EXPECT_EQ(product({kN, 3, kM}), kM * kN * 3);
  EXPECT_EQ(text(Shape{kN, 3}), "[N,3]");
}

TEST(Extent, NegativeDividendsRoundDown) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(floorDiv(Extent(-7), 2), Extent(-4));
  EXPECT_EQ(ceilDiv(Extent(-7), 2), Extent(-3));
  EXPECT_EQ(floorDiv(Extent(lowest), 2), Extent(lowest / 2));
  EXPECT_EQ(ceilDiv(Extent(lowest), 3), Extent(lowest / 3));
  EXPECT_EQ(floorDiv(kN, 3).evaluate({{"N", lowest}}), lowest / 3 - 1);
}

TEST(Extent, DivisorsMayBeNegative) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  const int64_t highest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(floorDiv(Extent(7), -2), Extent(-4));
  EXPECT_EQ(floorDiv(Extent(-7), -2), Extent(3));
  EXPECT_EQ(ceilDiv(Extent(7), -2), Extent(-3));
  EXPECT_EQ(ceilDiv(Extent(-7), -2), Extent(4));
  EXPECT_EQ(ceilDiv(Extent(3), -1), Extent(-3));
  EXPECT_EQ(floorDiv(Extent(lowest), -1), Extent(highest));
  EXPECT_EQ(ceilDiv(Extent(lowest), -1), Extent(highest));
  EXPECT_EQ(floorDiv(Extent(highest), lowest), Extent(-1));
  EXPECT_EQ(floorDiv(kN, lowest).evaluate({{"N", lowest}}), 1);
  EXPECT_EQ(floorDiv(kN, -1), Extent(0) - kN);
  EXPECT_EQ(floorDiv(kN, -3), floorDiv(Extent(0) - kN, 3));
  EXPECT_EQ(floorDiv(kN * kM, kN * -1), Extent(0) - kM);
  EXPECT_EQ(Extent(0) - floorDiv(kN, -3), ceilDiv(kN, 3));
  EXPECT_EQ(Extent::parse("floordiv(1,-1)"), Extent(-1));
  const auto bounds = floorDiv(kN, kM).bounds({{"N", {-7, 5}}, {"M", {-2, 3}}});
  EXPECT_EQ(bounds.low, -7);
  EXPECT_EQ(bounds.high, 7);
}

TEST(Extent, DivisionByZeroSaysWhatIsDivided) {
  const auto message = [](const auto& divide) {
    try {
      divide();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message([] { floorDiv(kN + 1, 0); }), "division of extent N+1 by 0: the divisor must not be zero");
  EXPECT_EQ(message([] { ceilDiv(Extent(3), 0); }), "division of extent 3 by 0: the divisor must not be zero");
  EXPECT_EQ(message([] {
              floorDiv(kN, kM).evaluate({{"N", 5}, {"M", 0}});
            }),
            "division of extent 5 by 0: the divisor must not be zero");
}

TEST(Extent, AbsurdValuesSaturate) {
  const int64_t highest = std::numeric_limits<int64_t>::max();
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Extent(highest) + 1, Extent(highest));
  EXPECT_EQ(Extent(highest) * 2, Extent(highest));
  EXPECT_EQ(Extent(highest) * -2, Extent(lowest));
  EXPECT_EQ((kN * kN).evaluate({{"N", int64_t{1} << 40}}), highest);
  for (const int64_t value : {lowest, lowest + 1, highest}) {
    EXPECT_EQ(Extent::parse(Extent(value).text()), Extent(value));
    const Extent term = kN * Extent(value);
    EXPECT_EQ(Extent::parse(term.text()), term) << term.text();
  }
}

TEST(Extent, ASymbolNamedLikeAFunctionIsAnother) {
  const Extent function = floorDiv(kN, 2);
  const Extent symbol = Extent::symbol(function.text());
  EXPECT_FALSE(function == symbol);
  EXPECT_EQ(function + symbol, symbol + function);
  EXPECT_EQ(function * symbol, symbol * function);
  EXPECT_EQ(Extent::parse((function + symbol).text()), function + symbol);
}

TEST(Extent, OddSymbolNamesReadBack) {
  for (const auto* name : {"a b", "it's", "back\\slash", "3d", "", "min", "x,y]}", "\"q\""}) {
    const Extent symbol = Extent::symbol(name) * 2 + 1;
    EXPECT_EQ(Extent::parse(symbol.text()), symbol) << symbol.text();
  }
}

TEST(Extent, SumsInParentheses) {
  const Extent n = Extent::symbol("N");
  EXPECT_EQ(Extent::parse("(N+1)*(2)"), n * 2 + 2);
  EXPECT_EQ(Extent::parse("3-((N)-2)*N"), Extent(3) - (n - 2) * n);
}

TEST(Extent, BadTextIsRefused) {
  for (const auto* text : {"", "2*", "N+", "floordiv(N)", "floordiv(N,2", "foo(N,2)", "'open", "1 2", "N)", "(N", "()",
                           "--N", "+1", "99999999999999999999", "floordiv(N,0)", "ceildiv(1,0)", "2N"}) {
    EXPECT_THROW(Extent::parse(text), UserError) << text;
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "min(N,";
  EXPECT_THROW(Extent::parse(deep), UserError);
}

TEST(Extent, ErrorsOfEvaluation) {
  EXPECT_THROW(kN.evaluate({}), InternalError);
  EXPECT_THROW(kN.constant(), InternalError);
  EXPECT_THROW(floorDiv(kN, kM).evaluate({{"N", 1}, {"M", 0}}), UserError);
  EXPECT_THROW(floorDiv(kN, 0), UserError);
  EXPECT_THROW(kN.bounds({}), InternalError);
}

TEST(Extent, CollectsSymbols) {
  std::set<std::string> names;
  (floorDiv(kN, max(kM, 1)) + Extent::symbol("k")).collectSymbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"N", "M", "k"}));
}

}  // namespace
}  // namespace tenon

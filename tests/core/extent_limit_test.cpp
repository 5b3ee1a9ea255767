// Expressions of extents that would grow without end are refused, and soon.
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/extent.h"

namespace tenon {
namespace {

template <typename Next>
std::string refusal(Extent extent, int steps, Next next) {
  try {
    for (int i = 0; i < steps; ++i) extent = next(extent, i);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const Extent kN = Extent::symbol("N");

TEST(ExtentLimit, Squarings) {
  const auto square = [](const Extent& e, int) { return e * e; };
  EXPECT_NE(refusal(kN, 60, square).find("an extent is an expression of more than 32768 characters"),
            std::string::npos);
  EXPECT_NE(refusal(kN + 1, 60, square).find("more than 32768 characters"), std::string::npos);
  EXPECT_NE(refusal(kN * Extent::symbol("M") - 3, 60, square).find("give some of these dimensions fixed extents"),
            std::string::npos);
  EXPECT_EQ(refusal(Extent(2), 60, square), "");  // numbers saturate
  EXPECT_EQ(refusal(kN, 10, square), "");
}

TEST(ExtentLimit, FunctionsOfFunctions) {
  EXPECT_NE(refusal(kN, 100, [](const Extent& e, int) { return floorDiv(e + 1, 3); }).find("nests more than 48"),
            std::string::npos);
  // Doubles with each step: e / 3 + e / 5.
  EXPECT_NE(refusal(kN, 100, [](const Extent& e, int) { return floorDiv(e, 3) + floorDiv(e, 5); }), "");
  // What can be written can be read.
  Extent nested = kN;
  for (int i = 0; i < 47; ++i) nested = floorDiv(nested + 1, 3);
  EXPECT_EQ(Extent::parse(nested.text()), nested);
}

TEST(ExtentLimit, MaximumOfManySymbols) {
  const auto widen = [](const Extent& e, int i) { return max(e, Extent::symbol("s" + std::to_string(i))); };
  EXPECT_NE(refusal(kN, 1000, widen).find("the maximum of more than 40 extents"), std::string::npos);
  EXPECT_EQ(refusal(kN, 30, widen), "");
  EXPECT_NE(refusal(kN, 1000, [](const Extent& e, int i) { return min(e, Extent::symbol("s" + std::to_string(i))); })
                .find("the minimum of more"),
            std::string::npos);
}

// A sum of as many symbols as a concatenation has inputs is no problem of itself.
TEST(ExtentLimit, LongSums) {
  Extent sum(0);
  for (int i = 0; i < 1000; ++i) sum = sum + Extent::symbol("s" + std::to_string(i));
  EXPECT_EQ(Extent::parse(sum.text()), sum);
}

}  // namespace
}  // namespace tenon

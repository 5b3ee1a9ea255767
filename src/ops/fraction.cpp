// The form in contents: numerator * '1/denominator'.
#include "ops/fraction.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

namespace tenon::ops {
namespace {

constexpr std::string_view kOver = "1/";

// The denominator that a symbol stands for; 0 for symbols of other kinds.
int64_t denominatorOf(std::string_view symbol) {
  if (!symbol.starts_with(kOver)) return 0;
  int64_t value = 0;
  const char* end = symbol.data() + symbol.size();
  const auto [stop, status] = std::from_chars(symbol.data() + kOver.size(), end, value);
  return status == std::errc() && stop == end && value > 1 ? value : 0;
}

}  // namespace

Fraction reduced(const Extent& numerator, int64_t denominator) {
  if (denominator == 1) return {numerator, 1};
  if (numerator.isConstant()) {
    const int64_t common =
        std::gcd(numerator.constant() % denominator, denominator);  // of the lowest integer there is no gcd
    return {numerator.constant() / common, denominator / common};
  }
  const Extent quotient = floorDiv(numerator, denominator);
  if (quotient * Extent(denominator) == numerator) return {quotient, 1};
  return {numerator, denominator};
}

std::optional<Fraction> fractionOf(double value) {
  constexpr double kLargest = 0x1p53;
  constexpr int64_t kFinest = 1 << 10;
  if (!(std::abs(value) <= kLargest)) return std::nullopt;
  for (int64_t denominator = 1; denominator <= kFinest; denominator *= 2) {
    const double scaled = value * static_cast<double>(denominator);
    if (scaled == std::trunc(scaled) && std::abs(scaled) <= kLargest)
      return Fraction{static_cast<int64_t>(scaled), denominator};
  }
  return std::nullopt;
}

Extent toContents(const Fraction& fraction) {
  if (fraction.isInteger()) return fraction.numerator;
  return fraction.numerator * Extent::symbol(fmt::format("{}{}", kOver, fraction.denominator));
}

std::optional<Fraction> fromContents(const Extent& contents) {
  std::set<std::string> symbols;
  contents.collectSymbols(symbols);
  const std::string* found = nullptr;
  for (const auto& symbol : symbols) {
    if (denominatorOf(symbol) == 0) continue;
    if (found != nullptr) return std::nullopt;
    found = &symbol;
  }
  if (found == nullptr) return Fraction{contents, 1};
  const Extent numerator = contents.substitute({{*found, Extent(1)}});
  if (numerator * Extent::symbol(*found) != contents) return std::nullopt;
  return Fraction{numerator, denominatorOf(*found)};
}

}  // namespace tenon::ops

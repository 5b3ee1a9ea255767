// Canonical form, evaluation and bounds of symbolic extents.
#include "core/extent.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/extent_arithmetic.h"
#include "core/extent_length.h"
#include "core/lazy_text.h"

namespace tenon {
namespace {

using Atom = Extent::Atom;
using Term = Extent::Term;
using Function = Extent::Function;

int64_t apply(Function function, int64_t a, int64_t b) {
  switch (function) {
    case Function::kFloorDiv: return floorDivide(a, b);
    case Function::kCeilDiv: return ceilDivide(a, b);
    case Function::kMin: return std::min(a, b);
    case Function::kMax: return std::max(a, b);
    case Function::kEqual: return a == b;
    case Function::kLess: return a < b;
    case Function::kSymbol: break;
  }
  throw InternalError("extent: a symbol has no arguments");
}

bool sameAtom(const std::shared_ptr<const Atom>& x, const std::shared_ptr<const Atom>& y) {
  return x->function == y->function && x->key == y->key;
}

// A symbol may be named like the text of a function: the function counts as well.
bool atomLess(const std::shared_ptr<const Atom>& x, const std::shared_ptr<const Atom>& y) {
  return x->key != y->key ? x->key < y->key : x->function < y->function;
}

bool sameFactors(const Term& a, const Term& b) {
  return std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), sameAtom);
}

bool factorsLess(const Term& a, const Term& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size();  // constants last
  return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), atomLess);
}

// Products of sums multiply out and functions repeat their operands, so that expressions can double with each operator.
constexpr size_t kMostText = size_t{1} << 15;  // characters, roughly
constexpr size_t kMostProducts = size_t{1} << 14;
constexpr int kMostDepth = 48;

void checkLength(bool fits) {
  if (fits) return;
  throw ExtentTooLong(
      "an extent is an expression of more than {} characters over the dynamic dimensions; give some of these dimensions fixed "
      "extents, or compute fewer extents from one another",
      kMostText);
}

// Functions within functions, by the parentheses of the text; the reader of plans follows a few more.
int depthOf(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

size_t lengthOf(const std::vector<Term>& terms) {
  size_t length = 0;
  for (const auto& term : terms) {
    for (const auto& factor : term.factors) length += factor->key.size() + 1;
  }
  return length + terms.size();
}

// The term divided by a single-term divisor, when that is exact for all values of the symbols.
bool divideTerm(const Term& term, const Term& divisor, Term& quotient) {
  if (divisor.coefficient <= 0 || term.coefficient % divisor.coefficient != 0) return false;
  quotient = {term.coefficient / divisor.coefficient, term.factors};
  for (const auto& factor : divisor.factors) {
    const auto found = std::find_if(quotient.factors.begin(), quotient.factors.end(),
                                    [&](const auto& f) { return sameAtom(f, factor); });
    if (found == quotient.factors.end()) return false;
    quotient.factors.erase(found);
  }
  return true;
}

// Terms of a quotient of sums, and coefficients of what is divided: their products cannot saturate.
constexpr size_t kMostQuotient = 32;

bool hasSmallTerms(const std::vector<Term>& terms) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [](const Term& term) {
    return term.coefficient <= kMost && term.coefficient >= -kMost;
  });
}

constexpr std::array<std::string_view, 7> kFunctionNames{"", "floordiv", "ceildiv", "min", "max", "equal", "less"};

Interval multiply(Interval a, Interval b) {
  const auto [low, high] = std::minmax({saturatingMultiply(a.low, b.low), saturatingMultiply(a.low, b.high),
                                        saturatingMultiply(a.high, b.low), saturatingMultiply(a.high, b.high)});
  return {low, high};
}

Interval boundsOf(Function function, Interval a, Interval b) {
  switch (function) {
    case Function::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Function::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Function::kEqual:
    case Function::kLess: return {0, 1};
    default: break;
  }
  // On either side of zero a quotient is monotone in both; zero itself has none.
  std::vector<int64_t> corners;
  for (const auto& [low, high] :
       {Interval{std::max<int64_t>(b.low, 1), b.high}, Interval{b.low, std::min<int64_t>(b.high, -1)}}) {
    if (low > high) continue;
    for (const int64_t divisor : {low, high}) {
      corners.push_back(apply(function, a.low, divisor));
      corners.push_back(apply(function, a.high, divisor));
    }
  }
  if (corners.empty()) return {0, 0};
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return {*low, *high};
}

}  // namespace

Extent Extent::symbol(std::string_view name) {
  Extent extent;
  auto atom = std::make_shared<const Atom>(Atom{Function::kSymbol, std::string(name), nullptr});
  extent.terms_ = std::make_shared<const std::vector<Term>>(std::vector<Term>{{1, {std::move(atom)}}});
  return extent;
}

int64_t Extent::constant() const {
  checkInternal(isConstant(), "extent {} is not a constant", isConstant() ? "" : text());
  return constant_;
}

std::vector<Term> Extent::terms() const {
  if (terms_ != nullptr) return *terms_;
  if (constant_ == 0) return {};
  return {{constant_, {}}};
}

Extent Extent::fromTerms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), factorsLess);
  std::vector<Term> merged;
  for (auto& term : terms) {
    if (!merged.empty() && sameFactors(merged.back(), term)) {
      merged.back().coefficient = saturatingAdd(merged.back().coefficient, term.coefficient);
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  if (merged.empty()) return Extent(0);
  if (merged.size() == 1 && merged[0].factors.empty()) return Extent(merged[0].coefficient);
  checkLength(lengthOf(merged) <= kMostText);
  Extent extent;
  extent.terms_ = std::make_shared<const std::vector<Term>>(std::move(merged));
  return extent;
}

Extent Extent::function(Function function, const Extent& a, const Extent& b) {
  if (a.isConstant() && b.isConstant()) return Extent(apply(function, a.constant_, b.constant_));
  auto key = fmt::format("{}({},{})", kFunctionNames[static_cast<size_t>(function)], a.text(), b.text());
  if (depthOf(key) > kMostDepth) {
    throw ExtentTooLong(
        "an extent nests more than {} divisions, minima and maxima over the dynamic dimensions; give some of these "
        "dimensions fixed extents",
        kMostDepth);
  }
  auto arguments = std::make_shared<const std::array<Extent, 2>>(std::array<Extent, 2>{a, b});
  auto atom = std::make_shared<const Atom>(Atom{function, std::move(key), std::move(arguments)});
  return fromTerms({{1, {std::move(atom)}}});
}

bool operator==(const Extent& a, const Extent& b) {
  if (a.terms_ == b.terms_) return a.constant_ == b.constant_;
  if (a.isConstant() || b.isConstant()) return false;
  return std::equal(a.terms_->begin(), a.terms_->end(), b.terms_->begin(), b.terms_->end(),
                    [](const Term& x, const Term& y) { return x.coefficient == y.coefficient && sameFactors(x, y); });
}

Extent operator+(const Extent& a, const Extent& b) {
  if (a.isConstant() && b.isConstant()) return saturatingAdd(a.constant_, b.constant_);
  auto terms = a.terms();
  for (auto& term : b.terms()) terms.push_back(std::move(term));
  return Extent::fromTerms(std::move(terms));
}

Extent operator-(const Extent& a, const Extent& b) { return a + b * Extent(-1); }

Extent operator*(const Extent& a, const Extent& b) {
  if (a.isConstant() && b.isConstant()) return saturatingMultiply(a.constant_, b.constant_);
  const auto left = a.terms();
  const auto right = b.terms();
  checkLength(left.size() * right.size() <= kMostProducts);
  std::vector<Term> terms;
  for (const auto& x : left) {
    for (const auto& y : right) {
      Term term{saturatingMultiply(x.coefficient, y.coefficient), x.factors};
      term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(term.factors.begin(), term.factors.end(), atomLess);
      terms.push_back(std::move(term));
    }
  }
  return Extent::fromTerms(std::move(terms));
}

// floor((c*a + r) / c) = a + floor(r / c): whole terms leave the division. A divisor's first term has a positive
// coefficient, and so has the first term of what a constant divides, as floor(-r / c) = -floor((r + c - 1) / c). A sum
// divides what is its product with another, which long division finds: the first term is that of the highest degree.
Extent floorDiv(const Extent& a, const Extent& b) {
  checkUser(!b.isConstant(0), "division of extent {} by 0: the divisor must not be zero", textOf(a));
  if (b.isConstant(1)) return a;
  if (a.isConstant() && b.isConstant()) return floorDivide(a.constant_, b.constant_);
  if (a.isConstant(0)) return 0;
  const auto divisor = b.terms();
  if (divisor[0].coefficient < 0 && divisor[0].coefficient > std::numeric_limits<int64_t>::min())
    return floorDiv(Extent(0) - a, Extent(0) - b);
  if (divisor.size() != 1) {
    Extent rest = a;
    std::vector<Term> quotient;
    Term next;
    while (hasSmallTerms(divisor) && hasSmallTerms(rest.terms()) && quotient.size() < kMostQuotient &&
           divideTerm(rest.terms().front(), divisor[0], next)) {
      quotient.push_back(next);
      rest = rest - Extent::fromTerms({next}) * b;
    }
    return rest.isConstant(0) ? Extent::fromTerms(std::move(quotient)) : Extent::function(Function::kFloorDiv, a, b);
  }
  std::vector<Term> whole;
  std::vector<Term> rest;
  for (const auto& term : a.terms()) {
    Term quotient;
    if (divideTerm(term, divisor[0], quotient)) {
      whole.push_back(std::move(quotient));
    } else {
      rest.push_back(term);
    }
  }
  const Extent remainder = Extent::fromTerms(std::move(rest));
  if (remainder.isConstant(0)) return Extent::fromTerms(std::move(whole));
  if (b.isConstant() && !remainder.isConstant() && remainder.terms_->front().coefficient < 0) {
    return Extent::fromTerms(std::move(whole)) - floorDiv(b - Extent(1) - remainder, b);
  }
  return Extent::fromTerms(std::move(whole)) + Extent::function(Function::kFloorDiv, remainder, b);
}

Extent ceilDiv(const Extent& a, const Extent& b) {
  if (a.isConstant() && b.isConstant()) return ceilDivide(a.constant_, b.constant_);
  if (b.isConstant() && b.constant_ < 0 && b.constant_ > std::numeric_limits<int64_t>::min())
    return ceilDiv(Extent(0) - a, -b.constant_);
  if (b.isConstant() && b.constant_ > 0) return floorDiv(a + b - Extent(1), b);
  const Extent floored = floorDiv(a, b);
  if (floored * b == a) return floored;
  return Extent::function(Function::kCeilDiv, a, b);
}

Extent equal(const Extent& a, const Extent& b) {
  const Extent difference = a - b;
  if (difference.isConstant()) return difference.constant_ == 0 ? 1 : 0;
  return a.text() < b.text() ? Extent::function(Function::kEqual, a, b) : Extent::function(Function::kEqual, b, a);
}

Extent less(const Extent& a, const Extent& b) {
  const Extent difference = a - b;
  if (difference.isConstant()) return difference.constant_ < 0 ? 1 : 0;
  return Extent::function(Function::kLess, a, b);
}

int64_t Extent::evaluate(const SymbolValues& values) const {
  if (isConstant()) return constant_;
  int64_t sum = 0;
  for (const auto& term : *terms_) {
    int64_t product = term.coefficient;
    for (const auto& atom : term.factors) {
      if (atom->function == Function::kSymbol) {
        const auto found = values.find(atom->key);
        checkInternal(found != values.end(), "extent {}: symbol '{}' has no value", textOf(*this), atom->key);
        product = saturatingMultiply(product, found->second);
      } else {
        const auto& [a, b] = *atom->arguments;
        product = saturatingMultiply(product, apply(atom->function, a.evaluate(values), b.evaluate(values)));
      }
    }
    sum = saturatingAdd(sum, product);
  }
  return sum;
}

Interval Extent::bounds(const SymbolIntervals& symbols) const {
  if (isConstant()) return {constant_, constant_};
  Interval sum{0, 0};
  for (const auto& term : *terms_) {
    Interval product{term.coefficient, term.coefficient};
    for (const auto& atom : term.factors) {
      if (atom->function == Function::kSymbol) {
        const auto found = symbols.find(atom->key);
        checkInternal(found != symbols.end(), "extent {}: symbol '{}' has no bounds", textOf(*this), atom->key);
        product = multiply(product, found->second);
      } else {
        const auto& [a, b] = *atom->arguments;
        product = multiply(product, boundsOf(atom->function, a.bounds(symbols), b.bounds(symbols)));
      }
    }
    sum = {saturatingAdd(sum.low, product.low), saturatingAdd(sum.high, product.high)};
  }
  return sum;
}

Extent Extent::substitute(const std::map<std::string, Extent, std::less<>>& symbols) const {
  if (isConstant()) return *this;
  Extent sum;
  for (const auto& term : *terms_) {
    Extent product(term.coefficient);
    for (const auto& atom : term.factors) {
      if (atom->function == Function::kSymbol) {
        const auto found = symbols.find(atom->key);
        product = product * (found != symbols.end() ? found->second : symbol(atom->key));
        continue;
      }
      const Extent a = (*atom->arguments)[0].substitute(symbols);
      const Extent b = (*atom->arguments)[1].substitute(symbols);
      switch (atom->function) {
        case Function::kFloorDiv: product = product * floorDiv(a, b); break;
        case Function::kCeilDiv: product = product * ceilDiv(a, b); break;
        case Function::kMin: product = product * min(a, b); break;
        case Function::kMax: product = product * max(a, b); break;
        case Function::kEqual: product = product * equal(a, b); break;
        default: product = product * less(a, b); break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

void Extent::collectSymbols(std::set<std::string>& names) const {
  if (isConstant()) return;
  for (const auto& term : *terms_) {
    for (const auto& atom : term.factors) {
      if (atom->function == Function::kSymbol) {
        names.insert(atom->key);
      } else {
        for (const auto& argument : *atom->arguments) argument.collectSymbols(names);
      }
    }
  }
}

Extent product(const Shape& shape, size_t first, size_t last) {
  Extent result(1);
  for (size_t i = first; i < std::min(last, shape.size()); ++i) result = result * shape[i];
  return result;
}

bool isConstant(const Shape& shape) noexcept {
  return std::all_of(shape.begin(), shape.end(), [](const Extent& extent) { return extent.isConstant(); });
}

}  // namespace tenon

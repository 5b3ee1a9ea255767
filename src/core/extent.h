// Extents of tensors as integer expressions over symbols: constants, input extents, shape values and runtime sizes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

using SymbolValues = std::map<std::string, int64_t, std::less<>>;

// Closed interval of values.
struct Interval {
  int64_t low = 0;
  int64_t high = 0;
};

using SymbolIntervals = std::map<std::string, Interval, std::less<>>;

// An integer expression in canonical form: a sum of products of symbols and of floordiv, ceildiv, min, max, equal and
// less of two expressions. Two extents that compare equal are equal for all values of their symbols; unequal ones may
// still be equal for some. Values are immutable and cheap to copy. Division rounds to the lower or higher integer,
// whatever the signs are. Absurd lengths are a UserError.
class Extent {
 public:
  Extent(int64_t value = 0) : constant_(value) {}  // NOLINT: an integer is an extent
  static Extent symbol(std::string_view name);

  bool isConstant() const noexcept { return terms_ == nullptr; }
  int64_t constant() const;  // throws InternalError when not constant
  bool isConstant(int64_t value) const noexcept { return terms_ == nullptr && constant_ == value; }

  // Value under the given symbols; throws InternalError when one is missing, UserError when a divisor is zero.
  int64_t evaluate(const SymbolValues& values) const;
  // An interval that contains every value for symbols in the given intervals.
  Interval bounds(const SymbolIntervals& symbols) const;
  // Same expression with symbols replaced where the map has them.
  Extent substitute(const std::map<std::string, Extent, std::less<>>& symbols) const;
  void collectSymbols(std::set<std::string>& names) const;

  // Text that parse() reads back: 3, N, 2*N+1, floordiv(N,2); symbols that are no identifiers stand in single quotes.
  std::string text() const;
  static Extent parse(std::string_view text);  // throws UserError with the position

  friend bool operator==(const Extent& a, const Extent& b);
  friend Extent operator+(const Extent& a, const Extent& b);
  friend Extent operator-(const Extent& a, const Extent& b);
  friend Extent operator*(const Extent& a, const Extent& b);
  friend Extent floorDiv(const Extent& a, const Extent& b);
  friend Extent ceilDiv(const Extent& a, const Extent& b);
  friend Extent min(const Extent& a, const Extent& b);
  friend Extent max(const Extent& a, const Extent& b);
  friend Extent equal(const Extent& a, const Extent& b);  // 1 or 0
  friend Extent less(const Extent& a, const Extent& b);   // 1 or 0

  enum class Function : uint8_t { kSymbol, kFloorDiv, kCeilDiv, kMin, kMax, kEqual, kLess };
  // A symbol, or a function of two extents; ordered and compared by its text.
  struct Atom {
    Function function;
    std::string key;  // the text of the atom; for a symbol its name, unquoted
    std::shared_ptr<const std::array<Extent, 2>> arguments;
  };
  struct Term {
    int64_t coefficient;
    std::vector<std::shared_ptr<const Atom>> factors;  // sorted by key
  };

 private:
  static Extent fromTerms(std::vector<Term> terms);
  static Extent function(Function function, const Extent& a, const Extent& b);
  std::vector<Term> terms() const;

  int64_t constant_ = 0;
  std::shared_ptr<const std::vector<Term>> terms_;  // null for constants; never empty
};

using Shape = std::vector<Extent>;

Extent product(const Shape& shape, size_t first = 0, size_t last = SIZE_MAX);
std::string text(const Shape& shape);  // [N,3,224,224]
bool isConstant(const Shape& shape) noexcept;

}  // namespace tenon

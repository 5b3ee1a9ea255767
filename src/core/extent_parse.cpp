// Reads and writes the text form of extents.
#include <algorithm>
#include <charconv>
#include <limits>

#include "core/error.h"
#include "core/extent.h"

namespace tenon {
namespace {

// Recursive descent over: sum = [-] product {(+|-) product}; product = factor {* factor};
// factor = number | symbol | name(sum,sum) | 'quoted symbol'.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Extent parse() {
    const Extent result = sum(0);
    checkUser(position_ == text_.size(), "extent '{}': unexpected text at position {}", text_, position_);
    return result;
  }

 private:
  static constexpr int kMaxDepth = 64;

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) { checkUser(accept(c), "extent '{}': expected '{}' at position {}", text_, c, position_); }

  Extent sum(int depth) {
    checkUser(depth < kMaxDepth, "extent '{}': nested deeper than {}", text_, kMaxDepth);
    Extent result = product(depth, accept('-'));
    while (true) {
      if (accept('+')) {
        result = result + product(depth, false);
      } else if (accept('-')) {
        result = result + product(depth, true);
      } else {
        return result;
      }
    }
  }

  // The sign belongs to a leading number, so that the lowest integer can be read.
  Extent product(int depth, bool negative) {
    const bool number = peek() >= '0' && peek() <= '9';
    Extent result = number ? Extent(integer(negative)) : factor(depth);
    while (accept('*')) result = result * factor(depth);
    return negative && !number ? Extent(0) - result : result;
  }

  Extent factor(int depth) {
    if (accept('\'')) return quoted();
    if (accept('(')) {
      Extent inner = sum(depth + 1);
      expect(')');
      return inner;
    }
    if (peek() >= '0' && peek() <= '9') return integer(false);
    const size_t start = position_;
    const auto identifier = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || (c >= '0' && c <= '9');
    };
    while (identifier(peek())) ++position_;
    const auto name = text_.substr(start, position_ - start);
    checkUser(!name.empty(), "extent '{}': expected a number or a name at position {}", text_, position_);
    if (!accept('(')) return Extent::symbol(name);
    const Extent a = sum(depth + 1);
    expect(',');
    const Extent b = sum(depth + 1);
    expect(')');
    if (name == "floordiv") return floorDiv(a, b);
    if (name == "ceildiv") return ceilDiv(a, b);
    if (name == "min") return min(a, b);
    if (name == "max") return max(a, b);
    if (name == "equal") return equal(a, b);
    if (name == "less") return less(a, b);
    throw UserError("extent '{}': unknown function '{}'", text_, name);
  }

  int64_t integer(bool negative) {
    uint64_t magnitude = 0;
    const auto [end, status] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), magnitude);
    const uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
    checkUser(status == std::errc() && magnitude <= limit, "extent '{}': number out of range at position {}", text_,
              position_);
    position_ = static_cast<size_t>(end - text_.data());
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  }

  Extent quoted() {
    std::string name;
    while (!accept('\'')) {
      accept('\\');
      checkUser(position_ < text_.size(), "extent '{}': the quoted symbol does not end", text_);
      name += text_[position_++];
    }
    return Extent::symbol(name);
  }

  std::string_view text_;
  size_t position_ = 0;
};

bool isIdentifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

std::string symbolText(const std::string& name) {
  if (isIdentifier(name)) return name;
  std::string quoted = "'";
  for (const char c : name) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string atomText(const Extent::Atom& atom) {
  return atom.function == Extent::Function::kSymbol ? symbolText(atom.key) : atom.key;
}

}  // namespace

Extent Extent::parse(std::string_view text) { return Parser(text).parse(); }

std::string Extent::text() const {
  if (isConstant()) return std::to_string(constant_);
  std::string result;
  for (const auto& term : *terms_) {
    std::string product;
    for (const auto& factor : term.factors) product += (product.empty() ? "" : "*") + atomText(*factor);
    const bool one = (term.coefficient == 1 || term.coefficient == -1) && !product.empty();
    if (term.coefficient < 0) {
      result += "-";
    } else if (!result.empty()) {
      result += "+";
    }
    if (!one) result += std::to_string(term.coefficient).substr(term.coefficient < 0 ? 1 : 0);
    if (!one && !product.empty()) result += "*";
    result += product;
  }
  return result;
}

std::string text(const Shape& shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i) result += (i == 0 ? "" : ",") + shape[i].text();
  return result + "]";
}

}  // namespace tenon

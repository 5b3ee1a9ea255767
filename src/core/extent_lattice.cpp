// Minima and maxima of extents in canonical form, so that a broadcast of [N] with [min(1,N)] is [N].
#include <algorithm>

#include "core/error.h"
#include "core/extent.h"
#include "core/extent_length.h"

namespace tenon {

using Atom = Extent::Atom;
using Function = Extent::Function;

namespace {

constexpr size_t kMostOperands = 40;  // each is compared with all others, and with theirs

const Atom* soleAtom(const std::vector<Extent::Term>& terms) {
  return terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1 ? terms[0].factors[0].get()
                                                                                        : nullptr;
}

// What the friends of Extent lend to the functions here.
struct Access {
  const Atom* (*atomOf)(const Extent&);  // of an extent that is one atom and nothing else; null for others
  Extent (*make)(Function, const Extent&, const Extent&);
};

// The operands of nested minima, or of nested maxima.
void flatten(Function function, const Extent& extent, const Access& access, std::vector<Extent>& operands) {
  const Atom* atom = access.atomOf(extent);
  if (atom == nullptr || atom->function != function) return operands.push_back(extent);
  for (const auto& argument : *atom->arguments) flatten(function, argument, access, operands);
}

bool isAtLeast(const Extent& a, const Extent& b) {
  const Extent difference = a - b;
  return difference.isConstant() && difference.constant() >= 0;
}

std::vector<Extent> flattened(Function function, const Extent& extent, const Access& access) {
  std::vector<Extent> operands;
  flatten(function, extent, access, operands);
  return operands;
}

// Whether operand `at` of a minimum or maximum says nothing beside the others: max(x, x - 1) = x, max(x, min(x, z)) =
// x, max(min(x, y), min(x, y, z)) = min(x, y), max(x, y, min(max(x, y), z)) = max(x, y).
bool isCovered(Function function, const std::vector<Extent>& operands, size_t at, const Access& access) {
  const bool isMax = function == Function::kMax;
  const Function dual = isMax ? Function::kMin : Function::kMax;
  const auto beats = [&](const Extent& x, const Extent& y) { return isMax ? isAtLeast(x, y) : isAtLeast(y, x); };
  const auto parts = flattened(dual, operands[at], access);
  const auto someOther = [&](const auto& holds) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i != at && holds(operands[i])) return true;
    }
    return false;
  };
  const bool byOne = someOther([&](const Extent& other) {
    const auto bounds = flattened(dual, other, access);
    return std::all_of(bounds.begin(), bounds.end(), [&](const Extent& bound) {
      return std::any_of(parts.begin(), parts.end(), [&](const Extent& part) { return beats(bound, part); });
    });
  });
  return byOne || std::any_of(parts.begin(), parts.end(), [&](const Extent& part) {
           const auto pieces = flattened(function, part, access);
           return std::all_of(pieces.begin(), pieces.end(), [&](const Extent& piece) {
             return someOther([&](const Extent& other) { return beats(other, piece); });
           });
         });
}

// Minimum or maximum: nested ones flat, without operands that others cover, in order of their text.
Extent lattice(Function function, const Extent& a, const Extent& b, const Access& access) {
  auto operands = flattened(function, a, access);
  flatten(function, b, access, operands);
  if (operands.size() > kMostOperands) {
    throw ExtentTooLong(
        "an extent is the {} of more than {} extents; give some of the dynamic dimensions fixed extents",
        function == Function::kMax ? "maximum" : "minimum", kMostOperands);
  }
  for (size_t i = operands.size(); i-- > 0;) {
    if (isCovered(function, operands, i, access)) operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::sort(operands.begin(), operands.end(), [](const Extent& x, const Extent& y) { return x.text() < y.text(); });
  Extent result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = access.make(function, result, operands[i]);
  return result;
}

}  // namespace

Extent min(const Extent& a, const Extent& b) {
  const Extent difference = a - b;
  if (difference.isConstant()) return difference.constant() <= 0 ? a : b;
  const auto atomOf = [](const Extent& e) { return e.terms_ == nullptr ? nullptr : soleAtom(*e.terms_); };
  return lattice(Function::kMin, a, b, {atomOf, &Extent::function});
}

Extent max(const Extent& a, const Extent& b) {
  const Extent difference = a - b;
  if (difference.isConstant()) return difference.constant() >= 0 ? a : b;
  const auto atomOf = [](const Extent& e) { return e.terms_ == nullptr ? nullptr : soleAtom(*e.terms_); };
  return lattice(Function::kMax, a, b, {atomOf, &Extent::function});
}

}  // namespace tenon

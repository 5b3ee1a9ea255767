// Evaluates a shape program: from the symbols of inputs to those that it computes. No device takes part.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/shape_program.h"
#include "ops/operator.h"

namespace tenon::ops {

// What one evaluation may hold at most, over all values together: shapes are small, and a plan may be forged.
constexpr int64_t kMaxShapeElements = 1 << 20;
constexpr int64_t kMaxShapeValueElements = 1 << 16;

// By symbol: the first phase of an execution that knows it.
using SymbolPhases = std::map<std::string, int32_t, std::less<>>;
constexpr int32_t kNoPhase = -1;
// Of what needs all of them.
int32_t phaseOf(const std::set<std::string>& symbols, const SymbolPhases& phases);
inline int32_t laterPhase(int32_t a, int32_t b) { return a == kNoPhase || b == kNoPhase ? kNoPhase : std::max(a, b); }

// Immutable, shared by the contexts of an engine.
class ShapeBinder {
 public:
  ShapeBinder() = default;
  // Throws UserError that names the step when the program is not sound: operators that cannot be read or that no host
  // value may come from, values that are not there yet, elements that do not fit their extents.
  explicit ShapeBinder(const ShapeProgram& program);

  // Whether shapes may be computed by it: not by products of matrices, nor by what is another at each call.
  static bool accepts(const Operator& op);
  bool empty() const noexcept { return steps_.empty(); }
  // Adds the program's symbols to those it is given. Throws UserError that names the layer when a step refuses its
  // operands or gets too large, or when an assertion does not hold, unless shapes are only tried.
  enum class Purpose : uint8_t { kExecution, kTrial };
  void bind(SymbolValues& symbols, Purpose purpose = Purpose::kExecution) const;
  // The same for what can be evaluated: steps that need a symbol without a value, and what depends on them, are left
  // out.
  void bindKnown(SymbolValues& symbols, Purpose purpose = Purpose::kExecution) const;
  // Adds to the phases of symbols those of the program's own: the last one among what they depend on. Symbols that are
  // not named need no phase; what depends on one of kNoPhase gets that.
  void placeSymbols(SymbolPhases& phases) const;
  // Throws UserError that names layer, value and bounds when a symbol that has a value is outside of its interval; one
  // per symbol.
  void check(const SymbolValues& symbols, std::span<const Interval> bounds, std::string_view where) const;

 private:
  struct Step {
    ShapeStep record;
    std::optional<Operator> op;
    std::set<std::string> symbols;  // that it reads
  };
  struct Run;
  void evaluateSteps(SymbolValues& symbols, bool whole, Purpose purpose) const;
  void addStep(const ShapeStep& record);
  void addSymbol(const ShapeSymbol& symbol);
  const std::string& layerOf(const ShapeSymbol& symbol) const;
  std::vector<Step> steps_;
  std::vector<ShapeSymbol> symbols_;
  std::vector<int32_t> producers_;  // by value: its step
};

}  // namespace tenon::ops

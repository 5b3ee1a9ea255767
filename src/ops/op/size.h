// A number that the device computes becomes a symbol of extents.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: one integer (rank 0, or one element). Output: the same, in the same memory; its contents are the symbol, so
// that shapes can be computed from it. Whoever executes reads the number, which must be at most `upper`, and not
// negative unless the symbol ends in "]", gives it to the symbol, and only then goes on with what needs it. It stays
// although nobody reads the output.
struct Size {
  static constexpr std::string_view kName = "size";
  std::string symbol;
  Extent opt = 0;    // what kernels behind it are chosen for
  Extent upper = 0;  // what memory is planned for; kNoBound: of a multiple of `opt`, and an execution may need more
  static constexpr auto fields =
      std::tuple{field("symbol", &Size::symbol), field("opt", &Size::opt), field("upper", &Size::upper)};

  static constexpr int64_t kNoBound = INT64_MAX;
  static bool isBounded(const Extent& upper) { return !upper.isConstant(kNoBound); }
  // What memory is planned for.
  static Extent planned(const Extent& opt, const Extent& upper) { return isBounded(upper) ? upper : opt * 4; }
  bool isBounded() const { return isBounded(upper); }
  // UserError that names the layer when a number is outside of the bounds.
  static void check(int64_t value, std::string_view symbol, const Extent& upper, const SymbolValues& symbols,
                    std::string_view layer);

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

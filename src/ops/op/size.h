// A number that the device computes becomes a symbol of extents.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: one integer (rank 0, or one element). Output: the same, in the same memory; its contents are the symbol, so
// that shapes can be computed from it. Whoever executes reads the number, which must be 0 to `upper`, gives it to the
// symbol, and only then goes on with what needs it. It stays although nobody reads the output.
struct Size {
  static constexpr std::string_view kName = "size";
  std::string symbol;
  Extent opt = 0;    // what kernels behind it are chosen for
  Extent upper = 0;  // what memory is planned for
  static constexpr auto fields =
      std::tuple{field("symbol", &Size::symbol), field("opt", &Size::opt), field("upper", &Size::upper)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

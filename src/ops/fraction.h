// Fractions in shape arithmetic: what a floating tensor holds between a cast from integers and one back to them.
#pragma once

#include <optional>

#include "core/extent.h"

namespace tenon::ops {

// numerator / denominator, exactly; the denominator is at least 1. In TensorType::contents it is one Extent, the
// numerator times a symbol that stands for 1 / denominator, so that operators which only move elements move it as it
// is.
struct Fraction {
  Extent numerator;
  int64_t denominator = 1;

  bool isInteger() const noexcept { return denominator == 1; }
  // Floating types hold it exactly, as long as the numerator fits.
  bool isBinary() const noexcept { return (denominator & (denominator - 1)) == 0; }
};

// With common factors left out where they are seen.
Fraction reduced(const Extent& numerator, int64_t denominator);

// The fraction that a number is, when its denominator is small and it is not too large; none for NaN and infinities.
std::optional<Fraction> fractionOf(double value);

Extent toContents(const Fraction& fraction);
// None when the extent is no single fraction.
std::optional<Fraction> fromContents(const Extent& contents);

}  // namespace tenon::ops

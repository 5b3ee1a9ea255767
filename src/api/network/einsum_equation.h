// The equation of IEinsumLayer as lists of labels.
#pragma once

#include <string_view>
#include <vector>

namespace tenon::api {

// A letter, or the i-th axis from the end of what "..." stands for (-1, -2, ...).
using EinsumLabel = int;

struct EinsumEquation {
  static constexpr EinsumLabel kEllipsis = 0;  // stands for any number of axes

  std::vector<std::vector<EinsumLabel>> operands;
  std::vector<EinsumLabel> result;
  bool hasResult = false;  // "->" is there; otherwise the result follows from the operands

  // Throws UserError where the text is no equation.
  static EinsumEquation parse(std::string_view text);
  // The labels of all axes of operands of the given ranks: ellipses replaced, the result made where it is not said.
  // Throws UserError where they do not fit.
  EinsumEquation resolve(const std::vector<int>& ranks) const;
};

}  // namespace tenon::api

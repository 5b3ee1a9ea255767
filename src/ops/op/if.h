// One of two branches, chosen while running.
#pragma once

#include "ops/region.h"

namespace tenon::ops {

// Inputs: the condition (bool, one element), then what the regions read: both have all of it as their inputs. Outputs:
// those of the chosen region. Both regions give the same types and extents.
struct If {
  static constexpr std::string_view kName = "if";
  Region then;
  Region otherwise;
  static constexpr auto fields = std::tuple{field("then", &If::then), field("otherwise", &If::otherwise)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

// Changes the memory format of a tensor; its value stays.
#pragma once

#include "core/layout.h"
#include "ops/operator.h"

namespace tenon::ops {

// Input x in format `from`; output the same tensor in format `to`. Inserted by the builder between nodes that were
// given different formats. The reference, which knows linear tensors only, copies.
struct Reformat {
  static constexpr std::string_view kName = "reformat";
  Layout from = Layout::kLinear;
  Layout to = Layout::kLinear;
  static constexpr auto fields = std::tuple{field("from", &Reformat::from), field("to", &Reformat::to)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

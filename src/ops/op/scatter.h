// Elements of a tensor replaced at indices.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// See Scatter.
enum class ScatterMode : uint8_t { kElement, kNd };
constexpr std::array<std::string_view, 2> enumNames(ScatterMode) { return {"element", "nd"}; }

// Inputs: data, indices (i32 or i64), updates of the type of data. The output is data, but for
//   element: out[j.. with indices[j..] at `axis`] = updates[j..]; indices and updates have one shape, of the rank of
//   data nd:      out[indices[j.., :], k..] = updates[j.., k..]; the last extent of indices is constant
// A negative index counts from the end; an index outside its axis is a UserError of the evaluation (on GPUs it writes
// nothing). Where several updates meet one element the last one stays here; which one does in a kernel is not said.
struct Scatter {
  static constexpr std::string_view kName = "scatter";
  ScatterMode mode = ScatterMode::kElement;
  int64_t axis = 0;  // not of nd
  static constexpr auto fields = std::tuple{field("mode", &Scatter::mode), field("axis", &Scatter::axis)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

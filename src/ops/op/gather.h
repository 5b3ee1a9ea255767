// Elements of a tensor selected by indices.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// See Gather.
enum class GatherMode : uint8_t { kDefault, kElement, kNd };
constexpr std::array<std::string_view, 3> enumNames(GatherMode) { return {"default", "element", "nd"}; }

// Inputs: data, indices (i32 or i64). The leading batchDims extents of both belong together; b below stands for an
// index of theirs.
//   default: out[b, i.., j.., k..] = data[b, i.., indices[b, j..], k..] where the index stands at `axis`
//   element: out[j..] = data[j.. with indices[j..] at `axis`]; indices have the rank of data; batchDims is 0
//   nd:      out[b, j.., k..] = data[b, indices[b, j.., :], k..]; the last extent of indices is constant
// A negative index counts from the end; an index outside the axis is a UserError of the evaluation.
struct Gather {
  static constexpr std::string_view kName = "gather";
  GatherMode mode = GatherMode::kDefault;
  int64_t axis = 0;  // not of nd
  int64_t batchDims = 0;
  static constexpr auto fields =
      std::tuple{field("mode", &Gather::mode), field("axis", &Gather::axis), field("batchDims", &Gather::batchDims)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
  // "index 9 is outside axis 0 of extent 4" of the first such index, where the indices are known; empty: none is.
  std::string outside(const Dims& data, const TensorView& indices) const;
};

}  // namespace tenon::ops

// One of two branches, chosen while running.
#pragma once

#include "ops/region.h"

namespace tenon::ops {

// The extents of a result about which the two regions do not agree; empty where they do.
struct ResultExtents {
  Shape extents;
  bool operator==(const ResultExtents&) const = default;
};

// Inputs: the condition (bool, one element), then what the regions read: both have all of it as their inputs. Outputs:
// those of the chosen region. Both regions give the same types and ranks, and the same extents but for `results`: a
// list that is empty, or has an entry for each output. What the chosen region gives is held against that when it runs.
// A region may be impossible at some shapes, or has a text among `refusals` (none, or two) that says why it cannot run
// and stands for nothing but its types: it must not be chosen then.
struct If {
  static constexpr std::string_view kName = "if";
  Region then;
  Region otherwise;
  std::vector<ResultExtents> results;
  std::vector<std::string> refusals;
  static constexpr auto fields = std::tuple{field("then", &If::then), field("otherwise", &If::otherwise),
                                            field("results", &If::results), field("refusals", &If::refusals)};

  // Whether a region may give an output another shape than the one that the operator says.
  bool mayDiffer(size_t output) const { return output < results.size() && !results[output].extents.empty(); }
  bool isRefused(size_t branch) const { return branch < refusals.size() && !refusals[branch].empty(); }
  void checkChosen(size_t branch) const;  // UserError with the refusal
  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;

 private:
  std::pair<std::vector<TensorType>, std::vector<TensorType>> typesOf(std::span<const TensorType> inputs) const;
};

inline void bindField(std::vector<ResultExtents>& results, const SymbolValues& symbols) {
  for (auto& result : results) {
    for (auto& extent : result.extents) extent = Extent(extent.evaluate(symbols));
  }
}
inline void fieldSymbols(const std::vector<ResultExtents>& results, std::set<std::string>& names) {
  for (const auto& result : results) {
    for (const auto& extent : result.extents) extent.collectSymbols(names);
  }
}

}  // namespace tenon::ops

namespace tenon {

template <>
struct FieldText<ops::ResultExtents> {
  static std::string write(const ops::ResultExtents& value) { return FieldText<Shape>::write(value.extents); }
  static ops::ResultExtents read(TextReader& in) { return {FieldText<Shape>::read(in)}; }
};

}  // namespace tenon

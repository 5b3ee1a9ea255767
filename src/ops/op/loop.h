// A region that runs again and again, counted or as long as a condition holds.
#pragma once

#include "ops/region.h"

namespace tenon::ops {

// How a tensor is cut into the operands of the iterations, or made of their results.
struct LoopAxis {
  int64_t axis = 0;      // not negative
  bool reverse = false;  // the last slice first
  Extent length = -1;    // results only: extent of the axis in the result
  bool operator==(const LoopAxis&) const = default;
};

// Inputs, in this order: the number of iterations where `counted` (i32 or i64, one element); the first values of the
// `states`; a tensor for each of `slices`; what the regions read besides. Both regions have as inputs: the states, one
// slice of each tensor with its axis taken out, the rest.
// Before each iteration `test` says whether it takes place (one output, bool; no node and no output: always). `next`
// gives the next values of the states, of the same types and extents, then one part for each of `stacks`. Outputs: the
// last values of the states; for each of `stacks` the parts of all iterations along a new axis. What lies beyond the
// last iteration is zero. More iterations than a length or a sliced tensor has are an error.
struct Loop {
  static constexpr std::string_view kName = "loop";
  int32_t states = 0;
  bool counted = false;
  Region test;
  Region next;
  std::vector<LoopAxis> slices;
  std::vector<LoopAxis> stacks;
  Extent trips = -1;  // what the number of iterations comes to, where shapes say it; -1: its operand alone does
  static constexpr auto fields =
      std::tuple{field("states", &Loop::states), field("counted", &Loop::counted), field("test", &Loop::test),
                 field("next", &Loop::next),     field("slices", &Loop::slices),   field("stacks", &Loop::stacks),
                 field("trips", &Loop::trips)};

  bool tested() const { return !test->outputs.empty(); }
  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;

 private:
  void checkResults(std::span<const TensorView> results, std::span<const TensorView> outputs) const;
};

// No loop runs more often, so that one whose condition always holds ends: 2^31 - 1 iterations, or TENON_LOOP_LIMIT.
int64_t mostIterations();
// UserError where there shall be one more than `most`.
inline void checkIterationLimit(int64_t iterations, int64_t most) {
  if (iterations >= most)
    throw UserError(
        "loop: more than {} iterations, the most that a loop may have; TENON_LOOP_LIMIT sets another number", most);
}

inline void bindField(std::vector<LoopAxis>& axes, const SymbolValues& symbols) {
  for (auto& axis : axes) axis.length = Extent(axis.length.evaluate(symbols));
}
inline void fieldSymbols(const std::vector<LoopAxis>& axes, std::set<std::string>& names) {
  for (const auto& axis : axes) axis.length.collectSymbols(names);
}

}  // namespace tenon::ops

namespace tenon {

// {1 true n}
template <>
struct FieldText<ops::LoopAxis> {
  static std::string write(const ops::LoopAxis& value) {
    return fmt::format("{{{} {} {}}}", value.axis, FieldText<bool>::write(value.reverse), value.length.text());
  }
  static ops::LoopAxis read(TextReader& in) {
    ops::LoopAxis value;
    in.expect("{");
    value.axis = in.integer();
    value.reverse = FieldText<bool>::read(in);
    value.length = FieldText<Extent>::read(in);
    in.expect("}");
    return value;
  }
};

}  // namespace tenon

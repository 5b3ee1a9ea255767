// Several operators as one node, for kernels that compute them together: over one pass of what they share.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// One operator of a composite, with one output. Operand i >= 0 is input i of the composite, -1 - k the result of part
// k, which stands before it.
struct CompositePart {
  Operator op;
  std::vector<int32_t> inputs;
  bool operator==(const CompositePart&) const = default;
};

// Outputs are the results of the parts named in `outputs`. No part is a composite.
struct Composite {
  static constexpr std::string_view kName = "composite";
  std::vector<CompositePart> parts;
  std::vector<int32_t> outputs;
  static constexpr auto fields = std::tuple{field("parts", &Composite::parts), field("outputs", &Composite::outputs)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

inline void bindField(std::vector<CompositePart>& parts, const SymbolValues& symbols) {
  for (auto& part : parts) part.op = part.op.bind(symbols);
}
inline void fieldSymbols(const std::vector<CompositePart>& parts, std::set<std::string>& names) {
  for (const auto& part : parts) part.op.collectSymbols(names);
}

}  // namespace tenon::ops

namespace tenon {

// {convolution{groups=2} [0,1]}
template <>
struct FieldText<ops::CompositePart> {
  static std::string write(const ops::CompositePart& value) {
    return fmt::format("{{{} {}}}", value.op.text(), FieldText<std::vector<int32_t>>::write(value.inputs));
  }
  static ops::CompositePart read(TextReader& in) {
    in.expect("{");
    if (in.acceptWord(ops::Composite::kName)) in.fail("a composite in a composite");
    auto op = ops::Operator::parse(in);
    auto inputs = FieldText<std::vector<int32_t>>::read(in);
    in.expect("}");
    return {std::move(op), std::move(inputs)};
  }
};

}  // namespace tenon

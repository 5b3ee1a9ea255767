// Puts the fields of a layer together for the inspector, in the order in which TensorRT shows them.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "ops/scalar.h"
#include "plan/layer_parameters.h"

namespace tenon::plan {

template <typename Elements>
std::string jsonList(const Elements& elements) {
  return fmt::format("[{}]", fmt::join(elements, ","));
}

std::string upperCase(std::string_view text);
std::string camelCase(std::string_view name);  // hidden_size, hiddenSize -> HiddenSize

template <typename E>
std::string upperName(E value) {
  return upperCase(enumNames(value)[static_cast<size_t>(value)]);
}

class ParameterWriter {
 public:
  ParameterWriter(const Program& program, const Step& step, const SymbolValues* symbols)
      : program_(program), step_(step), symbols_(symbols) {}

  template <typename T>
  void number(std::string name, T value) {
    fields.push_back({std::move(name), fmt::format("{}", value), false});
  }
  void flag(std::string name, bool value) { number(std::move(name), value ? 1 : 0); }
  void text(std::string name, std::string value) { fields.push_back({std::move(name), std::move(value), true}); }
  void json(std::string name, std::string value) { fields.push_back({std::move(name), std::move(value), false}); }
  void extents(std::string name, const Shape& shape) { json(std::move(name), knownExtents(shape, symbols_)); }
  // "Axes" as a mask, bit by axis; axes may count from the end of the first input.
  void axes(const std::vector<int64_t>& axes);
  // {"Type": "Float", "Count": 135}
  void constant(std::string name, const TensorRecord& tensor);
  // A scalar program in the form of generated pointwise code; `results` are the instructions whose values are outputs,
  // the last one where there are none.
  void expression(const ops::ScalarExpr& expr, const std::vector<int64_t>& results, const std::string& prefix);
  // HasResidual and Activation of an epilogue over x0, and its code where it is none of TensorRT's. `first`: the input
  // that is its x1; a constant there is no residual.
  void epilogue(const ops::ScalarExpr& epilogue, size_t first);
  // The fields that an operator's text holds: {name=value name=value}.
  void ownFields(std::string_view text);

  const TensorRecord* input(size_t i) const;  // null where there is none
  bool isConstantInput(size_t i) const { return input(i) != nullptr && input(i)->storage == Storage::kConstant; }
  const SymbolValues* symbols() const noexcept { return symbols_; }

  std::vector<Parameter> fields;

 private:
  const Program& program_;
  const Step& step_;
  const SymbolValues* symbols_;
};

// NONE, RELU, CLIPPED_RELU or GENERIC; `adds` where the epilogue adds x1 before.
std::string activationOf(const ops::ScalarExpr& epilogue, bool& adds);

}  // namespace tenon::plan

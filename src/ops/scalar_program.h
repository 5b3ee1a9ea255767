// A scalar expression made ready to run: types resolved once, evaluated for one index after another.
#pragma once

#include <vector>

#include "core/dims.h"
#include "ops/scalar.h"

namespace tenon::ops {

// A value during evaluation. Floating types live in `real`, the others in `integer`.
struct Number {
  double real = 0;
  int64_t integer = 0;
  DataType type = DataType::kF32;

  static Number ofReal(double value, DataType type) { return {value, 0, type}; }
  static Number ofInteger(int64_t value, DataType type) { return {0, value, type}; }
  static Number load(const TensorView& tensor, int64_t index);
  void store(const TensorView& tensor, int64_t index) const;
  bool floating() const noexcept { return isFloating(type); }
  double asReal() const noexcept { return floating() ? real : static_cast<double>(integer); }
};

// Intermediate results of floating types are not rounded to their type (the reference is more exact than any kernel);
// casts are. Results of integer types wrap, as in ONNX and C; casts saturate. Not thread-safe: operator() uses scratch
// memory of the object.
class ScalarProgram {
 public:
  ScalarProgram(const ScalarExpr& expr, std::span<const DataType> inputs);  // throws UserError as resultType does
  DataType result() const noexcept { return result_; }
  Number operator()(std::span<const Number> inputs);

 private:
  struct Step {
    ScalarInstruction instruction;
    DataType type;  // of the result
    bool floating;  // class of the operands
    int arity;
  };
  Number operand(const ScalarArgument& argument, const Step& step, std::span<const Number> inputs) const;
  std::vector<Step> steps_;
  std::vector<Number> results_;
  DataType result_;
};

// What an integer type keeps of a value: the lowest bits. So it makes no difference whether instructions share a
// kernel.
int64_t wrapped(int64_t value, DataType type);

// A literal among integers: truncated towards zero, saturated.
int64_t saturatedInteger(double value);

// Casts as a store and a load would: narrowing rounds, integers saturate.
Number castNumber(const Number& value, DataType type);

}  // namespace tenon::ops

// A scalar expression translated into calls of vector functions over buffers of a block: types are resolved,
// conversions stand where they are needed.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backends/cpu/kernels/simd/pointwise_simd.h"
#include "ops/scalar.h"

namespace tenon::backends::cpu {

// f16 and bf16 are computed in f32 and rounded where they are cast or stored; integers wrap in their own type; truth
// values are bytes 0 and 1. An operator that has no function of its type is computed in i64 and wrapped.
struct PointwiseCode {
  struct Call {
    VectorFunction function = nullptr;
    std::array<int, 3> operands{};  // buffers
    int result = 0;
    bool mayOverwrite = false;  // the result may be an operand
    bool isSingle = false;      // operands and result are single values
    bool wantsLanes = false;    // a multiple of kLanes elements
  };
  struct Literal {
    int buffer = 0;
    double value = 0;
  };
  std::vector<DataType> buffers;  // inputs first, each in its own type
  // Buffers of one value for the whole block, of which kLanes stand side by side; of the others some may be unused.
  std::vector<bool> isSingle, isUsed;
  std::vector<Call> calls;
  std::vector<Literal> literals;
  std::vector<int> outputs;     // the buffer of each result, in its type; no two alike, none an input
  bool takesAnyCount = true;    // no call wants whole vectors
  int64_t bytesPerElement = 0;  // of all buffers that are used and hold a block

  PointwiseCode() = default;
  // `results`: the instructions whose values are wanted; `single`: the inputs that are one value for the whole block.
  // Throws Unsupported for types of less than a byte and for e8m0.
  PointwiseCode(const ops::ScalarExpr& expr, std::span<const int64_t> results, std::span<const DataType> inputs,
                const std::vector<bool>& single);

 private:
  void countUsed(size_t inputs);
};

}  // namespace tenon::backends::cpu

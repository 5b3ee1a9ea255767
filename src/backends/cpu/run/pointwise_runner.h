// Runs a scalar expression over broadcast tensors in blocks that stay in the first cache: kernels of their own and the
// epilogues that a library's post-operations cannot express.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/run/pointwise_simd.h"
#include "core/strided.h"
#include "ops/scalar.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// Types f32 and bool in any format; where the output is blocked, operands per channel and smaller ones are strided. Ready for one set of shapes after configure(); run() allocates nothing.
class PointwiseRunner {
 public:
  explicit PointwiseRunner(ops::ScalarExpr expr);

  void configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output);
  void run(void* const* inputs, void* output) const;  // the output may be one of the inputs of the same shape and format

 private:
  static constexpr int64_t kBlock = 512;
  static constexpr size_t kMaxBuffers = 48;
  struct Step {
    VectorFunction function = nullptr;
    std::array<int, 3> operands{};  // buffers: inputs first, then literals, then results
    int result = 0;
  };
  // Where each operand of a block lies, and what the buffers hold of blocks before: rows that broadcast stay.
  struct Block {
    std::array<const char*, kMaxBuffers> in{};
    std::array<const char*, kMaxBuffers> loaded{};
    std::array<int64_t, kMaxBuffers> loadedCount{};
    int64_t rows = 0, count = 0;  // rows of `count` elements
    char* out = nullptr;
  };
  void joinRows();
  void pieces(void* const* inputs, void* output, int64_t begin, int64_t end) const;
  void block(Block& block, float* buffers) const;
  void gather(Block& block, size_t operand, float* to) const;

  ops::ScalarExpr expr_;
  std::vector<Step> steps_;
  std::vector<float> literals_;
  size_t inputCount_ = 0;
  size_t bufferCount_ = 0;
  std::vector<DataType> inputTypes_;
  DataType outputType_ = DataType::kF32;
  LoopSpace space_;  // operand 0 is the output
  int64_t rows_ = 1;         // innermost rows of a block, where they are short and lie behind each other in the output
  int64_t pieces_ = 0;       // blocks per innermost row, or per `outerRows_` rows
  int64_t outerRows_ = 1;    // extent of the axis that the rows of a block are of
};

}  // namespace tenon::backends::cpu

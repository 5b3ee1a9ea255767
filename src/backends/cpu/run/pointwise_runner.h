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
  void joinRepeats();
  void rows(void* const* inputs, void* output, int64_t begin, int64_t end) const;
  void block(const char* const* in, char* out, int64_t count, float* buffers) const;

  ops::ScalarExpr expr_;
  std::vector<Step> steps_;
  std::vector<float> literals_;
  size_t inputCount_ = 0;
  size_t bufferCount_ = 0;
  std::vector<DataType> inputTypes_;
  DataType outputType_ = DataType::kF32;
  LoopSpace space_;  // operand 0 is the output
  std::vector<int64_t> periods_;  // per operand of the space: its values repeat along the innermost axis; 0: they do not
  int64_t pieces_ = 0;  // blocks per innermost row
};

}  // namespace tenon::backends::cpu

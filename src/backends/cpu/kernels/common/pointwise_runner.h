// Runs a scalar expression over broadcast tensors in blocks that stay in the L1 cache: stand-alone pointwise kernels
// and the epilogues that a library's post-operations cannot express.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backends/cpu/kernels/simd/pointwise_simd.h"
#include "core/strided.h"
#include "ops/scalar.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// Types f32 and bool in any format; where the output is blocked, operands per channel and smaller ones are strided.
// Ready for one set of shapes after configure(); run() allocates nothing.
class PointwiseRunner {
 public:
  // `results`: the instructions that are outputs; none: the last one.
  explicit PointwiseRunner(ops::ScalarExpr expr, std::vector<int64_t> results = {});

  // Outputs have one shape and one format.
  void configure(std::span<const runtime::TensorShape> inputs, std::span<const runtime::TensorShape> outputs);
  void configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output) {
    configure(inputs, std::span(&output, 1));
  }
  // The output of the last instruction may be one of the inputs of the same shape and format.
  void run(void* const* inputs, void* const* outputs) const;
  void run(void* const* inputs, void* output) const { run(inputs, &output); }

  // For kernels with loops of their own: `scratch` of kMaxBuffers * kBlock floats is prepared once, then values() gives
  // those of the last instruction for up to kBlock neighbours, along which input k steps by strides[k] elements. They
  // stand until the next call.
  static constexpr int64_t kBlock = 512;
  static constexpr size_t kMaxBuffers = 48;
  void prepare(float* scratch) const;
  const float* values(const char* const* in, const int64_t* strides, int64_t count, float* scratch) const;

 private:
  struct Step {
    VectorFunction function = nullptr;
    std::array<int, 3> operands{};  // buffers: inputs first, then literals, then results
    int result = 0;
  };
  struct Output {
    DataType type = DataType::kF32;
    size_t buffer = 0;
  };
  using Places = std::array<float*, kMaxBuffers>;
  // Where each operand of a block lies, and what the buffers hold of blocks before: rows that broadcast stay.
  struct Block {
    std::array<const char*, kMaxBuffers> in{};
    std::array<const char*, kMaxBuffers> loaded{};
    std::array<int64_t, kMaxBuffers> loadedCount{};
    std::array<char*, kMaxBuffers> out{};
    int64_t rows = 0, count = 0;  // rows of `count` elements
  };
  void joinRows();
  void pieces(void* const* inputs, void* const* outputs, int64_t begin, int64_t end) const;
  void block(Block& block, float* buffers) const;
  void gather(Block& block, size_t operand, float* to) const;
  Places buffersAt(float* scratch) const;
  void compute(const Places& place, size_t count) const;
  const std::vector<int64_t>& inputStrides(size_t input) const { return space_.strides[outputs_.size() + input]; }

  ops::ScalarExpr expr_;
  std::vector<int64_t> results_;
  std::vector<Step> steps_;
  std::vector<float> literals_;
  size_t inputCount_ = 0;
  size_t bufferCount_ = 0;
  std::vector<DataType> inputTypes_;
  std::vector<Output> outputs_;
  LoopSpace space_;        // operands: outputs, then inputs
  int64_t rows_ = 1;       // innermost rows of a block, where they are short and lie behind each other in the outputs
  int64_t pieces_ = 0;     // blocks per innermost row, or per `outerRows_` rows
  int64_t outerRows_ = 1;  // extent of the axis that the rows of a block are of
};

}  // namespace tenon::backends::cpu

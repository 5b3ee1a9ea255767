// Runs a scalar expression over broadcast tensors in blocks that stay in the L1 cache: stand-alone pointwise kernels
// and the epilogues that a library's post-operations cannot express.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backends/cpu/kernels/common/pointwise_code.h"
#include "core/strided.h"
#include "ops/scalar.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// Types of whole bytes in any format; where the output is blocked, operands per channel and smaller ones are strided.
// Ready for one set of shapes after configure(); run() allocates nothing.
class PointwiseRunner {
 public:
  // `results`: the instructions that are outputs; none: the last one.
  explicit PointwiseRunner(ops::ScalarExpr expr, std::vector<int64_t> results = {});

  // Outputs have one shape and one format. `forValues`: values() is what will be asked.
  void configure(std::span<const runtime::TensorShape> inputs, std::span<const runtime::TensorShape> outputs,
                 bool forValues = false);
  void configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output) {
    configure(inputs, std::span(&output, 1));
  }
  // The output of the last instruction may be one of the inputs of the same shape and format.
  void run(void* const* inputs, void* const* outputs) const;
  void run(void* const* inputs, void* output) const { run(inputs, &output); }

  // For kernels with loops of their own: `scratch` of kScratchBytes, aligned to 64, is prepared once, then values()
  // gives those of the first output for up to kBlock neighbours, along which input k steps by strides[k] elements. They
  // stand until the next call.
  static constexpr int64_t kBlock = 512;
  static constexpr size_t kScratchBytes = size_t{320} << 10;
  static constexpr size_t kMaxInputs = 48;
  void prepare(char* scratch) const;
  const void* values(const char* const* in, const int64_t* strides, int64_t count, char* scratch) const;

 private:
  static constexpr size_t kMaxBuffers = 256;
  using Places = std::array<char*, kMaxBuffers>;
  // Where each operand of a block lies, and what the buffers hold of blocks before: rows that broadcast stay.
  struct Block {
    std::array<const char*, kMaxInputs> in{};
    std::array<const char*, kMaxInputs> loaded{};
    std::array<int64_t, kMaxInputs> loadedCount{};
    std::array<char*, kMaxInputs> out{};
    int64_t slices = 1, rows = 0, count = 0;  // slices of `rows` rows of `count` elements
    int64_t elements() const { return slices * rows * count; }
  };
  // Where the loops stand.
  struct Position {
    int64_t row = -1;
    int64_t onAxis = 0;  // the row's index on the axis next to the innermost
    std::array<int64_t, 2 * kMaxInputs> offsets{};
  };
  bool joinsRows() const;
  void joinRows();
  bool joinSlices();
  void moveTo(int64_t row, Position& position) const;
  bool isPlain() const;
  void pieces(void* const* inputs, void* const* outputs, int64_t begin, int64_t end) const;
  void plainPieces(void* const* inputs, char* output, int64_t begin, int64_t end, const Places& buffers) const;
  void block(Block& block, const Places& buffers) const;
  void part(Block& block, const Places& buffers) const;
  void gather(Block& block, size_t operand, char* to) const;
  Places buffersAt(char* scratch) const;
  void compute(const Places& place, size_t count) const;
  // Whether the last call may write an output over the operand it reads.
  bool mayOverwrite(size_t output) const;
  bool overlaps(const Block& block, size_t output) const;
  const std::vector<int64_t>& inputStrides(size_t input) const { return space_.strides[outputBytes_.size() + input]; }

  ops::ScalarExpr expr_;
  std::vector<int64_t> results_;
  PointwiseCode code_;
  std::vector<int64_t> inputBytes_, outputBytes_;  // of an element
  std::vector<int64_t> offsets_;                   // of the buffers in the scratch memory
  LoopSpace space_;                                // operands: outputs, then inputs
  int64_t blockSize_ = kBlock;                     // elements
  int64_t rows_ = 1;       // innermost rows of a block, where they are short and lie behind each other in the outputs
  int64_t slices_ = 1;     // of a block, each of all rows of the axis next to the innermost
  int64_t pieces_ = 0;     // blocks per innermost row, or per `outerRows_` rows
  int64_t outerRows_ = 1;  // of the axis, or the two axes, that the rows of a block are of
  bool isPlain_ = false;   // plainPieces() does it
};

}  // namespace tenon::backends::cpu

// Epilogues of contractions: scalar expressions, evaluated while the tile is still in the L1 cache.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "backends/cpu/kernels/simd/gate_simd.h"
#include "backends/cpu/kernels/simd/pointwise_simd.h"
#include "ops/scalar.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// Results are a matrix of rows (pixels) by columns (channels), row-major. An extra operand of the expression is such a
// matrix too, one row for all, or one value.
class TileEpilogue {
 public:
  enum class Operand : uint8_t { kMatrix, kRow, kValue };

  explicit TileEpilogue(const ops::ScalarExpr& expr) : expr_(expr) {}

  // `operands[i]` is x(i + 1); axis `columnAxis` of the result is the column. Throws Unsupported in the name of
  // `kernel` where an operand is none of the three, or the expression needs more room than a tile has.
  void configure(std::string_view kernel, const Dims& out, std::span<const runtime::TensorShape> operands,
                 int columnAxis);
  const std::vector<Operand>& operands() const noexcept { return operands_; }

  // Where rows of the result or of a matrix among the operands lie further apart than `columns` of run().
  void setSteps(const runtime::TensorShape& out, std::span<const runtime::TensorShape> operands);

  // Runs the tile with its epilogue. `extras` are the addresses of x1, ...; `row` and `column` say where the tile
  // begins and `columns` is the width of the whole matrix. The call's out, addend and clamp are set here.
  void run(TileFunction function, int rows, TileCall& call, float* out, void* const* extras, int64_t row,
           int64_t column, int64_t columns) const;
  // The same of a strip.
  void run(const EvenRows& rows, TileCall& call, float* out, void* const* extras, int64_t row, int64_t column,
           int64_t columns) const;

  // Asks for the matrix that a later run() of these rows and columns adds.
  void fetch(void* const* extras, int64_t row, int64_t rows, int64_t column, int64_t width, int64_t columns) const {
    if (!direct_ || addend_ < 0) return;
    const int64_t step = operandStep(static_cast<size_t>(addend_), columns);
    fetchRows(static_cast<const float*>(extras[addend_]) + row * step + column, rows, step, width);
  }

  // Applies the expression to `rows` rows of `width` results that lie in `buffer` (rows `stride` apart) and stores
  // them.
  void finish(float* buffer, int rows, int64_t stride, int64_t width, float* out, void* const* extras, int64_t row,
              int64_t column, int64_t columns) const;

  // The same for `count` results behind each other, where every extra operand is one value.
  void finishInPlace(float* results, int64_t count, void* const* extras) const;

  // Whether the expression costs nothing: it is done in registers.
  bool isDirect() const noexcept { return direct_ && gate_ == Gate::kNone && scale_ == 1; }

  // What becomes of the sums of rows from `row` and columns from `column` on, where it is a factor, a row and a matrix
  // that are added, and bounds.
  struct Plain {
    float scale;
    const float* bias;    // or null
    const float* addend;  // or null
    int64_t addendStep;
    float low, high;
  };
  bool isPlain() const noexcept { return direct_ && gate_ == Gate::kNone && !bends_; }
  Plain plain(void* const* extras, int64_t row, int64_t column, int64_t columns) const noexcept;

  // What becomes of a sum where it is a slope below zero, a clamp or both, and nothing else.
  struct Ends {
    float low, high;
    bool bends;
    const float* slopes;  // of the columns; null: `slope` is that of all
    float slope;
  };
  std::optional<Ends> ends(void* const* extras) const noexcept;

  // Whether it is a gate, perhaps with one added matrix and a clamp behind, for which finish() takes rows of any
  // length, in place too.
  bool isGate() const noexcept { return direct_ && gate_ != Gate::kNone; }

 private:
  static constexpr int kMaxBuffers = 24;
  static constexpr int64_t kTile = kMaxTileRows * kMaxTileColumns;
  struct Step {
    VectorFunction function = nullptr;
    std::array<int, 3> operands{};  // buffers: x0, the extras, the literals, the results
    int result = 0;
  };
  int64_t operandStep(size_t k, int64_t columns) const {
    return k < operandSteps_.size() && operandSteps_[k] != 0 ? operandSteps_[k] : columns;
  }
  // A gate is one pass over the tile in a buffer, everything else of a direct expression none.
  enum class Gate : uint8_t { kNone, kSwish, kHardSwish };
  bool gate();
  bool findDirect();
  bool add(int operand);
  bool scaleBy(const ops::ScalarInstruction& instruction);
  template <class Run>
  void runDirect(const Run& run, TileCall& call, float* out, void* const* extras, int64_t row, int64_t column,
                 int64_t columns) const;
  static void prepareBuffer(TileCall& call, int64_t rows, float* buffer);
  bool fits();
  bool clamp(const ops::ScalarInstruction& instruction, const ops::ScalarArgument& running);
  bool bend(const ops::ScalarInstruction& instruction, const ops::ScalarArgument& running);
  void makeSteps();
  void joinGates();
  struct Matrix {
    const float* data;
    int64_t step;
  };
  void clampAndStore(const float* buffer, int rows, int64_t stride, int64_t width, float* out, int64_t outStep,
                     const float* bias, const Matrix& addend) const;

  ops::ScalarExpr expr_;
  std::vector<Operand> operands_;
  std::vector<Step> steps_;
  std::vector<float> literals_;  // a tile of each
  int64_t outStep_ = 0;          // 0: dense
  std::vector<int64_t> operandSteps_;
  // A factor, at most one added row and one added matrix, then a slope below zero and a clamp; or a gate, one added
  // matrix and a clamp.
  bool direct_ = false;
  Gate gate_ = Gate::kNone;
  float gateSlope_ = 0, gateOffset_ = 0;
  float scale_ = 1;     // of sums; where it is another, results go through a buffer
  int bias_ = -1;       // extra operand, the added row
  int addend_ = -1;     // extra operand
  bool bends_ = false;  // by the slope of an extra operand, or by a literal
  int slope_ = -1;      // extra operand
  float literalSlope_ = 0;
  float low_ = 0;
  float high_ = 0;
};

}  // namespace tenon::backends::cpu

// Matmul as cuBLASLt describes it: extents, epilogues, algorithms as text.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/driver/libraries.h"
#include "ops/op/matmul.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

constexpr int kBlasMatMulVersion = 4;  // of records of products
constexpr size_t kBlasWorkspaceBytes = size_t{32} << 20;

// An epilogue that cuBLASLt computes itself: activation(alpha * product + residual + bias).
struct BlasEpilogue {
  enum class Activation : uint8_t { kNone, kRelu, kGeluTanh };
  float alpha = 1;
  int bias = -1;      // input of the expression, a vector along the last axis; -1: none
  int residual = -1;  // input of the expression, of the result's extents; -1: none
  Activation activation = Activation::kNone;

  bool mayBeParted() const { return bias < 0 && residual < 0; }  // columns apart from each other
};

// The expression as such an epilogue; nothing where it is another computation. `extras` are x1, x2, ....
std::optional<BlasEpilogue> matchEpilogue(const ops::ScalarExpr& expr, std::span<const runtime::TensorShape> extras,
                                          const Dims& result);

// Extents of y = a b as one strided batch; a batch of `a` times one `b` is a single product of more rows.
struct BlasShape {
  DataType type = DataType::kF32;    // of the operands
  DataType result = DataType::kF32;  // f32 where halves are not rounded to
  bool transposeA = false;
  bool transposeB = false;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool batchedA = false, batchedB = false;
  std::string text() const;
};

// The reason why the operands are no such product, or empty.
std::string blasRefusal(const ops::MatMul& op, const runtime::Shapes& shapes);
BlasShape blasShape(const ops::MatMul& op, const runtime::Shapes& shapes);

// The attributes that make an algorithm; text form "21:20,5,1,0,0,0,0,2".
struct BlasAlgorithm {
  int32_t id = 0;
  std::array<int32_t, 8> settings{};  // tile, stages, split-k, reduction, swizzle, custom, inner shape, cluster shape
  std::string text() const;
  static BlasAlgorithm parse(std::string_view text);
  bool operator==(const BlasAlgorithm&) const = default;
};

// How a kernel computes, as records and variants write it: "whole,tf32,21:...".
struct BlasChoice {
  bool whole = true;  // the epilogue by cuBLASLt, else by a generated kernel in place
  bool parted =
      false;  // with the epilogue: wholeColumns into the workspace and from there to the result, then the rest
  bool tf32 = false;
  BlasAlgorithm algorithm;
  std::string text() const;
  static BlasChoice parse(std::string_view text);
};

// Columns of the result that are whole packs of 16 bytes, where the rest of a pack costs cuBLASLt its quick algorithms
// and is computed apart: transposed right operands, results of 1 MiB and more. 0: all columns at once.
int64_t wholeColumns(const BlasShape& shape);
// The product of those columns: halves even where the result is f32, since they are half the bytes on the way there.
BlasShape wholeProduct(BlasShape shape);

// Asks cuBLASLt something for the first time, which takes it long. `params`: of a record of its kernels.
void askBlasAhead(std::string_view params);

// Owned descriptors of one product with its epilogue.
class BlasProduct {
 public:
  // `pitch`: elements from one row of the result to the next; 0: as many as it has.
  BlasProduct(const BlasShape& shape, const BlasEpilogue& epilogue, bool tf32, int64_t pitch = 0);
  ~BlasProduct();
  BlasProduct(const BlasProduct&) = delete;
  BlasProduct& operator=(const BlasProduct&) = delete;

  // What cuBLASLt's heuristic offers, best first.
  std::vector<BlasAlgorithm> propose(int most) const;
  // The same and, behind it, up to `more` other tiles, stages, clusters and splits of the inner extent with which the
  // offered algorithms can compute this product, spread over all there are.
  std::vector<BlasAlgorithm> search(int most, size_t more) const;
  // Makes the algorithm ready; false when it does not fit. The workspace it needs is then known.
  bool use(const BlasAlgorithm& algorithm);
  bool useFirst();  // what the heuristic holds for the best, as it is
  size_t workspaceBytes() const noexcept { return workspaceBytes_; }
  void run(const void* a, const void* b, const void* bias, const void* residual, void* y, void* workspace,
           void* stream);

 private:
  std::vector<cublasLtMatmulHeuristicResult_t> ask(int most) const;
  bool make(const BlasAlgorithm& algorithm, cublasLtMatmulAlgo_t& made, size_t& workspaceBytes) const;
  void layout(cublasLtMatrixLayout_t& layout, cudaDataType_t type, int64_t rows, int64_t columns, bool batched,
              int64_t pitch = 0) const;
  BlasShape shape_;
  BlasEpilogue epilogue_;
  cublasComputeType_t compute_;
  cudaDataType_t type_;
  cudaDataType_t resultType_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 3>
      layouts_{};  // b, a, y: row-major products are column-major ones in exchanged order
  cublasLtMatmulAlgo_t algorithm_{};
  size_t workspaceBytes_ = 0;
  const void* boundBias_ = nullptr;
};

}  // namespace tenon::backends::cuda

// Products of rows of bytes with matrices of a few columns, which are laid along the depth and then multiplied.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/simd/byte_dots_simd.h"

namespace tenon::backends::cpu {

class ByteFewColumns {
 public:
  static constexpr int64_t kMost = kMostDotColumns - 1;  // columns; one of ones adds up the rows

  ByteFewColumns() = default;
  ByteFewColumns(int64_t depth, int64_t columns, int64_t matrices, bool isSignedA, bool isSignedB, bool isTransposed);

  // Bytes of `to` below.
  int64_t bytes() const { return matrices_ * (matrixBytes() + kTerms * static_cast<int64_t>(sizeof(int32_t))); }
  // Lays columns out; `aZero` is that of unsigned rows.
  void prepare(const void* b, int32_t aZero, void* to) const;
  // sums[r][c] = the sum of (a - aZero) * (b - zeros[c]), of rows of a that follow each other and matrix `matrix`;
  // `zeros`: of signed columns, all 0 where not `centersRows`.
  void multiply(const uint8_t* a, int64_t rows, const void* prepared, int64_t matrix, const int32_t* zeros,
                bool centersRows, int32_t aZero, int32_t* sums) const;

 private:
  static constexpr int64_t kTerms = 16;  // what is taken away from each column, at least, in whole lines

  int64_t matrixBytes() const { return (columns_ + 1) * step_; }
  const int32_t* termsOf(const void* prepared, int64_t matrix) const;

  int64_t depth_ = 0, columns_ = 0, matrices_ = 0;
  bool isSignedA_ = false, isSignedB_ = false, isTransposed_ = false;
  int64_t step_ = 0;  // of a column
};

}  // namespace tenon::backends::cpu

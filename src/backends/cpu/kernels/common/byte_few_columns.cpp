// Products of rows of bytes with matrices of a few columns.
#include "backends/cpu/kernels/common/byte_few_columns.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/byte_window.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {

ByteFewColumns::ByteFewColumns(int64_t depth, int64_t columns, int64_t matrices, bool isSignedA, bool isSignedB,
                               bool isTransposed)
    : depth_(depth),
      columns_(columns),
      matrices_(matrices),
      isSignedA_(isSignedA),
      isSignedB_(isSignedB),
      isTransposed_(isTransposed),
      step_((depth + kDotBytes - 1) / kDotBytes * kDotBytes) {}

const int32_t* ByteFewColumns::termsOf(const void* prepared, int64_t matrix) const {
  const auto* const terms = static_cast<const char*>(prepared) + matrices_ * matrixBytes();
  return reinterpret_cast<const int32_t*>(terms) + matrix * kTerms;
}

void ByteFewColumns::prepare(const void* b, int32_t aZero, void* to) const {
  runJobs(matrices_, matrices_ * columns_ * depth_, [&](int64_t matrix) {
    const auto* const from = static_cast<const uint8_t*>(b) + matrix * columns_ * depth_;
    auto* const filled = static_cast<uint8_t*>(to) + matrix * matrixBytes();
    if (isTransposed_ || columns_ == 1) {
      for (int64_t c = 0; c < columns_; ++c)
        std::memcpy(filled + c * step_, from + c * depth_, static_cast<size_t>(depth_));
    } else {
      turnBytes(from, columns_, filled, step_, depth_, columns_);
    }
    for (int64_t c = 0; c < columns_; ++c) {
      if (!isSignedB_) changeByteSigns(filled + c * step_, depth_, filled + c * step_);
      std::memset(filled + c * step_ + depth_, 0, static_cast<size_t>(step_ - depth_));
    }
    uint8_t* const ones = filled + columns_ * step_;
    std::memset(ones, 1, static_cast<size_t>(depth_));
    std::memset(ones + depth_, 0, static_cast<size_t>(step_ - depth_));
    int32_t totals[kMost];
    ByteDots dots;
    dots.rows = ones;
    dots.count = 1;
    dots.filled = reinterpret_cast<const int8_t*>(filled);
    dots.filledStep = step_;
    dots.columns = static_cast<int>(columns_);
    dots.depth = depth_;
    dots.sums = totals;
    byteDotsFunction()(dots);
    auto* const terms = const_cast<int32_t*>(termsOf(to, matrix));
    for (int64_t c = 0; c < columns_; ++c)
      terms[c] = static_cast<int32_t>(static_cast<uint32_t>(totals[c]) * static_cast<uint32_t>(aZero));
  });
}

void ByteFewColumns::multiply(const uint8_t* a, int64_t rows, const void* prepared, int64_t matrix,
                              const int32_t* zeros, bool centersRows, int32_t aZero, int32_t* sums) const {
  constexpr int64_t kTogether = 64;
  int32_t some[kTogether * kMostDotColumns];
  const int32_t* const terms = termsOf(prepared, matrix);
  ByteDots dots;
  dots.rowStep = depth_;
  dots.flip = isSignedA_ ? 0x80 : 0;
  dots.filled = static_cast<const int8_t*>(prepared) + matrix * matrixBytes();
  dots.filledStep = step_;
  dots.columns = static_cast<int>(columns_) + (centersRows ? 1 : 0);
  dots.depth = depth_;
  dots.sums = some;
  const uint32_t ofRow = static_cast<uint32_t>(depth_) * static_cast<uint32_t>(aZero);
  for (int64_t first = 0; first < rows; first += kTogether) {
    dots.rows = a + first * depth_;
    dots.count = std::min(kTogether, rows - first);
    byteDotsFunction()(dots);
    for (int64_t r = 0; r < dots.count; ++r) {
      const int32_t* const row = some + r * dots.columns;
      const uint32_t total = centersRows ? static_cast<uint32_t>(row[columns_]) - ofRow : 0;
      for (int64_t c = 0; c < columns_; ++c)
        *sums++ = static_cast<int32_t>(static_cast<uint32_t>(row[c]) - static_cast<uint32_t>(terms[c]) -
                                       static_cast<uint32_t>(zeros[c]) * total);
    }
  }
}

}  // namespace tenon::backends::cpu

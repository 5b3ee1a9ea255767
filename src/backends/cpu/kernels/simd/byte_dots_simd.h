// Rows of bytes by a few columns that lie along the depth: vectors of both are multiplied, and added up at the end.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

constexpr int kMostDotColumns = 4;
constexpr int64_t kDotBytes = 64;  // to multiples of which columns are filled with zeros

// Sums of products, for each row `columns` of them in a line.
struct ByteDots {
  const uint8_t* rows = nullptr;
  int64_t rowStep = 0;  // bytes
  int64_t count = 0;    // rows
  uint8_t flip = 0;     // bits of the bytes of rows to change, so that they are unsigned
  const int8_t* filled = nullptr;
  int64_t filledStep = 0;  // from column to column
  int columns = 1;         // 1 to kMostDotColumns
  int64_t depth = 0;
  int32_t* sums = nullptr;
};
using ByteDotsFunction = void (*)(const ByteDots&);

// The best one for this processor.
ByteDotsFunction byteDotsFunction();

}  // namespace tenon::backends::cpu

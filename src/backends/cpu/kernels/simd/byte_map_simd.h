// Functions of bytes that give bytes: by tables of their values, and by formulas for sums and products of quantized
// numbers; and sums of bytes. Compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

constexpr size_t kByteValues = 256;
constexpr size_t kByteColumns = 64;
constexpr size_t kByteSumRows = 256;  // whose sum fits 16 bits

// round(((x0 - zeros[0]) * scales[0] + (x1 - zeros[1]) * scales[1]) / divisor) + zero, saturated; or the product of
// the two. Bytes with a sign are read with 128 added, which `zeros` hold too.
struct ByteFormula {
  bool isProduct = false;
  // As it is written, with quotients that are rounded once; else with as few multiplications as there can be.
  bool isExact = false;
  bool isSigned[2] = {false, false};
  bool givesSigned = false;
  float zeros[2] = {0, 0}, scales[2] = {1, 1};
  float divisor = 1;
  int32_t zero = 0;
};

struct ByteMaps {
  // to[i] = table[from[i]], of kByteValues values.
  void (*lookUp)(const uint8_t* table, const uint8_t* from, uint8_t* to, size_t count) = nullptr;
  void (*compute)(const ByteFormula& formula, const uint8_t* a, const uint8_t* b, uint8_t* to, size_t count) = nullptr;
  // The sum of x[i] ^ sign.
  uint64_t (*sum)(const uint8_t* x, size_t count, uint8_t sign) = nullptr;
  // sums[i] += x[row * step + i] ^ sign, of at most kByteColumns columns and kByteSumRows rows.
  void (*addRows)(const uint8_t* x, size_t rows, size_t step, size_t width, uint8_t sign, uint64_t* sums) = nullptr;
};

const ByteMaps& byteMaps();

}  // namespace tenon::backends::cpu

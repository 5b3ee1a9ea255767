// Sums of products of integers, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

constexpr size_t kProductColumns = 32;  // at most, at once

// An operand of products: the step to the next one of the sum and, where that is 0 or 1, to the next sum.
struct ProductOperand {
  const void* at = nullptr;
  int64_t step = 0;
  int64_t column = 0;
};

// Rows of a matrix by columns of another one. Steps are in elements.
struct ProductTile {
  const void* a = nullptr;  // an element for each row and step of the depth
  int64_t aRow = 0, aStep = 0;
  const void* b = nullptr;  // columns behind each other for each step of the depth
  int64_t bStep = 0;
  size_t rows = 0, depth = 0, count = 0;
  int64_t* sums = nullptr;  // kProductColumns for each row, where the tile is one part of the depth of so many at most
  bool goesOn = false;      // from `sums`, else from zero
  void* out = nullptr;      // null: they stay in `sums`; else results, saturated
  int64_t outRow = 0;
};

struct IntegerProducts {
  // sums[j] += the products of the operands' elements at column j, of `depth` steps. One of them steps along columns.
  void (*columns)(ProductOperand a, ProductOperand b, size_t depth, size_t count, int64_t* sums) = nullptr;
  // The same where columns are `column` elements apart, whatever that is: each sum by itself.
  void (*lines)(ProductOperand a, ProductOperand b, size_t depth, size_t count, int64_t* sums) = nullptr;
  void (*tile)(const ProductTile& tile) = nullptr;
  // to[j * step] becomes sums[j], saturated.
  void (*store)(const int64_t* sums, size_t count, void* to, int64_t step) = nullptr;
};

// Of i32 and i64, whose products wrap in their type; their sums wrap in 64 bits. No functions for other types.
IntegerProducts integerProducts(DataType type);

}  // namespace tenon::backends::cpu

// Products of matrices for which packing one into panels would be most of the work.
#pragma once

#include <vector>

#include "backends/cpu/kernels/common/matrix_pairs.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"

namespace tenon::backends::cpu {

// Matrices of a [rows, depth] by b [depth, columns], row-major unless a function says otherwise.
struct UnpackedProduct {
  const TileEpilogue& epilogue;
  bool isSum;                                      // the epilogue is none
  const std::vector<MatrixPairs::Pair>& matrices;  // by matrix of the result
  int64_t rows, depth, columns;
  const float* a;
  const float* b;
  float* out;
  void* const* extras;    // of the epilogue
  bool inPanels = false;  // b, see multiplyShallow()
};

// Few rows.
void multiplyRows(const UnpackedProduct& product);

// Sums go along the depth, where b is [columns, depth]: one column, few columns, or few rows.
void multiplyAlong(const UnpackedProduct& product);

// a is [depth, rows] and b one column: that column, as a row, by the matrix as it lies.
void multiplyTurned(const UnpackedProduct& product);

// At most kShallowDepth deep, with an epilogue that isPlain(): results are written as they lie. b may lie in panels.
void multiplyShallow(const UnpackedProduct& product);

// Matrices [depth, columns] of few columns as [columns, depth].
void turnColumns(const float* b, int64_t matrices, int64_t depth, int64_t columns, float* to);

}  // namespace tenon::backends::cpu

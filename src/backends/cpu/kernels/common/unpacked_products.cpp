// Products without panels: few rows, few columns, little depth.
#include "backends/cpu/kernels/common/unpacked_products.h"

#include <algorithm>

#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/gemv_simd.h"
#include "backends/cpu/kernels/simd/shallow_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"

namespace tenon::backends::cpu {

void multiplyRows(const UnpackedProduct& p) {
  constexpr int64_t kMost = 4096, kLongRow = 8192;                 // columns
  const int64_t each = p.columns >= kLongRow ? kMost : kShortRow;  // of a job
  const int64_t chunks = (p.columns + each - 1) / each;
  const auto matrices = static_cast<int64_t>(p.matrices.size());
  const auto multiply = rowTimesMatrix();
  runJobs(matrices * chunks, matrices * p.rows * p.columns * p.depth, [&](int64_t job) {
    const int64_t matrix = job / chunks;
    const auto& pair = p.matrices[static_cast<size_t>(matrix)];
    const int64_t first = job % chunks * each;
    const int64_t count = std::min(each, p.columns - first);
    alignas(64) float results[kMost];
    for (int64_t row = 0; row < p.rows; ++row) {
      float* const to = p.isSum ? p.out + (matrix * p.rows + row) * p.columns + first : results;
      multiply(p.a + (pair.a * p.rows + row) * p.depth, p.b + pair.b * p.depth * p.columns + first, p.columns, p.depth,
               to, count);
      if (p.isSum) continue;
      const int64_t padded = (count + kMaxTileColumns - 1) / kMaxTileColumns * kMaxTileColumns;
      std::fill(results + count, results + padded, 0.f);
      for (int64_t part = 0; part < count; part += kShortRow)
        p.epilogue.finish(results + part, 1, std::min(kShortRow, padded - part), std::min(kShortRow, count - part),
                          p.out, p.extras, matrix * p.rows + row, first + part, p.columns);
    }
  });
}

void multiplyAlong(const UnpackedProduct& p) {
  constexpr int64_t kColumns = kMaxTileColumns, kResults = kMaxTileRows * kColumns;  // of a job
  const int64_t blockRows = p.columns == 1 ? kMaxTileColumns : kMaxTileRows;
  const int64_t blocks = (p.rows + blockRows - 1) / blockRows;
  const int64_t chunks = (p.columns + kColumns - 1) / kColumns;
  const auto matrices = static_cast<int64_t>(p.matrices.size());
  const auto multiply = rowsTimesRows();
  const auto multiplyOne = rowsTimesColumn();
  runJobs(matrices * blocks * chunks, matrices * p.rows * p.columns * p.depth, [&](int64_t job) {
    const int64_t matrix = job / (blocks * chunks);
    const auto& pair = p.matrices[static_cast<size_t>(matrix)];
    const int64_t row = job / chunks % blocks * blockRows;
    const int64_t column = job % chunks * kColumns;
    const int64_t rows = std::min(blockRows, p.rows - row);
    const int64_t width = std::min(kColumns, p.columns - column);
    const float* const x = p.a + (pair.a * p.rows + row) * p.depth;
    const float* const y = p.b + (pair.b * p.columns + column) * p.depth;
    alignas(64) float results[kResults] = {};
    const int64_t stride = p.columns == 1 ? 1 : kColumns;
    if (p.columns == 1) {
      multiplyOne(x, p.depth, y, p.depth, results, rows);
    } else if (p.rows == 1) {
      multiplyOne(y, p.depth, x, p.depth, results, width);
    } else {
      multiply(x, p.depth, rows, y, p.depth, width, p.depth, results, stride);
    }
    p.epilogue.finish(results, static_cast<int>(rows), stride, width, p.out, p.extras, matrix * p.rows + row, column,
                      p.columns);
  });
}

void multiplyTurned(const UnpackedProduct& p) {
  constexpr int64_t kRows = 256;  // of a job
  const int64_t blocks = (p.rows + kRows - 1) / kRows;
  const auto matrices = static_cast<int64_t>(p.matrices.size());
  const auto multiply = rowTimesMatrix();
  runJobs(matrices * blocks, matrices * p.rows * p.depth, [&](int64_t job) {
    const int64_t matrix = job / blocks;
    const auto& pair = p.matrices[static_cast<size_t>(matrix)];
    const int64_t first = job % blocks * kRows;
    const int64_t count = std::min(kRows, p.rows - first);
    alignas(64) float results[kRows];
    multiply(p.b + pair.b * p.depth, p.a + pair.a * p.rows * p.depth + first, p.rows, p.depth, results, count);
    p.epilogue.finish(results, static_cast<int>(count), 1, 1, p.out, p.extras, matrix * p.rows + first, 0, 1);
  });
}

void multiplyShallow(const UnpackedProduct& p) {
  constexpr int64_t kResults = 16 * 1024;  // of a job
  constexpr int64_t kStores = 4;           // what a result costs beside its products
  const int64_t width = tileGeometry().columns;
  const bool inPanels = p.inPanels;
  const int64_t panelFloats = p.depth * width;
  const int64_t matrixFloats = inPanels ? panelCount(p.columns) * panelFloats : p.depth * p.columns;
  const int64_t chunk = std::min((p.columns + width - 1) / width * width, kResults);
  const int64_t chunks = (p.columns + chunk - 1) / chunk;
  const int64_t blockRows = std::min(p.rows, kResults / chunk);
  const int64_t blocks = (p.rows + blockRows - 1) / blockRows;
  const auto matrices = static_cast<int64_t>(p.matrices.size());
  const auto multiply = shallowFunction();
  runJobs(matrices * blocks * chunks, matrices * p.rows * p.columns * (p.depth + kStores), [&](int64_t job) {
    const int64_t matrix = job / (blocks * chunks);
    const auto& pair = p.matrices[static_cast<size_t>(matrix)];
    const int64_t row = job / chunks % blocks * blockRows;
    const int64_t column = job % chunks * chunk;
    const auto plain = p.epilogue.plain(p.extras, matrix * p.rows + row, column, p.columns);
    const int64_t panelStep = inPanels ? panelFloats : width;
    multiply({p.a + (pair.a * p.rows + row) * p.depth, p.depth,
              p.b + pair.b * matrixFloats + column / width * panelStep, inPanels ? width : p.columns, panelStep,
              inPanels, std::min(blockRows, p.rows - row), p.depth, std::min(chunk, p.columns - column), plain.scale,
              plain.bias, plain.addend, plain.addendStep, plain.low, plain.high,
              p.out + (matrix * p.rows + row) * p.columns + column, p.columns});
  });
}

void turnColumns(const float* b, int64_t matrices, int64_t depth, int64_t columns, float* to) {
  constexpr int64_t kRows = 1024;  // of a job
  const int64_t pieces = (depth + kRows - 1) / kRows;
  const auto transpose = transposeFunctions(sizeof(float)).transpose;
  runJobs(matrices * pieces, matrices * depth * columns, [&](int64_t i) {
    const int64_t first = i % pieces * kRows;
    const int64_t matrix = i / pieces * depth * columns;
    transpose(b + matrix + first * columns, static_cast<size_t>(columns), to + matrix + first,
              static_cast<size_t>(depth), static_cast<size_t>(std::min(kRows, depth - first)),
              static_cast<size_t>(columns));
  });
}

}  // namespace tenon::backends::cpu

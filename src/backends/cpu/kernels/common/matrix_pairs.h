// Which matrices of the operands of a matmul each matrix of its result is made of.
#pragma once

#include <vector>

#include "core/dims.h"
#include "ops/op/matmul.h"
#include "ops/strides.h"

namespace tenon::backends::cpu {

struct MatrixPairs {
  struct Pair {
    int64_t a, b;
  };
  std::vector<Pair> pairs;         // by matrix of the result
  int64_t rows = 0;                // of each
  int64_t countA = 0, countB = 0;  // matrices of the operands
};

// `columns`: of the result.
inline MatrixPairs matrixPairs(const ops::MatMul& op, const Dims& a, const Dims& b, const Dims& y, int64_t columns,
                               bool isOne = false) {
  const auto leading = [](Dims dims) {
    dims.rank -= 2;
    return dims;
  };
  if ((isOne || leading(b).count() == 1) && !op.transposeA)  // all rows meet the one matrix
    return {{{0, 0}}, columns == 0 ? 0 : y.count() / columns, 1, 1};
  MatrixPairs result{{}, y[y.rank - 2], leading(a).count(), leading(b).count()};
  const auto aStrides = ops::broadcastStrides(leading(a), leading(y));
  const auto bStrides = ops::broadcastStrides(leading(b), leading(y));
  for (IndexIterator i(leading(y)); i.valid(); i.next()) result.pairs.push_back({i.dot(aStrides), i.dot(bStrides)});
  return result;
}

}  // namespace tenon::backends::cpu

// Matmuls whose second operand has no batch: the batch of the first operand is flattened into its rows.
#pragma once

#include <string>

#include "core/dims.h"
#include "core/error.h"
#include "ops/op/matmul.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// Why operands of these extents are no such product with an epilogue that reads rows, columns or single numbers, or
// empty. `extents(i)`: of input i.
template <typename Extents>
std::string flatProductRefusal(const ops::MatMul& op, size_t inputs, const Extents& extents, const Dims& y) {
  if (op.transposeA) return "the first operand is transposed";
  const Dims& b = extents(1);
  if (b.count(0, b.rank - 2) != 1) return "the second operand has a batch";
  const int64_t rows = y.count(0, y.rank - 1);
  // What does not repeat is as large as the result, whatever the batch.
  for (size_t i = 2; i < inputs; ++i) {
    const Dims& extra = extents(i);
    const bool row = extra.count() == 1 || (extra.rank > 0 && extra.count() == extra[extra.rank - 1]);
    if (!row && extra.count() != y.count()) return "an epilogue operand broadcasts over some rows only";
    if (rows > 1 && !row && extra.rank != y.rank) {
      return fmt::format("an epilogue operand has {} dimensions, the result {}", extra.rank, y.rank);
    }
  }
  return {};
}

// Extents and strides of parameters that have them; returns the number of the epilogue's inputs.
template <typename Parameters>
size_t setFlatProduct(Parameters& p, const ops::MatMul& op, const runtime::Shapes& shapes) {
  const Dims& b = shapes.inputs[1].dims;
  const Dims& y = shapes.outputs[0].dims;
  const auto refusal = flatProductRefusal(
      op, shapes.inputs.size(), [&](size_t i) -> const Dims& { return shapes.inputs[i].dims; }, y);
  checkUser(refusal.empty(), "matmul with a flattened batch: {}; the result has shape {}", refusal, y.text());
  p.columns = y[y.rank - 1];
  p.rows = y.count(0, y.rank - 1);
  p.inner = b[b.rank - (op.transposeB ? 1 : 2)];
  p.stride[0][0] = p.columns;
  p.stride[0][1] = 1;
  const size_t extras = shapes.inputs.size() - 2;
  for (size_t k = 0; k < extras; ++k) {
    const Dims& extra = shapes.inputs[k + 2].dims;
    p.stride[k + 1][0] = extra.count() == y.count() ? p.columns : 0;
    p.stride[k + 1][1] = extra.rank > 0 && extra[extra.rank - 1] == p.columns && p.columns != 1 ? 1 : 0;
  }
  return extras;
}

}  // namespace tenon::backends::cuda

// Matmul: shape rule and plain reference in double.
#include "ops/op/matmul.h"

#include "ops/contraction.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

Dims batchOf(const Dims& dims) {
  Dims batch = dims;
  batch.rank -= 2;
  return batch;
}

}  // namespace

Facts MatMul::facts() const {
  Facts facts;
  facts.contraction = true;
  return facts;
}

void MatMul::infer(InferContext& context) const {
  const auto& a = context.input(0).shape;
  const auto& b = context.input(1).shape;
  if (a.size() < 2 || b.size() < 2) {
    context.fail("operands have shapes {} and {}, expected rank 2 or more", text(a), text(b));
  }
  const Extent& m = a[a.size() - (transposeA ? 1 : 2)];
  const Extent& n = b[b.size() - (transposeB ? 2 : 1)];
  context.merge(a[a.size() - (transposeA ? 2 : 1)], b[b.size() - (transposeB ? 1 : 2)],
                "inner extents (K) of the matmul");
  Shape shape = context.broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  shape.push_back(m);
  shape.push_back(n);
  inferEpilogue(context, epilogue, 2, inferAccumulator(context), std::move(shape));
}

void MatMul::evaluate(const EvalContext& context) const {
  const Dims& aDims = context.inputs[0].dims;
  const Dims& bDims = context.inputs[1].dims;
  const Dims& out = context.outputs[0].dims;
  const auto a = toDoubles(context.inputs[0]);
  const auto b = toDoubles(context.inputs[1]);
  const int64_t rows = out[out.rank - 2];
  const int64_t columns = out[out.rank - 1];
  const int64_t inner = aDims[aDims.rank - (transposeA ? 2 : 1)];
  const int64_t aRow = transposeA ? 1 : inner;
  const int64_t aInner = transposeA ? rows : 1;
  const int64_t bInner = transposeB ? 1 : columns;
  const int64_t bColumn = transposeB ? inner : 1;
  const Dims batch = batchOf(out);
  const auto aStrides = broadcastStrides(batchOf(aDims), batch);
  const auto bStrides = broadcastStrides(batchOf(bDims), batch);
  std::vector<double> result(static_cast<size_t>(out.count()));
  double* target = result.data();
  for (IndexIterator i(batch); i.valid(); i.next()) {
    const double* left = a.data() + i.dot(aStrides) * rows * inner;
    const double* right = b.data() + i.dot(bStrides) * inner * columns;
    for (int64_t m = 0; m < rows; ++m, target += columns) {
      for (int64_t k = 0; k < inner; ++k) {
        const double factor = left[m * aRow + k * aInner];
        for (int64_t n = 0; n < columns; ++n) target[n] += factor * right[k * bInner + n * bColumn];
      }
    }
  }
  storeEpilogue(context, epilogue, 2, result);
}

OperatorInfo operatorInfo_matmul() { return describe<MatMul>(); }

}  // namespace tenon::ops

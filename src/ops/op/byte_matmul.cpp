// Product of quantized matrices: shape rule and reference in 64-bit integers.
#include "ops/op/byte_matmul.h"

#include "ops/strides.h"

namespace tenon::ops {
namespace {

bool isByte(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }

Dims batchOf(Dims dims) {
  dims.rank -= 2;
  return dims;
}

// `columns`: of the matrix, where each may have a zero point of its own.
void checkZero(const InferContext& context, size_t input, DataType type, const Extent* columns) {
  const auto& zero = context.input(input);
  context.check(zero.dtype == type, "zero point {} of type {}, expected {}", input - 2, name(zero.dtype), name(type));
  context.check(zero.rank() <= 1, "zero point {} has shape {}, expected one element{}", input - 2, text(zero.shape),
                columns != nullptr ? " or one for each column" : "");
  if (zero.rank() == 0 || zero.shape[0].isConstant(1)) return;
  context.check(columns != nullptr, "zero point {} has shape {}, expected one element", input - 2, text(zero.shape));
  context.merge(zero.shape[0], *columns, "zero points of columns");
}

}  // namespace

Facts ByteMatMul::facts() const { return {}; }

void ByteMatMul::infer(InferContext& context) const {
  const auto& a = context.input(0);
  const auto& b = context.input(1);
  context.check(isByte(a.dtype) && isByte(b.dtype), "operands of types {} and {}, expected i8 or u8", name(a.dtype),
                name(b.dtype));
  context.check(a.rank() >= 2 && b.rank() >= 2, "operands have shapes {} and {}, expected rank 2 or more",
                text(a.shape), text(b.shape));
  context.merge(a.shape.back(), b.shape[b.shape.size() - 2], "inner extents (K) of the product");
  checkZero(context, 2, a.dtype, nullptr);
  checkZero(context, 3, b.dtype, &b.shape.back());
  Shape shape = context.broadcast(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape.back());
  context.output(DataType::kI32, std::move(shape));
}

void ByteMatMul::evaluate(const EvalContext& context) const {
  const auto& a = context.inputs[0];
  const auto& b = context.inputs[1];
  const auto& out = context.outputs[0];
  const int64_t rows = out.dims[out.dims.rank - 2];
  const int64_t columns = out.dims[out.dims.rank - 1];
  const int64_t inner = a.dims[a.dims.rank - 1];
  const int64_t aZero = context.inputs[2].loadInt(0);
  const auto& bZero = context.inputs[3];
  const bool isPerColumn = bZero.dims.count() != 1;
  const Dims batch = batchOf(out.dims);
  const auto aStrides = broadcastStrides(batchOf(a.dims), batch);
  const auto bStrides = broadcastStrides(batchOf(b.dims), batch);
  int64_t at = 0;
  for (IndexIterator i(batch); i.valid(); i.next()) {
    const int64_t left = i.dot(aStrides) * rows * inner;
    const int64_t right = i.dot(bStrides) * inner * columns;
    for (int64_t m = 0; m < rows; ++m) {
      for (int64_t n = 0; n < columns; ++n) {
        const int64_t zero = bZero.loadInt(isPerColumn ? n : 0);
        int64_t sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += (a.loadInt(left + m * inner + k) - aZero) * (b.loadInt(right + k * columns + n) - zero);
        out.storeInt(at++, static_cast<int32_t>(static_cast<uint32_t>(sum)));
      }
    }
  }
}

OperatorInfo operatorInfo_byte_matmul() { return describe<ByteMatMul>(); }

}  // namespace tenon::ops

// Three axes: batch, rows, columns.
#include "backends/cuda/cudnn/cudnn_product.h"

#include "backends/cuda/cublas/blas_matmul.h"
#include "core/error.h"

namespace tenon::backends::cuda::dnn {
namespace {

Tensor matrix(ElementType type, int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  if (transposed) return {type, {batch, rows, columns}, {rows * columns, 1, rows}};
  return {type, {batch, rows, columns}, {rows * columns, columns, 1}};
}

// An operand of the epilogue within batch, rows and columns of the result; nothing where it varies in another way.
std::optional<Tensor> extra(ElementType type, const Dims& dims, const Dims& result, const BlasShape& shape) {
  if (dims.count() == 1) return matrix(type, 1, 1, 1, false);
  if (dims.count() == dims[dims.rank - 1] && dims[dims.rank - 1] == result[result.rank - 1])
    return matrix(type, 1, 1, shape.n, false);
  if (dims.count() == result.count()) return matrix(type, shape.batch, shape.m, shape.n, false);
  return std::nullopt;
}

}  // namespace

std::string productRefusal(const ops::MatMul& op, const runtime::Shapes& shapes) {
  if (const auto refusal = blasRefusal(op, shapes); !refusal.empty()) return refusal;
  if (op.epilogue.empty()) return "there is no epilogue to fuse; cuBLASLt computes plain matmuls";
  if (const auto refusal = fusionRefusal(op.epilogue); !refusal.empty()) return refusal;
  const auto shape = blasShape(op, shapes);
  if (shape.type == DataType::kF32)
    return "operands of f32; cuDNN's engines for a matmul with an epilogue need 16-bit operands";
  const auto& y = shapes.outputs[0].dims;
  for (const auto& input : shapes.inputs.subspan(2)) {
    if (!extra(ElementType::kF16, input.dims, y, shape))
      return fmt::format("an epilogue operand of shape {} does not fit a result {}", input.dims.text(), y.text());
  }
  // Addresses of rows are multiples of 16 bytes.
  if (shape.n % 8 != 0 || shape.k % 8 != 0 || (shape.transposeA && shape.m % 8 != 0))
    return "an extent is not a multiple of 8";
  return {};
}

SourcedGraph productGraph(const Chip& chip, const ops::MatMul& op, const runtime::Shapes& shapes) {
  if (const auto refusal = productRefusal(op, shapes); !refusal.empty()) throw Unsupported("cuDNN matmul: {}", refusal);
  const auto shape = blasShape(op, shapes);
  const auto type = elementType(shape.type);
  SourcedGraph result(chip);
  const auto a = result.give(matrix(type, shape.batchedA ? shape.batch : 1, shape.m, shape.k, shape.transposeA), {0});
  const auto b = result.give(matrix(type, shape.batchedB ? shape.batch : 1, shape.k, shape.n, shape.transposeB), {1});
  const Tensor y = matrix(type, shape.batch, shape.m, shape.n, false);
  Tensor product = y;
  product.type = ElementType::kF32;
  product.isVirtual = true;
  const auto productId = result.graph.tensor(product);
  result.graph.matmul(a, b, productId);
  std::vector<OperationGraph::Id> operands{productId};
  for (size_t i = 2; i < shapes.inputs.size(); ++i) {
    operands.push_back(
        result.give(*extra(type, shapes.inputs[i].dims, shapes.outputs[0].dims, shape), {static_cast<int>(i)}));
  }
  const auto yId = result.give(y, {-1});
  addEpilogue(result.graph, op.epilogue, operands, y, yId, result.scalars);
  result.finish();
  return result;
}

Program productProgram(const ops::MatMul& op) {
  const auto graph = [op](const Chip& chip, const runtime::Shapes& shapes, Fusion fusion) {
    if (fusion != Fusion::kWhole) throw Unsupported("cuDNN matmul: a matmul without an epilogue is left to cuBLASLt");
    return productGraph(chip, op, shapes);
  };
  return {graph, op.epilogue, false, false};
}

}  // namespace tenon::backends::cuda::dnn

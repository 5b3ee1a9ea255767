// Matrix products.
#include <algorithm>

#include "operator_table.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

Value multiply(Emitter& emit, const Value& a, MatrixOperation opA, const Value& b, MatrixOperation opB) {
  auto* made = emit.network().addMatrixMultiply(emit.tensor(a), opA, emit.tensor(b), opB);
  return emit.output(emit.added(made, "addMatrixMultiply"));
}

// A vector is a matrix of one row (left) or column (right), whose axis the result drops.
Values importMatMul(Node& node) {
  Emitter& emit = node.emit();
  Value a = node.input(0);
  Value b = node.input(1);
  const bool leftVector = emit.rankOf(a) == 1;
  const bool rightVector = emit.rankOf(b) == 1;
  if (emit.rankOf(a) == 0 || emit.rankOf(b) == 0) {
    fail(ErrorCode::kINVALID_NODE, "an operand is a scalar; expected rank 1 or more");
  }
  a = leftVector ? emit.unsqueeze(a, {0}) : a;
  b = rightVector ? emit.unsqueeze(b, {1}) : b;
  const int64_t rank = std::max(emit.rankOf(a), emit.rankOf(b));
  Value result =
      multiply(emit, emit.alignRank(a, rank), MatrixOperation::kNONE, emit.alignRank(b, rank), MatrixOperation::kNONE);
  if (leftVector || rightVector) {
    std::vector<int64_t> dropped;
    if (leftVector) {
      dropped.push_back(rank - 2);
    }
    if (rightVector) {
      dropped.push_back(rank - 1);
    }
    result = emit.squeeze(result, dropped);
  }
  return {result};
}

Value scaled(Emitter& emit, const Value& value, float factor) {
  return factor == 1.0f ? value
                        : emit.binary(value, emit.scalar(emit.typeOf(value), factor), ElementWiseOperation::kPROD);
}

// alpha * A' * B' + beta * C
Values importGemm(Node& node) {
  Emitter& emit = node.emit();
  if (node.rank(0) != 2 || node.rank(1) != 2) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("operands have ranks {} and {}; expected 2 and 2", node.rank(0), node.rank(1)));
  }
  const auto operation = [&](const char* name) {
    return node.integer(name, 0) != 0 ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
  };
  const Value product =
      scaled(emit, multiply(emit, node.input(0), operation("transA"), node.input(1), operation("transB")),
             node.real("alpha", 1.0f));
  const float beta = node.real("beta", 1.0f);
  if (!node.hasInput(2) || beta == 0.0f) {
    return {product};
  }
  return {emit.binary(product, scaled(emit, node.input(2), beta), ElementWiseOperation::kSUM)};
}

Values importEinsum(Node& node) {
  Emitter& emit = node.emit();
  std::string equation = node.text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  std::vector<nvinfer1::ITensor*> inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    inputs.push_back(&node.tensor(i));
  }
  auto* made = emit.network().addEinsum(inputs.data(), static_cast<int32_t>(inputs.size()), equation.c_str());
  return {emit.output(emit.added(made, "addEinsum"))};
}

const OperatorImporter kRows[] = {
    {"MatMul", 1, kNewestOpset, importMatMul, "addMatrixMultiply"},
    {"Gemm", 1, kNewestOpset, importGemm, "addMatrixMultiply, addElementWise"},
    {"Einsum", 12, kNewestOpset, importEinsum, "addEinsum"},
};

}  // namespace

namespace ops_matmul {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_matmul
}  // namespace tenon::onnxparser

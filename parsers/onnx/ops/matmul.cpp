// Matmul, Gemm and Einsum.
#include <algorithm>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_matmul {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

ParsedValue multiply(NetworkWriter& writer, const ParsedValue& a, MatrixOperation opA, const ParsedValue& b,
                     MatrixOperation opB) {
  auto* made = writer.network().addMatrixMultiply(writer.tensor(a), opA, writer.tensor(b), opB);
  return writer.output(writer.added(made, "addMatrixMultiply"));
}

// Of INT32 or INT64, which no layer multiplies: products of elements [.., M, K, 1] and [.., 1, K, N], added up along K,
// all of which take memory.
ParsedValue multiplyIntegers(NetworkWriter& writer, const ParsedValue& a, const ParsedValue& b, int64_t rank) {
  constexpr double kMostProducts = 1 << 27;
  const Dimensions ofA = writer.shapeOf(a);
  const Dimensions ofB = writer.shapeOf(b);
  double products = static_cast<double>(std::max<int64_t>(ofB.back(), 1));
  for (size_t i = 0; i < ofA.size(); ++i) {
    const int64_t extent = i + 2 < ofA.size() ? std::max(ofA[i], ofB[i]) : ofA[i];
    products *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  if (products > kMostProducts) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("{} by {} of integers makes {:.0f} products of elements, which all take memory; expected at most "
                     "{:.0f}. Cast the operands to FLOAT where that is exact",
                     toString(ofA), toString(ofB), products, kMostProducts));
  }
  const Term left = Term(writer, a).unsqueeze({rank});
  const Term right = Term(writer, b).unsqueeze({rank - 2});
  return (left * right).sum({rank - 1}, false).value();
}

// A vector is a matrix of one row (left) or column (right), whose axis the result drops.
ParsedValues importMatMul(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  ParsedValue a = node.input(0);
  ParsedValue b = node.input(1);
  const bool leftVector = writer.rankOf(a) == 1;
  const bool rightVector = writer.rankOf(b) == 1;
  if (writer.rankOf(a) == 0 || writer.rankOf(b) == 0) {
    fail(FaultKind::kInvalidNode, "an operand is a scalar; expected rank 1 or more");
  }
  a = leftVector ? writer.unsqueeze(a, {0}) : a;
  b = rightVector ? writer.unsqueeze(b, {1}) : b;
  const int64_t rank = std::max(writer.rankOf(a), writer.rankOf(b));
  a = writer.alignRank(a, rank);
  b = writer.alignRank(b, rank);
  const auto type = writer.typeOf(a);
  ParsedValue result = type == DataType::kINT32 || type == DataType::kINT64
                           ? multiplyIntegers(writer, a, b, rank)
                           : multiply(writer, a, MatrixOperation::kNONE, b, MatrixOperation::kNONE);
  if (leftVector || rightVector) {
    std::vector<int64_t> dropped;
    if (leftVector) {
      dropped.push_back(rank - 2);
    }
    if (rightVector) {
      dropped.push_back(rank - 1);
    }
    result = writer.squeeze(result, dropped);
  }
  return {result};
}

ParsedValue scaled(NetworkWriter& writer, const ParsedValue& value, float factor) {
  return factor == 1.0f
             ? value
             : writer.binary(value, writer.scalar(writer.typeOf(value), factor), ElementWiseOperation::kPROD);
}

// alpha * A' * B' + beta * C
ParsedValues importGemm(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (node.rank(0) != 2 || node.rank(1) != 2) {
    fail(FaultKind::kInvalidNode,
         fmt::format("operands have ranks {} and {}; expected 2 and 2", node.rank(0), node.rank(1)));
  }
  const auto operation = [&](const char* name) {
    return node.integer(name, 0) != 0 ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
  };
  const ParsedValue product =
      scaled(writer, multiply(writer, node.input(0), operation("transA"), node.input(1), operation("transB")),
             node.real("alpha", 1.0f));
  const float beta = node.real("beta", 1.0f);
  if (!node.hasInput(2) || beta == 0.0f) {
    return {product};
  }
  return {writer.binary(product, scaled(writer, node.input(2), beta), ElementWiseOperation::kSUM)};
}

ParsedValues importEinsum(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  std::string equation = node.text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  std::vector<nvinfer1::ITensor*> inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    inputs.push_back(&node.tensor(i));
  }
  auto* made = writer.network().addEinsum(inputs.data(), static_cast<int32_t>(inputs.size()), equation.c_str());
  return {writer.output(writer.added(made, "addEinsum"))};
}

const OperatorImporter kRows[] = {
    {"MatMul", 1, kNewestOpset, importMatMul, "addMatrixMultiply; INT32 and INT64: addElementWise, addReduce"},
    {"Gemm", 1, kNewestOpset, importGemm, "addMatrixMultiply, addElementWise"},
    {"Einsum", 12, kNewestOpset, importEinsum, "addEinsum"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_matmul

// Products of quantized matrices, exact by their definition: sums of whole numbers in INT32.
#include "operator_table.h"
#include "quantization.h"

namespace tenon::parsers::onnx::ops_integer_products {
namespace {

std::optional<Term> optionalTerm(const OnnxNode& node, size_t index) {
  return node.hasInput(index) ? std::optional<Term>(node.term(index)) : std::nullopt;
}

// A scale or zero point of a matrix: one value, one for each row [M] or [.., M, 1], one for each column [N] or [.., 1,
// N].
Term ofMatrix(const Term& parameter, bool rows) {
  if (parameter.rank() == 0 || (parameter.rank() == 1 && parameter.dim(0).is(1))) {
    return parameter.reshape({});
  }
  return parameter.rank() == 1 && rows ? parameter.unsqueeze({1}) : parameter;
}

std::optional<Term> ofMatrix(const std::optional<Term>& parameter, bool rows) {
  return parameter ? std::optional<Term>(ofMatrix(*parameter, rows)) : std::nullopt;
}

// Vectors are matrices of one row or column, whose axis the result drops.
template <typename Multiply>
Term ofMatrices(Term a, Term b, Multiply multiply) {
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  a = row ? a.unsqueeze({0}) : a;
  b = column ? b.unsqueeze({1}) : b;
  const Term result = multiply(a, b);
  std::vector<int64_t> dropped;
  if (row) {
    dropped.push_back(result.rank() - 2);
  }
  if (column) {
    dropped.push_back(result.rank() - 1);
  }
  return dropped.empty() ? result : result.squeeze(dropped);
}

ParsedValues importMatMulInteger(OnnxNode& node) {
  const auto zeroA = ofMatrix(optionalTerm(node, 2), true);
  const auto zeroB = ofMatrix(optionalTerm(node, 3), false);
  return {ofMatrices(node.term(0), node.term(1),
                     [&](const Term& a, const Term& b) { return integerProduct(a, zeroA, b, zeroB); })};
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
ParsedValues importQLinearMatMul(OnnxNode& node) {
  const Term scale = ofMatrix(node.term(1), true).cast(DataType::kFLOAT) *
                     ofMatrix(node.term(4), false).cast(DataType::kFLOAT) /
                     ofMatrix(node.term(6), true).cast(DataType::kFLOAT);
  const ProductResult result{scale, ofMatrix(node.term(7), true)};
  return {ofMatrices(node.term(0), node.term(3), [&](const Term& a, const Term& b) {
    return quantizedProduct(a, ofMatrix(node.term(2), true), b, ofMatrix(node.term(5), false), result);
  })};
}

const OperatorImporter kRows[] = {
    {"MatMulInteger", 10, kNewestOpset, importMatMulInteger,
     "addPluginV3 of the operator byte_convolution or byte_matmul, or of matmul, addReduce and addElementWise for zero "
     "points"},
    {"QLinearMatMul", 10, kNewestOpset, importQLinearMatMul, "as MatMulInteger, addElementWise, addCast"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_integer_products

// Matmul, Gemm and Einsum.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

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

bool isWide(DataType type) { return type == DataType::kINT32 || type == DataType::kINT64; }

constexpr double kMostProducts = 1 << 27;  // of elements, which may all take memory

// Of INT32 or INT64, which no layer multiplies: products of elements [.., M, K, 1] and [.., 1, K, N], added up along K.
ParsedValue multiplyIntegers(NetworkWriter& writer, const ParsedValue& a, const ParsedValue& b, int64_t rank) {
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
  ParsedValue result = isWide(writer.typeOf(a))
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

// What stands for an axis: a letter or, for those of an ellipsis, -1 for the last one, -2 for the one before, ...
using Labels = std::vector<int>;

// Those of a term of a tensor of `rank` axes; nothing where the term is not of one, or names an axis twice.
std::optional<Labels> labelsOf(std::string term, int64_t rank) {
  const std::string dots = "...";
  const size_t at = term.find(dots);
  if (at != std::string::npos) {
    term.erase(at, dots.size());
  }
  const int64_t others = rank - static_cast<int64_t>(term.size());
  Labels result(term.begin(), term.end());
  const bool areLetters =
      std::all_of(term.begin(), term.end(), [](unsigned char letter) { return std::isalpha(letter) != 0; });
  const std::set<int> different(result.begin(), result.end());
  if (!areLetters || different.size() != result.size() || others < 0 || (others > 0 && at == std::string::npos)) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < others; ++i) {
    result.insert(result.begin() + static_cast<int64_t>(at) + i, static_cast<int>(i - others));
  }
  return result;
}

struct EinsumTerms {
  std::vector<Labels> operands;
  Labels result;
};

std::optional<EinsumTerms> termsOf(const std::string& equation, const std::vector<int64_t>& ranks) {
  EinsumTerms terms;
  const size_t arrow = equation.find("->");
  std::string rest = equation.substr(0, arrow);
  int64_t hidden = 0;  // axes of the longest ellipsis
  std::map<int, int> uses;
  for (const int64_t rank : ranks) {
    const size_t comma = rest.find(',');
    const auto labels = labelsOf(rest.substr(0, comma), rank);
    if (!labels || (comma == std::string::npos) != (terms.operands.size() + 1 == ranks.size())) {
      return std::nullopt;
    }
    rest.erase(0, comma == std::string::npos ? comma : comma + 1);
    for (const int label : *labels) {
      hidden = std::max<int64_t>(hidden, -label);
      ++uses[label];
    }
    terms.operands.push_back(*labels);
  }
  if (arrow == std::string::npos) {
    for (const auto& [label, count] : uses) {
      if (label < 0 || count == 1) {
        terms.result.push_back(label);
      }
    }
    return terms;
  }
  const std::string result = equation.substr(arrow + 2);
  const bool hasDots = result.find("...") != std::string::npos;
  const auto letters = static_cast<int64_t>(result.size()) - (hasDots ? 3 : 0);
  const auto labels = labelsOf(result, letters + (hasDots ? hidden : 0));
  if (!labels || !std::all_of(labels->begin(), labels->end(), [&](int label) { return uses.count(label) > 0; })) {
    return std::nullopt;
  }
  terms.result = *labels;
  return terms;
}

// Of INT32 or INT64, whose contractions no layer computes: products of elements, added up. Nothing where the layer is
// to say what is wrong, or takes the diagonal of an operand.
std::optional<ParsedValue> einsumOfIntegers(OnnxNode& node, const std::string& equation) {
  NetworkWriter& writer = node.writer();
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    ranks.push_back(node.rank(i));
  }
  const auto terms =
      ranks.size() < 2 || !isWide(writer.typeOf(node.input(0))) ? std::nullopt : termsOf(equation, ranks);
  if (!terms) {
    return std::nullopt;
  }
  Labels all = terms->result;  // then those that are added up
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Dimensions shape = node.shape(i);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int label = terms->operands[i][axis];
      extents[label] = std::max(extents[label], shape[axis]);
      if (std::find(all.begin(), all.end(), label) == all.end()) {
        all.push_back(label);
      }
    }
  }
  double products = 1;
  for (const auto& [label, extent] : extents) {
    products *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  if (products > kMostProducts) {
    fail(
        FaultKind::kUnsupportedShape,
        fmt::format("'{}' of integers makes {:.0f} products of elements; expected at most {:.0f}. Cast the operands to "
                    "FLOAT where that is exact",
                    equation, products, kMostProducts));
  }
  std::optional<Term> product;
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::vector<int32_t> order;
    std::vector<int64_t> missing;
    for (size_t place = 0; place < all.size(); ++place) {
      const Labels& own = terms->operands[i];
      const auto at = std::find(own.begin(), own.end(), all[place]);
      if (at == own.end()) {
        missing.push_back(static_cast<int64_t>(place));
      } else {
        order.push_back(static_cast<int32_t>(at - own.begin()));
      }
    }
    Term operand(writer, node.input(i));
    if (!std::is_sorted(order.begin(), order.end())) {
      operand = operand.transpose(order);
    }
    if (!missing.empty()) {
      operand = operand.unsqueeze(missing);
    }
    product = product ? *product * operand : operand;
  }
  std::vector<int64_t> summed;
  for (size_t place = terms->result.size(); place < all.size(); ++place) {
    summed.push_back(static_cast<int64_t>(place));
  }
  return summed.empty() ? product->value() : product->sum(summed, false).value();
}

ParsedValues importEinsum(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  std::string equation = node.text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  if (const auto made = einsumOfIntegers(node, equation)) {
    return {*made};
  }
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
    {"Einsum", 12, kNewestOpset, importEinsum, "addEinsum; INT32 and INT64: addElementWise, addReduce"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_matmul

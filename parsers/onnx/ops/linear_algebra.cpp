// Determinants and running products.
#include <map>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_linear_algebra {
namespace {

constexpr int64_t kMostRows = 6;

// The determinant of the rows from `row` on and of the columns in the mask, by cofactors of the first of these rows;
// minors that are met again are not computed again.
class Cofactors {
 public:
  explicit Cofactors(const Term& matrix) : matrix_(matrix), size_(matrix.fixedDim(-1, "the size of a matrix")) {}

  Term determinant(int64_t row, uint32_t columns) {
    const auto found = known_.find(columns);
    if (found != known_.end()) {
      return found->second;
    }
    std::optional<Term> sum;
    bool positive = true;
    for (int64_t column = 0; column < size_; ++column) {
      const uint32_t bit = 1u << static_cast<uint32_t>(column);
      if ((columns & bit) == 0) {
        continue;
      }
      const Term element = matrix_.at(matrix_.rank() - 2, row).at(matrix_.rank() - 2, column);
      const Term part = columns == bit ? element : element * determinant(row + 1, columns & ~bit);
      sum = !sum ? part : positive ? *sum + part : *sum - part;
      positive = !positive;
    }
    known_.emplace(columns, *sum);
    return *sum;
  }

 private:
  Term matrix_;
  int64_t size_;
  std::map<uint32_t, Term> known_;
};

ParsedValues importDet(OnnxNode& node) {
  const Term x = node.term(0);
  if (x.rank() < 2 || !(x.dim(-1) == x.dim(-2))) {
    fail(FaultKind::kInvalidNode, fmt::format("input {}; expected square matrices", toString(x.shape())));
  }
  const int64_t size = x.fixedDim(-1, "the size of a matrix");
  if (size < 1 || size > kMostRows) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("a matrix has {} rows; expected 1 to {}, since the determinant is expanded by cofactors", size,
                     kMostRows));
  }
  return {Cofactors(x).determinant(0, (1u << static_cast<uint32_t>(size)) - 1)};
}

// Products over distances of 1, 2, 4, ...: a logarithm of the extent as many steps.
ParsedValues importCumProd(OnnxNode& node) {
  Term x = node.term(0);
  const std::vector<int64_t> axes = toInts(node.constant(1, "axis"));
  if (axes.size() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("axis has {} elements; expected 1", axes.size()));
  }
  const int32_t axis = normalizeAxis(axes[0], x.rank());
  const int64_t extent = x.fixedDim(axis, "the axis of a running product");
  const bool reverse = node.integer("reverse", 0) != 0;
  const auto shifted = [&](const Term& value, int64_t distance) {
    const int64_t kept = extent - distance;
    return reverse ? value.slice(axis, distance, kept).pad(axis, 0, distance, 1)
                   : value.slice(axis, 0, kept).pad(axis, distance, 0, 1);
  };
  if (node.integer("exclusive", 0) != 0 && extent > 0) {
    x = shifted(x, 1);
  }
  for (int64_t distance = 1; distance < extent; distance *= 2) {
    x = x * shifted(x, distance);
  }
  return {x};
}

const OperatorImporter kRows[] = {
    {"Det", 11, kNewestOpset, importDet, "addSlice, addElementWise; matrices of 6 rows at most"},
    {"CumProd", 26, kNewestOpset, importCumProd, "addSlice, addElementWise; axis and its extent static"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_linear_algebra

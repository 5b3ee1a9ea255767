// Determinants and running products.
#include <map>

#include "made.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_linear_algebra {
namespace {

constexpr int64_t kMostRows = 6;

// The determinant of the rows from `row` on and of the columns in the mask, by cofactors of the first of these rows;
// minors that are met again are not computed again.
class Cofactors {
 public:
  Cofactors(const Term& matrix, int64_t size) : matrix_(matrix), size_(size) {}

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

// Gaussian elimination in a loop over the columns of matrices [count, n, n]. The pivot of a column is the largest
// element of the rows that were no pivot before; it takes part with the sign of its place among these rows.
class Elimination {
 public:
  Elimination(const Term& matrices, const ParsedExtent& size)
      : writer_(matrices.writer()),
        loop_(made(writer_, writer_.network().addLoop(), "addLoop")),
        size_(size),
        rows_(iota(writer_, size, DataType::kINT64)),
        begins_(matrices) {}

  Term determinants() {
    const DataType type = begins_.type();
    const ParsedExtent count = begins_.dim(0);
    const Term one(writer_, writer_.scalar(type, 1));
    State column = carried(Term(writer_, writer_.scalar(DataType::kINT64, 0)));
    State matrix = carried(begins_);
    State left = carried(one.expand({count, size_}));  // 1 of rows that were no pivot
    State product = carried(one.expand({count, ParsedExtent::of(1)}));
    auto& length = writer_.tensor(writer_.fromExtents({size_}, true));
    writer_.added(loop_.addTripLimit(length, nvinfer1::TripLimit::kCOUNT), "addTripLimit");

    const Term isLeft = left.value > 0.0;
    const Term elements = matrix.value.gather(column.value, 2);  // [count, n]
    const Term found = largest(where(isLeft, absOf(elements), elements.number(-1)));
    const Term pivot = elements.gatherBatched(found, 1, 1);  // [count, 1]
    const Term pivotRow = matrix.value.gatherBatched(found, 1, 1);
    const Term before = where(rows_ < found.cast(DataType::kINT64), left.value, left.value.number(0)).sum({1}, true);
    const Term sign = 1.0 - (before - floorOf(before * 0.5) * 2.0) * 2.0;
    const Term factors =
        where(both(isLeft, negation(equal(pivot, pivot.number(0)))), elements / pivot, pivot.number(0));
    next(column, column.value + 1.0);
    next(matrix, matrix.value - factors.unsqueeze({2}) * pivotRow);
    next(left, where(equal(rows_, found.cast(DataType::kINT64)), left.value.number(0), left.value));
    next(product, product.value * pivot * sign);
    auto* last = loop_.addLoopOutput(writer_.tensor(product.value), nvinfer1::LoopOutput::kLAST_VALUE);
    return Term(writer_, writer_.output(writer_.added(last, "addLoopOutput"))).squeeze({1});
  }

 private:
  struct State {
    nvinfer1::IRecurrenceLayer* layer;
    Term value;
  };
  State carried(const Term& begins) {
    auto& layer = writer_.added(loop_.addRecurrence(writer_.tensor(begins)), "addRecurrence");
    return {&layer, {writer_, writer_.output(layer)}};
  }
  void next(State& state, const Term& value) { state.layer->setInput(1, writer_.tensor(value)); }
  // Where each row has its largest element, [count, 1].
  Term largest(const Term& x) {
    auto* made = writer_.network().addTopK(writer_.tensor(x), nvinfer1::TopKOperation::kMAX, 1, 2);
    return {writer_, writer_.output(writer_.added(made, "addTopK"), 1)};
  }

  NetworkWriter& writer_;
  nvinfer1::ILoop& loop_;
  ParsedExtent size_;
  Term rows_;
  Term begins_;
};

ParsedValues importDet(OnnxNode& node) {
  const Term x = node.term(0);
  const Dimensions shape = x.shape();
  const size_t rank = shape.size();
  const auto differ = [](int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; };
  if (rank < 2 || differ(shape[rank - 1], shape[rank - 2])) {
    fail(FaultKind::kInvalidNode, fmt::format("input {}; expected square matrices", toString(shape)));
  }
  const ParsedExtent size = x.dim(x.dim(-1).known() ? -1 : -2);
  if (size.known() && size.value >= 1 && size.value <= kMostRows) {
    return {Cofactors(x, size.value).determinant(0, (1u << static_cast<uint32_t>(size.value)) - 1)};
  }
  const ParsedExtents dims = x.dims();
  const ParsedExtents others(dims.begin(), dims.end() - 2);
  NetworkWriter& writer = node.writer();
  if (size.is(0)) {  // the product of nothing
    return {Term(writer, writer.scalar(x.type(), 1)).expand(others)};
  }
  const Term matrices = x.widened().reshape({writer.product(dims, 0, others.size()), size, size});
  return {Elimination(matrices, size).determinants().reshape(others).cast(x.type())};
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
    {"Det", 11, kNewestOpset, importDet, "addSlice, addElementWise; matrices of more than 6 rows: addLoop"},
    {"CumProd", 26, kNewestOpset, importCumProd, "addSlice, addElementWise; axis and its extent static"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_linear_algebra

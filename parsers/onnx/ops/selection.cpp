// Operators whose results have as many elements as the data say.
#include <algorithm>
#include <limits>

#include "made.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_selection {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::TopKOperation;

// Coordinates [rank, n] of what is not zero in a constant.
ParsedValue foldNonZero(NetworkWriter& writer, const WeightBytes& constant) {
  const std::vector<double> values = toReals(constant);
  std::vector<int64_t> places;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) {
      places.push_back(static_cast<int64_t>(i));
    }
  }
  const auto count = static_cast<int64_t>(places.size());
  const auto rank = static_cast<int64_t>(constant.shape.size());
  std::vector<int64_t> coordinates(static_cast<size_t>(rank * count));
  int64_t inner = 1;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    const int64_t extent = constant.shape[static_cast<size_t>(axis)];
    for (int64_t i = 0; i < count; ++i) {
      coordinates[static_cast<size_t>(axis * count + i)] = places[static_cast<size_t>(i)] / inner % extent;
    }
    inner *= extent;
  }
  return integers(writer, DataType::kINT64, {rank, count}, coordinates);
}

Term nonZero(const Term& x) {
  NetworkWriter& writer = x.writer();
  if (x.isConstant()) {
    return {writer, foldNonZero(writer, x.value().constant())};
  }
  auto& layer = writer.added(writer.network().addNonZero(writer.tensor(x)), "addNonZero");
  return Term(writer, writer.output(layer)).cast(DataType::kINT64);
}

// Where a list of truth values holds.
Term placesOf(const Term& condition) { return nonZero(condition).squeeze({0}); }

ParsedValues importNonZero(OnnxNode& node) { return {nonZero(node.term(0))}; }

// Slices, or elements of all, where a condition is true.
ParsedValues importCompress(OnnxNode& node) {
  Term x = node.term(0);
  int32_t axis = 0;
  if (node.has("axis")) {
    axis = node.axis(0, x.rank());
  } else {
    x = x.reshape({ParsedExtent::of(-1)});
  }
  return {x.gather(placesOf(node.term(1)), axis)};
}

// The smallest first, of equal ones the first: values and where they were.
std::pair<Term, Term> sorted(const Term& list) {
  NetworkWriter& writer = list.writer();
  const ParsedExtent count = list.dim(0);
  const int64_t fixed = count.known() ? count.value : 1;
  auto& layer = writer.added(
      writer.network().addTopK(writer.tensor(list), TopKOperation::kMIN, static_cast<int32_t>(fixed), 1), "addTopK");
  if (!count.known()) {
    layer.setInput(1, writer.tensor(writer.cast(writer.fromExtents({count}, true), DataType::kINT32)));
  }
  return {Term(writer, writer.output(layer, 0)), Term(writer, writer.output(layer, 1)).cast(DataType::kINT64)};
}

// One number as a scalar of a type.
ParsedValue scalarOf(OnnxNode& node, size_t index, DataType type, double otherwise) {
  NetworkWriter& writer = node.writer();
  return node.hasInput(index) ? node.term(index).cast(type).reshape({}).value() : writer.scalar(type, otherwise);
}

// At most the highest int32: models ask for all boxes by the highest int64.
ParsedValue boxesPerClass(OnnxNode& node) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<int32_t>::max());
  NetworkWriter& writer = node.writer();
  if (!node.hasInput(2)) {
    return writer.scalar(DataType::kINT32, 0);
  }
  const Term count = node.term(2).cast(DataType::kINT64).reshape({});
  return count.atMost(Term(writer, writer.scalar(DataType::kINT64, kMost))).cast(DataType::kINT32);
}

// The network selects by descending score; ONNX has one class behind the other.
Term byClass(const Term& rows, const ParsedExtent& classes) {
  if (classes.is(1)) {
    return rows;
  }
  NetworkWriter& writer = rows.writer();
  const Term count(writer, writer.fromExtents({classes}, true, DataType::kINT64));
  const Term key = rows.at(1, 0) * count + rows.at(1, 1);
  return rows.gather(sorted(key).second, 0);
}

ParsedValues importNonMaxSuppression(OnnxNode& node) {
  constexpr int64_t kUsualLimit = 5000;  // of pairs of box and class; TensorRT takes no higher one
  NetworkWriter& writer = node.writer();
  const Term scores = node.term(1);
  if (scores.rank() != 3 || node.rank(0) != 3) {
    fail(FaultKind::kInvalidNode,
         fmt::format("boxes of rank {} and scores of rank {}; expected 3 and 3", node.rank(0), scores.rank()));
  }
  const ParsedExtent pairs = writer.combine(scores.dim(1), scores.dim(2), ElementWiseOperation::kPROD);
  const Term perBox = scores.dim(1).is(1) ? scores.reshape({scores.dim(0), scores.dim(2), ParsedExtent::of(1)})
                                          : scores.transpose({0, 2, 1});
  auto& layer = writer.added(
      writer.network().addNMS(node.tensor(0), writer.tensor(perBox), writer.tensor(boxesPerClass(node))), "addNMS");
  layer.setInput(3, writer.tensor(scalarOf(node, 3, DataType::kFLOAT, 0)));
  layer.setInput(4, writer.tensor(scalarOf(node, 4, DataType::kFLOAT, std::numeric_limits<float>::lowest())));
  layer.setBoundingBoxFormat(node.integer("center_point_box", 0) != 0 ? nvinfer1::BoundingBoxFormat::kCENTER_SIZES
                                                                      : nvinfer1::BoundingBoxFormat::kCORNER_PAIRS);
  if (!pairs.known() || pairs.value > kUsualLimit) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    layer.setTopKBoxLimit(static_cast<int32_t>(pairs.known() ? std::min(pairs.value, kMost) : kMost));
  }
  const Term rows = Term(writer, writer.output(layer)).cast(DataType::kINT64);
  return {byClass(rows, scores.dim(1))};
}

Term scatter(const Term& data, const Term& indices, const Term& updates) {
  NetworkWriter& writer = data.writer();
  auto& layer = writer.added(writer.network().addScatter(writer.tensor(data), writer.tensor(indices),
                                                         writer.tensor(updates), nvinfer1::ScatterMode::kELEMENT),
                             "addScatter");
  layer.setAxis(0);
  return {writer, writer.output(layer)};
}

Term zeros(NetworkWriter& writer, const ParsedExtent& count) { return Term(writer, writer.list({0})).expand({count}); }

Term runningSum(const Term& x) {
  NetworkWriter& writer = x.writer();
  auto& layer =
      writer.added(writer.network().addCumulative(writer.tensor(x), writer.tensor(writer.scalar(DataType::kINT32, 0)),
                                                  nvinfer1::CumulativeOperation::kSUM, false, false),
                   "addCumulative");
  return {writer, writer.output(layer)};
}

// What ranks the elements of a type: the network sorts no BOOL and no 8-bit integers.
Term keysOf(const Term& x) {
  const bool isRanked = isFloating(x.type()) || isInteger(x.type());
  return isRanked ? x : x.cast(DataType::kINT32);
}

// The same in a loop, for so many columns that only the run knows them or layers for each would be too many.
Term orderInLoop(const Term& keys) {
  NetworkWriter& writer = keys.writer();
  nvinfer1::ILoop& loop = made(writer, writer.network().addLoop(), "addLoop");
  nvinfer1::ITensor& width = writer.tensor(writer.fromExtents({keys.dim(1)}, true));
  writer.added(loop.addTripLimit(width, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  const Term column(writer, writer.output(writer.added(loop.addIterator(writer.tensor(keys), 1, true), "addIterator")));
  auto* state = loop.addRecurrence(writer.tensor(iota(writer, keys.dim(0), DataType::kINT64)));
  const Term order(writer, writer.output(writer.added(state, "addRecurrence")));
  state->setInput(1, writer.tensor(order.gather(sorted(column.gather(order, 0)).second, 0)));
  auto* last = loop.addLoopOutput(writer.tensor(order), nvinfer1::LoopOutput::kLAST_VALUE);
  return {writer, writer.output(writer.added(last, "addLoopOutput"))};
}

// Where the rows [n, width] stand in their order, which the first column decides first: a stable sort by each column,
// the last one first.
Term orderOf(const Term& rows) {
  constexpr int64_t kMostColumns = 64;  // each of which is sorted by layers of its own
  const Term keys = keysOf(rows);
  const int64_t width = rows.shape()[1];
  if (width < 0 || width > kMostColumns) {
    return orderInLoop(keys);
  }
  std::optional<Term> order;
  for (int64_t column = width - 1; column >= 0; --column) {
    const Term list = keys.at(1, column);
    const Term found = sorted(order ? list.gather(*order, 0) : list).second;
    order = order ? order->gather(found, 0) : found;
  }
  return order ? *order : iota(rows.writer(), rows.dim(0), DataType::kINT64);
}

// The elements, or slices along an axis, as rows [n, width].
struct Rows {
  Term matrix;
  std::vector<int32_t> order;  // of axes, the one of the rows first; empty where the elements are the rows
  ParsedExtents others;        // extents of the other axes
};

Rows readRows(const OnnxNode& node) {
  const Term x = node.term(0);
  if (!node.has("axis")) {
    return {x.reshape({ParsedExtent::of(-1), ParsedExtent::of(1)}), {}, {}};
  }
  const int32_t axis = node.axis(0, x.rank());
  std::vector<int32_t> order{axis};
  ParsedExtents others;
  for (int32_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      order.push_back(i);
      others.push_back(x.dim(i));
    }
  }
  const ParsedExtent width = x.writer().product(others, 0, others.size());
  return {x.transpose(order).reshape({x.dim(axis), width}), order, others};
}

// Rows in the shape of the input again.
Term fromRows(const Rows& rows, const Term& matrix) {
  if (rows.order.empty()) {
    return matrix.reshape({ParsedExtent::of(-1)});
  }
  ParsedExtents shape{matrix.dim(0)};
  shape.insert(shape.end(), rows.others.begin(), rows.others.end());
  std::vector<int32_t> back(rows.order.size());
  for (size_t i = 0; i < back.size(); ++i) {
    back[static_cast<size_t>(rows.order[i])] = static_cast<int32_t>(i);
  }
  return matrix.reshape(shape).transpose(back);
}

// The rows once each: those that differ from the one before them when all are sorted.
ParsedValues importUnique(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Rows rows = readRows(node);
  const ParsedExtent one = ParsedExtent::of(1);
  const ParsedExtent total = rows.matrix.dim(0);
  const Term order = orderOf(rows.matrix);
  const Term all = rows.matrix.gather(order, 0);
  const Term keys = keysOf(all);
  const ParsedExtent zero = ParsedExtent::of(0);
  const auto withoutOne = [&](const ParsedExtent& extent) {  // of none there is none to leave out
    return writer.combine(writer.combine(extent, one, ElementWiseOperation::kSUB), zero, ElementWiseOperation::kMAX);
  };
  const ParsedExtent others = withoutOne(total);
  const Term differs = negation(equal(keys.slice(0, one, others), keys.slice(0, zero, others)));
  const Term first = integers(writer, DataType::kINT64, {1}, {1});
  const Term begins = concat({first, (differs.cast(DataType::kINT32).sum({1}, false) > 0.0).cast(DataType::kINT64)}, 0)
                          .slice(0, zero, total);
  const Term starts = placesOf(begins);
  const ParsedExtent groups = starts.dim(0);
  const Term ends = concat({starts.slice(0, one, withoutOne(groups)), Term(writer, writer.fromExtents({total}))}, 0)
                        .slice(0, zero, groups);
  Term unique = all.gather(starts, 0);
  Term places = order.gather(starts, 0);
  Term counts = ends - starts;
  Term inverse = scatter(zeros(writer, total), order, runningSum(begins) - 1.0);
  if (node.integer("sorted", 1) == 0) {  // as they appear
    const Term appearance = sorted(places).second;
    const Term rank = scatter(zeros(writer, groups), appearance, iota(writer, groups, DataType::kINT64));
    unique = unique.gather(appearance, 0);
    places = places.gather(appearance, 0);
    counts = counts.gather(appearance, 0);
    inverse = rank.gather(inverse, 0);
  }
  return {fromRows(rows, unique), places, inverse, counts};
}

const OperatorImporter kRows[] = {
    {"NonZero", 9, kNewestOpset, importNonZero, "addNonZero, addCast"},
    {"Compress", 9, kNewestOpset, importCompress, "addGather; computed condition: addNonZero"},
    {"NonMaxSuppression", 10, kNewestOpset, importNonMaxSuppression,
     "addNMS, addCast; several classes: addTopK, addGather for the order"},
    {"Unique", 11, kNewestOpset, importUnique,
     "addTopK, addSlice, addElementWise, addNonZero, addGather, addScatter, addCumulative; along an axis of many or "
     "an unknown number of columns: addLoop"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_selection

// Constants, and tensors made from shapes and counts.
#include <cmath>

#include "common/fold.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_constant {
namespace {

using nvinfer1::ElementWiseOperation;

ParsedValues importConstant(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (const auto* value = node.find("value")) {
    return {node.loader().load(value->t(), node.qualified(node.proto().output(0)))};
  }
  if (const auto* sparse = node.find("sparse_value")) {
    return {node.loader().loadSparse(sparse->sparse_tensor(), node.qualified(node.proto().output(0)))};
  }
  if (node.has("value_float")) {
    return {writer.scalar(DataType::kFLOAT, node.real("value_float", 0))};
  }
  if (node.has("value_int")) {
    return {writer.store().ofInts(DataType::kINT64, {}, {node.integer("value_int", 0)})};
  }
  if (node.has("value_ints")) {
    return {writer.list(node.integers("value_ints"))};
  }
  if (node.has("value_floats")) {
    const std::vector<float> values = node.reals("value_floats");
    return {writer.store().ofReals(DataType::kFLOAT, {static_cast<int64_t>(values.size())},
                                   std::vector<double>(values.begin(), values.end()))};
  }
  fail(FaultKind::kUnsupportedAttribute,
       "the value is a string or absent; expected value, sparse_value, value_float(s) or "
       "value_int(s)");
}

ParsedValues importConstantOfShape(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const auto* attribute = node.find("value");
  const ParsedValue element =
      attribute == nullptr ? writer.scalar(DataType::kFLOAT, 0.0) : ParsedValue(node.loader().load(attribute->t(), ""));
  if (element.constant().count() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("value has {} elements; expected 1", element.constant().count()));
  }
  const ParsedExtents target = writer.elements(node.input(0));
  Dimensions shape;
  for (const ParsedExtent& extent : target) {
    if (!extent.known()) {
      return {writer.expand(writer.reshape(element, ParsedExtents(target.size(), ParsedExtent::of(1))), target)};
    }
    shape.push_back(extent.value);
  }
  toDims(shape);
  const DataType type = element.constant().type;
  if (!writer.store().allows(bytesFor(type, elementCount(shape)))) {
    return {writer.expand(writer.reshape(element, ParsedExtents(target.size(), ParsedExtent::of(1))), target)};
  }
  if (isInteger(type)) {  // a double cannot carry every int64
    const int64_t number = toInts(element.constant())[0];
    if (elementCount(shape) <= 4096) {
      return {
          writer.store().ofInts(type, shape, std::vector<int64_t>(static_cast<size_t>(elementCount(shape)), number))};
    }
  }
  return {writer.store().uniform(type, shape, toReals(element.constant())[0])};
}

// start, start + delta, ... below limit, all of them numbers that the network computes.
ParsedValue computedRange(OnnxNode& node, DataType type) {
  NetworkWriter& writer = node.writer();
  const DataType inner = isInteger(type) ? DataType::kINT64 : DataType::kFLOAT;
  const auto operand = [&](size_t i) {
    for (const int64_t extent : node.shape(i)) {
      if (extent != 1) {
        fail(FaultKind::kInvalidNode,
             fmt::format("input {} has shape {}; expected one number", i, toString(node.shape(i))));
      }
    }
    return Term(writer, writer.cast(writer.reshape(node.input(i), {}), inner));
  };
  const Term start = operand(0), limit = operand(1), delta = operand(2);
  // ceil((limit - start) / delta), as the negative of a floor.
  const Term whole = isInteger(type) ? start.binary(limit, ElementWiseOperation::kSUB).floorDivide(delta)
                                     : limit.binary(start, ElementWiseOperation::kSUB)
                                           .binary(delta, ElementWiseOperation::kDIV)
                                           .unary(nvinfer1::UnaryOperation::kCEIL)
                                           .cast(DataType::kINT64);
  const Term ceiled = isInteger(type) ? whole.unary(nvinfer1::UnaryOperation::kNEG) : whole;
  const Term count = ceiled.atLeast(ceiled.number(0)).reshape({ParsedExtent::of(1)});
  auto& layer = writer.added(
      writer.network().addFill(toDims({1}), nvinfer1::FillOperation::kLINSPACE, DataType::kINT64), "addFill");
  layer.setInput(0, writer.tensor(count));
  layer.setAlphaInt64(0);
  layer.setBetaInt64(1);
  const Term numbers = Term(writer, writer.output(layer)).cast(inner);
  return writer.cast(numbers.binary(delta, ElementWiseOperation::kPROD).binary(start, ElementWiseOperation::kSUM),
                     type);
}

// start, start + delta, ... below limit, of integers that are known or come from shapes.
ParsedValue rangeOf(OnnxNode& node, const ParsedExtent& start, const ParsedExtent& limit, const ParsedExtent& delta,
                    DataType type) {
  NetworkWriter& writer = node.writer();
  if (delta.value == 0) {
    fail(FaultKind::kInvalidNode, "delta is 0; expected a step up or down");
  }
  const int64_t step = delta.value;
  const ParsedExtent span = step > 0 ? writer.combine(limit, start, ElementWiseOperation::kSUB)
                                     : writer.combine(start, limit, ElementWiseOperation::kSUB);
  const int64_t size = std::abs(step);
  const ParsedExtent rounded = writer.combine(span, ParsedExtent::of(size - 1), ElementWiseOperation::kSUM);
  const ParsedExtent count =
      writer.combine(writer.combine(rounded, ParsedExtent::of(size), ElementWiseOperation::kFLOOR_DIV),
                     ParsedExtent::of(0), ElementWiseOperation::kMAX);
  if (count.known() && start.known() && count.value <= (1 << 20)) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < count.value; ++i) {
      numbers.push_back(start.value + i * step);
    }
    return writer.cast(writer.list(numbers), type);
  }
  auto& layer = writer.added(writer.network().addFill(toDims({count.known() ? count.value : 1}),
                                                      nvinfer1::FillOperation::kLINSPACE, DataType::kINT64),
                             "addFill");
  if (!count.known()) {
    layer.setInput(0, writer.shapeTensor({count}));
  }
  if (start.known()) {
    layer.setAlphaInt64(start.value);
    layer.setBetaInt64(step);
  } else {
    layer.setInput(1, writer.tensor(writer.fromExtents({start}, true)));
    layer.setInput(2, writer.tensor(writer.list({step})));
  }
  return writer.cast(writer.output(layer), type);
}

ParsedValues importRange(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const DataType type = node.dataType(0);
  if (isInteger(type)) {
    const ParsedExtent delta = writer.elements(node.input(2)).at(0);
    if (!delta.known()) {
      return {computedRange(node, type)};
    }
    return {rangeOf(node, writer.elements(node.input(0)).at(0), writer.elements(node.input(1)).at(0), delta, type)};
  }
  if (!node.input(0).isConstant() || !node.input(1).isConstant() || !node.input(2).isConstant()) {
    return {computedRange(node, type)};
  }
  const double start = toReals(node.constant(0, "start")).at(0);
  const double limit = toReals(node.constant(1, "limit")).at(0);
  const double delta = toReals(node.constant(2, "delta")).at(0);
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= static_cast<double>(kMovementLimit))) {
    fail(FaultKind::kInvalidNode, fmt::format("range from {} to {} by {} has {} elements; expected {} at most", start,
                                              limit, delta, count, kMovementLimit));
  }
  std::vector<double> numbers;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    numbers.push_back(start + static_cast<double>(i) * delta);
  }
  return {writer.store().ofReals(type, {static_cast<int64_t>(numbers.size())}, numbers)};
}

ParsedValues importCumSum(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents axis = writer.elements(node.input(1));
  if (axis.size() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("axis has {} elements; expected 1", axis.size()));
  }
  const ParsedExtent positive =
      axis[0].known() ? ParsedExtent::of(normalizeAxis(axis[0].value, node.rank(0))) : axis[0];
  const ParsedValue scalarAxis = writer.cast(writer.fromExtents({positive}, true), DataType::kINT32);
  auto* made =
      writer.network().addCumulative(node.tensor(0), writer.tensor(scalarAxis), nvinfer1::CumulativeOperation::kSUM,
                                     node.integer("exclusive", 0) != 0, node.integer("reverse", 0) != 0);
  return {writer.output(writer.added(made, "addCumulative"))};
}

// column - row of each element of the matrices that the first input has in its two last axes.
ParsedValue distances(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const ParsedExtent zero = ParsedExtent::of(0);
  const ParsedExtent one = ParsedExtent::of(1);
  const ParsedValue rows = writer.unsqueeze(rangeOf(node, zero, in[in.size() - 2], one, DataType::kINT64), {1});
  const ParsedValue columns = writer.unsqueeze(rangeOf(node, zero, in[in.size() - 1], one, DataType::kINT64), {0});
  return writer.binary(columns, rows, ElementWiseOperation::kSUB);
}

// Keeps element (row, column) where column - row >= k (upper) or <= k (lower).
ParsedValues importTrilu(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (node.rank(0) < 2) {
    fail(FaultKind::kInvalidNode, fmt::format("input of rank {}; expected 2 or more", node.rank(0)));
  }
  const bool upper = node.integer("upper", 1) != 0;
  const ParsedValue given = node.optional(1);
  ParsedValue beyond;  // the diagonal next to the last one that stays
  if (given.isNone() || given.isConstant()) {
    const int64_t k = given.isNone() ? 0 : toInts(given.constant()).at(0);
    beyond = writer.store().ofInts(DataType::kINT64, {1, 1}, {upper ? k - 1 : k + 1});
  } else {
    const Term k = node.term(1).cast(DataType::kINT64).reshape({ParsedExtent::of(1), ParsedExtent::of(1)});
    beyond = (upper ? k - 1.0 : k + 1.0).value();
  }
  const ParsedValue keep =
      writer.binary(distances(node), beyond, upper ? ElementWiseOperation::kGREATER : ElementWiseOperation::kLESS);
  return {writer.select(keep, node.input(0), writer.scalar(node.dataType(0), 0))};
}

ParsedValues importEyeLike(OnnxNode& node) {
  const Dimensions shape = node.shape(0);
  if (shape.size() != 2) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input {}; expected rank 2", toString(shape)));
  }
  const auto requested = toDataType(static_cast<int32_t>(node.integer("dtype", 0)));
  const DataType type = node.has("dtype") ? requested.value_or(DataType::kE8M0) : node.dataType(0);
  const int64_t k = node.integer("k", 0);
  if (shape[0] < 0 || shape[1] < 0) {
    NetworkWriter& writer = node.writer();
    const ParsedValue diagonal = writer.store().ofInts(DataType::kINT64, {1, 1}, {k});
    return {writer.cast(writer.binary(distances(node), diagonal, ElementWiseOperation::kEQUAL), type)};
  }
  if (elementCount(shape) > kMovementLimit) {
    fail(FaultKind::kUnsupportedShape, fmt::format("the matrix {} has {} elements; expected {} at most",
                                                   toString(shape), elementCount(shape), kMovementLimit));
  }
  std::vector<int64_t> numbers(static_cast<size_t>(elementCount(shape)), 0);
  for (int64_t row = 0; row < shape[0]; ++row) {
    if (row + k >= 0 && row + k < shape[1]) {
      numbers[static_cast<size_t>(row * shape[1] + row + k)] = 1;
    }
  }
  return {node.writer().store().ofInts(type, shape, numbers)};
}

const OperatorImporter kRows[] = {
    {"Constant", 1, kNewestOpset, importConstant, "addConstant where used; no strings"},
    {"ConstantOfShape", 9, kNewestOpset, importConstantOfShape, "addConstant; dynamic shape: addSlice with stride 0"},
    {"Range", 11, kNewestOpset, importRange, "addFill kLINSPACE"},
    {"CumSum", 11, kNewestOpset, importCumSum, "addCumulative"},
    {"Trilu", 14, kNewestOpset, importTrilu, "addSelect; dynamic extents or a computed k: addFill, addElementWise"},
    {"Trilu", 1, kNewestOpset, importTrilu, "as that of the standard domain", "com.microsoft"},
    {"EyeLike", 9, kNewestOpset, importEyeLike, "addConstant; dynamic extents: addFill, addElementWise"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_constant

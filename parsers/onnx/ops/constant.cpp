// Constants, and tensors made from shapes and counts.
#include <cmath>

#include "fold.h"
#include "operator_table.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;

Values importConstant(Node& node) {
  Emitter& emit = node.emit();
  if (const auto* value = node.find("value")) {
    return {node.loader().load(value->t(), node.qualified(node.proto().output(0)))};
  }
  if (node.has("value_float")) {
    return {emit.scalar(DataType::kFLOAT, node.real("value_float", 0))};
  }
  if (node.has("value_int")) {
    return {emit.store().ofInts(DataType::kINT64, {}, {node.integer("value_int", 0)})};
  }
  if (node.has("value_ints")) {
    return {emit.list(node.integers("value_ints"))};
  }
  if (node.has("value_floats")) {
    const std::vector<float> values = node.reals("value_floats");
    return {emit.store().ofReals(DataType::kFLOAT, {static_cast<int64_t>(values.size())},
                                 std::vector<double>(values.begin(), values.end()))};
  }
  fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
       "the value is sparse, a string or absent; expected value, value_float(s) or "
       "value_int(s)");
}

Values importConstantOfShape(Node& node) {
  Emitter& emit = node.emit();
  const auto* attribute = node.find("value");
  const Value element =
      attribute == nullptr ? emit.scalar(DataType::kFLOAT, 0.0) : Value(node.loader().load(attribute->t(), ""));
  if (element.constant().count() != 1) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("value has {} elements; expected 1", element.constant().count()));
  }
  const Extents target = emit.elements(node.input(0));
  Shape shape;
  for (const Extent& extent : target) {
    if (!extent.known()) {
      return {emit.expand(emit.reshape(element, Extents(target.size(), Extent::of(1))), target)};
    }
    shape.push_back(extent.value);
  }
  toDims(shape);
  const DataType type = element.constant().type;
  if (!emit.store().allows(bytesFor(type, elementCount(shape)))) {
    return {emit.expand(emit.reshape(element, Extents(target.size(), Extent::of(1))), target)};
  }
  if (isInteger(type)) {  // a double cannot carry every int64
    const int64_t number = toInts(element.constant())[0];
    if (elementCount(shape) <= 4096) {
      return {emit.store().ofInts(type, shape, std::vector<int64_t>(static_cast<size_t>(elementCount(shape)), number))};
    }
  }
  return {emit.store().uniform(type, shape, toReals(element.constant())[0])};
}

// start, start + delta, ... below limit. Integers may come from shapes; reals must be constants.
Value rangeOf(Node& node, const Extent& start, const Extent& limit, const Extent& delta, DataType type) {
  Emitter& emit = node.emit();
  if (!delta.known() || delta.value == 0) {
    fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, "delta is 0 or computed at run time; expected a constant");
  }
  const int64_t step = delta.value;
  const Extent span = step > 0 ? emit.combine(limit, start, ElementWiseOperation::kSUB)
                               : emit.combine(start, limit, ElementWiseOperation::kSUB);
  const int64_t size = std::abs(step);
  const Extent rounded = emit.combine(span, Extent::of(size - 1), ElementWiseOperation::kSUM);
  const Extent count = emit.combine(emit.combine(rounded, Extent::of(size), ElementWiseOperation::kFLOOR_DIV),
                                    Extent::of(0), ElementWiseOperation::kMAX);
  if (count.known() && start.known() && count.value <= (1 << 20)) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < count.value; ++i) {
      numbers.push_back(start.value + i * step);
    }
    return emit.cast(emit.list(numbers), type);
  }
  auto& layer = emit.added(emit.network().addFill(toDims({count.known() ? count.value : 1}),
                                                  nvinfer1::FillOperation::kLINSPACE, DataType::kINT64),
                           "addFill");
  if (!count.known()) {
    layer.setInput(0, emit.shapeTensor({count}));
  }
  if (start.known()) {
    layer.setAlphaInt64(start.value);
    layer.setBetaInt64(step);
  } else {
    layer.setInput(1, emit.tensor(emit.fromExtents({start}, true)));
    layer.setInput(2, emit.tensor(emit.list({step})));
  }
  return emit.cast(emit.output(layer), type);
}

Values importRange(Node& node) {
  Emitter& emit = node.emit();
  const DataType type = node.dataType(0);
  if (isInteger(type)) {
    return {rangeOf(node, emit.elements(node.input(0)).at(0), emit.elements(node.input(1)).at(0),
                    emit.elements(node.input(2)).at(0), type)};
  }
  const double start = toReals(node.constant(0, "start")).at(0);
  const double limit = toReals(node.constant(1, "limit")).at(0);
  const double delta = toReals(node.constant(2, "delta")).at(0);
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= static_cast<double>(kMovementLimit))) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("range from {} to {} by {} has {} elements; expected {} at most", start,
                                               limit, delta, count, kMovementLimit));
  }
  std::vector<double> numbers;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    numbers.push_back(start + static_cast<double>(i) * delta);
  }
  return {emit.store().ofReals(type, {static_cast<int64_t>(numbers.size())}, numbers)};
}

Values importCumSum(Node& node) {
  Emitter& emit = node.emit();
  const Extents axis = emit.elements(node.input(1));
  if (axis.size() != 1) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("axis has {} elements; expected 1", axis.size()));
  }
  const Extent positive = axis[0].known() ? Extent::of(normalizeAxis(axis[0].value, node.rank(0))) : axis[0];
  const Value scalarAxis = emit.cast(emit.fromExtents({positive}, true), DataType::kINT32);
  auto* made =
      emit.network().addCumulative(node.tensor(0), emit.tensor(scalarAxis), nvinfer1::CumulativeOperation::kSUM,
                                   node.integer("exclusive", 0) != 0, node.integer("reverse", 0) != 0);
  return {emit.output(emit.added(made, "addCumulative"))};
}

// Keeps element (row, column) where column - row >= k (upper) or <= k (lower).
Values importTrilu(Node& node) {
  Emitter& emit = node.emit();
  const Extents in = emit.dims(node.input(0));
  if (in.size() < 2) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("input of rank {}; expected 2 or more", in.size()));
  }
  const int64_t k = node.hasInput(1) ? toInts(node.constant(1, "k")).at(0) : 0;
  const bool upper = node.integer("upper", 1) != 0;
  const Extent zero = Extent::of(0);
  const Extent one = Extent::of(1);
  const Value rows = emit.unsqueeze(rangeOf(node, zero, in[in.size() - 2], one, DataType::kINT64), {1});
  const Value columns = emit.unsqueeze(rangeOf(node, zero, in[in.size() - 1], one, DataType::kINT64), {0});
  const Value distance = emit.binary(columns, rows, ElementWiseOperation::kSUB);
  const Value keep = emit.binary(distance, emit.store().ofInts(DataType::kINT64, {1, 1}, {upper ? k - 1 : k + 1}),
                                 upper ? ElementWiseOperation::kGREATER : ElementWiseOperation::kLESS);
  return {emit.select(keep, node.input(0), emit.scalar(node.dataType(0), 0))};
}

Values importEyeLike(Node& node) {
  const Shape shape = node.shape(0);
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) {
    fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
         fmt::format("input {}; expected rank 2 with static extents", toString(shape)));
  }
  const auto requested = toDataType(static_cast<int32_t>(node.integer("dtype", 0)));
  const DataType type = node.has("dtype") ? requested.value_or(DataType::kE8M0) : node.dataType(0);
  const int64_t k = node.integer("k", 0);
  if (elementCount(shape) > kMovementLimit) {
    fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE, fmt::format("the matrix {} has {} elements; expected {} at most",
                                                         toString(shape), elementCount(shape), kMovementLimit));
  }
  std::vector<int64_t> numbers(static_cast<size_t>(elementCount(shape)), 0);
  for (int64_t row = 0; row < shape[0]; ++row) {
    if (row + k >= 0 && row + k < shape[1]) {
      numbers[static_cast<size_t>(row * shape[1] + row + k)] = 1;
    }
  }
  return {node.emit().store().ofInts(type, shape, numbers)};
}

const OperatorImporter kRows[] = {
    {"Constant", 1, kNewestOpset, importConstant, "addConstant where used; no sparse or string values"},
    {"ConstantOfShape", 9, kNewestOpset, importConstantOfShape, "addConstant; dynamic shape: addSlice with stride 0"},
    {"Range", 11, kNewestOpset, importRange, "addFill kLINSPACE; reals and delta constant"},
    {"CumSum", 11, kNewestOpset, importCumSum, "addCumulative"},
    {"Trilu", 14, kNewestOpset, importTrilu, "addSelect; dynamic extents: addFill, addElementWise; k constant"},
    {"EyeLike", 9, kNewestOpset, importEyeLike, "addConstant; static extents"},
};

}  // namespace

namespace ops_constant {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_constant
}  // namespace tenon::onnxparser

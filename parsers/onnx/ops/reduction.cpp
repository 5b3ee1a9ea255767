// Reductions, softmax, and selections of the largest elements.
#include "operator_table.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::TopKOperation;
using nvinfer1::UnaryOperation;

struct Axes {
  uint32_t mask = 0;
  std::vector<int64_t> list;
  bool keep = true;
};

// `axes` moved from an attribute to input 1: for ReduceSum in opset 13, for the others in 18.
Axes readAxes(Node& node) {
  const int32_t moved = node.type() == "ReduceSum" ? 13 : 18;
  const int64_t rank = node.rank(0);
  Axes axes;
  axes.keep = node.integer("keepdims", 1) != 0;
  if (node.opset() < moved) {
    axes.list = node.integers("axes");
  } else if (node.hasInput(1)) {
    axes.list = toInts(node.constant(1, "axes"));
  }
  if (axes.list.empty() && node.integer("noop_with_empty_axes", 0) == 0) {
    for (int64_t i = 0; i < rank; ++i) {
      axes.list.push_back(i);
    }
  }
  for (int64_t& axis : axes.list) {
    axis = normalizeAxis(axis, rank);
    axes.mask |= 1u << static_cast<uint32_t>(axis);
  }
  return axes;
}

Value reduced(Node& node, const Value& value, ReduceOperation operation, const Axes& axes, bool keep) {
  return axes.mask == 0 ? value : node.emit().reduce(value, operation, axes.mask, keep);
}

template <ReduceOperation kOperation>
Values importReduce(Node& node) {
  Emitter& emit = node.emit();
  const Axes axes = readAxes(node);
  const bool logic = node.dataType(0) == DataType::kBOOL;  // ReduceMax and ReduceMin of opset 20
  const Value input = logic ? emit.cast(node.input(0), DataType::kINT32) : node.input(0);
  const Value result = reduced(node, input, kOperation, axes, axes.keep);
  return {logic ? emit.cast(result, DataType::kBOOL) : result};
}

Values importReduceL1(Node& node) {
  const Axes axes = readAxes(node);
  return {
      reduced(node, node.emit().unary(node.input(0), UnaryOperation::kABS), ReduceOperation::kSUM, axes, axes.keep)};
}

Value sumOfSquares(Node& node) {
  const Axes axes = readAxes(node);
  const Value square = node.emit().binary(node.input(0), node.input(0), ElementWiseOperation::kPROD);
  return reduced(node, square, ReduceOperation::kSUM, axes, axes.keep);
}

Values importReduceSumSquare(Node& node) { return {sumOfSquares(node)}; }

Values importReduceL2(Node& node) { return {node.emit().unary(sumOfSquares(node), UnaryOperation::kSQRT)}; }

Values importReduceLogSum(Node& node) {
  const Axes axes = readAxes(node);
  return {
      node.emit().unary(reduced(node, node.input(0), ReduceOperation::kSUM, axes, axes.keep), UnaryOperation::kLOG)};
}

// log(sum(exp(x))) = m + log(sum(exp(x - m))) with m the maximum, which cannot overflow.
Values importReduceLogSumExp(Node& node) {
  Emitter& emit = node.emit();
  const Axes axes = readAxes(node);
  const Value maximum = reduced(node, node.input(0), ReduceOperation::kMAX, axes, true);
  const Value shifted = emit.binary(node.input(0), maximum, ElementWiseOperation::kSUB);
  const Value sum = reduced(node, emit.unary(shifted, UnaryOperation::kEXP), ReduceOperation::kSUM, axes, true);
  const Value result = emit.binary(emit.unary(sum, UnaryOperation::kLOG), maximum, ElementWiseOperation::kSUM);
  return {axes.keep ? result : emit.squeeze(result, axes.list)};
}

Value softmax(Node& node, const Value& value, int32_t axis) {
  Emitter& emit = node.emit();
  auto& layer = emit.added(emit.network().addSoftMax(emit.tensor(value)), "addSoftMax");
  layer.setAxes(1u << static_cast<uint32_t>(axis));
  return emit.output(layer);
}

// x - m - log(sum(exp(x - m))): the logarithm of a softmax would lose small probabilities.
Value logSoftmax(Node& node, const Value& value, int32_t axis) {
  Emitter& emit = node.emit();
  const uint32_t mask = 1u << static_cast<uint32_t>(axis);
  const Value shifted =
      emit.binary(value, emit.reduce(value, ReduceOperation::kMAX, mask, true), ElementWiseOperation::kSUB);
  const Value sum = emit.reduce(emit.unary(shifted, UnaryOperation::kEXP), ReduceOperation::kSUM, mask, true);
  return emit.binary(shifted, emit.unary(sum, UnaryOperation::kLOG), ElementWiseOperation::kSUB);
}

Value hardmax(Node& node, const Value& value, int32_t axis) {
  Emitter& emit = node.emit();
  const uint32_t mask = 1u << static_cast<uint32_t>(axis);
  const int64_t extent = emit.shapeOf(value)[static_cast<size_t>(axis)];
  if (extent < 0) {
    fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, "the extent of the axis is not known while parsing");
  }
  auto& top = emit.added(emit.network().addTopK(emit.tensor(value), TopKOperation::kMAX, 1, mask), "addTopK");
  const Value best = emit.squeeze(emit.output(top, 1), {axis});
  const DataType type = emit.typeOf(value);
  const Value levels = emit.store().ofReals(type, {2}, {0.0, 1.0});
  const Value depth = emit.store().ofInts(DataType::kINT32, {}, {extent});
  auto* made = emit.network().addOneHot(emit.tensor(best), emit.tensor(levels), emit.tensor(depth), axis);
  return emit.output(emit.added(made, "addOneHot"));
}

using AxisFunction = Value (*)(Node&, const Value&, int32_t);

template <AxisFunction kFunction>
Values importAlongAxis(Node& node) {
  return {kFunction(node, node.input(0), node.axis(-1, node.rank(0)))};
}

// Up to opset 12 the input is a matrix: the axes before `axis`, and those from it on.
template <AxisFunction kFunction>
Values importAlongMatrix(Node& node) {
  Emitter& emit = node.emit();
  const int64_t rank = node.rank(0);
  const int32_t axis = node.axis(1, rank);
  const Extents in = emit.dims(node.input(0));
  bool unitTail = true;
  for (size_t i = static_cast<size_t>(axis) + 1; i < in.size(); ++i) {
    unitTail = unitTail && in[i].is(1);
  }
  if (unitTail) {
    return {kFunction(node, node.input(0), axis)};
  }
  const auto cut = static_cast<size_t>(axis);
  const Extents matrix{emit.product(in, 0, cut), emit.product(in, cut, in.size())};
  return {emit.reshape(kFunction(node, emit.reshape(node.input(0), matrix), 1), in)};
}

template <TopKOperation kOperation>
Values importArg(Node& node) {
  Emitter& emit = node.emit();
  if (node.integer("select_last_index", 0) != 0) {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "select_last_index = 1; the API selects the first of equal elements");
  }
  const int32_t axis = node.axis(0, node.rank(0));
  auto& layer =
      emit.added(emit.network().addTopK(node.tensor(0), kOperation, 1, 1u << static_cast<uint32_t>(axis)), "addTopK");
  const Value index = emit.cast(emit.output(layer, 1), DataType::kINT64);
  return {node.integer("keepdims", 1) != 0 ? index : emit.squeeze(index, {axis})};
}

Values importTopK(Node& node) {
  Emitter& emit = node.emit();
  const auto operation = node.integer("largest", 1) != 0 ? TopKOperation::kMAX : TopKOperation::kMIN;
  const int32_t axis = node.axis(-1, node.rank(0));
  const uint32_t mask = 1u << static_cast<uint32_t>(axis);
  const Value k = node.opset() < 10 ? emit.list({node.integer("k", 1)}) : node.input(1);
  const Extents counts = emit.elements(k);
  if (counts.size() != 1) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("K has {} elements; expected 1", counts.size()));
  }
  const int64_t fixed = counts[0].known() ? counts[0].value : 1;
  if (fixed < 0 || fixed > INT32_MAX) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("K = {}; expected 0 to 2^31-1", fixed));
  }
  auto& layer =
      emit.added(emit.network().addTopK(node.tensor(0), operation, static_cast<int32_t>(fixed), mask), "addTopK");
  if (!counts[0].known()) {
    layer.setInput(1, emit.tensor(emit.cast(emit.fromExtents(counts, true), DataType::kINT32)));
  }
  Values outputs{emit.output(layer, 0)};
  if (node.usesOutput(1)) {
    outputs.push_back(emit.cast(emit.output(layer, 1), DataType::kINT64));
  }
  return outputs;
}

const OperatorImporter kRows[] = {
    {"ReduceSum", 1, kNewestOpset, importReduce<ReduceOperation::kSUM>, "addReduce kSUM; axes constant"},
    {"ReduceMean", 1, kNewestOpset, importReduce<ReduceOperation::kAVG>, "addReduce kAVG; axes constant"},
    {"ReduceMax", 1, kNewestOpset, importReduce<ReduceOperation::kMAX>, "addReduce kMAX; axes constant"},
    {"ReduceMin", 1, kNewestOpset, importReduce<ReduceOperation::kMIN>, "addReduce kMIN; axes constant"},
    {"ReduceProd", 1, kNewestOpset, importReduce<ReduceOperation::kPROD>, "addReduce kPROD; axes constant"},
    {"ReduceL1", 1, kNewestOpset, importReduceL1, "addUnary, addReduce; axes constant"},
    {"ReduceL2", 1, kNewestOpset, importReduceL2, "addElementWise, addReduce, addUnary; axes constant"},
    {"ReduceSumSquare", 1, kNewestOpset, importReduceSumSquare, "addElementWise, addReduce; axes constant"},
    {"ReduceLogSum", 1, kNewestOpset, importReduceLogSum, "addReduce, addUnary; axes constant"},
    {"ReduceLogSumExp", 1, kNewestOpset, importReduceLogSumExp, "addReduce, addUnary, addElementWise; axes constant"},
    {"Softmax", 1, 12, importAlongMatrix<softmax>, "addSoftMax over the input as a matrix: addShuffle"},
    {"Softmax", 13, kNewestOpset, importAlongAxis<softmax>, "addSoftMax"},
    {"LogSoftmax", 1, 12, importAlongMatrix<logSoftmax>,
     "addReduce, addUnary, addElementWise over the input as a matrix"},
    {"LogSoftmax", 13, kNewestOpset, importAlongAxis<logSoftmax>, "addReduce, addUnary, addElementWise"},
    {"Hardmax", 1, 12, importAlongMatrix<hardmax>, "addTopK, addOneHot; extent of the axis static"},
    {"Hardmax", 13, kNewestOpset, importAlongAxis<hardmax>, "addTopK, addOneHot; extent of the axis static"},
    {"ArgMax", 1, kNewestOpset, importArg<TopKOperation::kMAX>, "addTopK kMAX, addCast; select_last_index 0"},
    {"ArgMin", 1, kNewestOpset, importArg<TopKOperation::kMIN>, "addTopK kMIN, addCast; select_last_index 0"},
    {"TopK", 1, kNewestOpset, importTopK, "addTopK, addCast of the indices; results always sorted"},
};

}  // namespace

namespace ops_reduction {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_reduction
}  // namespace tenon::onnxparser

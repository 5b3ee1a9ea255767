// Reductions, softmax, and selections of the largest elements.
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_reduction {
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
Axes readAxes(OnnxNode& node) {
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

ParsedValue widened(OnnxNode& node) { return node.term(0).widened().value(); }
ParsedValue narrowed(OnnxNode& node, const ParsedValue& value) { return node.writer().cast(value, node.dataType(0)); }

ParsedValue reduced(OnnxNode& node, const ParsedValue& value, ReduceOperation operation, const Axes& axes, bool keep) {
  return axes.mask == 0 ? value : node.writer().reduce(value, operation, axes.mask, keep);
}

template <ReduceOperation kOperation>
ParsedValues importReduce(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Axes axes = readAxes(node);
  const bool logic = node.dataType(0) == DataType::kBOOL;  // ReduceMax and ReduceMin of opset 20
  const ParsedValue input = logic ? writer.cast(node.input(0), DataType::kINT32) : node.input(0);
  const ParsedValue result = reduced(node, input, kOperation, axes, axes.keep);
  // Of no elements the result is the least or greatest integer.
  return {logic ? writer.binary(result, writer.scalar(DataType::kINT32, 0), ElementWiseOperation::kGREATER) : result};
}

ParsedValues importReduceL1(OnnxNode& node) {
  const Axes axes = readAxes(node);
  return {
      reduced(node, node.writer().unary(node.input(0), UnaryOperation::kABS), ReduceOperation::kSUM, axes, axes.keep)};
}

ParsedValue sumOfSquares(OnnxNode& node) {
  const Axes axes = readAxes(node);
  const ParsedValue x = widened(node);
  const ParsedValue square = node.writer().binary(x, x, ElementWiseOperation::kPROD);
  return reduced(node, square, ReduceOperation::kSUM, axes, axes.keep);
}

ParsedValues importReduceSumSquare(OnnxNode& node) { return {narrowed(node, sumOfSquares(node))}; }

ParsedValues importReduceL2(OnnxNode& node) {
  return {narrowed(node, node.writer().unary(sumOfSquares(node), UnaryOperation::kSQRT))};
}

ParsedValues importReduceLogSum(OnnxNode& node) {
  const Axes axes = readAxes(node);
  const ParsedValue sum = reduced(node, widened(node), ReduceOperation::kSUM, axes, axes.keep);
  return {narrowed(node, node.writer().unary(sum, UnaryOperation::kLOG))};
}

// log(sum(exp(x))) = m + log(sum(exp(x - m))) with m the maximum, which cannot overflow.
ParsedValues importReduceLogSumExp(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Axes axes = readAxes(node);
  const ParsedValue x = widened(node);
  const ParsedValue maximum = reduced(node, x, ReduceOperation::kMAX, axes, true);
  const ParsedValue shifted = writer.binary(x, maximum, ElementWiseOperation::kSUB);
  const ParsedValue sum = reduced(node, writer.unary(shifted, UnaryOperation::kEXP), ReduceOperation::kSUM, axes, true);
  const ParsedValue result =
      narrowed(node, writer.binary(writer.unary(sum, UnaryOperation::kLOG), maximum, ElementWiseOperation::kSUM));
  return {axes.keep ? result : writer.squeeze(result, axes.list)};
}

ParsedValue softmax(OnnxNode& node, const ParsedValue& value, int32_t axis) {
  NetworkWriter& writer = node.writer();
  auto& layer = writer.added(writer.network().addSoftMax(writer.tensor(value)), "addSoftMax");
  layer.setAxes(1u << static_cast<uint32_t>(axis));
  return writer.output(layer);
}

// x - m - log(sum(exp(x - m))): the logarithm of a softmax would lose small probabilities.
ParsedValue logSoftmax(OnnxNode& node, const ParsedValue& value, int32_t axis) {
  NetworkWriter& writer = node.writer();
  const uint32_t mask = 1u << static_cast<uint32_t>(axis);
  const ParsedValue shifted =
      writer.binary(value, writer.reduce(value, ReduceOperation::kMAX, mask, true), ElementWiseOperation::kSUB);
  const ParsedValue sum = writer.reduce(writer.unary(shifted, UnaryOperation::kEXP), ReduceOperation::kSUM, mask, true);
  return writer.binary(shifted, writer.unary(sum, UnaryOperation::kLOG), ElementWiseOperation::kSUB);
}

ParsedValue hardmax(OnnxNode& node, const ParsedValue& value, int32_t axis) {
  NetworkWriter& writer = node.writer();
  const uint32_t mask = 1u << static_cast<uint32_t>(axis);
  const ParsedExtent extent = writer.dims(value)[static_cast<size_t>(axis)];
  auto& top = writer.added(writer.network().addTopK(writer.tensor(value), TopKOperation::kMAX, 1, mask), "addTopK");
  const DataType type = writer.typeOf(value);
  if (!extent.known()) {
    ParsedExtents along(writer.shapeOf(value).size(), ParsedExtent::of(1));
    along[static_cast<size_t>(axis)] = extent;
    const Term best(writer, writer.output(top, 1));
    return equal(iota(writer, extent, best.type()).reshape(along), best).cast(type).value();
  }
  const ParsedValue best = writer.squeeze(writer.output(top, 1), {axis});
  const ParsedValue levels = writer.store().ofReals(type, {2}, {0.0, 1.0});
  const ParsedValue depth = writer.store().ofInts(DataType::kINT32, {}, {extent.value});
  auto* made = writer.network().addOneHot(writer.tensor(best), writer.tensor(levels), writer.tensor(depth), axis);
  return writer.output(writer.added(made, "addOneHot"));
}

using AxisFunction = ParsedValue (*)(OnnxNode&, const ParsedValue&, int32_t);

template <AxisFunction kFunction>
ParsedValues importAlongAxis(OnnxNode& node) {
  return {kFunction(node, node.input(0), node.axis(-1, node.rank(0)))};
}

// Up to opset 12 the input is a matrix: the axes before `axis`, and those from it on.
template <AxisFunction kFunction>
ParsedValues importAlongMatrix(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t rank = node.rank(0);
  const int32_t axis = node.axis(1, rank);
  const ParsedExtents in = writer.dims(node.input(0));
  bool unitTail = true;
  for (size_t i = static_cast<size_t>(axis) + 1; i < in.size(); ++i) {
    unitTail = unitTail && in[i].is(1);
  }
  if (unitTail) {
    return {kFunction(node, node.input(0), axis)};
  }
  const auto cut = static_cast<size_t>(axis);
  const ParsedExtents matrix{writer.product(in, 0, cut), writer.product(in, cut, in.size())};
  return {writer.reshape(kFunction(node, writer.reshape(node.input(0), matrix), 1), in)};
}

// Indices of 32 bits, as the layer's are by themselves, do not reach all elements of such an axis.
void setIndices(nvinfer1::ITopKLayer& layer, const ParsedExtent& extent) {
  if (extent.known() && extent.value > INT32_MAX) {
    layer.setIndicesType(DataType::kINT64);
  }
}

template <TopKOperation kOperation>
ParsedValues importArg(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int32_t axis = node.axis(0, node.rank(0));
  Term x = node.term(0);
  const bool last = node.integer("select_last_index", 0) != 0;  // the first from the other end
  const ParsedExtent end = writer.combine(x.dim(axis), ParsedExtent::of(1), ElementWiseOperation::kSUB);
  if (last) {
    x = x.slice(axis, end, x.dim(axis), -1);
  }
  auto* made = writer.network().addTopK(writer.tensor(x), kOperation, 1, 1u << static_cast<uint32_t>(axis));
  auto& layer = writer.added(made, "addTopK");
  setIndices(layer, x.dim(axis));
  Term index = Term(writer, writer.output(layer, 1)).cast(DataType::kINT64);
  if (last) {
    index = Term(writer, writer.fromExtents({end}, true)) - index;
  }
  return {node.integer("keepdims", 1) != 0 ? index : index.squeeze({axis})};
}

ParsedValues importTopK(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const auto operation = node.integer("largest", 1) != 0 ? TopKOperation::kMAX : TopKOperation::kMIN;
  const int32_t axis = node.axis(-1, node.rank(0));
  const uint32_t mask = 1u << static_cast<uint32_t>(axis);
  const ParsedValue k = node.opset() < 10 ? writer.list({node.integer("k", 1)}) : node.input(1);
  const ParsedExtents counts = writer.elements(k);
  if (counts.size() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("K has {} elements; expected 1", counts.size()));
  }
  const int64_t fixed = counts[0].known() ? counts[0].value : 1;
  if (fixed < 0 || fixed > INT32_MAX) {
    fail(FaultKind::kInvalidNode, fmt::format("K = {}; expected 0 to 2^31-1", fixed));
  }
  auto& layer =
      writer.added(writer.network().addTopK(node.tensor(0), operation, static_cast<int32_t>(fixed), mask), "addTopK");
  setIndices(layer, node.term(0).dim(axis));
  if (!counts[0].known()) {
    layer.setInput(1, writer.tensor(writer.cast(writer.fromExtents(counts, true), DataType::kINT32)));
  }
  ParsedValues outputs{writer.output(layer, 0)};
  if (node.usesOutput(1)) {
    outputs.push_back(writer.cast(writer.output(layer, 1), DataType::kINT64));
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
    {"Hardmax", 1, 12, importAlongMatrix<hardmax>,
     "addTopK, addOneHot; open extent of the axis: addFill, addElementWise"},
    {"Hardmax", 13, kNewestOpset, importAlongAxis<hardmax>,
     "addTopK, addOneHot; open extent of the axis: addFill, addElementWise"},
    {"ArgMax", 1, kNewestOpset, importArg<TopKOperation::kMAX>, "addTopK kMAX, addCast; select_last_index 1: addSlice"},
    {"ArgMin", 1, kNewestOpset, importArg<TopKOperation::kMIN>, "addTopK kMIN, addCast; select_last_index 1: addSlice"},
    {"TopK", 1, kNewestOpset, importTopK, "addTopK, addCast of the indices; results always sorted"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_reduction

// Operators that change or ask for shapes.
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_shape {
namespace {

using nvinfer1::ElementWiseOperation;

// A shape computed as one tensor goes to the layer as it is.
ParsedValue reshapeByTensor(OnnxNode& node, bool zeroCopies) {
  NetworkWriter& writer = node.writer();
  auto& layer = writer.added(writer.network().addShuffle(node.tensor(0)), "addShuffle");
  layer.setInput(1, writer.tensor(writer.cast(node.input(1), DataType::kINT64)));
  layer.setZeroIsPlaceholder(zeroCopies);
  return writer.output(layer);
}

ParsedValues importReshape(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool zeroCopies = node.integer("allowzero", 0) == 0;
  ParsedExtents target;
  if (node.opset() < 5) {
    writer.asList(writer.list(node.integers("shape")), target);
  } else if (!writer.asList(node.input(1), target)) {
    return {reshapeByTensor(node, zeroCopies)};
  }
  const ParsedExtents in = writer.dims(node.input(0));
  for (size_t i = 0; zeroCopies && i < target.size(); ++i) {
    if (!target[i].is(0)) {
      continue;
    }
    if (i >= in.size()) {
      fail(FaultKind::kInvalidNode,
           fmt::format("entry {} of the shape is 0 (copy the extent), but the input has rank {}", i, in.size()));
    }
    target[i] = in[i];
  }
  return {writer.reshape(node.input(0), target)};
}

ParsedValues importFlatten(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const auto rank = static_cast<int64_t>(in.size());
  const int64_t axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank) {
    fail(FaultKind::kInvalidNode, fmt::format("axis = {}; expected {} to {}", axis, -rank, rank));
  }
  const auto cut = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const auto unknown = [&](size_t begin, size_t end) {
    int64_t count = 0;
    for (size_t i = begin; i < end; ++i) {
      count += in[i].known() ? 0 : 1;
    }
    return count;
  };
  // "What remains" can stand for one side, which spares computing its product at run time.
  const bool restAfter = unknown(cut, in.size()) > 0 && (unknown(0, cut) == 0 || cut == 1);
  const bool restBefore = !restAfter && unknown(0, cut) > 0 && cut != 1 && unknown(cut, in.size()) == 0;
  const ParsedExtent before = restBefore ? ParsedExtent::of(-1) : writer.product(in, 0, cut);
  const ParsedExtent after = restAfter ? ParsedExtent::of(-1) : writer.product(in, cut, in.size());
  return {writer.reshape(node.input(0), {before, after})};
}

ParsedValues importTranspose(OnnxNode& node) {
  const int64_t rank = node.rank(0);
  std::vector<int64_t> order = node.integers("perm");
  if (order.empty()) {
    for (int64_t i = rank; i-- > 0;) {
      order.push_back(i);
    }
  }
  std::vector<int32_t> axes;
  uint32_t seen = 0;
  for (const int64_t axis : order) {
    axes.push_back(normalizeAxis(axis, rank, "perm entry"));
    seen |= 1u << static_cast<uint32_t>(axes.back());
  }
  if (static_cast<int64_t>(axes.size()) != rank || seen != (1u << static_cast<uint32_t>(rank)) - 1u) {
    fail(FaultKind::kInvalidNode, fmt::format("perm = {} is not a permutation of the {} axes", toString(order), rank));
  }
  return {node.writer().transpose(node.input(0), axes)};
}

std::vector<int64_t> axesOf(OnnxNode& node) {
  return node.opset() < 13  ? node.integers("axes")
         : node.hasInput(1) ? toInts(node.constant(1, "axes"))
                            : std::vector<int64_t>{};
}

// Without axes, extents that are known only at run time stay, though they may turn out to be 1.
ParsedValues importSqueeze(OnnxNode& node) {
  std::vector<int64_t> axes = axesOf(node);
  if (axes.empty()) {
    const Dimensions shape = node.shape(0);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
  }
  return {node.writer().squeeze(node.input(0), axes)};
}

ParsedValues importUnsqueeze(OnnxNode& node) { return {node.writer().unsqueeze(node.input(0), axesOf(node))}; }

ParsedValues importShape(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const auto rank = static_cast<int64_t>(in.size());
  const auto bound = [&](const char* name, int64_t fallback) {
    const int64_t value = node.integer(name, fallback);
    return std::min(std::max<int64_t>(value < 0 ? value + rank : value, 0), rank);
  };
  const int64_t begin = bound("start", 0);
  const int64_t end = std::max(bound("end", rank), begin);
  return {writer.fromExtents(ParsedExtents(in.begin() + begin, in.begin() + end))};
}

ParsedValues importSize(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  return {writer.fromExtents({writer.product(in, 0, in.size())}, true)};
}

ParsedValues importExpand(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  ParsedExtents target = writer.elements(node.input(1));
  ParsedExtents in = writer.dims(node.input(0));
  const size_t rank = std::max(in.size(), target.size());
  in.insert(in.begin(), rank - in.size(), ParsedExtent::of(1));
  target.insert(target.begin(), rank - target.size(), ParsedExtent::of(1));
  for (size_t i = 0; i < rank; ++i) {
    if (target[i].is(1) || target[i] == in[i]) {
      target[i] = in[i];
    } else if (!in[i].is(1) && in[i].known() && target[i].known()) {
      fail(FaultKind::kInvalidNode,
           fmt::format("extent {} of axis {} does not broadcast to {}", in[i].value, i, target[i].value));
    } else if (in[i].known() && !in[i].is(1)) {
      target[i] = in[i];
    } else if (!in[i].known() && !target[i].known()) {
      target[i] = writer.combine(in[i], target[i], ElementWiseOperation::kMAX);
    }
  }
  return {writer.expand(node.input(0), target)};
}

ParsedValues importTile(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const ParsedExtents repeats = writer.elements(node.input(1));
  if (repeats.size() != in.size()) {
    fail(FaultKind::kInvalidNode,
         fmt::format("repeats has {} entries for an input of rank {}", repeats.size(), in.size()));
  }
  ParsedExtents size;
  for (size_t i = 0; i < in.size(); ++i) {
    size.push_back(writer.combine(in[i], repeats[i], ElementWiseOperation::kPROD));
  }
  if (size == in) {
    return {node.input(0)};
  }
  return {writer.slice(node.input(0), ParsedExtents(in.size(), ParsedExtent::of(0)), size,
                       ParsedExtents(in.size(), ParsedExtent::of(1)), nvinfer1::SampleMode::kWRAP, {})};
}

int64_t blockSize(OnnxNode& node) {
  const int64_t block = node.integer("blocksize", 0);
  if (block < 1 || block > INT32_MAX) {
    fail(FaultKind::kInvalidNode, fmt::format("blocksize = {}; expected 1 to {}", block, INT32_MAX));
  }
  return block;
}

// Blocks of channels become blocks of space: [N, b, b, C, H, W] (DCR) or [N, C, b, b, H, W] (CRD).
ParsedValues importDepthToSpace(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const int64_t block = blockSize(node);
  if (in.size() != 4) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input {}; expected rank 4", toString(node.shape(0))));
  }
  if (in[1].known() && in[1].value % (block * block) != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the {} channels of input {} do not divide by {}, the square of blocksize {}", in[1].value,
                     toString(node.shape(0)), block * block, block));
  }
  const std::string mode = node.text("mode", "DCR");
  const ParsedExtent side = ParsedExtent::of(block);
  const ParsedExtent channels = writer.combine(in[1], ParsedExtent::of(block * block), ElementWiseOperation::kDIV);
  const bool depthFirst = mode == "DCR";
  const ParsedValue split =
      writer.reshape(node.input(0), depthFirst ? ParsedExtents{in[0], side, side, channels, in[2], in[3]}
                                               : ParsedExtents{in[0], channels, side, side, in[2], in[3]});
  const ParsedValue moved = writer.transpose(
      split, depthFirst ? std::vector<int32_t>{0, 3, 4, 1, 5, 2} : std::vector<int32_t>{0, 1, 4, 2, 5, 3});
  const ParsedExtent height = writer.combine(in[2], side, ElementWiseOperation::kPROD);
  const ParsedExtent width = writer.combine(in[3], side, ElementWiseOperation::kPROD);
  return {writer.reshape(moved, {in[0], channels, height, width})};
}

ParsedValues importSpaceToDepth(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const int64_t block = blockSize(node);
  if (in.size() != 4) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input {}; expected rank 4", toString(node.shape(0))));
  }
  for (const size_t axis : {size_t{2}, size_t{3}}) {
    if (in[axis].known() && in[axis].value % block != 0) {
      fail(FaultKind::kInvalidNode,
           fmt::format("{} {} of input {} does not divide by blocksize {}", axis == 2 ? "height" : "width",
                       in[axis].value, toString(node.shape(0)), block));
    }
  }
  const ParsedExtent side = ParsedExtent::of(block);
  const ParsedExtent height = writer.combine(in[2], side, ElementWiseOperation::kDIV);
  const ParsedExtent width = writer.combine(in[3], side, ElementWiseOperation::kDIV);
  const ParsedValue split = writer.reshape(node.input(0), {in[0], in[1], height, side, width, side});
  const bool isColumnFirst = node.choice("mode", "DCR", {"DCR", "CRD"}) == "CRD";  // places of a block vary fastest
  const ParsedValue moved = writer.transpose(
      split, isColumnFirst ? std::vector<int32_t>{0, 1, 3, 5, 2, 4} : std::vector<int32_t>{0, 3, 5, 1, 2, 4});
  const ParsedExtent channels = writer.combine(in[1], ParsedExtent::of(block * block), ElementWiseOperation::kPROD);
  return {writer.reshape(moved, {in[0], channels, height, width})};
}

const OperatorImporter kRows[] = {
    {"Reshape", 1, kNewestOpset, importReshape, "addShuffle"},
    {"Flatten", 1, kNewestOpset, importFlatten, "addShuffle"},
    {"Transpose", 1, kNewestOpset, importTranspose, "addShuffle"},
    {"Squeeze", 1, kNewestOpset, importSqueeze, "addShuffle; axes constant; without axes, dynamic extents stay"},
    {"Unsqueeze", 1, kNewestOpset, importUnsqueeze, "addShuffle; axes constant"},
    {"Shape", 1, kNewestOpset, importShape, "addShape where extents are dynamic"},
    {"Size", 1, kNewestOpset, importSize, "addShape, addElementWise where extents are dynamic"},
    {"Expand", 8, kNewestOpset, importExpand, "addSlice with stride 0"},
    {"Tile", 6, kNewestOpset, importTile, "addSlice kWRAP"},
    {"DepthToSpace", 1, kNewestOpset, importDepthToSpace, "addShuffle"},
    {"SpaceToDepth", 1, kNewestOpset, importSpaceToDepth, "addShuffle"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_shape

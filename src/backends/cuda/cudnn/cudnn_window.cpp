// Extents, paddings and tensors of convolutions for cuDNN.
#include "backends/cuda/cudnn/cudnn_window.h"

#include <algorithm>

#include "core/error.h"
#include "core/strided.h"

namespace tenon::backends::cuda::dnn {
namespace {

// Axes of cuDNN: at least two spatial ones; a missing one is of extent 1 in front.
constexpr int kFewestAxes = 4;

struct Geometry {
  Window window;
  std::string refusal;
};

// The extent that a window of `reach` gives.
int64_t windowed(int64_t extent, int64_t padding, int64_t reach, int64_t stride) {
  const int64_t room = extent + padding - reach;
  return room < 0 ? 0 : room / stride + 1;
}

// Zeros behind an axis, so that the large extent gives the small one; symmetric where that does, for which there are
// more engines.
std::optional<int64_t> postPadding(int64_t large, int64_t small, int64_t reach, int64_t stride, int64_t pre,
                                   int64_t post) {
  for (const int64_t candidate : {pre, post, std::max<int64_t>((small - 1) * stride + reach - large - pre, 0)}) {
    if (candidate >= 0 && windowed(large, pre + candidate, reach, stride) == small) return candidate;
  }
  return std::nullopt;
}

Geometry geometry(const WindowOp& op, const runtime::Shapes& shapes) {
  Geometry result;
  const auto& x = shapes.inputs[0].dims;
  const auto& w = shapes.inputs[1].dims;
  const auto& y = shapes.outputs[0].dims;
  const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
  auto& window = result.window;
  for (int axis = x.rank; axis < kFewestAxes; ++axis) {
    window.strides.push_back(1);
    window.dilations.push_back(1);
    window.pre.push_back(0);
    window.post.push_back(0);
  }
  for (int axis = 2; axis < x.rank; ++axis) {
    const auto i = static_cast<size_t>(axis - 2);
    window.strides.push_back(op.strides.empty() ? 1 : op.strides[i]);
    window.dilations.push_back(op.dilations.empty() ? 1 : op.dilations[i]);
    window.pre.push_back(op.prePadding.empty() ? 0 : value(op.prePadding[i]));
    const int64_t given = op.postPadding.empty() ? 0 : value(op.postPadding[i]);
    const int64_t reach = (w[axis] - 1) * window.dilations.back() + 1;
    const int64_t large = op.transposed ? y[axis] : x[axis];
    const int64_t small = op.transposed ? x[axis] : y[axis];
    const auto post = postPadding(large, small, reach, window.strides.back(), window.pre.back(), given);
    if (window.pre.back() < 0 || !post) {
      result.refusal =
          fmt::format("pre-padding {} and post-padding {} differ on spatial axis {}", window.pre.back(), given, i);
      return result;
    }
    window.post.push_back(*post);
  }
  return result;
}

// Extents aligned at the right to `rank` axes, with strides of the format; extents of one may have any stride.
// `narrow`: the operation has a single spatial axis, which gets another one in front of it.
Tensor makeTensor(const runtime::TensorShape& shape, int rank, bool narrow, ElementType type) {
  Tensor tensor;
  tensor.type = type;
  Dims dims = shape.dims;
  if (narrow && dims.rank >= 2) {
    dims = {};
    for (int axis = 0; axis < shape.dims.rank; ++axis) {
      if (axis == shape.dims.rank - 1) dims.push(1);
      dims.push(shape.dims[axis]);
    }
  }
  const auto strides = stridesOf(dims, shape.layout);
  const int missing = rank - dims.rank;
  for (int axis = 0; axis < rank; ++axis) {
    tensor.dims.push_back(axis < missing ? 1 : dims[axis - missing]);
    tensor.strides.push_back(axis < missing ? dims.count() : strides[static_cast<size_t>(axis - missing)]);
  }
  return tensor;
}

// Strides by which no engine takes one layout for the other: where every spatial extent is 1, both are the same memory,
// and engines that recognise channels-last tensors by a channel stride of 1 went on with the strides of rows.
void describeFlat(Tensor& tensor) {
  const int64_t channels = tensor.dims[1];
  tensor.strides.assign(tensor.dims.size(), channels);
  tensor.strides[1] = 1;
}

}  // namespace

bool isFlat(const Dims& x, const Dims& w, const Dims& y) {
  return x.count(2, x.rank) == 1 && w.count(2, w.rank) == 1 && y.count(2, y.rank) == 1;
}

ops::ScalarExpr WindowOp::wholeEpilogue() const {
  if (!hasBias) return epilogue;
  const auto biased =
      ops::ScalarExpr::of(ops::ScalarOp::k_add, {ops::ScalarArgument::input(0), ops::ScalarArgument::input(1)});
  if (epilogue.empty()) return biased;
  constexpr int kJoined = 255;
  std::vector<int> map{kJoined};
  for (int i = 1; i < epilogue.inputCount(); ++i) map.push_back(i + 1);
  return epilogue.withInputs(map).compose(kJoined, biased);
}

WindowOp windowOp(const ops::Operator& op) {
  if (const auto* convolution = op.as<ops::Convolution>()) return windowOp(*convolution);
  if (const auto* deconvolution = op.as<ops::Deconvolution>()) return windowOp(*deconvolution);
  throw Unsupported("cuDNN's kernels of convolutions cannot compute {}", op.name());
}

bool needsPacking(const Dims& weights) { return weights[1] != 1 && weights.count(2, weights.rank) != 1; }

std::string windowRefusal(const WindowOp& op, const runtime::Shapes& shapes) {
  const auto& x = shapes.inputs[0];
  if (x.dims.rank < 3 || x.dims.rank > 5) return fmt::format("an input of {} dimensions is not supported", x.dims.rank);
  for (const auto* operands : {&shapes.inputs, &shapes.outputs}) {
    for (const auto& operand : *operands) {
      if (operand.dtype != x.dtype) return fmt::format("operands of {} and {}", name(x.dtype), name(operand.dtype));
      if (operand.dims.count() == 0) return "an operand is empty";
      if (operand.dims.rank > x.dims.rank)
        return fmt::format("an operand of {} dimensions is not supported", operand.dims.rank);
      if (operand.layout != Layout::kLinear && operand.layout != Layout::kChannelsLast)
        return "channel-blocked layouts are not supported";
    }
  }
  if (x.dtype != DataType::kF32 && x.dtype != DataType::kF16 && x.dtype != DataType::kBF16) {
    return fmt::format("operands of {}; f32, f16 and bf16 are supported", name(x.dtype));
  }
  return geometry(op, shapes).refusal;
}

SourcedGraph windowGraph(const Chip& chip, const WindowOp& op, const runtime::Shapes& shapes, Fusion fusion) {
  const auto refusal = windowRefusal(op, shapes);
  if (!refusal.empty()) throw Unsupported("cuDNN convolution: {}", refusal);
  const auto window = geometry(op, shapes).window;
  const int rank = std::max(shapes.inputs[0].dims.rank, kFewestAxes);
  const bool narrow = shapes.inputs[0].dims.rank < kFewestAxes;
  const auto type = elementType(shapes.inputs[0].dtype);
  SourcedGraph result(chip);
  auto& graph = result.graph;
  const auto& yShape = shapes.outputs[0];
  const bool flat = isFlat(shapes.inputs[0].dims, shapes.inputs[1].dims, yShape.dims);
  const auto describe = [&](const runtime::TensorShape& shape, bool widen) {
    auto tensor = makeTensor(shape, rank, widen, type);
    if (flat) describeFlat(tensor);
    return tensor;
  };
  const Tensor y = describe(yShape, narrow);
  const auto xId = result.give(describe(shapes.inputs[0], narrow), {0});
  auto weights = shapes.inputs[1];
  weights.layout = yShape.layout;
  const auto wId = result.give(describe(weights, narrow), {1});
  const auto epilogue = op.wholeEpilogue();
  const bool bare = fusion == Fusion::kBare || epilogue.empty();
  Tensor product = y;
  if (!bare) {
    product.isVirtual = true;
    product.type = ElementType::kF32;
  }
  const auto productId = bare ? result.give(product, {-1}) : graph.tensor(product);
  if (op.transposed) {
    graph.convolutionBackwardData(window, xId, wId, productId);
  } else {
    graph.convolution(window, xId, wId, productId);
  }
  if (!bare) {
    std::vector<OperationGraph::Id> operands{productId};
    if (op.hasBias) {
      auto bias = shapes.inputs[2];
      const int64_t channels = bias.dims[0];
      bias.dims = Dims{1, channels};
      for (int axis = 2; axis < rank; ++axis) bias.dims.push(1);
      bias.layout = yShape.layout;
      operands.push_back(result.give(describe(bias, false), {2}));
    }
    for (size_t i = op.firstExtra(); i < shapes.inputs.size(); ++i) {
      auto extra = shapes.inputs[i];
      if (extra.dims.count() == 1) extra.dims = Dims{};
      operands.push_back(result.give(describe(extra, narrow), {static_cast<int>(i)}));
    }
    const auto yId = result.give(y, {-1});
    addEpilogue(graph, epilogue, operands, y, yId, result.scalars);
  }
  result.finish();
  return result;
}

Program windowProgram(const ops::Operator& op) {
  const auto window = windowOp(op);
  const auto graph = [window](const Chip& chip, const runtime::Shapes& shapes, Fusion fusion) {
    return windowGraph(chip, window, shapes, fusion);
  };
  return {graph, window.wholeEpilogue(), window.hasBias, true};
}

}  // namespace tenon::backends::cuda::dnn

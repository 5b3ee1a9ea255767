// deconv(x, w) to few channels whose windows are whole numbers of strides => the pixels of conv(x, w'): each place of
// the convolution has all pixels of a stride as channels, and its taps are the windows that overlap there. Inverse
// transforms of spectra and decoders of large patches are such; engines for deconvolutions compute them pixel by pixel.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

constexpr int64_t kFewChannels = 8;    // more fill the tensor cores of a deconvolution
constexpr int64_t kManyPixels = 16;    // in a stride, fewer leave them to kernels for deconvolutions
constexpr int64_t kMostWindows = 256;  // that overlap
constexpr int kMostAxes = 4;           // of images: those of volumes would be moved as eight

int64_t strideOf(const ops::Deconvolution& op, int axis) {
  return op.strides.empty() ? 1 : op.strides[static_cast<size_t>(axis)];
}

bool isOfCells(const Graph& graph, const graph::Node& node) {
  const auto* op = node.op.as<ops::Deconvolution>();
  if (op == nullptr || op->groups != 1 || !op->epilogue.empty()) return false;
  const auto& weights = graph.value(node.inputs[1]);
  const auto isCut = [](const Extent& e) { return e.isConstant() && e.constant() >= 0; };
  if (weights.constant == nullptr || !isFloating(weights.type.dtype) || weights.constant->count() == 0 ||
      std::any_of(op->dilations.begin(), op->dilations.end(), [](int64_t dilation) { return dilation != 1; }) ||
      !std::all_of(op->prePadding.begin(), op->prePadding.end(), isCut) ||
      !std::all_of(op->postPadding.begin(), op->postPadding.end(), isCut))
    return false;
  const Dims& w = weights.constant->dims();
  if (w.rank > kMostAxes) return false;
  int64_t pixels = 1, windows = 1;
  for (int axis = 2; axis < w.rank; ++axis) {
    const int64_t stride = strideOf(*op, axis - 2);
    if (w[axis] % stride != 0) return false;
    pixels *= stride;
    windows *= w[axis] / stride;
  }
  return w[1] <= kFewChannels && pixels >= kManyPixels && windows > 1 && windows <= kMostWindows;
}

// [C, K, taps...] as [pixels of a stride * K, C, windows backwards...].
ConstantPtr cellsOf(const ConstantPtr& weights, const ops::Deconvolution& op) {
  const Dims& w = weights->dims();
  Shape apart{w[0], w[1]};
  ops::Transpose order;
  Shape cells{Extent(w[1]), w[0]};
  for (int axis = 2; axis < w.rank; ++axis) {
    const int64_t stride = strideOf(op, axis - 2);
    order.permutation.push_back(static_cast<int64_t>(apart.size()) + 1);
    apart.emplace_back(w[axis] / stride);
    apart.emplace_back(stride);
    cells[0] = cells[0] * stride;
    cells.emplace_back(w[axis] / stride);
  }
  order.permutation.push_back(1);
  order.permutation.push_back(0);
  for (int axis = 2; axis < w.rank; ++axis) order.permutation.push_back(2 * (axis - 1));
  ops::Slice backwards{Shape(cells.size(), 0), cells, Shape(cells.size(), 1)};
  for (size_t axis = 2; axis < cells.size(); ++axis) {
    backwards.start[axis] = cells[axis] - 1;
    backwards.stride[axis] = -1;
  }
  const auto ordered = Constant::recipe(order, {Constant::recipe(ops::Reshape{apart}, {weights})});
  return Constant::recipe(std::move(backwards), {Constant::recipe(ops::Reshape{cells}, {ordered})});
}

bool toConvolution(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  if (!isOfCells(graph, node)) return false;
  const auto op = *node.op.as<ops::Deconvolution>();
  const auto weights = graph.value(node.inputs[1]).constant;
  const Dims& w = weights->dims();
  const Shape x = graph.value(node.inputs[0]).type.shape;
  const Shape wanted = graph.value(node.outputs[0]).type.shape;
  const std::string weightsName = graph.value(node.inputs[1]).name;
  ops::Convolution convolution;
  // [N, stride..., K, places...] to [N, K, place, stride, ...].
  Shape split{x[0]}, places, whole{x[0], Extent(w[1])};
  const auto axes = static_cast<int64_t>(w.rank) - 2;
  ops::Transpose order{{0, axes + 1}};
  ops::Slice cut{Shape(wanted.size(), 0), wanted};
  for (int axis = 2; axis < w.rank; ++axis) {
    const int64_t stride = strideOf(op, axis - 2), windows = w[axis] / stride;
    const auto i = static_cast<size_t>(axis);
    convolution.prePadding.emplace_back(windows - 1);
    convolution.postPadding.emplace_back(windows - 1);
    split.emplace_back(stride);
    places.push_back(x[i] + (windows - 1));
    whole.push_back(places.back() * stride);
    order.permutation.push_back(axes + axis);
    order.permutation.push_back(axis - 1);
    if (!op.prePadding.empty()) cut.start[i] = op.prePadding[i - 2];
  }
  split.emplace_back(w[1]);
  split.insert(split.end(), places.begin(), places.end());
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const auto add = [&](ops::Operator next, const char* part, std::vector<ValueId> inputs) {
    return patch.add(std::move(next), node.name + part, std::move(inputs), self);
  };
  const ValueId cells = patch.addConstant(cellsOf(weights, op), weightsName + " as cells");
  ValueId result = add(std::move(convolution), "", {node.inputs[0], cells});
  result = add(ops::Reshape{split}, " (cells)", {result});
  result = add(std::move(order), " (places)", {result});
  result = add(ops::Reshape{whole}, " (pixels)", {result});
  if (!(whole == wanted)) result = add(std::move(cut), " (cut)", {result});
  if (op.hasBias) {
    Shape along{Extent(w[1])};
    along.resize(static_cast<size_t>(w.rank - 1), 1);
    const ValueId bias = add(ops::Reshape{along}, " (bias of channels)", {node.inputs[2]});
    const auto sum = ScalarExpr::of(ScalarOp::k_add, {ScalarArgument::input(0), ScalarArgument::input(1)});
    result = add(ops::Pointwise{sum}, " (bias)", {result, bias});
  }
  patch.replace(node.outputs[0], result);
  patch.commit();
  return true;
}

}  // namespace

int pass_cells_to_convolution(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editOnce(graph, [&](NodeId id) { return toConvolution(graph, id); });
}

}  // namespace tenon::passes

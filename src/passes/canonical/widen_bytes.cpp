// matmul of i8 => cast(matmul of f32(casts)), in parts of the depth whose sums f32 holds exactly: for devices that have
// fast products of floating types alone. Exact too where these keep 10 bits of their operands (TF32).
#include "passes/common/pass.h"

#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// 1024 products of magnitude 128 * 128 reach 2^24, up to which f32 holds every whole number.
constexpr int64_t kExactDepth = 1024;
constexpr int64_t kMostParts = 16;  // what is deeper stays as it is

ops::Pointwise castTo(DataType type) { return ops::Pointwise{ops::ScalarExpr::castTo(type)}; }

class Parts {
 public:
  Parts(const Graph& graph, graph::Patch& patch, NodeId id)
      : graph_(graph), patch_(patch), id_(id), node_(graph.node(id)), op_(*node_.op.as<ops::MatMul>()) {}

  // The sum of the products of a part of the depth, i32.
  ValueId product(int64_t begin, int64_t size) {
    const ValueId a = wide(0, op_.transposeA ? 2 : 1, begin, size);
    const ValueId b = wide(1, op_.transposeB ? 1 : 2, begin, size);
    return add(castTo(DataType::kI32), {add(op_, {a, b})});
  }
  ValueId sum(ValueId a, ValueId b) { return add(ops::Pointwise{ops::ScalarExpr::of(ScalarOp::k_add)}, {a, b}); }

 private:
  template <typename Op>
  ValueId add(Op op, std::vector<ValueId> inputs) {
    const NodeId from[] = {id_};
    return patch_.add(std::move(op), node_.name, std::move(inputs), from);
  }
  // Elements [begin, begin + size) of an axis, counted from the last one, as f32.
  ValueId wide(size_t operand, size_t fromLast, int64_t begin, int64_t size) {
    ValueId value = node_.inputs[operand];
    const Shape shape = graph_.value(value).type.shape;
    const size_t axis = shape.size() - fromLast;
    if (!shape[axis].isConstant(size)) {
      ops::Slice slice;
      slice.start.assign(shape.size(), Extent(0));
      slice.size = shape;
      slice.start[axis] = Extent(begin);
      slice.size[axis] = Extent(size);
      value = add(std::move(slice), {value});
    }
    return add(castTo(DataType::kF32), {value});
  }

  const Graph& graph_;
  graph::Patch& patch_;
  NodeId id_;
  const graph::Node node_;
  const ops::MatMul op_;
};

bool widen(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  if (op == nullptr || !op->epilogue.empty()) return false;
  const auto& a = graph.value(node.inputs[0]).type;
  const Extent& depth = a.shape[a.shape.size() - (op->transposeA ? 2 : 1)];
  if (a.dtype != DataType::kI8 || !depth.isConstant() || depth.constant() == 0) return false;
  if (depth.constant() > kExactDepth * kMostParts) return false;
  const int64_t all = depth.constant();
  const ValueId output = node.outputs[0];
  graph::Patch patch(graph);
  Parts parts(graph, patch, id);
  ValueId result = graph::kNone;
  for (int64_t begin = 0; begin < all; begin += kExactDepth) {
    const ValueId product = parts.product(begin, std::min(kExactDepth, all - begin));
    result = begin == 0 ? product : parts.sum(result, product);
  }
  patch.replace(output, result);
  patch.commit();
  return true;
}

}  // namespace

int pass_widen_bytes(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return widen(graph, id); });
}

}  // namespace tenon::passes

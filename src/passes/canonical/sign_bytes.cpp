// byte_matmul => matmul of i8, less what the zero points make of the sums of rows and columns: for devices that have
// products of signed bytes alone, or none (widen_bytes).
#include "passes/common/pass.h"

#include "ops/op/byte_matmul.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"

namespace tenon::passes {
namespace {

class Signing {
 public:
  Signing(const Graph& graph, graph::Patch& patch, NodeId id, const Options& options)
      : graph_(graph), patch_(patch), id_(id), node_(graph.node(id)), mayCompare_(!options.refittable) {}

  // sum (a - za) (b - zb) = sum ab - za sum b - zb sum (a - za), of bytes and zero points that have a sign.
  ValueId result() {
    const ValueId a = signedBytes(0), b = signedBytes(1);
    const bool isCentered = !isZero(2);
    ValueId sum = add(ops::MatMul{}, {a, b});
    if (isCentered) sum = pointwise("mul(x1,x2);sub(x0,t0)", {sum, zero(2), sumOf(pointwise("cast.i32(x0)", {b}), -2)});
    if (isZero(3)) return sum;
    const ValueId rows =
        isCentered ? pointwise("cast.i32(x0);sub(t0,x1)", {a, zero(2)}) : pointwise("cast.i32(x0)", {a});
    return pointwise("mul(x1,x2);sub(x0,t0)", {sum, zero(3), sumOf(rows, -1)});
  }

 private:
  template <typename Op>
  ValueId add(Op op, std::vector<ValueId> inputs) {
    const NodeId from[] = {id_};
    return patch_.add(std::move(op), node_.name, std::move(inputs), from);
  }
  ValueId pointwise(const char* text, std::vector<ValueId> inputs) {
    return add(ops::Pointwise{ops::parseScalarExpr(text)}, std::move(inputs));
  }

  bool isUnsigned(size_t operand) const { return graph_.value(node_.inputs[operand]).type.dtype == DataType::kU8; }

  ValueId signedBytes(size_t operand) {
    if (!isUnsigned(operand)) return node_.inputs[operand];
    return pointwise("cast.i32(x0);sub(t0,128);cast.i8(t1)", {node_.inputs[operand]});
  }
  ValueId zero(size_t operand) {
    return pointwise(isUnsigned(operand) ? "cast.i32(x0);sub(t0,128)" : "cast.i32(x0)", {node_.inputs[operand]});
  }
  // Whether nothing is taken away from the signed bytes.
  bool isZero(size_t operand) const {
    const auto& constant = graph_.value(node_.inputs[operand]).constant;
    if (constant == nullptr || !mayCompare_) return false;
    const auto view = constant->view();
    for (int64_t i = 0; i < view.count(); ++i) {
      if (view.loadInt(i) != (isUnsigned(operand) ? 128 : 0)) return false;
    }
    return true;
  }

  ValueId sumOf(ValueId value, int64_t axis) {
    ops::Reduce op;
    op.axes = {axis};
    op.keepDims = true;
    return add(std::move(op), {value});
  }

  const Graph& graph_;
  graph::Patch& patch_;
  NodeId id_;
  const graph::Node node_;
  bool mayCompare_;  // values of constants
};

bool sign(Graph& graph, NodeId id, const Options& options) {
  if (graph.node(id).op.as<ops::ByteMatMul>() == nullptr) return false;
  const ValueId output = graph.node(id).outputs[0];
  graph::Patch patch(graph);
  patch.replace(output, Signing(graph, patch, id, options).result());
  patch.commit();
  return true;
}

}  // namespace

int pass_sign_bytes(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return sign(graph, id, options); });
}

}  // namespace tenon::passes

// IMatrixMultiplyLayer.
#include "api/network/lower_context.h"
#include "ops/op/matmul.h"

namespace tenon::api {
namespace {

class MatrixMultiplyLayer final
    : public LayerOf<nv::IMatrixMultiplyLayer, nv::apiv::VMatrixMultiplyLayer, nv::LayerType::kMATRIX_MULTIPLY> {
 public:
  using LayerOf::LayerOf;

  void setOperation(int32_t index, nv::MatrixOperation op) noexcept override {
    guarded(reporter(), "IMatrixMultiplyLayer::setOperation", [&] {
      checkUser(index == 0 || index == 1, "layer '{}': there is no operand {}", name(), index);
      operations_[static_cast<size_t>(index)] = checkedEnum(op, "matrix operation");
      changed();
    });
  }
  nv::MatrixOperation getOperation(int32_t index) const noexcept override { return operations_[index == 1 ? 1 : 0]; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId a = context.input(0);
    graph::ValueId b = context.input(1);
    context.unify({&a, &b});
    const bool vectorA = operations_[0] == nv::MatrixOperation::kVECTOR;
    const bool vectorB = operations_[1] == nv::MatrixOperation::kVECTOR;
    const int rankA = context.rank(a) + vectorA;
    const int rankB = context.rank(b) + vectorB;
    context.check(rankA == rankB && rankA >= 2,
                  "the operands {} and {} do not match: both need the same leading dimensions, then a matrix (or one "
                  "dimension less for a vector)",
                  text(context.shape(a)), text(context.shape(b)));
    if (vectorA) a = insertAxis(context, a, context.rank(a) - 1);
    if (vectorB) b = insertAxis(context, b, context.rank(b));
    ops::MatMul op;
    op.transposeA = operations_[0] == nv::MatrixOperation::kTRANSPOSE;
    op.transposeB = operations_[1] == nv::MatrixOperation::kTRANSPOSE;
    graph::ValueId result = context.add(op, {a, b});
    if (!vectorA && !vectorB) return {result};
    Shape shape = context.shape(result);
    if (vectorB) shape.pop_back();
    if (vectorA) shape.erase(shape.end() - (vectorB ? 1 : 2));
    return {context.reshape(result, std::move(shape))};
  }

 private:
  static graph::ValueId insertAxis(LowerContext& context, graph::ValueId value, int axis) {
    Shape shape = context.shape(value);
    shape.insert(shape.begin() + axis, Extent(1));
    return context.reshape(value, std::move(shape));
  }

  std::array<nv::MatrixOperation, 2> operations_{nv::MatrixOperation::kNONE, nv::MatrixOperation::kNONE};
};

}  // namespace

LayerInfo layerInfo_matrix_multiply() { return describeLayer<MatrixMultiplyLayer>(); }

}  // namespace tenon::api

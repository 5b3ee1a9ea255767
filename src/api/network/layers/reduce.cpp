// IReduceLayer.
#include "ops/op/reduce.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

// In the order of nvinfer1::ReduceOperation; the last one, kNONE, is for collectives only.
constexpr std::array kOperations{ops::ReduceOp::kSum, ops::ReduceOp::kProd, ops::ReduceOp::kMax, ops::ReduceOp::kMin,
                                 ops::ReduceOp::kAvg};

class ReduceLayer final : public LayerOf<nv::IReduceLayer, nv::apiv::VReduceLayer, nv::LayerType::kREDUCE> {
 public:
  using LayerOf::LayerOf;

  void setOperation(nv::ReduceOperation op) noexcept override { setEnum("setOperation", op_, op); }
  nv::ReduceOperation getOperation() const noexcept override { return op_; }
  void setReduceAxes(uint32_t reduceAxes) noexcept override { set(axes_, reduceAxes); }
  uint32_t getReduceAxes() const noexcept override { return axes_; }
  void setKeepDimensions(bool keepDimensions) noexcept override { set(keepDimensions_, keepDimensions); }
  bool getKeepDimensions() const noexcept override { return keepDimensions_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    context.check(op_ != nv::ReduceOperation::kNONE, "the operation kNONE is only for collective layers");
    ops::Reduce op;
    op.op = mapEnum(kOperations, op_, "operation");
    op.axes = context.axes(axes_, context.rank(x), "axes mask");
    op.keepDims = keepDimensions_;
    return {context.add(op, {x})};
  }

 private:
  nv::ReduceOperation op_ = nv::ReduceOperation::kSUM;
  uint32_t axes_ = 0;
  bool keepDimensions_ = false;
};

}  // namespace

LayerInfo layerInfo_reduce() { return describeLayer<ReduceLayer>(); }

}  // namespace tenon::api

// ITopKLayer.
#include "ops/op/topk.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class TopKLayer final : public LayerOf<nv::ITopKLayer, nv::apiv::VTopKLayer, nv::LayerType::kTOPK> {
 public:
  using LayerOf::LayerOf;

  void setOperation(nv::TopKOperation op) noexcept override { setEnum("setOperation", op_, op); }
  nv::TopKOperation getOperation() const noexcept override { return op_; }
  void setK(int32_t k) noexcept override { set(k_, k); }
  int32_t getK() const noexcept override { return k_; }
  void setReduceAxes(uint32_t reduceAxes) noexcept override { set(axes_, reduceAxes); }
  uint32_t getReduceAxes() const noexcept override { return axes_; }
  bool setIndicesType(nv::DataType type) noexcept override {
    return guarded(reporter(), "ITopKLayer::setIndicesType", false, [&] {
      checkUser(type == nv::DataType::kINT32 || type == nv::DataType::kINT64,
                "layer '{}': indices are kINT32 or kINT64, got data type {}", name(), static_cast<int>(type));
      set(indicesType_, type);
      return true;
    });
  }
  nv::DataType getIndicesType() const noexcept override { return indicesType_; }
  int outputCount() const override { return 2; }
  int maxInputs() const override { return 2; }
  bool carriesShapes() const override { return true; }
  bool isShapeInput(int index) const override { return index == 1; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    ops::TopK op;
    op.largest = op_ == nv::TopKOperation::kMAX;
    op.axis = context.singleAxis(axes_, context.rank(x), "axes mask");
    op.indexType = fromApi(indicesType_);
    op.k = Extent(k_);
    if (context.has(1)) {
      const auto& k = context.contents(1, "k");
      context.check(k.size() == 1, "k (input 1) has {} elements; expected 1", k.size());
      op.k = k[0];
    }
    return context.addMany(op, {x});
  }

 private:
  nv::TopKOperation op_ = nv::TopKOperation::kMAX;
  int32_t k_ = 1;
  uint32_t axes_ = 0;
  nv::DataType indicesType_ = nv::DataType::kINT32;
};

}  // namespace

LayerInfo layerInfo_topk() { return describeLayer<TopKLayer>(); }

}  // namespace tenon::api

// INonZeroLayer.
#include "ops/op/nonzero.h"

#include "api/network/lower_context.h"
#include "ops/op/count_nonzero.h"

namespace tenon::api {
namespace {

class NonZeroLayer final : public LayerOf<nv::INonZeroLayer, nv::apiv::VNonZeroLayer, nv::LayerType::kNON_ZERO> {
 public:
  using LayerOf::LayerOf;

  bool setIndicesType(nv::DataType type) noexcept override {
    return guarded(reporter(), "INonZeroLayer::setIndicesType", false, [&] {
      checkUser(type == nv::DataType::kINT32 || type == nv::DataType::kINT64,
                "layer '{}': indices are kINT32 or kINT64, got data type {}", name(), static_cast<int>(type));
      set(indicesType_, type);
      return true;
    });
  }
  nv::DataType getIndicesType() const noexcept override { return indicesType_; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    ops::NonZero op;
    op.indexType = fromApi(indicesType_);
    op.size = sizeOf(context, x);
    return {context.add(op, {x})};
  }

 private:
  static Extent sizeOf(LowerContext& context, graph::ValueId x) {
    if (const auto& constant = context.constantOf(x)) {
      const auto view = constant->view();
      int64_t count = 0;
      for (int64_t i = 0; i < view.count(); ++i) count += ops::isNonZero(view, i) ? 1 : 0;
      return count;
    }
    const auto known = context.readerOf<ops::CountNonZero>(x);
    const graph::ValueId count =
        known != graph::kNone ? context.node(known).outputs[0] : context.add(ops::CountNonZero{}, {x});
    const Extent upper = product(context.shape(x));
    return context.size(count, ceilDiv(upper, 2), upper);
  }

  nv::DataType indicesType_ = nv::DataType::kINT32;
};

}  // namespace

LayerInfo layerInfo_nonzero() { return describeLayer<NonZeroLayer>(); }

}  // namespace tenon::api

// ICastLayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class CastLayer final : public LayerOf<nv::ICastLayer, nv::apiv::VCastLayer, nv::LayerType::kCAST> {
 public:
  using LayerOf::LayerOf;

  void setToType(nv::DataType toType) noexcept override { setEnum("setToType", toType_, toType); }
  nv::DataType getToType() const noexcept override { return toType_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.add(ops::Pointwise{ops::ScalarExpr::castTo(fromApi(toType_))}, {context.input(0)})};
  }

 private:
  nv::DataType toType_ = nv::DataType::kFLOAT;
};

}  // namespace

LayerInfo layerInfo_cast() { return describeLayer<CastLayer>(); }

}  // namespace tenon::api

// ICumulativeLayer. Its axis is input 1, known while building.
#include "ops/op/cumulative.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class CumulativeLayer final
    : public LayerOf<nv::ICumulativeLayer, nv::apiv::VCumulativeLayer, nv::LayerType::kCUMULATIVE> {
 public:
  using LayerOf::LayerOf;

  bool setOperation(nv::CumulativeOperation op) noexcept override {
    return guarded(reporter(), "ICumulativeLayer::setOperation", false, [&] {
      set(op_, checkedEnum(op, fmt::format("layer '{}': operation", name())));
      return true;
    });
  }
  nv::CumulativeOperation getOperation() const noexcept override { return op_; }
  void setExclusive(bool exclusive) noexcept override { set(exclusive_, exclusive); }
  bool getExclusive() const noexcept override { return exclusive_; }
  void setReverse(bool reverse) noexcept override { set(reverse_, reverse); }
  bool getReverse() const noexcept override { return reverse_; }
  int maxInputs() const override { return 2; }
  bool isShapeInput(int index) const override { return index == 1; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    const auto& axis = context.contents(1, "axis");
    context.check(axis.size() == 1, "axis (input 1) has {} elements; expected 1", axis.size());
    context.check(axis[0].isConstant(), "axis (input 1) is {}; it must be known while building", axis[0].text());
    const int64_t rank = context.rank(x);
    context.check(axis[0].constant() >= -rank && axis[0].constant() < rank,
                  "axis {} is outside [{}, {}) of the input {}", axis[0].constant(), -rank, rank,
                  text(context.shape(x)));
    return {context.add(ops::Cumulative{axis[0].constant(), exclusive_, reverse_}, {x})};
  }

 private:
  nv::CumulativeOperation op_ = nv::CumulativeOperation::kSUM;
  bool exclusive_ = false;
  bool reverse_ = false;
};

}  // namespace

LayerInfo layerInfo_cumulative() { return describeLayer<CumulativeLayer>(); }

}  // namespace tenon::api

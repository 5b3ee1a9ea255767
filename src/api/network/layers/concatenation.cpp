// IConcatenationLayer.
#include <algorithm>

#include "api/network/lower_context.h"
#include "ops/op/concat.h"

namespace tenon::api {
namespace {

class ConcatenationLayer final
    : public LayerOf<nv::IConcatenationLayer, nv::apiv::VConcatenationLayer, nv::LayerType::kCONCATENATION> {
 public:
  using LayerOf::LayerOf;

  void setAxis(int32_t axis) noexcept override { set(axis_, std::optional<int32_t>(axis)); }
  int32_t getAxis() const noexcept override {
    return axis_ ? *axis_ : std::max(inputs().empty() ? 0 : inputs()[0]->getDimensions().nbDims - 3, 0);
  }
  int maxInputs() const override { return 1 << 20; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const int rank = context.rank(context.input(0));
    const int32_t axis = axis_.value_or(std::max(rank - 3, 0));  // unset: the third axis from the end, or the first
    context.check(axis >= 0 && axis < rank, "axis {} is out of range; the inputs have {} dimensions", axis, rank);
    std::vector<graph::ValueId> values;
    for (size_t i = 0; i < context.inputCount(); ++i) values.push_back(context.input(i));
    std::vector<graph::ValueId*> pointers;
    for (auto& value : values) pointers.push_back(&value);
    context.unify(pointers);
    return {context.add(ops::Concat{axis}, std::move(values))};
  }

 private:
  std::optional<int32_t> axis_;
};

}  // namespace

LayerInfo layerInfo_concatenation() { return describeLayer<ConcatenationLayer>(); }

}  // namespace tenon::api

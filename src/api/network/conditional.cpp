// IIfConditional and its boundary layers.
#include "api/network/boundary_layer.h"
#include "api/network/network_add.h"
#include "ops/op/slice.h"

namespace tenon::api {
namespace {

template <typename I, typename V, nv::LayerType kLayerType, BoundaryRole kRole>
class ConditionalLayer
    : public BoundaryLayer<nv::IIfConditional, nv::apiv::VConditionalBoundaryLayer, I, V, kLayerType, kRole> {
 public:
  using BoundaryLayer<nv::IIfConditional, nv::apiv::VConditionalBoundaryLayer, I, V, kLayerType, kRole>::BoundaryLayer;
  nv::IIfConditional* getConditional() const noexcept final { return &this->owner_; }
};

class Condition final : public ConditionalLayer<nv::IConditionLayer, nv::apiv::VConditionLayer,
                                                nv::LayerType::kCONDITION, BoundaryRole::kLimit> {
 public:
  using ConditionalLayer::ConditionalLayer;
  int outputCount() const override { return 0; }
  std::vector<graph::ValueId> lower(LowerContext&) const override { return {}; }
};

class ConditionalInput final : public ConditionalLayer<nv::IIfConditionalInputLayer, nv::apiv::VConditionalInputLayer,
                                                       nv::LayerType::kCONDITIONAL_INPUT, BoundaryRole::kSource> {
 public:
  using ConditionalLayer::ConditionalLayer;
  bool carriesShapes() const override { return true; }
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.pointwise(ops::ScalarOp::k_identity, {context.input(0)})};
  }
};

class ConditionalOutput final
    : public ConditionalLayer<nv::IIfConditionalOutputLayer, nv::apiv::VConditionalOutputLayer,
                              nv::LayerType::kCONDITIONAL_OUTPUT, BoundaryRole::kSink> {
 public:
  using ConditionalLayer::ConditionalLayer;
  // Both have the result's type; what differs is said when the whole conditional is made.
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId a = context.input(0);
    const graph::ValueId b = context.input(1);
    context.check(context.type(a).dtype == context.type(b).dtype && context.rank(a) == context.rank(b),
                  "the tensor for true is {} {} and the one for false {} {}; expected the same type and number of "
                  "dimensions",
                  tenon::name(context.type(a).dtype), text(context.shape(a)), tenon::name(context.type(b).dtype),
                  text(context.shape(b)));
    // An extent about which the branches do not agree is known when the condition is.
    ops::Slice result;
    result.size = context.shape(a);
    result.start.assign(result.size.size(), 0);
    result.stride.assign(result.size.size(), 1);
    bool isOne = true;
    for (size_t axis = 0; axis < result.size.size(); ++axis) {
      const auto& other = context.shape(b)[axis];
      if (!result.size[axis].isConstant() || !other.isConstant() || result.size[axis] == other) continue;
      result.size[axis] = Extent::symbol(fmt::format("{} {}", name(), axis));
      result.stride[axis] = 0;
      isOne = false;
    }
    if (isOne) return {context.pointwise(ops::ScalarOp::k_identity, {a})};
    return {context.add(std::move(result), {a})};
  }
};

class Conditional final : public nv::IIfConditional, public nv::apiv::VIfConditional, public Construct {
 public:
  Conditional(Network& network, std::string name) : Construct(network, std::move(name)) { mImpl = this; }
  bool isLoop() const noexcept override { return false; }

  nv::IConditionLayer* setCondition(nv::ITensor& tensor) noexcept override {
    return add<Condition>("IIfConditional::setCondition", tensor, [&](Condition& layer) {
      for (const LayerBase* other : layers())
        checkUser(other == &layer || other->role() != BoundaryRole::kLimit,
                  "conditional '{}' has a condition already, '{}'", Construct::name(), other->name());
    });
  }
  nv::IIfConditionalInputLayer* addInput(nv::ITensor& tensor) noexcept override {
    return add<ConditionalInput>("IIfConditional::addInput", tensor, [](auto&) {});
  }
  nv::IIfConditionalOutputLayer* addOutput(nv::ITensor& trueTensor, nv::ITensor& falseTensor) noexcept override {
    return add<ConditionalOutput>("IIfConditional::addOutput", trueTensor,
                                  [&](ConditionalOutput& layer) { layer.connect(1, &network_.own(falseTensor)); });
  }
  void setName(const char* name) noexcept override {
    guarded(network_.reporter(), "IIfConditional::setName", [&] { rename(name); });
  }
  const char* getName() const noexcept override { return Construct::name().c_str(); }

 private:
  template <typename T, typename Configure>
  T* add(const char* call, nv::ITensor& tensor, Configure&& configure) noexcept {
    return network_.addBoundary<T>(call, *this, tensor, configure);
  }
};

}  // namespace

std::unique_ptr<Construct> makeConditional(Network& network, std::string name, nv::IIfConditional*& conditional) {
  auto made = std::make_unique<Conditional>(network, std::move(name));
  conditional = made.get();
  return made;
}

}  // namespace tenon::api

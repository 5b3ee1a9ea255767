// ILoop and its boundary layers.
#include "api/network/boundary_layer.h"
#include "api/network/network_add.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::api {

void Construct::rename(const char* name) {
  checkUser(name != nullptr, "'{}': the new name is null", name_);
  name_ = name;
}

namespace {

class Loop;

// `I` is the public class of a boundary layer, `V` its table.
template <typename I, typename V, nv::LayerType kLayerType, BoundaryRole kRole>
class LoopLayer : public BoundaryLayer<nv::ILoop, nv::apiv::VLoopBoundaryLayer, I, V, kLayerType, kRole> {
 public:
  using BoundaryLayer<nv::ILoop, nv::apiv::VLoopBoundaryLayer, I, V, kLayerType, kRole>::BoundaryLayer;
  nv::ILoop* getLoop() const noexcept final { return &this->owner_; }
};

class Recurrence final : public LoopLayer<nv::IRecurrenceLayer, nv::apiv::VRecurrenceLayer, nv::LayerType::kRECURRENCE,
                                          BoundaryRole::kSource> {
 public:
  using LoopLayer::LoopLayer;
  int maxInputs() const override { return 2; }
  bool isBackEdge(int index) const override { return index == 1; }
  // All iterations have the first value's type.
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.pointwise(ops::ScalarOp::k_identity, {context.input(0)})};
  }
};

class Iterator final
    : public LoopLayer<nv::IIteratorLayer, nv::apiv::VIteratorLayer, nv::LayerType::kITERATOR, BoundaryRole::kSource> {
 public:
  using LoopLayer::LoopLayer;
  void setAxis(int32_t axis) noexcept override { set(slices_.axis, axis); }
  int32_t getAxis() const noexcept override { return slices_.axis; }
  void setReverse(bool reverse) noexcept override { set(slices_.reverse, reverse); }
  bool getReverse() const noexcept override { return slices_.reverse; }
  const LoopSlices& slices() const noexcept { return slices_; }

  // The first slice: it has the type of all.
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    const int rank = context.rank(x);
    context.check(slices_.axis >= 0 && slices_.axis < rank, "axis {} is outside [0, {}) of the input {}", slices_.axis,
                  rank, text(context.shape(x)));
    Shape shape = context.shape(x);
    shape[static_cast<size_t>(slices_.axis)] = 1;
    ops::Slice slice;
    slice.start.assign(static_cast<size_t>(rank), 0);
    slice.size = shape;
    slice.stride.assign(static_cast<size_t>(rank), 1);
    shape.erase(shape.begin() + slices_.axis);
    return {context.reshape(context.add(std::move(slice), {x}), shape)};
  }

 private:
  LoopSlices slices_;
};

class TripLimit final : public LoopLayer<nv::ITripLimitLayer, nv::apiv::VTripLimitLayer, nv::LayerType::kTRIP_LIMIT,
                                         BoundaryRole::kLimit> {
 public:
  using LoopLayer::LoopLayer;
  nv::TripLimit getTripLimit() const noexcept override { return limit_; }
  void setLimit(nv::TripLimit limit) { limit_ = limit; }
  int outputCount() const override { return 0; }
  std::vector<graph::ValueId> lower(LowerContext&) const override { return {}; }

 private:
  nv::TripLimit limit_ = nv::TripLimit::kCOUNT;
};

class LoopOutput final : public LoopLayer<nv::ILoopOutputLayer, nv::apiv::VLoopOutputLayer, nv::LayerType::kLOOP_OUTPUT,
                                          BoundaryRole::kSink> {
 public:
  using LoopLayer::LoopLayer;
  nv::LoopOutput getLoopOutput() const noexcept override { return kind_; }
  void setKind(nv::LoopOutput kind) { kind_ = kind; }
  void setAxis(int32_t axis) noexcept override { set(axis_, axis); }
  int32_t getAxis() const noexcept override { return axis_; }
  int maxInputs() const override { return kind_ == nv::LoopOutput::kLAST_VALUE ? 1 : 2; }
  bool isShapeInput(int index) const override { return index == 1; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    if (kind_ == nv::LoopOutput::kLAST_VALUE) return {context.pointwise(ops::ScalarOp::k_identity, {x})};
    Extent length = Extent::symbol("iterations");  // as many as there are
    if (context.has(1)) {
      const auto& given = context.contents(1, "length");
      context.check(given.size() == 1, "the length (input 1) has {} elements; expected 1", given.size());
      length = given[0];
    }
    const int rank = context.rank(x);
    context.check(axis_ >= 0 && axis_ <= rank, "axis {} is outside [0, {}] of the result", axis_, rank);
    // A value of the result's type, for whoever asks for it: x repeated.
    Shape shape = context.shape(x);
    shape.insert(shape.begin() + axis_, Extent(1));
    ops::Slice repeat;
    repeat.start.assign(shape.size(), 0);
    repeat.stride.assign(shape.size(), 1);
    repeat.stride[static_cast<size_t>(axis_)] = 0;
    repeat.size = shape;
    repeat.size[static_cast<size_t>(axis_)] = length;
    return {context.add(std::move(repeat), {context.reshape(x, shape)})};
  }

 private:
  nv::LoopOutput kind_ = nv::LoopOutput::kLAST_VALUE;
  int32_t axis_ = 0;
};

class Loop final : public nv::ILoop, public nv::apiv::VLoop, public Construct {
 public:
  Loop(Network& network, std::string name) : Construct(network, std::move(name)) { mImpl = this; }
  bool isLoop() const noexcept override { return true; }

  nv::IRecurrenceLayer* addRecurrence(nv::ITensor& initialValue) noexcept override {
    return add<Recurrence>("ILoop::addRecurrence", initialValue, [](auto&) {});
  }
  nv::ITripLimitLayer* addTripLimit(nv::ITensor& tensor, nv::TripLimit limit) noexcept override {
    return add<TripLimit>("ILoop::addTripLimit", tensor, [&](TripLimit& layer) {
      layer.setLimit(checkedEnum(limit, "trip limit"));
      for (const LayerBase* other : layers()) {
        const auto* known = dynamic_cast<const TripLimit*>(other);
        checkUser(known == nullptr || known == &layer || known->getTripLimit() != limit,
                  "loop '{}' has a trip limit of this kind already, '{}'; expected at most one by count and one by "
                  "condition",
                  Construct::name(), other->name());
      }
    });
  }
  nv::IIteratorLayer* addIterator(nv::ITensor& tensor, int32_t axis, bool reverse) noexcept override {
    return add<Iterator>("ILoop::addIterator", tensor, [&](Iterator& layer) {
      layer.setAxis(axis);
      layer.setReverse(reverse);
    });
  }
  nv::ILoopOutputLayer* addLoopOutput(nv::ITensor& tensor, nv::LoopOutput kind, int32_t axis) noexcept override {
    return add<LoopOutput>("ILoop::addLoopOutput", tensor, [&](LoopOutput& layer) {
      layer.setKind(checkedEnum(kind, "loop output"));
      layer.setAxis(axis);
    });
  }
  void setName(const char* name) noexcept override {
    guarded(network_.reporter(), "ILoop::setName", [&] { rename(name); });
  }
  const char* getName() const noexcept override { return Construct::name().c_str(); }

 private:
  template <typename T, typename Configure>
  T* add(const char* call, nv::ITensor& tensor, Configure&& configure) noexcept {
    return network_.addBoundary<T>(call, *this, tensor, configure);
  }
};

}  // namespace

std::unique_ptr<Construct> makeLoop(Network& network, std::string name, nv::ILoop*& loop) {
  auto made = std::make_unique<Loop>(network, std::move(name));
  loop = made.get();
  return made;
}

LoopSlices slicesOf(const LayerBase& iterator) { return dynamic_cast<const Iterator&>(iterator).slices(); }

LoopSlices stacksOf(const LayerBase& loopOutput) {
  const auto& layer = dynamic_cast<const LoopOutput&>(loopOutput);
  return {layer.getAxis(), layer.getLoopOutput() == nv::LoopOutput::kREVERSE};
}

bool givesLastValue(const LayerBase& loopOutput) {
  return dynamic_cast<const LoopOutput&>(loopOutput).getLoopOutput() == nv::LoopOutput::kLAST_VALUE;
}

bool countsIterations(const LayerBase& tripLimit) {
  return dynamic_cast<const TripLimit&>(tripLimit).getTripLimit() == nv::TripLimit::kCOUNT;
}

}  // namespace tenon::api

// IFillLayer: linearly spaced values, and random numbers.
#include "ops/op/fill.h"

#include <charconv>
#include <numbers>

#include "api/network/formula.h"
#include "ops/op/random.h"

namespace tenon::api {
namespace {

// A seed has no setter: parsers put "tenon.seed=<integer>" into the layer's metadata, from which captures have it too.
std::optional<int64_t> seedIn(std::string_view metadata) {
  constexpr std::string_view kKey = "tenon.seed=";
  const size_t at = metadata.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t seed = 0;
  const char* const first = metadata.data() + at + kKey.size();
  const auto read = std::from_chars(first, metadata.data() + metadata.size(), seed);
  return read.ec == std::errc() ? std::optional(seed) : std::nullopt;
}

class FillLayer final : public LayerOf<nv::IFillLayer, nv::apiv::VFillLayer, nv::LayerType::kFILL> {
 public:
  using LayerOf::LayerOf;

  void setDimensions(const nv::Dims& dimensions) noexcept override { set(dims_, dimensions); }
  nv::Dims getDimensions() const noexcept override { return dims_; }
  void setOperation(nv::FillOperation op) noexcept override { setEnum("setOperation", op_, op); }
  nv::FillOperation getOperation() const noexcept override { return op_; }
  void setAlpha(double alpha) noexcept override { setNumber(alpha_, alphaInt_, alpha); }
  double getAlpha() const noexcept override { return alpha_; }
  void setBeta(double beta) noexcept override { setNumber(beta_, betaInt_, beta); }
  double getBeta() const noexcept override { return beta_; }
  void setAlphaInt64(int64_t alpha) noexcept override { setInteger(alpha_, alphaInt_, alpha); }
  int64_t getAlphaInt64() const noexcept override { return alphaInt_; }
  void setBetaInt64(int64_t beta) noexcept override { setInteger(beta_, betaInt_, beta); }
  int64_t getBetaInt64() const noexcept override { return betaInt_; }
  bool isAlphaBetaInt64() const noexcept override { return integers_; }
  nv::DataType getToType() const noexcept override { return toType_; }
  void setToType(nv::DataType toType) noexcept override { setEnum("setToType", toType_, toType); }
  // 0 dimensions, 1 alpha, 2 beta
  int maxInputs() const override { return 3; }
  bool isShapeInput(int index) const override { return index == 0; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    ops::Fill op;
    op.shape =
        context.has(0) ? Shape(context.contents(0, "dimensions")) : toShape(fromApi(dims_, name() + ": dimensions", 0));
    if (op_ != nv::FillOperation::kLINSPACE) return {random(context, op.shape).id()};
    std::vector<graph::ValueId> inputs;
    if (context.has(1) || context.has(2)) {
      context.check(context.has(1) && context.has(2), "alpha (input 1) and beta (input 2) must be set together");
      op.type = context.type(context.input(1)).dtype;
      inputs = {context.input(1), context.input(2)};
    } else {
      op.type = fromApi(toType_);
      op.start = integers_ ? static_cast<double>(alphaInt_) : alpha_;
      context.check(op.shape.size() <= 1,
                    "a fill of more than one dimension needs alpha and beta as inputs; got {} dimensions",
                    text(op.shape));
      op.deltas.assign(op.shape.size(), integers_ ? static_cast<double>(betaInt_) : beta_);
    }
    return {context.add(op, std::move(inputs))};
  }

 private:
  // Uniform from alpha to beta, or normal with mean alpha and deviation beta (the transform of Box and Muller).
  Formula random(LowerContext& context, const Shape& shape) const {
    const DataType type = fromApi(toType_);
    context.check(isFloating(type) && bits(type) >= 16, "random numbers of type {}; expected kFLOAT, kHALF or kBF16",
                  tenon::name(type));
    const auto seed = seedIn(LayerBase::getMetadata());
    const auto draw = [&](int64_t stream) {
      return Formula(context, context.add(ops::Random{shape, seed.value_or(0), seed.has_value(), stream}, {}));
    };
    const Formula first = draw(0);
    const Formula alpha = parameter(context, 1, "alpha", alpha_, first);
    const Formula beta = parameter(context, 2, "beta", beta_, first);
    if (op_ == nv::FillOperation::kRANDOM_UNIFORM) return (alpha + (beta - alpha) * first).cast(type);
    const Formula radius = ((1.0 - first).scalar(ops::ScalarOp::k_log) * -2.0).scalar(ops::ScalarOp::k_sqrt);
    const Formula angle = (draw(1) * (2 * std::numbers::pi)).scalar(ops::ScalarOp::k_cos);
    return (alpha + beta * (radius * angle)).cast(type);
  }

  // An input of one element, or the number that was set.
  static Formula parameter(LowerContext& context, size_t index, const char* role, double number,
                           const Formula& numbers) {
    if (!context.has(index)) return numbers.number(number);
    const Formula given(context, context.input(index));
    context.check(product(given.shape()).isConstant(1) && isFloating(given.type()),
                  "{} (input {}) is {} {}; expected one element of a floating type", role, index,
                  tenon::name(given.type()), text(given.shape()));
    return given.cast(DataType::kF32).reshape({});
  }

  void setNumber(double& number, int64_t& integer, double value) noexcept {
    integers_ = false;
    integer = static_cast<int64_t>(value);
    set(number, value);
  }
  void setInteger(double& number, int64_t& integer, int64_t value) noexcept {
    integers_ = true;
    number = static_cast<double>(value);
    set(integer, value);
  }

  nv::Dims dims_{0, {}};
  nv::FillOperation op_ = nv::FillOperation::kLINSPACE;
  double alpha_ = 0;
  double beta_ = 1;
  int64_t alphaInt_ = 0;
  int64_t betaInt_ = 1;
  bool integers_ = false;
  nv::DataType toType_ = nv::DataType::kFLOAT;
};

}  // namespace

LayerInfo layerInfo_fill() { return describeLayer<FillLayer>(); }

}  // namespace tenon::api

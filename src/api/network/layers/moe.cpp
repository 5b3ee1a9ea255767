// IMoELayer: a mixture of experts, as products of rows with the matrices of their experts and what is between them.
#include <cmath>
#include <limits>

#include "api/network/dynamic_quantization.h"
#include "api/network/network.h"
#include "ops/op/dequantize.h"
#include "ops/op/expert_matmul.h"
#include "ops/op/quantize.h"

namespace tenon::api {
namespace {

using ops::ScalarOp;

// Inputs of the layer.
enum Place : int { kHidden, kExperts, kScores, kGate, kUp, kDown, kGateBias, kUpBias, kDownBias, kScale, kPlaces };

class MoELayer final : public LayerOf<nv::IMoELayer, nv::apiv::VMoELayer, nv::LayerType::kMOE> {
 public:
  using LayerOf::LayerOf;

  void setGatedWeights(nv::ITensor& gate, nv::ITensor& up, nv::ITensor& down,
                       nv::MoEActType activationType) noexcept override {
    guarded(reporter(), "IMoELayer::setGatedWeights", [&] {
      checkedEnum(activationType, fmt::format("layer '{}': activation type", name()));
      connectAll(kGate, {&gate, &up, &down});
      set(activation_, activationType);
    });
  }
  void setGatedBiases(nv::ITensor& gate, nv::ITensor& up, nv::ITensor& down) noexcept override {
    guarded(reporter(), "IMoELayer::setGatedBiases", [&] { connectAll(kGateBias, {&gate, &up, &down}); });
  }
  void setActivationType(nv::MoEActType type) noexcept override { setEnum("setActivationType", activation_, type); }
  nv::MoEActType getActivationType() const noexcept override { return activation_; }
  void setQuantizationStatic(nv::ITensor& scale, nv::DataType dataType) noexcept override {
    guarded(reporter(), "IMoELayer::setQuantizationStatic", [&] {
      checkedEnum(dataType, fmt::format("layer '{}': data type", name()));
      connectAll(kScale, {&scale});
      quantization_ = Quantization::kStatic;
      set(quantizeType_, dataType);
    });
  }
  void setQuantizationDynamicDblQ(nv::ITensor& scale, nv::DataType dataType, const nv::Dims& blockShape,
                                  nv::DataType scaleType) noexcept override {
    guarded(reporter(), "IMoELayer::setQuantizationDynamicDblQ", [&] {
      checkedEnum(dataType, fmt::format("layer '{}': data type", name()));
      checkedEnum(scaleType, fmt::format("layer '{}': type of the scales", name()));
      connectAll(kScale, {&scale});
      quantization_ = Quantization::kDynamic;
      blockShape_ = blockShape;
      scaleType_ = scaleType;
      set(quantizeType_, dataType);
    });
  }
  void setQuantizationToType(nv::DataType type) noexcept override {
    setEnum("setQuantizationToType", quantizeType_, type);
  }
  nv::DataType getQuantizationToType() const noexcept override { return quantizeType_; }
  void setQuantizationBlockShape(const nv::Dims& blockShape) noexcept override { set(blockShape_, blockShape); }
  nv::Dims getQuantizationBlockShape() const noexcept override { return blockShape_; }
  void setDynQOutputScaleType(nv::DataType type) noexcept override {
    setEnum("setDynQOutputScaleType", scaleType_, type);
  }
  nv::DataType getDynQOutputScaleType() const noexcept override { return scaleType_; }
  void setSwigluParams(float limit, float alpha, float beta) noexcept override {
    setSwigluParamLimit(limit);
    setSwigluParamAlpha(alpha);
    setSwigluParamBeta(beta);
  }
  void setSwigluParamLimit(float limit) noexcept override { set(limit_, limit); }
  float getSwigluParamLimit() const noexcept override { return limit_; }
  void setSwigluParamAlpha(float alpha) noexcept override { set(alpha_, alpha); }
  float getSwigluParamAlpha() const noexcept override { return alpha_; }
  void setSwigluParamBeta(float beta) noexcept override { set(beta_, beta); }
  float getSwigluParamBeta() const noexcept override { return beta_; }
  // Of both table classes.
  void setInput(int32_t index, nv::ITensor& tensor) noexcept override { LayerBase::setInput(index, tensor); }
  int maxInputs() const override { return kPlaces; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    for (const int place : {kGate, kUp, kDown})
      context.check(context.has(static_cast<size_t>(place)), "the weights are missing; call setGatedWeights()");
    std::vector<graph::ValueId> ids;
    for (size_t i = 0; i < kPlaces; ++i) ids.push_back(context.has(i) ? context.input(i) : graph::kNone);
    std::vector<graph::ValueId*> floats;
    for (const int place : {kHidden, kScores, kGate, kUp, kDown, kGateBias, kUpBias, kDownBias}) {
      if (auto& id = ids[static_cast<size_t>(place)]; id != graph::kNone) floats.push_back(&id);
    }
    context.unify(floats);
    const auto at = [&](int place) { return Formula(context, ids[static_cast<size_t>(place)]); };
    const Formula hidden = at(kHidden);
    const Shape shape = hidden.shape();
    const Extent chosen = checkOperands(context, hidden, at(kExperts), at(kScores));
    const Extent tokens = shape[0] * shape[1];
    const Formula experts = at(kExperts).reshape({tokens, chosen});
    const auto product = [&](const Formula& rows, int weights, int bias) {
      const Formula result(context, context.add(ops::ExpertMatMul{}, {rows.id(), experts.id(), at(weights).id()}));
      return context.has(static_cast<size_t>(bias)) ? result + at(bias).gather(experts, 0, 0) : result;
    };
    const Formula rows = hidden.reshape({tokens, 1, shape[2]});
    const Formula inner = joined(product(rows, kGate, kGateBias), product(rows, kUp, kUpBias));
    const Formula down = product(quantized(context, inner), kDown, kDownBias);
    const Formula scores = at(kScores).reshape({tokens, chosen, 1});
    return {(down * scores).reduce(ops::ReduceOp::kSum, {1}, false).reshape(shape).id()};
  }

 private:
  enum class Quantization : uint8_t { kNone, kStatic, kDynamic };

  void connectAll(int first, std::initializer_list<nv::ITensor*> tensors) {
    std::vector<Tensor*> ours;
    for (nv::ITensor* tensor : tensors) ours.push_back(&network().own(*tensor));
    for (size_t i = 0; i < ours.size(); ++i) connect(first + static_cast<int>(i), ours[i]);
    changed();
  }

  // How many experts a token has.
  static Extent checkOperands(const LowerContext& context, const Formula& hidden, const Formula& experts,
                              const Formula& scores) {
    context.check(hidden.rank() == 3 && experts.rank() == 3 && scores.rank() == 3,
                  "hidden states, experts and scores have shapes {}, {} and {}; expected [batch, length, width] and "
                  "[batch, length, experts of a token] twice",
                  text(hidden.shape()), text(experts.shape()), text(scores.shape()));
    context.check(isInteger(experts.type()), "the experts have type {}; expected integers",
                  tenon::name(experts.type()));
    context.check(experts.shape() == scores.shape(), "experts have shape {} and scores {}; expected the same",
                  text(experts.shape()), text(scores.shape()));
    return experts.dim(2);
  }

  // act(gate) * up. With SiLU: gate and up are clipped, the sigmoid has a factor, and something is added to up.
  Formula joined(Formula gate, Formula up) const {
    if (activation_ == nv::MoEActType::kNONE) return gate * up;
    if (std::isfinite(limit_)) {
      gate = smaller(gate, gate.number(limit_));
      up = larger(smaller(up, up.number(limit_)), up.number(-limit_));
    }
    const Formula inside = alpha_ == 1 ? gate : gate * static_cast<double>(alpha_);
    const Formula raised = beta_ == 0 ? up : up + static_cast<double>(beta_);
    return gate * inside.scalar(ScalarOp::k_sigmoid) * raised;
  }

  // The input of the last product to the narrow type and back: products are computed in floating point.
  Formula quantized(LowerContext& context, const Formula& x) const {
    if (quantization_ == Quantization::kNone) return x;
    const Formula scale(context, context.input(kScale));
    const DataType narrow = fromApi(quantizeType_);
    if (quantization_ == Quantization::kStatic) {
      const auto data = context.add(ops::Quantize{-1, narrow}, {x.id(), scale.id()});
      return {context, context.add(ops::Dequantize{-1, x.type()}, {data, scale.id()})};
    }
    context.check(blockShape_.nbDims == 3 && blockShape_.d[0] == 1 && blockShape_.d[1] == 1,
                  "the quantization blocks have shape {}; expected [1, 1, n], n elements of the inner width",
                  text(blockShape_));
    const auto made = quantizeDynamically(x, {{1, 1, blockShape_.d[2]}, narrow, fromApi(scaleType_)}, scale);
    return {context, context.add(ops::Dequantize{-1, x.type()}, {made.data.id(), made.divisor.id()})};
  }

  nv::MoEActType activation_ = nv::MoEActType::kNONE;
  Quantization quantization_ = Quantization::kNone;
  nv::DataType quantizeType_ = nv::DataType::kFLOAT;
  nv::DataType scaleType_ = nv::DataType::kFLOAT;
  nv::Dims blockShape_{-1, {}};
  float limit_ = std::numeric_limits<float>::infinity();
  float alpha_ = 1;
  float beta_ = 0;
};

}  // namespace

LayerInfo layerInfo_moe() { return describeLayer<MoELayer>(); }

}  // namespace tenon::api

// IAttention and its two boundary layers. The input layer holds the tensors, the output layer reads them too and
// becomes the operator.
#include "api/network/attention.h"

#include "api/network/formula.h"
#include "api/network/network.h"
#include "ops/op/attention.h"
#include "ops/op/dequantize.h"
#include "ops/op/quantize.h"

namespace tenon::api {
namespace {

using nv::AttentionNormalizationOp;

constexpr int kMask = 3;   // inputs of both layers behind query, key and value
constexpr int kScale = 4;  // of the normalized products

// What the setters of an attention keep.
struct Settings {
  std::string name;
  std::string metadata;
  AttentionNormalizationOp normalization = AttentionNormalizationOp::kSOFTMAX;
  bool causal = false;
  bool decomposable = false;
  nv::DataType quantizeType = nv::DataType::kFLOAT;
};

std::vector<graph::ValueId> lowerAttention(LowerContext& context, const Settings& settings);

template <typename I, typename V, nv::LayerType kLayerType>
class BoundaryLayer final : public I, public LayerBase, public nv::apiv::VAttentionBoundaryLayer, public V {
 public:
  static constexpr nv::LayerType kType = kLayerType;
  static constexpr bool kIsOutput = kLayerType == nv::LayerType::kATTENTION_OUTPUT;
  BoundaryLayer(Network& network, std::string name, nv::IAttention& attention, const Settings& settings)
      : LayerBase(network, kType, std::move(name)), attention_(attention), settings_(settings) {
    this->mLayer = static_cast<nv::apiv::VLayer*>(this);
    this->mBoundary = static_cast<nv::apiv::VAttentionBoundaryLayer*>(this);
    this->mImpl = static_cast<V*>(this);
  }
  nv::ILayer& interface() noexcept override { return *this; }
  nv::IAttention* getAttention() const noexcept override { return &attention_; }
  void setInput(int32_t index, nv::ITensor& tensor) noexcept override { attention_.setInput(index, tensor); }
  int outputCount() const override { return kIsOutput ? 1 : 0; }
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return kIsOutput ? lowerAttention(context, settings_) : std::vector<graph::ValueId>();
  }

 private:
  nv::IAttention& attention_;
  const Settings& settings_;
};

using InputLayer =
    BoundaryLayer<nv::IAttentionInputLayer, nv::apiv::VAttentionInputLayer, nv::LayerType::kATTENTION_INPUT>;
using OutputLayer =
    BoundaryLayer<nv::IAttentionOutputLayer, nv::apiv::VAttentionOutputLayer, nv::LayerType::kATTENTION_OUTPUT>;

class Attention final : public nv::IAttention, public nv::apiv::VAttention, public AttentionObject {
 public:
  Attention(Network& network, std::string name, AttentionNormalizationOp normalization, bool causal)
      : network_(network) {
    mImpl = this;
    settings_.name = std::move(name);
    settings_.normalization = normalization;
    settings_.causal = causal;
  }
  const Settings& settings() const { return settings_; }
  void setLayers(LayerBase& input, LayerBase& output) {
    input_ = &input;
    output_ = &output;
  }

  bool setInput(int32_t index, nv::ITensor& input) noexcept override {
    return attempt("IAttention::setInput", [&] {
      checkUser(index >= 0 && index < kMask,
                "attention '{}': there is no input {} to set; expected 0 (query), 1 (key) or 2 (value)", settings_.name,
                index);
      connect(index, input);
    });
  }
  int32_t getNbInputs() const noexcept override { return output_->getNbInputs(); }
  nv::ITensor* getInput(int32_t index) const noexcept override { return output_->getInput(index); }
  int32_t getNbOutputs() const noexcept override { return output_->getNbOutputs(); }
  nv::ITensor* getOutput(int32_t index) const noexcept override { return output_->getOutput(index); }

  bool setName(const char* name) noexcept override {
    return attempt("IAttention::setName", [&] {
      checkUser(name != nullptr, "attention '{}': the new name is null", settings_.name);
      settings_.name = name;
    });
  }
  const char* getName() const noexcept override { return settings_.name.c_str(); }
  bool setNormalizationOperation(AttentionNormalizationOp op) noexcept override {
    return attempt("IAttention::setNormalizationOperation", [&] {
      settings_.normalization = checkedEnum(op, fmt::format("attention '{}': normalization operation", settings_.name));
    });
  }
  AttentionNormalizationOp getNormalizationOperation() const noexcept override { return settings_.normalization; }
  bool setCausal(bool isCausal) noexcept override {
    return attempt("IAttention::setCausal", [&] { settings_.causal = isCausal; });
  }
  bool getCausal() const noexcept override { return settings_.causal; }
  bool setMask(nv::ITensor& mask) noexcept override {
    return attempt("IAttention::setMask", [&] { connect(kMask, mask); });
  }
  nv::ITensor* getMask() const noexcept override { return getInput(kMask); }
  bool setDecomposable(bool decomposable) noexcept override {
    return attempt("IAttention::setDecomposable", [&] { settings_.decomposable = decomposable; });
  }
  bool getDecomposable() const noexcept override { return settings_.decomposable; }
  bool setNormalizationQuantizeScale(nv::ITensor& tensor) noexcept override {
    return attempt("IAttention::setNormalizationQuantizeScale", [&] { connect(kScale, tensor); });
  }
  nv::ITensor* getNormalizationQuantizeScale() const noexcept override { return getInput(kScale); }
  bool setNormalizationQuantizeToType(nv::DataType type) noexcept override {
    return attempt("IAttention::setNormalizationQuantizeToType", [&] {
      checkUser(type == nv::DataType::kFP8 || type == nv::DataType::kINT8,
                "attention '{}': data type {}; expected kFP8 or kINT8", settings_.name, static_cast<int>(type));
      settings_.quantizeType = type;
    });
  }
  nv::DataType getNormalizationQuantizeToType() const noexcept override { return settings_.quantizeType; }
  bool setMetadata(const char* docString) noexcept override {
    return attempt("IAttention::setMetadata", [&] {
      settings_.metadata = orEmpty(docString);
      output_->setMetadata(docString);
    });
  }
  const char* getMetadata() const noexcept override { return settings_.metadata.c_str(); }
  bool setNbRanks(int32_t nbRanks) noexcept override {
    return attempt("IAttention::setNbRanks", [&] {
      if (nbRanks != 1) notSupported("IAttention::setNbRanks");
    });
  }
  int32_t getNbRanks() const noexcept override { return 1; }

 private:
  // Runs a setter's body; whatever it did may change the type of the result.
  template <typename Body>
  bool attempt(const char* call, Body&& body) noexcept {
    return guarded(network_.reporter(), call, false, [&] {
      body();
      output_->changed();
      return true;
    });
  }
  void connect(int index, nv::ITensor& tensor) {
    Tensor& ours = network_.own(tensor);
    input_->connect(index, &ours);
    output_->connect(index, &ours);
  }

  Network& network_;
  Settings settings_;
  LayerBase* input_ = nullptr;
  LayerBase* output_ = nullptr;
};

// The lowering of one attention: its operands, checked, and the two ways to compute it.
class Lowering {
 public:
  Lowering(LowerContext& context, const Settings& settings)
      : context_(context),
        settings_(settings),
        q_(context, context.input(0)),
        k_(context, context.input(1)),
        v_(context, context.input(2)) {
    graph::ValueId ids[] = {q_.id(), k_.id(), v_.id()};
    context.unify({&ids[0], &ids[1], &ids[2]});
    q_ = Formula(context, ids[0]);
    k_ = Formula(context, ids[1]);
    v_ = Formula(context, ids[2]);
    check(q_.rank() == 4 && k_.rank() == 4 && v_.rank() == 4,
          "query, key and value have shapes {}, {} and {}; expected [batch, heads, length, width] each",
          text(q_.shape()), text(k_.shape()), text(v_.shape()));
    check(isFloating(q_.type()) && q_.type() == k_.type() && q_.type() == v_.type(),
          "query, key and value have types {}, {} and {}; expected one floating type", tenon::name(q_.type()),
          tenon::name(k_.type()), tenon::name(v_.type()));
    const Extent& heads = q_.dim(1);
    const Extent& shared = k_.dim(1);
    const bool known = heads.isConstant() && shared.isConstant();
    check(!known || (shared.constant() > 0 ? heads.constant() % shared.constant() == 0 : heads == shared),
          "the query has {} heads, no multiple of the {} of key and value", heads.text(), shared.text());
    check(!(settings.causal && context.has(kMask)), "it is causal and has a mask; expected one of the two");
    check(!context.has(kScale) || settings.quantizeType != nv::DataType::kFLOAT,
          "there is a scale for the normalized products and no type; call setNormalizationQuantizeToType()");
    check(context.has(kScale) || settings.quantizeType == nv::DataType::kFLOAT,
          "there is a type for the normalized products and no scale; call setNormalizationQuantizeScale()");
    if (context.has(kMask)) readMask();
  }

  graph::ValueId run() const {
    const bool isOne = settings_.normalization == AttentionNormalizationOp::kSOFTMAX && !context_.has(kScale);
    if (isOne) return asOne();
    check(settings_.decomposable,
          "{} it is computed in steps, and products of query and key are stored; allow that with "
          "setDecomposable(true)",
          context_.has(kScale) ? "with quantized products" : "without a softmax");
    return inSteps();
  }

 private:
  template <typename... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition)
      throw UserError("attention '{}': {}", settings_.name, fmt::format(format, std::forward<Args>(args)...));
  }

  void readMask() {
    mask_ = Formula(context_, context_.input(kMask));
    isCondition_ = mask_->type() == DataType::kBool;
    check(mask_->rank() == 4, "the mask has shape {}; expected 4 dimensions that broadcast to {}", text(mask_->shape()),
          text(Shape{q_.dim(0), q_.dim(1), q_.dim(2), k_.dim(2)}));
    if (isCondition_) return;
    if (!context_.stronglyTyped() && isFloating(mask_->type())) mask_ = mask_->cast(q_.type());
    check(mask_->type() == q_.type(), "the mask has type {}; expected bool or {}", tenon::name(mask_->type()),
          tenon::name(q_.type()));
  }

  graph::ValueId asOne() const {
    ops::Attention op;
    op.causal = settings_.causal;
    op.hasMask = mask_.has_value();
    std::vector<graph::ValueId> inputs{q_.id(), k_.id(), v_.id()};
    if (mask_) inputs.push_back(addend().id());
    return context_.add(op, std::move(inputs));
  }

  // A condition as what is added to the scores.
  Formula addend() const {
    return isCondition_ ? where(*mask_, q_.number(0), q_.number(-std::numeric_limits<double>::infinity())) : *mask_;
  }

  // Which products count, where that is a condition.
  std::optional<Formula> condition() const {
    if (mask_ && isCondition_) return mask_;
    if (!settings_.causal) return std::nullopt;
    const Formula rows = iota(context_, q_.dim(2), DataType::kI32).unsqueeze(1);
    return iota(context_, k_.dim(2), DataType::kI32).unsqueeze(0) < rows + 1;
  }

  // Heads that share keys stand beside each other on an axis of their own.
  graph::ValueId inSteps() const {
    Formula scores =
        perKeyHead(q_).matmul(k_.unsqueeze(2), false, true).reshape({q_.dim(0), q_.dim(1), q_.dim(2), k_.dim(2)});
    if (mask_ && !isCondition_) scores = scores + *mask_;
    const auto counts = condition();
    const bool isSoftmax = settings_.normalization == AttentionNormalizationOp::kSOFTMAX;
    const double none = isSoftmax ? -std::numeric_limits<double>::infinity() : 0;
    if (counts) scores = where(*counts, scores, scores.number(none));
    if (isSoftmax) scores = scores.softmax(3);
    if (context_.has(kScale)) scores = quantized(scores);
    return perKeyHead(scores).matmul(v_.unsqueeze(2)).reshape({q_.dim(0), q_.dim(1), q_.dim(2), v_.dim(3)}).id();
  }

  Formula perKeyHead(const Formula& x) const {
    const Extent& keyHeads = k_.dim(1);
    return x.reshape({x.dim(0), keyHeads, floorDiv(x.dim(1), keyHeads), x.dim(2), x.dim(3)});
  }

  // To the narrow type and back: the product is computed in floating point.
  Formula quantized(const Formula& weights) const {
    const graph::ValueId scale = context_.input(kScale);
    const DataType narrow = fromApi(settings_.quantizeType);
    const auto data = context_.add(ops::Quantize{-1, narrow}, {weights.id(), scale});
    return {context_, context_.add(ops::Dequantize{-1, weights.type()}, {data, scale})};
  }

  LowerContext& context_;
  const Settings& settings_;
  Formula q_, k_, v_;
  std::optional<Formula> mask_;
  bool isCondition_ = false;
};

std::vector<graph::ValueId> lowerAttention(LowerContext& context, const Settings& settings) {
  return {Lowering(context, settings).run()};
}

}  // namespace

MadeAttention makeAttention(Network& network, std::string name, std::string inputName, std::string outputName,
                            AttentionNormalizationOp normalization, bool causal) {
  auto object = std::make_unique<Attention>(network, std::move(name), normalization, causal);
  MadeAttention made;
  made.interface = object.get();
  made.input = std::make_unique<InputLayer>(network, std::move(inputName), *object, object->settings());
  made.output = std::make_unique<OutputLayer>(network, std::move(outputName), *object, object->settings());
  object->setLayers(*made.input, *made.output);
  made.object = std::move(object);
  return made;
}

}  // namespace tenon::api

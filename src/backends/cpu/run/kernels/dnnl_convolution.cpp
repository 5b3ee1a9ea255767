// Convolution and deconvolution through oneDNN.
#include <atomic>

#include "backends/cpu/run/dnnl_common.h"
#include "backends/cpu/run/dnnl_version.h"
#include "backends/cpu/run/dnnl_weights.h"
#include "backends/cpu/run/kernel_row.h"
#include "core/error.h"
#include "core/platform/processor.h"
#include "core/platform/threads.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// Groups stand as an axis of their own in oneDNN. Convolution: [K,C/g,..] -> [g,K/g,C/g,..]; deconvolution:
// [C,K/g,..] -> [g,K/g,C/g,..], which is a transposed view.
template <typename Op>
memory::desc weightsDesc(const Dims& w, int64_t groups, bool plainTag) {
  constexpr bool kTransposed = std::is_same_v<Op, ops::Deconvolution>;
  memory::dims dims;
  memory::dims strides;
  const auto own = w.strides();
  const int64_t first = w[0] / groups;
  if (groups > 1) {
    dims.push_back(groups);
    strides.push_back(first * own[0]);
  }
  if (kTransposed) {
    dims.insert(dims.end(), {w[1], first});
    strides.insert(strides.end(), {own[1], own[0]});
  } else {
    dims.insert(dims.end(), {first, w[1]});
    strides.insert(strides.end(), {own[0], own[1]});
  }
  for (int axis = 2; axis < w.rank; ++axis) {
    dims.push_back(w[axis]);
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  if (plainTag) return {dims, memory::data_type::f32, strides};
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

// Blocks of this machine's vectors. Plans of others bring other blocks, for which the reference may be all there is.
bool isOwnBlock(Format format) {
  return format == (platform::bestIsa() == platform::Isa::kAvx512 ? Format::kBlocked16 : Format::kBlocked8);
}

enum class Answer : uint8_t { kUnknown, kNo, kYes };

// Whether oneDNN computes it as a product of matrices.
template <typename Primitive>
bool isProduct(const Primitive& primitive) {
  return isNamed(primitive.impl_info_str(), "gemm");
}

template <typename Op>
class ConvolutionKernel;

template <typename Op>
class ConvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit ConvolutionInstance(const ConvolutionKernel<Op>& kernel);
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;

 private:
  using Forward = std::conditional_t<std::is_same_v<Op, ops::Convolution>, dnnl::convolution_forward, dnnl::deconvolution_forward>;
  using Primitive = typename Forward::primitive_desc;
  Primitive describeAny(const runtime::Shapes& shapes);
  // `name` is a part of the implementation's; `inside`: with the epilogue as its post-operations.
  Primitive describeOne(const runtime::Shapes& shapes, std::string_view name, bool inside);
  // Input slots are those of the step; behind them the output and the scratchpad.
  size_t make(const runtime::Shapes& shapes, const Primitive& primitive);
  const ConvolutionKernel<Op>& kernel_;
  Epilogue epilogue_;
  DnnlCall call_;
  size_t firstExtra_;
  size_t inputCount_ = 0;
  bool empty_ = false;
  std::vector<void*> slots_;
};

template <typename Op>
class ConvolutionKernel final : public runtime::Kernel {
 public:
  ConvolutionKernel(const Op& op, const runtime::KernelLoad& load)
      : op(op), trial(load.trial), variant(load.record.params) {
    const auto& w = load.constants[1];
    if (w.data != nullptr) weights = std::make_unique<PackedWeights>(weightsDesc<Op>(w.dims, op.groups, true), load.sizesOnly ? nullptr : w.data);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return std::make_unique<ConvolutionInstance<Op>>(*this); }

  Op op;
  bool trial;
  std::string variant;  // a part of the implementation's name
  std::unique_ptr<PackedWeights> weights;  // null when the weights are computed
  // Whether it was a product of matrices when it was described last, for threads: most likely it is so again.
  mutable std::atomic<Answer> wasProduct{Answer::kUnknown};

  // What oneDNN 2.6 has no kernel of its own for, where nothing is known yet.
  bool guessProduct(Format format, const Dims& w) const {
    if (wasProduct != Answer::kUnknown) return wasProduct == Answer::kYes;
    constexpr int64_t kFewChannels = 3;
    return format == Format::kLinear ? w[1] > kFewChannels : format == Format::kChannelsLast && op.groups > 1;
  }
};

template <typename Op>
ConvolutionInstance<Op>::ConvolutionInstance(const ConvolutionKernel<Op>& kernel)
    : kernel_(kernel), epilogue_(kernel.op.epilogue, true), firstExtra_(kernel.op.hasBias ? 3 : 2) {}

// The operands as oneDNN sees them.
template <typename Op>
struct Operands {
  Operands(const Op& op, const runtime::Shapes& shapes, bool weightsAreFixed)
      : x(dnnlDesc(shapes.inputs[0].dims, shapes.inputs[0].format)),
        weights(weightsDesc<Op>(shapes.inputs[1].dims, op.groups, !weightsAreFixed)),
        bias(op.hasBias ? dnnlDesc(shapes.inputs[2].dims, Format::kLinear) : memory::desc()),
        y(dnnlDesc(shapes.outputs[0].dims, shapes.outputs[0].format)) {}
  memory::desc x, weights, bias, y;
};

template <typename Op>
auto ConvolutionInstance<Op>::describeOne(const runtime::Shapes& shapes, std::string_view name, bool inside) -> Primitive {
  const auto& op = kernel_.op;
  const auto& x = shapes.inputs[0];
  const auto& w = shapes.inputs[1];
  const auto& y = shapes.outputs[0];
  const int spatial = x.dims.rank - 2;
  const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
  memory::dims strides, dilations, before, after;
  bool allInPadding = false;  // a window may lie there
  for (int i = 0; i < spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    strides.push_back(op.strides.empty() ? 1 : op.strides[at]);
    dilations.push_back(op.dilations.empty() ? 0 : op.dilations[at] - 1);
    before.push_back(op.prePadding.empty() ? 0 : value(op.prePadding[at]));
    const int64_t reach = (w.dims[i + 2] - 1) * (dilations.back() + 1) + 1;
    if constexpr (std::is_same_v<Op, ops::Convolution>) {
      after.push_back((y.dims[i + 2] - 1) * strides.back() + reach - x.dims[i + 2] - before.back());
    } else {
      after.push_back((x.dims[i + 2] - 1) * strides.back() + reach - y.dims[i + 2] - before.back());
    }
    allInPadding = allInPadding || std::max(before.back(), after.back()) >= reach;
  }
  const auto extras = shapes.inputs.subspan(firstExtra_);
  if (inside && allInPadding && !extras.empty()) {
    throw dnnl::error(dnnl_unimplemented, "oneDNN 2.6 reads operands of the epilogue wrongly behind windows that lie in the padding");
  }
  const auto attributes = epilogue_.configure(extras, y, inside);
  const Operands<Op> o(op, shapes, kernel_.weights != nullptr);
  constexpr auto kAlgorithm =
      std::is_same_v<Op, ops::Convolution> ? dnnl::algorithm::convolution_direct : dnnl::algorithm::deconvolution_direct;
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  const auto primitive =
      op.hasBias ? describeNamed<Forward>(name, attributes, kKind, kAlgorithm, o.x, o.weights, o.bias, o.y, strides, dilations, before, after)
                 : describeNamed<Forward>(name, attributes, kKind, kAlgorithm, o.x, o.weights, o.y, strides, dilations, before, after);
  if (!isNamed(primitive.impl_info_str(), name)) throw dnnl::error(dnnl_unimplemented, "no implementation for these vectors");
  // Shapes beside those that were tried may leave nothing else: then slow is better than not at all.
  if (kernel_.trial && isOwnBlock(y.format) && std::string_view(primitive.impl_info_str()).starts_with("ref")) {
    throw dnnl::error(dnnl_unimplemented, "only the reference takes blocks of channels");
  }
  return primitive;
}

template <typename Op>
auto ConvolutionInstance<Op>::describeAny(const runtime::Shapes& shapes) -> Primitive {
  // What was tried comes first: with the epilogue inside, which not every implementation takes, and without. Another machine
  // may have none of that name.
  std::string why;
  for (const std::string_view name : {std::string_view(kernel_.variant), std::string_view()}) {
    for (const bool inside : {true, false}) {
      try {
        return describeOne(shapes, name, inside);
      } catch (const dnnl::error& error) {
        why = error.what();
      }
    }
    if (kernel_.trial || name.empty()) break;
  }
  throw Unsupported("oneDNN refuses {} of {}: {}", Op::kName, shapes.inputs[0].dims.text(), why);
}

template <typename Op>
size_t ConvolutionInstance<Op>::make(const runtime::Shapes& shapes, const Primitive& primitive) {
  const auto& op = kernel_.op;
  const Operands<Op> o(op, shapes, kernel_.weights != nullptr);
  call_.reset(Forward(primitive));
  inputCount_ = shapes.inputs.size();
  const int outputSlot = static_cast<int>(inputCount_);
  call_.bind(DNNL_ARG_SRC, o.x, 0);
  if (kernel_.weights != nullptr) {
    call_.fix(DNNL_ARG_WEIGHTS, kernel_.weights->get(primitive.weights_desc()));
  } else {
    call_.bind(DNNL_ARG_WEIGHTS, o.weights, 1);
  }
  if (op.hasBias) call_.bind(DNNL_ARG_BIAS, o.bias, 2);
  epilogue_.bind(call_, shapes.inputs.subspan(firstExtra_), static_cast<int>(firstExtra_));
  call_.bind(DNNL_ARG_DST, o.y, outputSlot);
  call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), outputSlot + 1);
  slots_.assign(inputCount_ + 2, nullptr);
  return primitive.scratchpad_desc().get_size();
}

template <typename Op>
size_t ConvolutionInstance<Op>::configure(const runtime::Shapes& shapes) {
  empty_ = shapes.outputs[0].dims.count() == 0;
  if (empty_) return 0;
  const auto& w = shapes.inputs[1].dims;
  const auto pixels = [](const Dims& dims) { return dims[0] * dims.count(2, dims.rank); };
  constexpr bool kForwards = std::is_same_v<Op, ops::Convolution>;
  const bool isSmall =
      runsAlone(pixels(shapes.outputs[0].dims) * w.count() / (kForwards ? 1 : std::max<int64_t>(1, w.count(2, w.rank))));
  const auto describeFor = [&](bool alone) {
    const platform::SerialScope scope(alone);
    return describeAny(shapes);
  };
  // Products are cut into pieces by the number of threads, and rounding with them: they run alone. Which implementation it
  // is shows when it is described, for a number of threads; a good guess spares the second description.
  bool alone = isSmall || kernel_.guessProduct(shapes.outputs[0].format, w);
  auto primitive = describeFor(alone);
  if (!isSmall && alone && !isProduct(primitive)) primitive = describeFor(alone = false);
  if (!isSmall && !alone && isProduct(primitive)) primitive = describeFor(alone = true);
  if (!isSmall) kernel_.wasProduct = alone ? Answer::kYes : Answer::kNo;
  call_.setAlone(alone);
  const platform::SerialScope scope(alone);
  return make(shapes, primitive);
}

template <typename Op>
void ConvolutionInstance<Op>::launch(const runtime::LaunchArguments& arguments) {
  if (empty_) return;
  for (size_t i = 0; i < inputCount_; ++i) slots_[i] = arguments.inputs[i];
  slots_[inputCount_] = arguments.outputs[0];
  slots_[inputCount_ + 1] = arguments.workspace;
  call_.run(slots_.data());
  epilogue_.finish(arguments.inputs + firstExtra_, arguments.outputs[0]);
}

template <typename Op>
std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<Op>();
  if (description == nullptr) throw Unsupported("cpu.{} cannot compute {}", request.record.name, op.name());
  return std::make_unique<ConvolutionKernel<Op>>(*description, request);
}

}  // namespace

KernelRow kernelRow_dnnl_convolution() { return {"dnnl_convolution", 1, &load<ops::Convolution>}; }
KernelRow kernelRow_dnnl_deconvolution() { return {"dnnl_deconvolution", 1, &load<ops::Deconvolution>}; }

}  // namespace tenon::backends::cpu

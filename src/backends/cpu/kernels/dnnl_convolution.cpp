// Convolution and deconvolution through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/dnnl_weights.h"
#include "core/error.h"
#include "core/platform/processor.h"
#include "core/platform/threads.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "runtime/chosen.h"
#include "runtime/keeper.h"

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
  if (plainTag) return stridedDesc(dims, strides);
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

// Blocks of this machine's vectors. Plans of others bring other blocks, for which the reference may be all there is.
bool isOwnBlock(Layout format) {
  return format == (platform::bestIsa() == platform::Isa::kAvx512 ? Layout::kBlocked16 : Layout::kBlocked8);
}

// How the operands are described: the epilogue as post-operations, which not every implementation takes, or after it;
// and as what images of one channel or pixel are read.
struct Way {
  bool inside = true;
  Layout reading = Layout::kChannelsLast;
};
constexpr Way kWays[] = {
    {true, Layout::kChannelsLast}, {true, Layout::kLinear}, {false, Layout::kChannelsLast}, {false, Layout::kLinear}};

// Shapes whose tensors are read in one way.
struct ReadShapes {
  ReadShapes(const runtime::Shapes& shapes, Layout reading) {
    for (const auto& shape : shapes.inputs) inputs.push_back(readAs(shape, reading));
    outputs = {readAs(shapes.outputs[0], reading)};
    view = {inputs, outputs, shapes.symbols};
  }
  std::vector<runtime::TensorShape> inputs, outputs;
  runtime::Shapes view;
};

bool sameFormats(const runtime::Shapes& a, const runtime::Shapes& b) {
  return a.inputs[0].layout == b.inputs[0].layout && a.outputs[0].layout == b.outputs[0].layout;
}

template <typename Op>
class ConvolutionKernel;

template <typename Op>
class ConvolutionInstance final : public runtime::KernelInstance, public runtime::Chosen {
 public:
  explicit ConvolutionInstance(const ConvolutionKernel<Op>& kernel);
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;
  std::string_view implementation() const override { return implementation_; }
  bool isPlain() const override { return speedOf(implementation_) == Speed::kPlain; }

 private:
  using Forward =
      std::conditional_t<std::is_same_v<Op, ops::Convolution>, dnnl::convolution_forward, dnnl::deconvolution_forward>;
  using Primitive = typename Forward::primitive_desc;
  template <typename See>
  void show(const runtime::Shapes& shapes, bool inside, const See& see);
  // Input slots are those of the step; behind them the output and the scratchpad.
  size_t make(const runtime::Shapes& shapes, const Choice<Primitive>& choice);
  const ConvolutionKernel<Op>& kernel_;
  Epilogue epilogue_;
  DnnlCall call_;
  size_t firstExtra_;
  size_t inputCount_ = 0;
  bool empty_ = false;
  std::string implementation_;
  std::vector<void*> slots_;
};

template <typename Op>
class ConvolutionKernel final : public runtime::Kernel, public runtime::Keeper {
 public:
  ConvolutionKernel(const Op& op, const runtime::KernelLoad& load) : op(op), demand{load.record.params, load.trial} {
    const auto& w = load.constants[1];
    if (w.data != nullptr)
      weights =
          std::make_unique<PackedWeights>(weightsDesc<Op>(w.dims, op.groups, true), load.sizesOnly ? nullptr : w.data);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<ConvolutionInstance<Op>>(*this);
  }
  runtime::Hold holds(size_t input) const override {
    return input == 1 && weights != nullptr && weights->holdsAll() ? runtime::Hold::kRestorable
                                                                   : runtime::Hold::kNothing;
  }
  void release(size_t) const override { weights->release(); }
  void restore(size_t, void* to) const override { weights->restore(to); }

  Op op;
  DnnlDemand demand;
  std::unique_ptr<PackedWeights> weights;  // null when the weights are computed
};

template <typename Op>
ConvolutionInstance<Op>::ConvolutionInstance(const ConvolutionKernel<Op>& kernel)
    : kernel_(kernel), epilogue_(kernel.op.epilogue, true), firstExtra_(kernel.op.hasBias ? 3 : 2) {}

// The operands as oneDNN sees them.
template <typename Op>
struct Operands {
  Operands(const Op& op, const runtime::Shapes& shapes, bool weightsAreFixed)
      : x(dnnlDesc(shapes.inputs[0].dims, shapes.inputs[0].layout)),
        weights(weightsDesc<Op>(shapes.inputs[1].dims, op.groups, !weightsAreFixed)),
        bias(op.hasBias ? dnnlDesc(shapes.inputs[2].dims, Layout::kLinear) : memory::desc()),
        y(dnnlDesc(shapes.outputs[0].dims, shapes.outputs[0].layout)) {}
  memory::desc x, weights, bias, y;
};

template <typename Op>
template <typename See>
void ConvolutionInstance<Op>::show(const runtime::Shapes& shapes, bool inside, const See& see) {
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
    constexpr bool kForwards = std::is_same_v<Op, ops::Convolution>;
    strides.push_back(op.strides.empty() ? 1 : op.strides[at]);
    dilations.push_back(op.dilations.empty() || w.dims[i + 2] == 1 ? 0 : op.dilations[at] - 1);
    before.push_back(op.prePadding.empty() ? 0 : value(op.prePadding[at]));
    const int64_t reach = (w.dims[i + 2] - 1) * (dilations.back() + 1) + 1;
    if constexpr (std::is_same_v<Op, ops::Convolution>) {
      after.push_back((y.dims[i + 2] - 1) * strides.back() + reach - x.dims[i + 2] - before.back());
    } else {
      after.push_back((x.dims[i + 2] - 1) * strides.back() + reach - y.dims[i + 2] - before.back());
    }
    if ((kForwards ? y : x).dims[i + 2] == 1) strides.back() = untakenStride(strides.back(), after.back());
    allInPadding = allInPadding || std::max(before.back(), after.back()) >= reach;
  }
  checkWindow({&strides, &dilations, &before, &after});
  const auto extras = shapes.inputs.subspan(firstExtra_);
  if (!inside && op.epilogue.empty()) return;  // the same as inside
  if (inside && allInPadding && !extras.empty()) {
    throw dnnl::error(dnnl_unimplemented,
                      "oneDNN 2.6 computes epilogues with operands wrongly where a window lies in the padding");
  }
  const Operands<Op> o(op, shapes, kernel_.weights != nullptr);
  const auto attributes = epilogue_.configure(extras, y, inside);
  // Shapes beside those that were tried may leave nothing else: then slow is better than not at all.
  const bool fastOnly = kernel_.demand.trial && isOwnBlock(y.layout);
  bool isRefused = false;
  const auto look = [&](const Primitive& primitive) {
    isRefused = fastOnly && speedOf(primitive.impl_info_str()) == Speed::kPlain;
    return !isRefused && see(primitive);
  };
  constexpr auto kAlgorithm = std::is_same_v<Op, ops::Convolution> ? dnnl::algorithm::convolution_direct
                                                                   : dnnl::algorithm::deconvolution_direct;
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  if (op.hasBias) {
    eachImplementation<Forward>(look, attributes, kKind, kAlgorithm, o.x, o.weights, o.bias, o.y, strides, dilations,
                                before, after);
  } else {
    eachImplementation<Forward>(look, attributes, kKind, kAlgorithm, o.x, o.weights, o.y, strides, dilations, before,
                                after);
  }
  if (isRefused)
    throw dnnl::error(dnnl_unimplemented,
                      "only oneDNN's reference implementation supports channel-blocked layouts here");
}

template <typename Op>
size_t ConvolutionInstance<Op>::make(const runtime::Shapes& shapes, const Choice<Primitive>& choice) {
  const auto& op = kernel_.op;
  const auto& primitive = choice.primitive;
  const Operands<Op> o(op, shapes, kernel_.weights != nullptr);
  epilogue_.configure(shapes.inputs.subspan(firstExtra_), shapes.outputs[0], kWays[choice.way].inside);
  implementation_ = choice.name();
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
  implementation_.clear();
  empty_ = shapes.outputs[0].dims.count() == 0;
  if (empty_) return 0;
  const auto& w = shapes.inputs[1].dims;
  const bool isNothing = shapes.inputs[0].dims.count() == 0 || w.count() == 0;
  if (isNothing)
    throw Unsupported("oneDNN does not write the output of {} over the empty input {}", Op::kName,
                      shapes.inputs[0].dims.text());
  const auto pixels = [](const Dims& dims) { return dims[0] * dims.count(2, dims.rank); };
  constexpr bool kForwards = std::is_same_v<Op, ops::Convolution>;
  const bool isSmall = runsAlone(pixels(shapes.outputs[0].dims) * w.count() /
                                 (kForwards ? 1 : std::max<int64_t>(1, w.count(2, w.rank))));
  const ReadShapes channelsLast(shapes, Layout::kChannelsLast);
  const ReadShapes linear(shapes, Layout::kLinear);
  const bool isOne = sameFormats(channelsLast.view, linear.view);
  const auto read = [&](size_t way) -> const runtime::Shapes& {
    return kWays[way].reading == Layout::kLinear ? linear.view : channelsLast.view;
  };
  const auto showWay = [&](size_t way, const auto& see) {
    if (!isOne || kWays[way].reading == Layout::kChannelsLast) show(read(way), kWays[way].inside, see);
  };
  Ways<Primitive, decltype(showWay)> ways(std::size(kWays), showWay);
  // Products are cut into pieces by the number of threads, and rounding with them: they run alone.
  const auto choice = choose(ways, kernel_.demand,
                             [isSmall](std::string_view name) { return isSmall || speedOf(name) == Speed::kProduct; });
  if (!choice)
    throw Unsupported("oneDNN refuses {} of {}: {}", Op::kName, shapes.inputs[0].dims.text(), ways.refusal());
  const auto& [chosen, alone] = *choice;
  call_.setAlone(alone);
  const platform::SerialScope scope(alone);
  return make(read(chosen.way), chosen);
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

// Convolution and deconvolution through oneDNN.
#include "backends/cpu/kernels/common/gated.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/dnnl_weights.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"
#include "backends/cpu/kernels/dnnl/window_slices.h"
#include "backends/cpu/kernels/dnnl/window_weights.h"
#include "core/error.h"
#include "core/platform/processor.h"
#include "core/storage.h"
#include "core/strided.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "runtime/chosen.h"
#include "runtime/keeper.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

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
  bool isPlain() const override { return speedOf(withoutGate(implementation_)) == Speed::kPlain; }
  size_t callCount() const override { return calls_.size(); }

 private:
  using Forward =
      std::conditional_t<std::is_same_v<Op, ops::Convolution>, dnnl::convolution_forward, dnnl::deconvolution_forward>;
  using Primitive = typename Forward::primitive_desc;
  struct Made {  // what computes a slice, and all that are the same problem
    WindowProblem problem;
    Primitive description;
    Forward primitive;
  };
  WindowProblem describe(const runtime::Shapes& shapes) const;
  Dims weightsOf(const WindowProblem& problem) const;
  template <typename See>
  void show(const WindowProblem& problem, std::span<const runtime::TensorShape> extras, bool inside, const See& see);
  // Makes the calls of a cut; false where the chosen implementation does not compute its slices. Input slots are those
  // of the step; behind them the output.
  bool make(const WindowProblem& whole, std::span<const runtime::TensorShape> extras, const Choice<Primitive>& choice,
            const Cut& cut);
  std::optional<memory> packed(const Primitive& whole, const std::vector<Made>& slices, const Cut& cut) const;
  void configureGate(const WindowProblem& whole, std::span<const runtime::TensorShape> extras);
  bool addGate(DnnlCall& call, std::span<const runtime::TensorShape> extras, const WindowProblem& whole,
               const WindowSlice& slice) const;
  const ConvolutionKernel<Op>& kernel_;
  Epilogue epilogue_;
  TileEpilogue gate_;
  runtime::TensorShape weights_;
  DnnlCalls calls_;
  size_t firstExtra_;
  size_t inputCount_ = 0;
  bool empty_ = false;
  std::string implementation_;
  std::vector<void*> slots_;
};

template <typename Op>
class ConvolutionKernel final : public runtime::Kernel, public runtime::Keeper {
 public:
  ConvolutionKernel(const Op& op, const runtime::KernelLoad& load)
      : op(op), demand{std::string(withoutGate(load.record.params)), load.trial}, gated(isGated(load.record.params)) {
    const auto& w = load.constants[1];
    if (w.data != nullptr)
      weights = std::make_unique<PackedWeights>(weightsDesc<Op>(w.dims, Layout::kLinear, op.groups, true),
                                                load.sizesOnly ? nullptr : w.data);
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
  bool gated;
  std::unique_ptr<PackedWeights> weights;  // null when the weights are computed
};

template <typename Op>
ConvolutionInstance<Op>::ConvolutionInstance(const ConvolutionKernel<Op>& kernel)
    : kernel_(kernel),
      epilogue_(kernel.op.epilogue, true),
      gate_(kernel.op.epilogue),
      firstExtra_(kernel.op.hasBias ? 3 : 2) {}

template <typename Op>
WindowProblem ConvolutionInstance<Op>::describe(const runtime::Shapes& shapes) const {
  constexpr bool kForwards = std::is_same_v<Op, ops::Convolution>;
  const auto& op = kernel_.op;
  const auto& w = shapes.inputs[1];
  WindowProblem p;
  p.x = shapes.inputs[0];
  p.y = shapes.outputs[0];
  const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
  for (int i = 0; i < p.x.dims.rank - 2; ++i) {
    const auto at = static_cast<size_t>(i);
    p.window.push_back(w.dims[i + 2]);
    p.strides.push_back(op.strides.empty() ? 1 : op.strides[at]);
    p.dilations.push_back(op.dilations.empty() || w.dims[i + 2] == 1 ? 0 : op.dilations[at] - 1);
    p.before.push_back(op.prePadding.empty() ? 0 : value(op.prePadding[at]));
    const int64_t reach = (w.dims[i + 2] - 1) * (p.dilations.back() + 1) + 1;
    const int64_t moved = (kForwards ? p.y : p.x).dims[i + 2];
    const int64_t filled = (kForwards ? p.x : p.y).dims[i + 2];
    p.after.push_back((moved - 1) * p.strides.back() + reach - filled - p.before.back());
  }
  const Dims& pixels = kForwards ? p.y.dims : p.x.dims;
  p.isTransposed = !kForwards;
  p.groups = op.groups;
  p.weightBytes = w.dims.count() * static_cast<int64_t>(sizeof(float));
  p.operations = static_cast<double>(pixels[0] * pixels.count(2, pixels.rank)) * static_cast<double>(w.dims.count());
  p.channelStep = convolutionChannelStep(p, kForwards || kernel_.weights != nullptr);
  return p;
}

// Of the problem or of a slice of it.
template <typename Op>
Dims ConvolutionInstance<Op>::weightsOf(const WindowProblem& problem) const {
  Dims w = weights_.dims;
  if (std::is_same_v<Op, ops::Convolution>) {
    w[0] = problem.y.dims[1];
  } else {
    w[0] = problem.x.dims[1];
    w[1] = problem.y.dims[1] / problem.groups;
  }
  return w;
}

template <typename Op>
template <typename See>
void ConvolutionInstance<Op>::show(const WindowProblem& problem, std::span<const runtime::TensorShape> extras,
                                   bool inside, const See& see) {
  const auto& op = kernel_.op;
  const auto& moved = problem.isTransposed ? problem.x.dims : problem.y.dims;
  memory::dims strides = problem.strides;
  bool allInPadding = false;  // a window may lie there
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t after = problem.after[i];
    const int64_t reach = (problem.window[i] - 1) * (problem.dilations[i] + 1) + 1;
    if (moved[static_cast<int>(i) + 2] == 1) strides[i] = untakenStride(strides[i], after);
    allInPadding = allInPadding || std::max(problem.before[i], after) >= reach;
  }
  checkWindow({&strides, &problem.dilations, &problem.before, &problem.after});
  if (inside && allInPadding && !extras.empty()) {
    throw dnnl::error(dnnl_unimplemented,
                      "oneDNN 2.6 computes epilogues with operands wrongly where a window lies in the padding");
  }
  const WindowOperands<Op> o(problem, weightsOf(problem), weights_.layout, op.hasBias, kernel_.weights != nullptr);
  Epilogue epilogue(op.epilogue, true);
  const auto attributes = inside ? epilogue.configure(extras, problem.y, true) : Epilogue::withoutOps();
  // Shapes beside those that were tried may leave nothing else: then slow is better than not at all.
  const bool fastOnly = kernel_.demand.trial && isOwnBlock(problem.y.layout);
  bool isRefused = false;
  // oneDNN 2.6 computes convolutions of channels-last images by products as well, and then reads the pixels of another
  // operand in the wrong order.
  const bool readsPixels = inside && problem.y.layout == Layout::kChannelsLast &&
                           std::any_of(extras.begin(), extras.end(),
                                       [](const auto& extra) { return extra.dims.count(2, extra.dims.rank) > 1; });
  const auto look = [&](const Primitive& primitive) {
    if (readsPixels && speedOf(primitive.impl_info_str()) == Speed::kProduct) return false;
    isRefused = fastOnly && speedOf(primitive.impl_info_str()) == Speed::kPlain;
    return !isRefused && see(primitive);
  };
  constexpr auto kAlgorithm = std::is_same_v<Op, ops::Convolution> ? dnnl::algorithm::convolution_direct
                                                                   : dnnl::algorithm::deconvolution_direct;
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  if (op.hasBias) {
    eachImplementation<Forward>(look, attributes, kKind, kAlgorithm, o.x, o.weights, o.bias, o.y, strides,
                                problem.dilations, problem.before, problem.after);
  } else {
    eachImplementation<Forward>(look, attributes, kKind, kAlgorithm, o.x, o.weights, o.y, strides, problem.dilations,
                                problem.before, problem.after);
  }
  if (isRefused)
    throw dnnl::error(dnnl_unimplemented,
                      "only oneDNN's reference implementation supports channel-blocked layouts here");
}

template <typename Op>
void ConvolutionInstance<Op>::configureGate(const WindowProblem& whole, std::span<const runtime::TensorShape> extras) {
  gate_.configure("cpu.dnnl_convolution", whole.y.dims, extras, 1);
  if (!gate_.isGate())
    throw Unsupported("cpu.dnnl_convolution: the epilogue {} is not a gate", text(kernel_.op.epilogue));
}

// Lets the gate follow a call; false where the slice is no one piece of memory.
template <typename Op>
bool ConvolutionInstance<Op>::addGate(DnnlCall& call, std::span<const runtime::TensorShape> extras,
                                      const WindowProblem& whole, const WindowSlice& slice) const {
  const Dims& part = slice.problem.y.dims;
  const Dims& all = whole.y.dims;
  const bool isInnerWhole = whole.y.layout == Layout::kChannelsLast ? part[1] == all[1] : part[2] == all[2];
  const bool isImageWhole = part[1] == all[1] && part[2] == all[2];
  if (!isInnerWhole || (!isImageWhole && part[0] != 1)) return false;
  for (const auto& extra : extras) {
    if (extra.layout != whole.y.layout || extra.pitch != 0) return false;
  }
  call.then([this, count = part.count(), offset = offsetOfOutput(whole, slice)](void* const* slots) {
    const auto at = [&](size_t slot) { return static_cast<std::byte*>(slots[slot]) + offset; };
    auto* const y = reinterpret_cast<float*>(at(inputCount_));
    std::array<void*, 16> operands{};
    for (size_t i = firstExtra_; i < inputCount_; ++i) operands[i - firstExtra_] = at(i);
    gate_.finish(y, 1, count, count, y, operands.data(), 0, 0, count);
  });
  return true;
}

// The constant weights for all slices of a cut; none where these do not want them alike. How the library packs them
// depends on the extents: slices of images or rows may want them otherwise than the whole does, of which nothing is
// kept then. Those of channels take their parts of the whole's.
template <typename Op>
std::optional<memory> ConvolutionInstance<Op>::packed(const Primitive& whole, const std::vector<Made>& slices,
                                                      const Cut& cut) const {
  if (kernel_.weights == nullptr || slices.empty()) return std::nullopt;
  if (cut.along == Cut::Along::kChannels) return kernel_.weights->get(whole.weights_desc());
  const auto wanted = slices.front().description.weights_desc();
  for (const auto& slice : slices) {
    if (slice.description.weights_desc() != wanted) return std::nullopt;
  }
  return kernel_.weights->get(wanted);
}

template <typename Op>
bool ConvolutionInstance<Op>::make(const WindowProblem& whole, std::span<const runtime::TensorShape> extras,
                                   const Choice<Primitive>& choice, const Cut& cut) {
  const auto& op = kernel_.op;
  const bool inside = epilogue_.isInside();
  std::vector<Made> made;
  const auto find = [&](const WindowSlice& slice, const SlicedExtras& parts) -> std::optional<size_t> {
    for (size_t i = 0; i < made.size(); ++i) {
      if (isSameProblem(made[i].problem, slice.problem)) return i;
    }
    if (cut.parts == 1) {
      made.push_back({slice.problem, choice.primitive, Forward(choice.primitive)});
      return made.size() - 1;
    }
    const auto showSlice = [&](size_t, const auto& see) { show(slice.problem, parts.shapes, inside, see); };
    Ways<Primitive, decltype(showSlice)> ways(1, showSlice);
    const auto found = ways.find([&](std::string_view name) { return name == choice.name(); });
    if (!found) return std::nullopt;
    made.push_back({slice.problem, found->primitive, Forward(found->primitive)});
    return made.size() - 1;
  };
  const auto slices = slicesOf(whole, cut);
  std::vector<SlicedExtras> parts;
  std::vector<size_t> primitives;
  for (const auto& slice : slices) {
    parts.push_back(inside ? sliceExtras(extras, whole, slice) : SlicedExtras());
    const auto one = find(slice, parts.back());
    if (!one) return false;
    primitives.push_back(*one);
  }
  const auto weights = packed(choice.primitive, made, cut);
  if (kernel_.weights != nullptr && !weights) return false;
  const int outputSlot = static_cast<int>(inputCount_);
  calls_.clear();
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto& slice = slices[i];
    const auto& one = made[primitives[i]];
    const Dims w = weightsOf(slice.problem);
    const WindowOperands<Op> o(slice.problem, w, weights_.layout, op.hasBias, weights.has_value());
    auto& call = calls_.add(one.primitive);
    call.bind(DNNL_ARG_SRC, o.x, 0, offsetOfInput(whole, slice));
    if (weights) {
      const int64_t first = whole.groups > 1 ? slice.channel / (whole.y.dims[1] / whole.groups) : slice.channel;
      const auto part = partOf(*weights, one.description.weights_desc(), first);
      if (!part) return false;
      call.fix(DNNL_ARG_WEIGHTS, *part);
    } else {
      call.bind(DNNL_ARG_WEIGHTS, o.weights, 1,
                slice.channel * stridesOf(w, weights_.layout)[0] * static_cast<int64_t>(sizeof(float)));
    }
    if (op.hasBias) call.bind(DNNL_ARG_BIAS, o.bias, 2, slice.channel * static_cast<int64_t>(sizeof(float)));
    if (inside) {
      Epilogue epilogue(op.epilogue, true);
      epilogue.configure(parts[i].shapes, slice.problem.y, true);
      if (!epilogue.isInside()) return false;
      epilogue.bind(call, parts[i].shapes, static_cast<int>(firstExtra_), parts[i].offsets);
    }
    call.bind(DNNL_ARG_DST, o.y, outputSlot, offsetOfOutput(whole, slice));
    call.bindScratch(one.description.scratchpad_desc());
    if (kernel_.gated && !addGate(call, extras, whole, slice)) return false;
  }
  return !slices.empty();
}

template <typename Op>
size_t ConvolutionInstance<Op>::configure(const runtime::Shapes& shapes) {
  implementation_.clear();
  empty_ = shapes.outputs[0].dims.count() == 0;
  if (empty_) return 0;
  weights_ = shapes.inputs[1];
  inputCount_ = shapes.inputs.size();
  slots_.assign(inputCount_ + 1, nullptr);
  const bool isNothing = shapes.inputs[0].dims.count() == 0 || weights_.dims.count() == 0;
  if (isNothing)
    throw Unsupported("oneDNN does not write the output of {} over the empty input {}", Op::kName,
                      shapes.inputs[0].dims.text());
  const ReadShapes channelsLast(shapes, Layout::kChannelsLast);
  const ReadShapes linear(shapes, Layout::kLinear);
  const bool isOne = sameFormats(channelsLast.view, linear.view);
  const auto read = [&](size_t way) -> const runtime::Shapes& {
    return kWays[way].reading == Layout::kLinear ? linear.view : channelsLast.view;
  };
  const auto extrasOf = [&](size_t way) { return read(way).inputs.subspan(firstExtra_); };
  const auto showWay = [&](size_t way, const auto& see) {
    if (!kWays[way].inside && kernel_.op.epilogue.empty()) return;  // the same as inside
    if (kWays[way].inside && kernel_.gated) return;
    if (!isOne || kWays[way].reading == Layout::kChannelsLast)
      show(describe(read(way)), extrasOf(way), kWays[way].inside, see);
  };
  Ways<Primitive, decltype(showWay)> ways(std::size(kWays), showWay);
  const auto choice = choose(ways, kernel_.demand);
  if (!choice)
    throw Unsupported("oneDNN refuses {} of {}: {}", Op::kName, shapes.inputs[0].dims.text(), ways.refusal());
  const DnnlScope scope;
  implementation_ = kernel_.gated ? fmt::format("{} {}", kGated, choice->name()) : choice->name();
  const auto whole = describe(read(choice->way));
  const auto extras = extrasOf(choice->way);
  epilogue_.configure(extras, whole.y, kWays[choice->way].inside);
  if (kernel_.gated) configureGate(whole, extras);
  bool isMade = false;
  for (const auto& cut : cutsOf(whole)) {
    isMade = make(whole, extras, *choice, cut);
    if (isMade) break;
  }
  if (!isMade && kernel_.gated) throw Unsupported("cpu.dnnl_convolution: a gate over a result that is not dense");
  return calls_.workspaceBytes();
}

template <typename Op>
void ConvolutionInstance<Op>::launch(const runtime::LaunchArguments& arguments) {
  if (empty_) return;
  for (size_t i = 0; i < inputCount_; ++i) slots_[i] = arguments.inputs[i];
  slots_[inputCount_] = arguments.outputs[0];
  calls_.run(slots_.data(), arguments.workspace);
  if (!kernel_.gated) epilogue_.finish(arguments.inputs + firstExtra_, arguments.outputs[0]);
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

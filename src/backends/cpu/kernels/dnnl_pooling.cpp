// Maximum and average pooling through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"
#include "backends/cpu/kernels/dnnl/window_slices.h"
#include "core/error.h"
#include "core/storage.h"
#include "ops/op/pooling.h"
#include "runtime/chosen.h"

namespace tenon::backends::cpu {
namespace {

// As what images of one channel or pixel are read.
constexpr Layout kReadings[] = {Layout::kChannelsLast, Layout::kLinear};

class PoolingInstance final : public runtime::KernelInstance, public runtime::Chosen {
 public:
  PoolingInstance(const ops::Pooling& op, const DnnlDemand& demand) : op_(op), demand_(demand) {}
  std::string_view implementation() const override { return implementation_; }
  bool isPlain() const override { return speedOf(implementation_) == Speed::kPlain; }

  size_t configure(const runtime::Shapes& shapes) override {
    implementation_.clear();
    const auto& x = shapes.inputs[0];
    empty_ = shapes.outputs[0].dims.count() == 0;
    if (empty_) return 0;
    if (x.dims.count() == 0)
      throw Unsupported("oneDNN does not write the output of pooling over the empty input {}", x.dims.text());
    using Primitive = dnnl::pooling_forward::primitive_desc;
    const auto showWay = [&](size_t way, const auto& see) { show(describe(shapes, kReadings[way]), see); };
    Ways<Primitive, decltype(showWay)> ways(std::size(kReadings), showWay);
    const auto choice = choose(ways, demand_);
    if (!choice) throw Unsupported("oneDNN refuses pooling of {}: {}", x.dims.text(), ways.refusal());
    const DnnlScope scope;
    implementation_ = choice->name();
    const auto whole = describe(shapes, kReadings[choice->way]);
    for (const auto& cut : cutsOf(whole)) {
      if (make(whole, cut)) break;
    }
    return calls_.workspaceBytes();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    void* const slots[] = {arguments.inputs[0], arguments.outputs[0]};
    calls_.run(slots, arguments.workspace);
  }

 private:
  WindowProblem describe(const runtime::Shapes& shapes, Layout reading) const {
    WindowProblem p;
    p.x = readAs(shapes.inputs[0], reading);
    p.y = readAs(shapes.outputs[0], reading);
    const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
    p.window = op_.window;
    double work = static_cast<double>(std::max(p.y.dims.count(), p.x.dims.count()));
    for (int i = 0; i < p.x.dims.rank - 2; ++i) {
      const auto at = static_cast<size_t>(i);
      p.strides.push_back(op_.strides.empty() ? 1 : op_.strides[at]);
      p.dilations.push_back(0);
      p.before.push_back(op_.prePadding.empty() ? 0 : value(op_.prePadding[at]));
      p.after.push_back((p.y.dims[i + 2] - 1) * p.strides.back() + op_.window[at] - p.x.dims[i + 2] - p.before.back());
      work *= static_cast<double>(std::max<int64_t>(1, op_.window[at] / 2));
    }
    p.groups = p.y.dims[1];
    p.channelStep = channelBlock(p.y.layout);
    p.operations = 4 * work;
    return p;
  }

  template <typename See>
  void show(const WindowProblem& problem, const See& see) const {
    auto strides = problem.strides;
    for (size_t i = 0; i < strides.size(); ++i) {
      if (problem.y.dims[static_cast<int>(i) + 2] == 1) strides[i] = untakenStride(strides[i], problem.after[i]);
    }
    checkWindow({&strides, &problem.before, &problem.after});
    const auto algorithm = op_.type == ops::PoolingType::kMax ? dnnl::algorithm::pooling_max
                           : op_.exclusive                    ? dnnl::algorithm::pooling_avg_exclude_padding
                                                              : dnnl::algorithm::pooling_avg_include_padding;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    eachPooling(see, attributes, algorithm, dnnlDesc(problem.x.dims, problem.x.layout),
                dnnlDesc(problem.y.dims, problem.y.layout), strides, problem.window, problem.before, problem.after);
  }

  // The calls of a cut; false where the chosen implementation does not compute its slices.
  bool make(const WindowProblem& whole, const Cut& cut) {
    calls_.clear();
    const auto slices = slicesOf(whole, cut);
    for (const auto& slice : slices) {
      const auto showSlice = [&](size_t, const auto& see) { show(slice.problem, see); };
      Ways<dnnl::pooling_forward::primitive_desc, decltype(showSlice)> ways(1, showSlice);
      const auto found = ways.find([&](std::string_view name) { return name == implementation_; });
      if (!found) return false;
      const auto& primitive = found->primitive;
      auto& call = calls_.add(dnnl::pooling_forward(primitive));
      call.bind(DNNL_ARG_SRC, primitive.src_desc(), 0, offsetOfInput(whole, slice));
      call.bind(DNNL_ARG_DST, primitive.dst_desc(), 1, offsetOfOutput(whole, slice));
      call.bindScratch(primitive.scratchpad_desc());
    }
    return !slices.empty();
  }

  ops::Pooling op_;
  DnnlDemand demand_;
  std::string implementation_;
  DnnlCalls calls_;
  bool empty_ = false;
};

}  // namespace

KernelRow kernelRow_dnnl_pooling() { return {"dnnl_pooling", 1, &loadDemanding<ops::Pooling, PoolingInstance>}; }

}  // namespace tenon::backends::cpu

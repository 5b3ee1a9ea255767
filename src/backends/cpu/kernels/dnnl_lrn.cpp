// Local response normalization through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"
#include "backends/cpu/kernels/dnnl/window_slices.h"
#include "core/error.h"
#include "ops/op/lrn.h"
#include "runtime/chosen.h"

namespace tenon::backends::cpu {
namespace {

class LrnInstance final : public runtime::KernelInstance, public runtime::Chosen {
 public:
  LrnInstance(const ops::Lrn& op, const DnnlDemand& demand) : op_(op), demand_(demand) {}
  std::string_view implementation() const override { return implementation_; }
  bool isPlain() const override { return speedOf(implementation_) == Speed::kPlain; }

  size_t configure(const runtime::Shapes& shapes) override {
    implementation_.clear();
    // As a window of one pixel that moves over the image: any cut but that of channels.
    WindowProblem whole;
    whole.x = readAs(shapes.inputs[0], Layout::kChannelsLast);
    whole.y = readAs(shapes.outputs[0], Layout::kChannelsLast);
    const dnnl::memory::dims ones(static_cast<size_t>(std::max(whole.x.dims.rank - 2, 0)), 1);
    const dnnl::memory::dims zeros(ones.size(), 0);
    whole.window = whole.strides = ones;
    whole.dilations = whole.before = whole.after = zeros;
    whole.operations = 20 * static_cast<double>(whole.y.dims.count());
    const auto showWhole = [&](size_t, const auto& see) { show(whole, see); };
    Ways<dnnl::lrn_forward::primitive_desc, decltype(showWhole)> ways(1, showWhole);
    const auto choice = choose(ways, demand_);
    if (!choice) throw Unsupported("oneDNN refuses LRN of {}: {}", whole.x.dims.text(), ways.refusal());
    const DnnlScope scope;
    implementation_ = choice->name();
    for (const auto& cut : cutsOf(whole)) {
      if (make(whole, cut)) break;
    }
    return calls_.workspaceBytes();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const slots[] = {arguments.inputs[0], arguments.outputs[0]};
    calls_.run(slots, arguments.workspace);
  }

 private:
  template <typename See>
  void show(const WindowProblem& problem, const See& see) const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    eachLrn(see, attributes, dnnlDesc(problem.x.dims, problem.x.layout), op_.window, static_cast<float>(op_.alpha),
            static_cast<float>(op_.beta), static_cast<float>(op_.k));
  }

  // The calls of a cut; false where the chosen implementation does not compute its slices.
  bool make(const WindowProblem& whole, const Cut& cut) {
    calls_.clear();
    const auto slices = slicesOf(whole, cut);
    for (const auto& slice : slices) {
      const auto showSlice = [&](size_t, const auto& see) { show(slice.problem, see); };
      Ways<dnnl::lrn_forward::primitive_desc, decltype(showSlice)> ways(1, showSlice);
      const auto found = ways.find([&](std::string_view name) { return name == implementation_; });
      if (!found) return false;
      const auto& primitive = found->primitive;
      auto& call = calls_.add(dnnl::lrn_forward(primitive));
      call.bind(DNNL_ARG_SRC, primitive.src_desc(), 0, offsetOfInput(whole, slice));
      call.bind(DNNL_ARG_DST, primitive.dst_desc(), 1, offsetOfOutput(whole, slice));
      call.bindScratch(primitive.scratchpad_desc());
    }
    return !slices.empty();
  }

  ops::Lrn op_;
  DnnlDemand demand_;
  std::string implementation_;
  DnnlCalls calls_;
};

}  // namespace

KernelRow kernelRow_dnnl_lrn() { return {"dnnl_lrn", 1, &loadDemanding<ops::Lrn, LrnInstance>}; }

}  // namespace tenon::backends::cpu

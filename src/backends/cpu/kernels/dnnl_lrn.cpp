// Local response normalization through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
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
    const auto x = readAs(shapes.inputs[0], Layout::kChannelsLast);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto showOne = [&](size_t, const auto& see) {
      eachLrn(see, attributes, dnnlDesc(x.dims, x.layout), op_.window, static_cast<float>(op_.alpha),
              static_cast<float>(op_.beta), static_cast<float>(op_.k));
    };
    Ways<dnnl::lrn_forward::primitive_desc, decltype(showOne)> ways(1, showOne);
    const auto choice = choose(ways, demand_, [](std::string_view) { return false; });
    if (!choice) throw Unsupported("oneDNN refuses LRN of {}: {}", x.dims.text(), ways.refusal());
    const auto& primitive = choice->first.primitive;
    call_.setAlone(choice->second);
    const platform::SerialScope scope(choice->second);
    implementation_ = choice->first.name();
    call_.reset(dnnl::lrn_forward(primitive));
    call_.bind(DNNL_ARG_SRC, primitive.src_desc(), 0);
    call_.bind(DNNL_ARG_DST, primitive.dst_desc(), 1);
    call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), 2);
    return primitive.scratchpad_desc().get_size();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const slots[] = {arguments.inputs[0], arguments.outputs[0], arguments.workspace};
    call_.run(slots);
  }

 private:
  ops::Lrn op_;
  DnnlDemand demand_;
  std::string implementation_;
  DnnlCall call_;
};

}  // namespace

KernelRow kernelRow_dnnl_lrn() { return {"dnnl_lrn", 1, &loadDemanding<ops::Lrn, LrnInstance>}; }

}  // namespace tenon::backends::cpu

// Local response normalization through oneDNN.
#include "backends/cpu/run/dnnl_common.h"
#include "backends/cpu/run/dnnl_version.h"
#include "backends/cpu/run/kernel_row.h"
#include "core/error.h"
#include "ops/op/lrn.h"

namespace tenon::backends::cpu {
namespace {

class LrnInstance final : public runtime::KernelInstance {
 public:
  explicit LrnInstance(const ops::Lrn& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    try {
      const auto primitive = describeLrn(attributes, dnnlDesc(x.dims, x.format), op_.window, static_cast<float>(op_.alpha),
                                         static_cast<float>(op_.beta), static_cast<float>(op_.k));
      call_.reset(dnnl::lrn_forward(primitive));
      call_.bind(DNNL_ARG_SRC, primitive.src_desc(), 0);
      call_.bind(DNNL_ARG_DST, primitive.dst_desc(), 1);
      call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), 2);
      return primitive.scratchpad_desc().get_size();
    } catch (const dnnl::error& error) {
      throw Unsupported("oneDNN refuses LRN of {}: {}", x.dims.text(), error.what());
    }
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const slots[] = {arguments.inputs[0], arguments.outputs[0], arguments.workspace};
    call_.run(slots);
  }

 private:
  ops::Lrn op_;
  DnnlCall call_;
};

}  // namespace

KernelRow kernelRow_dnnl_lrn() { return {"dnnl_lrn", 1, &loadSimple<ops::Lrn, LrnInstance>}; }

}  // namespace tenon::backends::cpu

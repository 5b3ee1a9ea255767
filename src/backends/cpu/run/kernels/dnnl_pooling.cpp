// Maximum and average pooling through oneDNN.
#include "backends/cpu/run/dnnl_common.h"
#include "backends/cpu/run/dnnl_version.h"
#include "backends/cpu/run/kernel_row.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/op/pooling.h"

namespace tenon::backends::cpu {
namespace {

class PoolingInstance final : public runtime::KernelInstance {
 public:
  explicit PoolingInstance(const ops::Pooling& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    empty_ = y.dims.count() == 0;
    if (empty_) return 0;
    const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
    dnnl::memory::dims strides, before, after;
    for (int i = 0; i < x.dims.rank - 2; ++i) {
      const auto at = static_cast<size_t>(i);
      strides.push_back(op_.strides.empty() ? 1 : op_.strides[at]);
      before.push_back(op_.prePadding.empty() ? 0 : value(op_.prePadding[at]));
      after.push_back((y.dims[i + 2] - 1) * strides.back() + op_.window[at] - x.dims[i + 2] - before.back());
    }
    const auto algorithm = op_.type == ops::PoolingType::kMax ? dnnl::algorithm::pooling_max
                           : op_.exclusive                    ? dnnl::algorithm::pooling_avg_exclude_padding
                                                              : dnnl::algorithm::pooling_avg_include_padding;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    int64_t work = std::max(y.dims.count(), x.dims.count());
    for (const int64_t extent : op_.window) work *= std::max<int64_t>(1, extent / 2);
    const bool alone = runsAlone(4 * work);
    const platform::SerialScope scope(alone);
    call_.setAlone(alone);
    try {
      const auto primitive = describePooling(attributes, algorithm, dnnlDesc(x.dims, x.format), dnnlDesc(y.dims, y.format),
                                             strides, op_.window, before, after);
      call_.reset(dnnl::pooling_forward(primitive));
      call_.bind(DNNL_ARG_SRC, primitive.src_desc(), 0);
      call_.bind(DNNL_ARG_DST, primitive.dst_desc(), 1);
      call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), 2);
      return primitive.scratchpad_desc().get_size();
    } catch (const dnnl::error& error) {
      throw Unsupported("oneDNN refuses pooling of {}: {}", x.dims.text(), error.what());
    }
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    void* const slots[] = {arguments.inputs[0], arguments.outputs[0], arguments.workspace};
    call_.run(slots);
  }

 private:
  ops::Pooling op_;
  DnnlCall call_;
  bool empty_ = false;
};

}  // namespace

KernelRow kernelRow_dnnl_pooling() { return {"dnnl_pooling", 1, &loadSimple<ops::Pooling, PoolingInstance>}; }

}  // namespace tenon::backends::cpu

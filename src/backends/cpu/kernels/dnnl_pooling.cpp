// Maximum and average pooling through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "core/error.h"
#include "core/platform/threads.h"
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
    const auto& y = shapes.outputs[0];
    empty_ = y.dims.count() == 0;
    if (empty_) return 0;
    if (x.dims.count() == 0)
      throw Unsupported("oneDNN does not write the output of pooling over the empty input {}", x.dims.text());
    const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
    dnnl::memory::dims strides, before, after;
    for (int i = 0; i < x.dims.rank - 2; ++i) {
      const auto at = static_cast<size_t>(i);
      strides.push_back(op_.strides.empty() ? 1 : op_.strides[at]);
      before.push_back(op_.prePadding.empty() ? 0 : value(op_.prePadding[at]));
      after.push_back((y.dims[i + 2] - 1) * strides.back() + op_.window[at] - x.dims[i + 2] - before.back());
      if (y.dims[i + 2] == 1) strides.back() = untakenStride(strides.back(), after.back());
    }
    checkWindow({&strides, &before, &after});
    const auto algorithm = op_.type == ops::PoolingType::kMax ? dnnl::algorithm::pooling_max
                           : op_.exclusive                    ? dnnl::algorithm::pooling_avg_exclude_padding
                                                              : dnnl::algorithm::pooling_avg_include_padding;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    int64_t work = std::max(y.dims.count(), x.dims.count());
    for (const int64_t extent : op_.window) work *= std::max<int64_t>(1, extent / 2);
    const auto showWay = [&](size_t way, const auto& see) {
      const auto in = readAs(x, kReadings[way]);
      const auto out = readAs(y, kReadings[way]);
      eachPooling(see, attributes, algorithm, dnnlDesc(in.dims, in.layout), dnnlDesc(out.dims, out.layout), strides,
                  op_.window, before, after);
    };
    Ways<dnnl::pooling_forward::primitive_desc, decltype(showWay)> ways(std::size(kReadings), showWay);
    const auto choice = choose(ways, demand_, [work](std::string_view) { return runsAlone(4 * work); });
    if (!choice) throw Unsupported("oneDNN refuses pooling of {}: {}", x.dims.text(), ways.refusal());
    const auto& primitive = choice->first.primitive;
    const platform::SerialScope scope(choice->second);
    call_.setAlone(choice->second);
    implementation_ = choice->first.name();
    call_.reset(dnnl::pooling_forward(primitive));
    call_.bind(DNNL_ARG_SRC, primitive.src_desc(), 0);
    call_.bind(DNNL_ARG_DST, primitive.dst_desc(), 1);
    call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), 2);
    return primitive.scratchpad_desc().get_size();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    void* const slots[] = {arguments.inputs[0], arguments.outputs[0], arguments.workspace};
    call_.run(slots);
  }

 private:
  ops::Pooling op_;
  DnnlDemand demand_;
  std::string implementation_;
  DnnlCall call_;
  bool empty_ = false;
};

}  // namespace

KernelRow kernelRow_dnnl_pooling() { return {"dnnl_pooling", 1, &loadDemanding<ops::Pooling, PoolingInstance>}; }

}  // namespace tenon::backends::cpu

// Suppression of boxes, class by class; limits stand in tensors on the device.
#include "ops/op/nms.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/kernels/suppression/suppression.h"

namespace tenon::backends::cuda {
namespace {

class NmsInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Nms& op, const Types& types) {
    return {
        "nms.cu",
        {typeDefine("X", types.inputs.at(0)), typeDefine("M", types.inputs.at(2)), typeDefine("I", types.outputs.at(0)),
         fmt::format("CENTERS={}", op.format == ops::BoxFormat::kCenters ? 1 : 0)},
        {}};
  }
  NmsInstance(const ops::Nms& op, const Types&, const Module& module)
      : op_(op), suppression_(module), write_(module.function("tenon_nms_write")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    suppression_.configure(shapes.inputs[0].dims, shapes.inputs[1].dims, op_.limit, false,
                           std::numeric_limits<int64_t>::max());
    auto& p = suppression_.parameters;
    p.keep = shapes.outputs[0].dims[0];
    constexpr int64_t kFilled = 4096;  // rows of a block
    writers_ = std::max({p.items, (p.keep + kFilled - 1) / kFilled, int64_t{1}});
    suppression_.placeAll();
    return suppression_.bytes();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = suppression_.parameters;
    p.most = arguments.inputs[2];
    p.overlap = static_cast<const float*>(arguments.inputs[3]);
    p.threshold = static_cast<const float*>(arguments.inputs[4]);
    p.outputs[0] = arguments.outputs[0];
    p.outputs[1] = arguments.outputs[1];
    suppression_.launchCandidates(arguments);
    suppression_.launchGreedy(arguments.stream);
    launchThreads(write_, writers_ * kSuppressionThreads, &p, arguments.stream, kSuppressionThreads);
  }

 private:
  const ops::Nms& op_;
  Suppression suppression_;
  CUfunction write_;
  int64_t writers_ = 1;
};

}  // namespace

KernelRow kernelRow_nms() { return ownRow<ops::Nms, NmsInstance>("nms"); }

}  // namespace tenon::backends::cuda

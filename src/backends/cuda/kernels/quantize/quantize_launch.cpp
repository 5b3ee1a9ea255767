// Quantize and dequantize: one code for both directions.
#include "ops/op/quantize.h"

#include <algorithm>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/quantize/quantize_parameters.h"
#include "ops/op/dequantize.h"

namespace tenon::backends::cuda {
namespace {

template <typename Op>
class QuantizeInstance final : public runtime::KernelInstance {
 public:
  static Code code(const Op&, const Types& types) {
    const bool zero = types.inputs.size() > 2;
    return {"quantize.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("S", types.inputs.at(1)),
             typeDefine("Z", zero ? types.inputs[2] : DataType::kI8), typeDefine("Y", types.outputs.at(0)),
             fmt::format("HAS_ZERO={}", zero ? 1 : 0),
             fmt::format("QUANTIZE={}", std::is_same_v<Op, ops::Quantize> ? 1 : 0)},
            {}};
  }
  QuantizeInstance(const Op& op, const Types& types, const Module& module)
      : op_(op),
        function_(module.function("tenon_quantize")),
        packed_(module.function("tenon_quantize_packed")),
        pack_(128 / std::max(bits(types.inputs.at(0)), bits(types.outputs.at(0)))),
        hasZero_(types.inputs.size() > 2) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& x = shapes.inputs[0].dims;
    const Dims& scale = shapes.inputs[1].dims;
    parameters_ = {};
    parameters_.count = x.count();
    parameters_.single = scale.count() == 1 ? 1 : 0;
    parameters_.rank = x.rank;
    const auto strides = scale.strides();
    for (int axis = 0; axis < x.rank; ++axis) {
      parameters_.extent[axis] = x[axis];
      parameters_.block[axis] = 1;
      if (scale.rank != x.rank || x.rank == 1) continue;
      parameters_.block[axis] = std::max<int64_t>(x[axis] / std::max<int64_t>(scale[axis], 1), 1);
      parameters_.stride[axis] = strides[static_cast<size_t>(axis)];
    }
    if (scale.rank == 1) parameters_.stride[op_.axis < 0 ? op_.axis + x.rank : op_.axis] = 1;
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.scale = arguments.inputs[1];
    parameters_.zero = hasZero_ ? arguments.inputs[2] : nullptr;
    parameters_.y = arguments.outputs[0];
    if (parameters_.single != 0 && isAligned(parameters_.x, 16) && isAligned(parameters_.y, 16)) {
      const int64_t threads = (parameters_.count + pack_ - 1) / pack_;
      launchThreads(packed_, threads, &parameters_, arguments.stream, blockSize(threads));
      return;
    }
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  const Op& op_;
  CUfunction function_;
  CUfunction packed_;
  int64_t pack_;
  bool hasZero_;
  QuantizeParameters parameters_;
};

}  // namespace

KernelRow kernelRow_quantize() { return ownRow<ops::Quantize, QuantizeInstance<ops::Quantize>>("quantize"); }
KernelRow kernelRow_dequantize() { return ownRow<ops::Dequantize, QuantizeInstance<ops::Dequantize>>("dequantize"); }

}  // namespace tenon::backends::cuda

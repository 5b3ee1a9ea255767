// Elements combined with others at indices: a copy of the data, and the elements that have updates over it.
#include "ops/op/scatter_reduce.h"

#include <limits>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/key_sort.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_parameters.h"

namespace tenon::backends::cuda {
namespace {

int joinOf(ops::ReduceOp op) {
  switch (op) {
    case ops::ReduceOp::kProd: return 1;
    case ops::ReduceOp::kMax: return 2;
    case ops::ReduceOp::kMin: return 3;
    default: return 0;
  }
}

class ScatterReduceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::ScatterReduce& op, const Types& types) {
    return {"scatter_reduce.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.inputs.at(1)),
             fmt::format("JOIN={}", joinOf(op.op))},
            {}};
  }
  ScatterReduceInstance(const ops::ScatterReduce& op, const Types& types, const Module& module)
      : op_(op),
        keys_(module.function("tenon_scatter_reduce_keys")),
        combine_(module.function("tenon_scatter_reduce")),
        sort_(module),
        elementBytes_(bits(types.inputs.at(0)) / 8) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& data = shapes.inputs[0].dims;
    const Dims& indices = shapes.inputs[1].dims;
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + data.rank : op_.axis);
    const auto strides = stridesOf(data, Layout::kLinear);
    Strides still = strides;
    still[axis] = 0;
    parameters_.count = indices.count();
    parameters_.extent = data[static_cast<int>(axis)];
    parameters_.axisStride = strides[axis];
    bytes_ = static_cast<size_t>(data.count() * elementBytes_);
    if (parameters_.count == 0) return 0;
    setSpace(parameters_.space, collapse(indices, {stridesOf(indices, Layout::kLinear), still}));
    checkUser(!isWide(parameters_.space) && data.count() < std::numeric_limits<uint32_t>::max(),
              "scatter_reduce: {} elements and {} updates are too many; it takes 2^32 - 2 and 2^31 - 1", data.count(),
              parameters_.count);
    return static_cast<size_t>(sort_.configure(1, parameters_.count)) * sizeof(uint64_t);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const y = arguments.outputs[0];
    if (bytes_ == 0) return;
    cudaDevice().copy(y, arguments.inputs[0], bytes_, runtime::CopyKind::kDeviceToDevice, arguments.stream);
    parameters_.data = arguments.inputs[0];
    parameters_.indices = arguments.inputs[1];
    parameters_.updates = arguments.inputs[2];
    parameters_.y = y;
    parameters_.keys = static_cast<uint64_t*>(arguments.workspace);
    if (parameters_.count == 0) return;
    launchThreads(keys_, parameters_.count, &parameters_, arguments.stream);
    sort_.launch(parameters_.keys, nullptr, arguments.stream);
    launchThreads(combine_, parameters_.count, &parameters_, arguments.stream, blockSize(parameters_.count));
  }

 private:
  const ops::ScatterReduce& op_;
  CUfunction keys_;
  CUfunction combine_;
  KeySort sort_;
  int64_t elementBytes_;
  size_t bytes_ = 0;
  ScatterReduceParameters parameters_;
};

}  // namespace

KernelRow kernelRow_scatter_reduce() { return ownRow<ops::ScatterReduce, ScatterReduceInstance>("scatter_reduce"); }

}  // namespace tenon::backends::cuda

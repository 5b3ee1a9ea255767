// Scatter in both modes: a copy of the data, unless it is there already, and the updates over it.
#include "ops/op/scatter.h"

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/indexing/indexed_elements.h"

namespace tenon::backends::cuda {
namespace {

class ScatterInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Scatter&, const Types& types) {
    return {"scatter.cu", {typeDefine("I", types.inputs.at(1))}, {}};
  }
  ScatterInstance(const ops::Scatter& op, const Types& types, const Module& module)
      : op_(op), module_(module), elementBytes_(bits(types.inputs.at(0)) / 8) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& data = shapes.outputs[0].dims;
    const Dims& indices = shapes.inputs[1].dims;
    bytes_ = data.count() * elementBytes_;
    updates_ = shapes.inputs[2].dims.count();
    if (updates_ == 0) return 0;
    if (op_.mode == ops::ScatterMode::kElement) {
      elements_.configure(module_, "tenon_scatter_element", op_.axis, data, indices, elementBytes_);
      return 0;
    }
    rows_ = {};
    rows_.length = static_cast<int32_t>(indices[indices.rank - 1]);
    for (int k = 0; k < rows_.length; ++k) {
      rows_.axisExtent[k] = data[k];
      rows_.axisRows[k] = data.count(k + 1, rows_.length);
    }
    inner_ = data.count(rows_.length, data.rank);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const y = arguments.outputs[0];
    if (bytes_ > 0 && arguments.inputs[0] != y) {
      cudaDevice().copy(y, arguments.inputs[0], static_cast<size_t>(bytes_), runtime::CopyKind::kDeviceToDevice,
                        arguments.stream);
    }
    if (updates_ == 0) return;
    if (op_.mode == ops::ScatterMode::kElement) {
      elements_.launch(y, arguments.inputs[1], arguments.inputs[2], arguments.stream);
      return;
    }
    const int64_t unit = unitOf(inner_ * elementBytes_, elementBytes_, y, arguments.inputs[2]);
    rows_.inner = inner_ * elementBytes_ / unit;
    rows_.count = updates_ * elementBytes_ / unit;
    rows_.y = y;
    rows_.indices = arguments.inputs[1];
    rows_.updates = arguments.inputs[2];
    if (unit != unit_) function_ = module_.function(fmt::format("tenon_scatter_{}", unit));
    unit_ = unit;
    launchThreads(function_, rows_.count, &rows_, arguments.stream, blockSize(rows_.count));
  }

 private:
  const ops::Scatter& op_;
  const Module& module_;
  int64_t elementBytes_;
  int64_t bytes_ = 0;
  int64_t updates_ = 0;
  int64_t inner_ = 1;
  int64_t unit_ = 0;
  CUfunction function_ = nullptr;
  ScatterParameters rows_;
  IndexedElements elements_;
};

}  // namespace

KernelRow kernelRow_scatter() { return ownRow<ops::Scatter, ScatterInstance>("scatter"); }

}  // namespace tenon::backends::cuda

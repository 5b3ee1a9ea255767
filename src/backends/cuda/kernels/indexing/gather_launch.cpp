// Gather in its three modes; rows move in the widest units that divide them.
#include "ops/op/gather.h"

#include "backends/cuda/kernels/indexing/indexed_elements.h"

namespace tenon::backends::cuda {
namespace {

class GatherInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Gather&, const Types& types) {
    return {"gather.cu", {typeDefine("I", types.inputs.at(1))}, {}};
  }
  GatherInstance(const ops::Gather& op, const Types& types, const Module& module)
      : op_(op), module_(module), elementBytes_(bits(types.inputs.at(0)) / 8) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& data = shapes.inputs[0].dims;
    const Dims& indices = shapes.inputs[1].dims;
    const Dims& y = shapes.outputs[0].dims;
    count_ = y.count();
    if (count_ == 0) return 0;
    const auto batch = static_cast<int>(op_.batchDims);
    const auto axis = static_cast<int>(op_.axis < 0 ? op_.axis + data.rank : op_.axis);
    rows_ = {};
    if (op_.mode == ops::GatherMode::kElement) {
      elements_.configure(module_, "tenon_gather_element", op_.axis, data, indices, elementBytes_);
    } else if (op_.mode == ops::GatherMode::kDefault) {
      rows_.picks = indices.count(batch, indices.rank);
      rows_.outer = data.count(batch, axis);
      rows_.extent = data[axis];
      inner_ = data.count(axis + 1, data.rank);
    } else {
      const auto length = static_cast<int>(indices[indices.rank - 1]);
      rows_.picks = indices.count(batch, indices.rank - 1);
      rows_.batchSize = data.count(batch, batch + length);
      rows_.length = length;
      for (int k = 0; k < length; ++k) {
        rows_.axisExtent[k] = data[batch + k];
        rows_.axisRows[k] = data.count(batch + k + 1, batch + length);
      }
      inner_ = data.count(batch + length, data.rank);
    }
    unit_ = 0;  // chosen at the launch, by the addresses
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    if (op_.mode == ops::GatherMode::kElement) {
      elements_.launch(arguments.inputs[0], arguments.inputs[1], arguments.outputs[0], arguments.stream);
      return;
    }
    const int64_t unit = unitOf(inner_ * elementBytes_, elementBytes_, arguments.inputs[0], arguments.outputs[0]);
    if (unit != unit_) chooseUnit(unit);
    rows_.data = arguments.inputs[0];
    rows_.indices = arguments.inputs[1];
    rows_.y = arguments.outputs[0];
    launchThreads(function_, rows_.count, &rows_, arguments.stream, blockSize(rows_.count));
  }

 private:
  void chooseUnit(int64_t unit) {
    unit_ = unit;
    rows_.inner = inner_ * elementBytes_ / unit;
    rows_.count = count_ * elementBytes_ / unit;
    const bool wide = rows_.count >= int64_t{1} << 31;
    const bool nd = op_.mode == ops::GatherMode::kNd;
    function_ = module_.function(nd ? fmt::format("tenon_gather_nd_{}", unit)
                                    : fmt::format("tenon_gather_{}{}", unit, wide ? "_wide" : ""));
  }

  const ops::Gather& op_;
  const Module& module_;
  int64_t elementBytes_;
  int64_t count_ = 0;
  int64_t inner_ = 1;
  int64_t unit_ = 0;
  CUfunction function_ = nullptr;
  GatherParameters rows_;
  IndexedElements elements_;
};

}  // namespace

KernelRow kernelRow_gather() { return ownRow<ops::Gather, GatherInstance>("gather"); }

}  // namespace tenon::backends::cuda

// A change of layout as strided copies, with zeros where the target pads.
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/strided_copy.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "ops/op/reformat.h"

namespace tenon::backends::cuda {
namespace {

class RelayoutInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Reformat&, const Types&) { return copyCode(); }
  RelayoutInstance(const ops::Reformat&, const Types&, const Module& module) : module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    copies_.clear();
    for (const auto& region : relayout(x.dims, x.layout, y.layout)) {
      copies_.emplace_back().configure(module_, region.space, region.from, region.fromOffset, region.to,
                                       region.toOffset, bits(x.dtype) / 8);
    }
    const auto bytes = storageBytes(y.dtype, y.dims, y.layout);
    padded_ = bytes == storageBytes(y.dtype, y.dims, Layout::kLinear) ? 0 : bytes;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (padded_ != 0) {
      check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(arguments.outputs[0]), 0, padded_,
                                 static_cast<CUstream>(arguments.stream)),
            "zeros for the padding of a layout");
    }
    for (auto& copy : copies_) copy.launch(arguments.inputs[0], arguments.outputs[0], arguments.stream);
  }

 private:
  const Module& module_;
  std::vector<StridedCopy> copies_;
  size_t padded_ = 0;  // bytes of a result with padding; else 0
};

}  // namespace

KernelRow kernelRow_relayout() { return ownRow<ops::Reformat, RelayoutInstance>("relayout"); }

}  // namespace tenon::backends::cuda

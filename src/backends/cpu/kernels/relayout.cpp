// A change of layout as strided copies, with zeros where the target pads.
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/strided_copy.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "ops/op/reformat.h"

namespace tenon::backends::cpu {
namespace {

class RelayoutInstance final : public runtime::KernelInstance {
 public:
  explicit RelayoutInstance(const ops::Reformat&) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    checkUser(x.pitch == 0 && y.pitch == 0, "cpu.relayout: tensors that lie within others");
    copies_.clear();
    for (const auto& region : relayout(x.dims, x.layout, y.layout)) {
      copies_.emplace_back().configure(region.space, region.from, region.fromOffset, region.to, region.toOffset,
                                       bits(x.dtype) / 8);
    }
    const auto bytes = storageBytes(y.dtype, y.dims, y.layout);
    padded_ = bytes == storageBytes(y.dtype, y.dims, Layout::kLinear) ? 0 : static_cast<int64_t>(bytes);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    constexpr int64_t kGrain = 1 << 17;
    auto* const to = static_cast<char*>(arguments.outputs[0]);
    platform::parallelFor(padded_, kGrain, [&](int64_t begin, int64_t end) {
      std::memset(to + begin, 0, static_cast<size_t>(end - begin));
    });
    for (const auto& copy : copies_) copy.run(arguments.inputs[0], to);
  }

 private:
  std::vector<StridedCopy> copies_;
  int64_t padded_ = 0;  // bytes of a result with padding; else 0
};

}  // namespace

KernelRow kernelRow_relayout() { return {"relayout", 1, &loadSimple<ops::Reformat, RelayoutInstance>}; }

}  // namespace tenon::backends::cpu

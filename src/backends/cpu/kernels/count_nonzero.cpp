// How many elements are not zero: bits of vectors, counted block by block.
#include "ops/op/count_nonzero.h"

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/nonzero_blocks.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

class CountNonZeroInstance final : public runtime::KernelInstance {
 public:
  explicit CountNonZeroInstance(const ops::CountNonZero&) {}

  size_t configure(const runtime::Shapes& shapes) override {
    blocks_.configure(shapes.inputs[0].dtype, shapes.inputs[0].dims.count());
    return static_cast<size_t>(blocks_.blocks()) * sizeof(int64_t);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto* const counts = static_cast<int64_t*>(arguments.workspace);
    runJobs(blocks_.blocks(), blocks_.elements(),
            [&](int64_t block) { counts[block] = blocks_.countIn(arguments.inputs[0], block); });
    int64_t sum = 0;
    for (int64_t block = 0; block < blocks_.blocks(); ++block) sum += counts[block];
    *static_cast<int64_t*>(arguments.outputs[0]) = sum;
  }

 private:
  NonZeroBlocks blocks_;
};

}  // namespace

KernelRow kernelRow_count_nonzero() {
  return {"count_nonzero", 1, &loadSimple<ops::CountNonZero, CountNonZeroInstance>};
}

}  // namespace tenon::backends::cpu

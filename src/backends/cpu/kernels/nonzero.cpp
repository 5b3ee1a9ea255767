// Coordinates of elements that are not zero: blocks are counted, then each writes its columns at once.
#include "ops/op/nonzero.h"

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/nonzero_blocks.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

class NonZeroInstance final : public runtime::KernelInstance {
 public:
  explicit NonZeroInstance(const ops::NonZero& op) : type_(op.indexType) {}

  size_t configure(const runtime::Shapes& shapes) override {
    dims_ = shapes.inputs[0].dims;
    columns_ = shapes.outputs[0].dims[1];
    blocks_.configure(shapes.inputs[0].dtype, dims_.count());
    return static_cast<size_t>(blocks_.blocks() + 1) * sizeof(int64_t);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (type_ == DataType::kI64) {
      write<int64_t>(arguments);
    } else {
      write<int32_t>(arguments);
    }
  }

 private:
  template <typename T>
  void write(const runtime::LaunchArguments& arguments) const {
    const void* const x = arguments.inputs[0];
    auto* const y = static_cast<T*>(arguments.outputs[0]);
    auto* const firsts = static_cast<int64_t*>(arguments.workspace);  // column of each block
    const int64_t blocks = blocks_.blocks();
    if (blocks > 1)
      runJobs(blocks, blocks_.elements() * 2, [&](int64_t block) { firsts[block + 1] = blocks_.countIn(x, block); });
    firsts[0] = 0;
    for (int64_t block = 1; block < blocks; ++block) firsts[block] += firsts[block - 1];
    int64_t end = 0;  // of the last block, which is not counted alone
    runJobs(blocks, blocks_.elements() * 16, [&](int64_t block) {
      const int64_t last = writeBlock(x, y, block, firsts[block]);
      if (block == blocks - 1) end = last;
    });
    for (int axis = 0; axis < dims_.rank; ++axis) {
      for (int64_t column = end; column < columns_; ++column) y[axis * columns_ + column] = 0;
    }
  }

  // Returns the column behind the last one.
  template <typename T>
  int64_t writeBlock(const void* x, T* y, int64_t block, int64_t column) const {
    const int last = dims_.rank - 1;
    if (last < 0) return column;
    const int64_t width = dims_[last];
    T* const inner = y + last * columns_;
    std::array<int64_t, kMaxRank> outer{};
    int64_t rowBegin = 0;
    int64_t rowEnd = 0;  // of the row that `outer` stands for: none yet
    blocks_.visit(x, block, [&](int64_t first, uint64_t bits) {
      for (; bits != 0 && column < columns_; bits &= bits - 1, ++column) {
        const int64_t element = first + std::countr_zero(bits);
        if (element >= rowEnd) {
          int64_t row = element / width;
          rowBegin = row * width;
          rowEnd = rowBegin + width;
          for (int axis = last - 1; axis >= 0; --axis) {
            outer[static_cast<size_t>(axis)] = row % dims_[axis];
            row /= dims_[axis];
          }
        }
        for (int axis = 0; axis < last; ++axis)
          y[axis * columns_ + column] = static_cast<T>(outer[static_cast<size_t>(axis)]);
        inner[column] = static_cast<T>(element - rowBegin);
      }
    });
    return column;
  }

  DataType type_;
  Dims dims_;
  int64_t columns_ = 0;
  NonZeroBlocks blocks_;
};

}  // namespace

KernelRow kernelRow_nonzero() { return {"nonzero", 1, &loadSimple<ops::NonZero, NonZeroInstance>}; }

}  // namespace tenon::backends::cpu

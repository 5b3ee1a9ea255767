// Pairs of columns turned by angles: lines of rows along the last axis in front of the columns.
#include "ops/op/rotate_pairs.h"

#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/rotate_simd.h"
#include "ops/strides.h"

namespace tenon::backends::cpu {
namespace {

class RotatePairsInstance final : public runtime::KernelInstance {
 public:
  explicit RotatePairsInstance(const ops::RotatePairs& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& x = shapes.inputs[0].dims;
    const Dims& angles = shapes.inputs[1].dims;
    pairs_ = angles[angles.rank - 1];
    width_ = x[x.rank - 1];
    Dims index = x;
    index[index.rank - 1] = pairs_;
    const auto strides = ops::broadcastStrides(angles, index);
    lines_ = index;
    lines_.rank = std::max(0, index.rank - 2);
    lineStrides_ = strides;
    line_ = index.rank < 2 ? 1 : index[index.rank - 2];
    angleStep_ = index.rank < 2 ? 0 : strides[static_cast<size_t>(index.rank - 2)];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const int64_t lines = lines_.count();
    if (lines * line_ * pairs_ == 0) return;
    constexpr int64_t kPairs = 4096;  // of a job
    const int64_t rows = std::clamp<int64_t>(kPairs / pairs_, 1, line_);
    const int64_t pieces = (line_ + rows - 1) / rows;
    const int64_t together = std::max<int64_t>(1, kPairs / (rows * pairs_));  // pieces of a job
    const int64_t all = lines * pieces;
    runJobs((all + together - 1) / together, lines * line_ * pairs_ * 2, [&](int64_t job) {
      for (int64_t i = job * together; i < std::min(all, (job + 1) * together); ++i)
        piece(i / pieces, i % pieces * rows, rows, arguments);
    });
  }

 private:
  void piece(int64_t line, int64_t first, int64_t rows, const runtime::LaunchArguments& arguments) const {
    int64_t angles = first * angleStep_;
    int64_t rest = line;
    for (int axis = lines_.rank - 1; axis >= 0; --axis) {
      angles += rest % lines_[axis] * lineStrides_[static_cast<size_t>(axis)];
      rest /= lines_[axis];
    }
    const int64_t row = line * line_ + first;
    RotatedRows t;
    t.x = static_cast<const float*>(arguments.inputs[0]) + row * width_;
    t.xStep = width_;
    t.y = static_cast<float*>(arguments.outputs[0]) + row * 2 * pairs_;
    t.yStep = 2 * pairs_;
    t.cosines = static_cast<const float*>(arguments.inputs[1]) + angles;
    t.sines = static_cast<const float*>(arguments.inputs[2]) + angles;
    t.angleStep = angleStep_;
    t.rows = std::min(rows, line_ - first);
    t.pairs = pairs_;
    t.interleaved = op_.interleaved;
    rotateRowsFunction()(t);
  }

  ops::RotatePairs op_;
  Dims lines_;  // the axes in front of that of a line
  ops::Strides lineStrides_{};
  int64_t line_ = 1, angleStep_ = 0, pairs_ = 0, width_ = 0;
};

}  // namespace

KernelRow kernelRow_rotate_pairs() { return {"rotate_pairs", 1, &loadSimple<ops::RotatePairs, RotatePairsInstance>}; }

}  // namespace tenon::backends::cpu

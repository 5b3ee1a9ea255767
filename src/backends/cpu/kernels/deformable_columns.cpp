// Columns of moved pixels: the places and weights of one tap are found once per group and used for its channels.
#include "ops/op/deformable_columns.h"

#include <cmath>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

class DeformableColumnsInstance final : public runtime::KernelInstance {
 public:
  explicit DeformableColumnsInstance(const ops::DeformableColumns& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    x_ = shapes.inputs[0].dims;
    rows_ = shapes.inputs[1].dims[2];
    width_ = shapes.inputs[1].dims[3];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    const auto* const offsets = static_cast<const float*>(arguments.inputs[1]);
    const auto* const mask = op_.hasMask ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    const int64_t taps = op_.kernel[0] * op_.kernel[1];
    const int64_t places = rows_ * width_;
    const int64_t each = x_[1] / op_.groups;
    const int64_t plane = x_[2] * x_[3];
    runJobs(x_[0] * op_.groups * taps, x_[0] * x_[1] * taps * places * 8, [&](int64_t job) {
      const int64_t tap = job % taps;
      const int64_t group = job / taps % op_.groups;
      const int64_t n = job / taps / op_.groups;
      const float* const shifts = offsets + job * 2 * places;
      for (int64_t place = 0; place < places; ++place) {
        const float row = corner(0, place / width_, tap / op_.kernel[1]) + shifts[place];
        const float column = corner(1, place % width_, tap % op_.kernel[1]) + shifts[places + place];
        const float factor = mask != nullptr ? mask[job * places + place] : 1;
        int64_t from[4];
        float weights[4];
        locate(row, column, factor, from, weights);
        for (int64_t c = 0; c < each; ++c) {
          const int64_t channel = group * each + c;
          const float* const image = x + (n * x_[1] + channel) * plane;
          out[((n * x_[1] + channel) * taps + tap) * places + place] =
              image[from[0]] * weights[0] + image[from[1]] * weights[1] + image[from[2]] * weights[2] +
              image[from[3]] * weights[3];
        }
      }
    });
  }

 private:
  float corner(size_t axis, int64_t position, int64_t step) const {
    return static_cast<float>(position * op_.strides[axis] - op_.padding[axis] + step * op_.dilations[axis]);
  }

  // The pixels around a place; those outside count nothing, and pixel 0 stands for them.
  void locate(float row, float column, float factor, int64_t (&from)[4], float (&weights)[4]) const {
    const bool near = row > -1 && row < static_cast<float>(x_[2]) && column > -1 && column < static_cast<float>(x_[3]);
    const float top = near ? std::floor(row) : 0;
    const float left = near ? std::floor(column) : 0;
    for (int i = 0; i < 4; ++i) {
      const int64_t y = static_cast<int64_t>(top) + i / 2;
      const int64_t z = static_cast<int64_t>(left) + i % 2;
      const bool inside = near && y >= 0 && y < x_[2] && z >= 0 && z < x_[3];
      from[i] = inside ? y * x_[3] + z : 0;
      weights[i] = inside ? (i / 2 == 0 ? 1 - (row - top) : row - top) *
                                (i % 2 == 0 ? 1 - (column - left) : column - left) * factor
                          : 0;
    }
  }

  const ops::DeformableColumns op_;
  Dims x_;
  int64_t rows_ = 0, width_ = 0;
};

}  // namespace

KernelRow kernelRow_deformable_columns() {
  return {"deformable_columns", 1, &loadSimple<ops::DeformableColumns, DeformableColumnsInstance>};
}

}  // namespace tenon::backends::cpu

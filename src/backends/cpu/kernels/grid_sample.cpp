// Pixels at the places of a grid: where they are and what they weigh is computed once for all channels.
#include "ops/op/grid_sample.h"

#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kPlaces = 256;  // of a job

struct Corners {
  int64_t pixel[4][kPlaces];
  float weight[4][kPlaces];
};

class GridSampleInstance final : public runtime::KernelInstance {
 public:
  explicit GridSampleInstance(const ops::GridSample& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    x_ = shapes.inputs[0].dims;
    y_ = shapes.outputs[0].dims;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    const auto* const grid = static_cast<const float*>(arguments.inputs[1]);
    auto* const y = static_cast<float*>(arguments.outputs[0]);
    const int64_t channels = x_[1], pixels = x_[2] * x_[3], places = y_[2] * y_[3];
    if (y_.count() == 0) return;
    if (pixels == 0) {
      std::fill(y, y + y_.count(), 0.0F);
      return;
    }
    const int64_t pieces = (places + kPlaces - 1) / kPlaces;
    runJobs(y_[0] * pieces, y_.count() * 8, [&](int64_t job) {
      const int64_t image = job / pieces, first = job % pieces * kPlaces;
      const int64_t count = std::min(kPlaces, places - first);
      Corners corners;
      locate(grid + (image * places + first) * 2, count, corners);
      for (int64_t channel = image * channels; channel < (image + 1) * channels; ++channel)
        sum(x + channel * pixels, corners, count, y + channel * places + first);
    });
  }

 private:
  void locate(const float* grid, int64_t count, Corners& corners) const {
    for (int64_t i = 0; i < count; ++i) {
      const auto across = ops::gridTaps(op_, grid[i * 2], x_[3]);
      const auto down = ops::gridTaps(op_, grid[i * 2 + 1], x_[2]);
      for (int corner = 0; corner < 4; ++corner) {
        const int a = corner / 2, b = corner % 2;
        corners.pixel[corner][i] = down.pixel[a] * x_[3] + across.pixel[b];
        corners.weight[corner][i] = down.weight[a] * across.weight[b];
      }
    }
  }

  void sum(const float* plane, const Corners& corners, int64_t count, float* y) const {
    for (int64_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const float weight = corners.weight[corner][i];
        const float pixel = plane[corners.pixel[corner][i]];
        sum += weight == 0 ? 0.0F : weight * pixel;  // a pixel that weighs nothing may be an infinity
      }
      y[i] = sum;
    }
  }

  const ops::GridSample op_;
  Dims x_, y_;
};

}  // namespace

KernelRow kernelRow_grid_sample() { return {"grid_sample", 1, &loadSimple<ops::GridSample, GridSampleInstance>}; }

}  // namespace tenon::backends::cpu

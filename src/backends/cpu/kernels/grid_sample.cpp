// Pixels at the places of a grid: where they are and what they weigh is computed once for all channels.
#include "ops/op/grid_sample.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/grid_sample_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

constexpr auto kPlaces = static_cast<int64_t>(kGridPlaces);  // of a job

class GridSampleInstance final : public runtime::KernelInstance {
 public:
  explicit GridSampleInstance(const ops::GridSample& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    x_ = shapes.inputs[0].dims;
    y_ = shapes.outputs[0].dims;
    checkUser(x_[2] * x_[3] <= std::numeric_limits<int32_t>::max(),
              "grid_sample: planes of {} x {} pixels; at most 2^31 - 1 are supported", x_[2], x_[3]);
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
    const size_t taps = op_.mode == ops::GridMode::kNearest ? 1 : 4;
    const int64_t pieces = (places + kPlaces - 1) / kPlaces;
    runJobs(y_[0] * pieces, y_.count() * 8, [&](int64_t job) {
      const int64_t image = job / pieces, first = job % pieces * kPlaces;
      const int64_t count = std::min(kPlaces, places - first);
      GridCorners corners;
      functions_.locate(op_, grid + (image * places + first) * 2, static_cast<size_t>(count),
                        static_cast<int32_t>(x_[2]), static_cast<int32_t>(x_[3]), corners);
      for (int64_t channel = image * channels; channel < (image + 1) * channels; ++channel)
        functions_.sum(x + channel * pixels, corners, taps, static_cast<size_t>(count), y + channel * places + first);
    });
  }

 private:
  const ops::GridSample op_;
  const GridSampleFunctions functions_ = gridSampleFunctions();
  Dims x_, y_;
};

}  // namespace

KernelRow kernelRow_grid_sample() { return {"grid_sample", 1, &loadSimple<ops::GridSample, GridSampleInstance>}; }

}  // namespace tenon::backends::cpu

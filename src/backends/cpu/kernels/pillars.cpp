// Points grouped by the cells of a grid: a table of cells, then the features of the pillars on all threads.
#include "ops/op/pillars.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

struct Cell {
  int64_t row, column;
  std::vector<int32_t> points;
};

class PillarsInstance final : public runtime::KernelInstance {
 public:
  explicit PillarsInstance(const ops::Pillars& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    clouds_ = shapes.inputs[0].dims[0];
    most_ = shapes.inputs[0].dims[1];
    numbers_ = shapes.inputs[0].dims[2];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    for (int64_t n = 0; n < clouds_; ++n) {
      const auto* const points = static_cast<const float*>(arguments.inputs[0]) + n * most_ * numbers_;
      const int64_t count = std::min<int64_t>(static_cast<const int32_t*>(arguments.inputs[1])[n], most_);
      const auto cells = group(points, count);
      const auto written = static_cast<int64_t>(cells.size());
      auto* const out = static_cast<float*>(arguments.outputs[0]) + n * op_.pillars * op_.points * op_.features;
      auto* const places = static_cast<int32_t*>(arguments.outputs[1]) + n * op_.pillars * 4;
      static_cast<int32_t*>(arguments.outputs[2])[n] = static_cast<int32_t>(written);
      std::fill(out + written * op_.points * op_.features, out + op_.pillars * op_.points * op_.features, 0.0F);
      std::fill(places + written * 4, places + op_.pillars * 4, 0);
      runJobs(written, written * op_.points * op_.features * 4, [&](int64_t p) {
        const Cell& cell = cells[static_cast<size_t>(p)];
        places[p * 4] = places[p * 4 + 1] = 0;
        places[p * 4 + 2] = static_cast<int32_t>(cell.row);
        places[p * 4 + 3] = static_cast<int32_t>(cell.column);
        describe(points, cell, out + p * op_.points * op_.features);
      });
    }
  }

 private:
  // The pillars that are written, with the points that they have.
  std::vector<Cell> group(const float* points, int64_t count) const {
    std::vector<Cell> cells;
    std::unordered_map<int64_t, int64_t> known;  // by row and column; beyond the limit too
    const auto columns = static_cast<int64_t>(std::ceil((op_.range[3] - op_.range[0]) / op_.size[0])) + 1;
    for (int64_t point = 0; point < count; ++point) {
      const float* const one = points + point * numbers_;
      bool inside = true;
      for (size_t axis = 0; axis < 3; ++axis) {
        const auto place = static_cast<double>(one[axis]);
        inside = inside && place >= op_.range[axis] && place < op_.range[axis + 3];
      }
      if (!inside) continue;
      const auto column = static_cast<int64_t>(std::floor((static_cast<double>(one[0]) - op_.range[0]) / op_.size[0]));
      const auto row = static_cast<int64_t>(std::floor((static_cast<double>(one[1]) - op_.range[1]) / op_.size[1]));
      const auto found = known.try_emplace(row * columns + column, static_cast<int64_t>(known.size())).first->second;
      if (found >= op_.pillars) continue;
      if (found == static_cast<int64_t>(cells.size())) cells.push_back({row, column, {}});
      auto& own = cells[static_cast<size_t>(found)].points;
      if (static_cast<int64_t>(own.size()) < op_.points) own.push_back(static_cast<int32_t>(point));
    }
    return cells;
  }

  void describe(const float* points, const Cell& cell, float* out) const {
    double mean[3] = {};
    for (const int32_t point : cell.points) {
      for (int axis = 0; axis < 3; ++axis) mean[axis] += static_cast<double>(points[point * numbers_ + axis]);
    }
    for (double& sum : mean) sum /= static_cast<double>(cell.points.size());
    const double middle[3] = {op_.range[0] + (static_cast<double>(cell.column) + 0.5) * op_.size[0],
                              op_.range[1] + (static_cast<double>(cell.row) + 0.5) * op_.size[1],
                              op_.range[2] + 0.5 * op_.size[2]};
    float* to = out;
    for (const int32_t point : cell.points) {
      const float* const one = points + point * numbers_;
      to = std::copy(one, one + numbers_, to);
      for (int axis = 0; axis < 3; ++axis) *to++ = static_cast<float>(static_cast<double>(one[axis]) - mean[axis]);
      const int64_t last = op_.features - numbers_ - 3;  // 2 or 3
      for (int64_t axis = 0; axis < last; ++axis)
        *to++ = static_cast<float>(static_cast<double>(one[axis]) - middle[axis]);
    }
    std::fill(to, out + op_.points * op_.features, 0.0F);
  }

  const ops::Pillars op_;
  int64_t clouds_ = 0, most_ = 0, numbers_ = 0;
};

}  // namespace

KernelRow kernelRow_pillars() { return {"pillars", 1, &loadSimple<ops::Pillars, PillarsInstance>}; }

}  // namespace tenon::backends::cpu

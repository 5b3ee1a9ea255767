// Regions of maps: the pixels and weights of a region's samples are found once and used for every channel; means are
// sums over the pixels that have a weight, however many samples there are.
#include "ops/op/roi_align.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

// One sample of one axis: two pixels and their weights; outside both weights are 0.
struct Sample {
  int32_t low, high;
  float lowWeight, highWeight;
};

class RoiAlignInstance final : public runtime::KernelInstance {
 public:
  explicit RoiAlignInstance(const ops::RoiAlign& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    regions_ = shapes.outputs[0].dims[0];
    channels_ = shapes.outputs[0].dims[1];
    maps_.clear();
    for (size_t i = 2; i < shapes.inputs.size(); ++i) maps_.push_back(shapes.inputs[i].dims);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const regions = static_cast<const float*>(arguments.inputs[0]);
    const auto* const origins = static_cast<const int32_t*>(arguments.inputs[1]);
    const int64_t cells = op_.height * op_.width;
    const int64_t samples = std::max<int64_t>(op_.samples * op_.samples, 4);
    runJobs(regions_, regions_ * channels_ * cells * samples * 8, [&](int64_t r) {
      auto* const out = static_cast<float*>(arguments.outputs[0]) + r * channels_ * cells;
      const int64_t level = origins[r * 2];
      const int64_t image = origins[r * 2 + 1];
      const bool exists = level >= 0 && level < static_cast<int64_t>(maps_.size()) && image >= 0 && image < maps_[0][0];
      if (!exists) return std::fill(out, out + channels_ * cells, 0.0F);
      const Dims& map = maps_[static_cast<size_t>(level)];
      const int64_t plane = map[2] * map[3];
      const auto* const first =
          static_cast<const float*>(arguments.inputs[static_cast<size_t>(level) + 2]) + image * channels_ * plane;
      const float* const ends = regions + r * 4;
      const Axis rows(ops::RoiAxis(op_, ends[0], ends[2], op_.height, map[2]), op_.height);
      const Axis columns(ops::RoiAxis(op_, ends[1], ends[3], op_.width, map[3]), op_.width);
      if (op_.pool == ops::RoiPool::kMean) {
        const Weights vertical(rows, op_.height);
        const Weights horizontal(columns, op_.width);
        for (int64_t c = 0; c < channels_; ++c) mean(first + c * plane, map[3], vertical, horizontal, out + c * cells);
      } else {
        for (int64_t c = 0; c < channels_; ++c) pool(first + c * plane, map[3], rows, columns, out + c * cells);
      }
    });
  }

 private:
  // All samples of one axis, cell by cell.
  struct Axis {
    Axis(const ops::RoiAxis& axis, int64_t cells) {
      starts.push_back(0);
      for (int64_t cell = 0; cell < cells; ++cell) {
        for (int64_t i = 0; i < axis.count(cell); ++i) {
          const ops::RoiTap tap = axis.tap(cell, i);
          const float inside = tap.inside ? 1.0F : 0.0F;
          samples.push_back({static_cast<int32_t>(tap.low), static_cast<int32_t>(tap.high), (1 - tap.part) * inside,
                             tap.part * inside});
        }
        starts.push_back(samples.size());
      }
    }
    std::vector<Sample> samples;
    std::vector<size_t> starts;
  };

  // The mean of a cell is a sum over pixels, whose weights are those of its row times those of its column: what the
  // samples of one axis give each pixel, over their number.
  struct Weights {
    Weights(const Axis& axis, int64_t cells) {
      starts.push_back(0);
      for (size_t cell = 0; cell < static_cast<size_t>(cells); ++cell) {
        const size_t begin = axis.starts[cell];
        const size_t end = axis.starts[cell + 1];
        const float share = end > begin ? 1 / static_cast<float>(end - begin) : 0;
        for (size_t i = begin; i < end; ++i) {
          add(axis.samples[i].low, axis.samples[i].lowWeight * share);
          add(axis.samples[i].high, axis.samples[i].highWeight * share);
        }
        starts.push_back(pixels.size());
      }
    }
    void add(int32_t pixel, float weight) {
      if (weight == 0) return;
      const size_t near =
          std::max(starts.back(), pixels.size() - std::min<size_t>(pixels.size(), 3));  // samples are in order
      for (size_t i = pixels.size(); i-- > near;) {
        if (pixels[i] == pixel) {
          weights[i] += weight;
          return;
        }
      }
      pixels.push_back(pixel);
      weights.push_back(weight);
    }
    std::vector<int32_t> pixels;
    std::vector<float> weights;
    std::vector<size_t> starts;
  };

  void mean(const float* plane, int64_t width, const Weights& rows, const Weights& columns, float* out) const {
    for (size_t i = 0; i < static_cast<size_t>(op_.height); ++i) {
      for (size_t j = 0; j < static_cast<size_t>(op_.width); ++j) {
        float sum = 0;
        for (size_t y = rows.starts[i]; y < rows.starts[i + 1]; ++y) {
          const float* const row = plane + rows.pixels[y] * width;
          float line = 0;
          for (size_t x = columns.starts[j]; x < columns.starts[j + 1]; ++x)
            line += row[columns.pixels[x]] * columns.weights[x];
          sum += line * rows.weights[y];
        }
        *out++ = sum;
      }
    }
  }

  void pool(const float* plane, int64_t width, const Axis& rows, const Axis& columns, float* out) const {
    for (int64_t i = 0; i < op_.height; ++i) {
      for (int64_t j = 0; j < op_.width; ++j) {
        const auto row = static_cast<size_t>(i);
        const auto column = static_cast<size_t>(j);
        const size_t count =
            (rows.starts[row + 1] - rows.starts[row]) * (columns.starts[column + 1] - columns.starts[column]);
        float best = -std::numeric_limits<float>::infinity();
        for (size_t y = rows.starts[row]; y < rows.starts[row + 1]; ++y) {
          const Sample& a = rows.samples[y];
          const float* const low = plane + a.low * width;
          const float* const high = plane + a.high * width;
          for (size_t x = columns.starts[column]; x < columns.starts[column + 1]; ++x) {
            const Sample& b = columns.samples[x];
            const float corners[4] = {
                low[b.low] * (a.lowWeight * b.lowWeight), low[b.high] * (a.lowWeight * b.highWeight),
                high[b.low] * (a.highWeight * b.lowWeight), high[b.high] * (a.highWeight * b.highWeight)};
            const bool isWeighted = op_.pool == ops::RoiPool::kWeightedMax;
            best = std::max(best, isWeighted ? *std::max_element(corners, corners + 4)
                                             : corners[0] + corners[1] + corners[2] + corners[3]);
          }
        }
        *out++ = count == 0 ? 0 : best;
      }
    }
  }

  const ops::RoiAlign op_;
  int64_t regions_ = 0, channels_ = 0;
  std::vector<Dims> maps_;
};

}  // namespace

KernelRow kernelRow_roi_align() { return {"roi_align", 1, &loadSimple<ops::RoiAlign, RoiAlignInstance>}; }

}  // namespace tenon::backends::cpu

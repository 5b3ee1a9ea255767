// Weighted sums of values at places of maps, a row of a head's columns at a time.
#include "ops/op/deformable_attention.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

class DeformableAttentionInstance final : public runtime::KernelInstance {
 public:
  explicit DeformableAttentionInstance(const ops::DeformableAttention&) {}

  size_t configure(const runtime::Shapes& shapes) override {
    value_ = shapes.inputs[0].dims;
    places_ = shapes.inputs[3].dims;
    shapesType_ = shapes.inputs[1].dtype;
    startsType_ = shapes.inputs[2].dtype;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const value = static_cast<const float*>(arguments.inputs[0]);
    const auto* const places = static_cast<const float*>(arguments.inputs[3]);
    const auto* const weights = static_cast<const float*>(arguments.inputs[4]);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    const int64_t width = value_[3];
    const int64_t heads = value_[2];
    const int64_t maps = places_[3];
    const int64_t points = places_[4];
    const int64_t rows = places_[0] * places_[1] * heads;
    runJobs(rows, rows * maps * points * width * 4, [&](int64_t row) {
      float* const sums = out + row * width;
      std::fill(sums, sums + width, 0.0F);
      const int64_t image = row / heads / places_[1];
      const float* const head = value + (image * value_[1] * heads + row % heads) * width;
      for (int64_t map = 0; map < maps; ++map) {
        const int64_t height = whole(arguments.inputs[1], shapesType_, map * 2);
        const int64_t columns = whole(arguments.inputs[1], shapesType_, map * 2 + 1);
        const int64_t start = whole(arguments.inputs[2], startsType_, map);
        constexpr int64_t kMost = ops::DeformableAttention::kMost;
        if (height > kMost || columns > kMost || start > kMost || start < -kMost) continue;
        for (int64_t point = 0; point < points; ++point) {
          const int64_t at = (row * maps + map) * points + point;
          const float x = places[at * 2] * static_cast<float>(columns) - 0.5F;
          const float y = places[at * 2 + 1] * static_cast<float>(height) - 0.5F;
          const bool near = y > -1 && y < static_cast<float>(height) && x > -1 && x < static_cast<float>(columns);
          if (!near) continue;
          const float top = std::floor(y);
          const float left = std::floor(x);
          for (int corner = 0; corner < 4; ++corner) {
            const int64_t i = static_cast<int64_t>(top) + corner / 2;
            const int64_t j = static_cast<int64_t>(left) + corner % 2;
            const int64_t from = start + i * columns + j;
            if (i < 0 || i >= height || j < 0 || j >= columns || from < 0 || from >= value_[1]) continue;
            const float part = (corner / 2 == 0 ? 1 - (y - top) : y - top) *
                               (corner % 2 == 0 ? 1 - (x - left) : x - left) * weights[at];
            const float* const __restrict source = head + from * heads * width;
            float* const __restrict sum = sums;
            for (int64_t d = 0; d < width; ++d) sum[d] += part * source[d];
          }
        }
      }
    });
  }

 private:
  static int64_t whole(const void* data, DataType type, int64_t i) {
    return type == DataType::kI64 ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
  Dims value_, places_;
  DataType shapesType_ = DataType::kI32, startsType_ = DataType::kI32;
};

}  // namespace

KernelRow kernelRow_deformable_attention() {
  return {"deformable_attention", 1, &loadSimple<ops::DeformableAttention, DeformableAttentionInstance>};
}

}  // namespace tenon::backends::cpu

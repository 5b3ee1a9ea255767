// DeformableAttention: shape rule and reference in double.
#include "ops/op/deformable_attention.h"

#include <cmath>

#include "ops/infer_util.h"

namespace tenon::ops {

Facts DeformableAttention::facts() const { return {}; }

void DeformableAttention::infer(InferContext& context) const {
  const auto& value = context.input(0);
  const auto& shapes = context.input(1);
  const auto& starts = context.input(2);
  const auto& places = context.input(3);
  const auto& weights = context.input(4);
  checkFloating(context, 0);
  checkSameType(context, 0, 3);
  checkSameType(context, 0, 4);
  for (const auto* index : {&shapes, &starts}) {
    context.check(index->dtype == DataType::kI32 || index->dtype == DataType::kI64,
                  "shapes and starts have types {} and {}; expected i32 or i64", name(shapes.dtype),
                  name(starts.dtype));
  }
  context.check(value.rank() == 4, "value {}; expected [N, S, M, D]", text(value.shape));
  context.check(shapes.rank() == 2 && shapes.shape[1].isConstant(2), "shapes {}; expected [L, 2]", text(shapes.shape));
  context.check(starts.rank() == 1, "starts {}; expected [L]", text(starts.shape));
  context.check(places.rank() == 6 && places.shape[5].isConstant(2), "places {}; expected [N, Q, M, L, P, 2]",
                text(places.shape));
  context.check(weights.rank() == 5, "weights {}; expected [N, Q, M, L, P]", text(weights.shape));
  for (size_t i = 0; i < 5; ++i) context.merge(places.shape[i], weights.shape[i], "places and weights");
  const Extent images = context.merge(value.shape[0], places.shape[0], "images");
  const Extent heads = context.merge(value.shape[2], places.shape[2], "heads");
  context.merge(shapes.shape[0], places.shape[3], "maps");
  context.merge(starts.shape[0], shapes.shape[0], "maps");
  context.output(value.dtype, {images, places.shape[1], heads, value.shape[3]});
}

void DeformableAttention::evaluate(const EvalContext& context) const {
  const auto& value = context.inputs[0];
  const auto& places = context.inputs[3];
  const auto& weights = context.inputs[4];
  const auto& out = context.outputs[0];
  const int64_t all = value.dims[1];
  const int64_t heads = value.dims[2];
  const int64_t width = value.dims[3];
  const int64_t queries = places.dims[1];
  const int64_t maps = places.dims[3];
  const int64_t points = places.dims[4];
  std::vector<double> sums(static_cast<size_t>(width));
  for (int64_t row = 0; row < places.dims[0] * queries * heads; ++row) {
    const int64_t image = row / (queries * heads);
    const int64_t head = row % heads;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t map = 0; map < maps; ++map) {
      const int64_t height = context.inputs[1].loadInt(map * 2);
      const int64_t columns = context.inputs[1].loadInt(map * 2 + 1);
      const int64_t start = context.inputs[2].loadInt(map);
      if (height > kMost || columns > kMost || start > kMost || start < -kMost) continue;
      for (int64_t point = 0; point < points; ++point) {
        const int64_t at = (row * maps + map) * points + point;
        const double x = places.loadDouble(at * 2) * static_cast<double>(columns) - 0.5;
        const double y = places.loadDouble(at * 2 + 1) * static_cast<double>(height) - 0.5;
        const bool near = y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(columns);
        if (!near) continue;
        for (int corner = 0; corner < 4; ++corner) {
          const auto i = static_cast<int64_t>(std::floor(y)) + corner / 2;
          const auto j = static_cast<int64_t>(std::floor(x)) + corner % 2;
          const int64_t from = start + i * columns + j;
          if (i < 0 || i >= height || j < 0 || j >= columns || from < 0 || from >= all) continue;
          const double part = (corner / 2 == 0 ? 1 - (y - std::floor(y)) : y - std::floor(y)) *
                              (corner % 2 == 0 ? 1 - (x - std::floor(x)) : x - std::floor(x)) * weights.loadDouble(at);
          const int64_t first = ((image * all + from) * heads + head) * width;
          for (int64_t d = 0; d < width; ++d) sums[static_cast<size_t>(d)] += part * value.loadDouble(first + d);
        }
      }
    }
    for (int64_t d = 0; d < width; ++d) out.storeDouble(row * width + d, sums[static_cast<size_t>(d)]);
  }
}

OperatorInfo operatorInfo_deformable_attention() { return describe<DeformableAttention>(); }

}  // namespace tenon::ops

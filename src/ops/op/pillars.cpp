// Pillars: shape rule and reference.
#include "ops/op/pillars.h"

#include <cmath>
#include <cstring>
#include <map>

#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

struct Cell {
  int64_t row;
  int64_t column;
  std::vector<int64_t> points;
};

}  // namespace

Facts Pillars::facts() const { return {}; }

void Pillars::infer(InferContext& context) const {
  const auto& cloud = context.input(0);
  const auto& counts = context.input(1);
  context.check(cloud.dtype == DataType::kF32 && cloud.rank() == 3, "points {} {}; expected f32 [N, M, C]",
                name(cloud.dtype), text(cloud.shape));
  context.check(counts.dtype == DataType::kI32 && counts.rank() == 1, "counts {} {}; expected i32 [N]",
                name(counts.dtype), text(counts.shape));
  const Extent images = context.merge(cloud.shape[0], counts.shape[0], "clouds and counts");
  context.check(range.size() == 6 && size.size() == 3 && size[0] > 0 && size[1] > 0,
                "range has {} numbers and size {}; expected 6 and 3, of which the first two are above 0", range.size(),
                size.size());
  context.check(pillars >= 1 && points >= 1, "pillars is {} and points {}; expected 1 or more", pillars, points);
  context.check(cloud.shape[2].isConstant() && cloud.shape[2].constant() >= 3 &&
                    (features == cloud.shape[2].constant() + 5 || features == cloud.shape[2].constant() + 6),
                "{} features of points with {} numbers; expected 5 or 6 more", features, cloud.shape[2].text());
  context.output(DataType::kF32, {images, Extent(pillars), Extent(points), Extent(features)});
  context.output(DataType::kI32, {images, Extent(pillars), Extent(4)});
  context.output(DataType::kI32, {images});
}

void Pillars::evaluate(const EvalContext& context) const {
  const auto& cloud = context.inputs[0];
  const int64_t most = cloud.dims[1];
  const int64_t numbers = cloud.dims[2];
  for (const auto& output : context.outputs) {
    if (output.bytes() != 0) std::memset(output.data, 0, output.bytes());
  }
  for (int64_t n = 0; n < cloud.dims[0]; ++n) {
    const auto number = [&](int64_t point, int64_t i) { return cloud.loadDouble((n * most + point) * numbers + i); };
    std::vector<Cell> cells;
    std::map<std::pair<int64_t, int64_t>, size_t> known;
    const int64_t count = std::min(context.inputs[1].loadInt(n), most);
    for (int64_t point = 0; point < count; ++point) {
      bool inside = true;
      for (size_t axis = 0; axis < 3; ++axis) {
        const double place = number(point, static_cast<int64_t>(axis));
        inside = inside && place >= range[axis] && place < range[axis + 3];
      }
      if (!inside) continue;
      const auto column = static_cast<int64_t>(std::floor((number(point, 0) - range[0]) / size[0]));
      const auto row = static_cast<int64_t>(std::floor((number(point, 1) - range[1]) / size[1]));
      const auto [found, isNew] = known.try_emplace({row, column}, cells.size());
      if (isNew) cells.push_back({row, column, {}});
      auto& own = cells[found->second].points;
      if (static_cast<int64_t>(own.size()) < points) own.push_back(point);
    }
    const int64_t written = std::min(static_cast<int64_t>(cells.size()), pillars);
    context.outputs[2].storeInt(n, written);
    for (int64_t p = 0; p < written; ++p) {
      const Cell& cell = cells[static_cast<size_t>(p)];
      context.outputs[1].storeInt((n * pillars + p) * 4 + 2, cell.row);
      context.outputs[1].storeInt((n * pillars + p) * 4 + 3, cell.column);
      double mean[3] = {};
      for (int64_t axis = 0; axis < 3; ++axis) {
        for (const int64_t point : cell.points) mean[axis] += number(point, axis);
        mean[axis] /= static_cast<double>(cell.points.size());
      }
      const double middle[3] = {range[0] + (static_cast<double>(cell.column) + 0.5) * size[0],
                                range[1] + (static_cast<double>(cell.row) + 0.5) * size[1], range[2] + 0.5 * size[2]};
      for (size_t k = 0; k < cell.points.size(); ++k) {
        const int64_t point = cell.points[k];
        int64_t at = ((n * pillars + p) * points + static_cast<int64_t>(k)) * features;
        const int64_t end = at + features;
        const auto put = [&](double value) {
          if (at < end) context.outputs[0].storeDouble(at++, value);
        };
        for (int64_t i = 0; i < numbers; ++i) put(number(point, i));
        for (int64_t axis = 0; axis < 3; ++axis) put(number(point, axis) - mean[axis]);
        for (int64_t axis = 0; axis < 3; ++axis) put(number(point, axis) - middle[axis]);
      }
    }
  }
}

OperatorInfo operatorInfo_pillars() { return describe<Pillars>(); }

}  // namespace tenon::ops

// Rows by number with a row of zeros in front, so that -1 names it.
#include "common/boxes.h"

namespace tenon::plugins {

Kept suppress(const Value& boxes, const Value& scores, const std::string& options) {
  const auto out = boxes.layers().addMany(fmt::format("padded_nms{{{}}}", options), {boxes, scores}, 4);
  return {out[0], out[1], out[2], out[3]};
}

Value rowsOrZero(const Value& rows, const Value& numbers) {
  const Sizes sizes = {rows.dim(0), rows.dim(1) + Size(1), rows.dim(2)};
  const Value withZero =
      rows.layers().add(fmt::format("slice{{start=[0,-1,0] size={} mode=fill}}", text(sizes)), {rows});
  return withZero.gather(numbers.scalar("max(x0,-1);add(t0,1)"), 1, 1);
}

Value keptBoxes(const Value& boxes, const Kept& kept) {
  const Sizes shape = boxes.shape();
  Value numbers = kept.boxes;
  if (!(shape[2] == Size(1))) {
    numbers =
        boxes.layers().pointwise(fmt::format("mul(x0,{});add(t0,x1)", shape[2].number()), {kept.boxes, kept.classes});
  }
  return rowsOrZero(boxes.reshape({shape[0], shape[1] * shape[2], Size(4)}), numbers);
}

std::vector<Value> columns(const Value& boxes) {
  std::vector<Value> result;
  for (int64_t i = 0; i < 4; ++i) result.push_back(boxes.slice(-1, Size(i), Size(1)));
  return result;
}

Value boxesOf(const std::vector<Value>& columns) { return columns[0].layers().concat(columns, -1); }

}  // namespace tenon::plugins

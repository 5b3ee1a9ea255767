// DeformableColumns: shape rule and reference in double.
#include "ops/op/deformable_columns.h"

#include <cmath>

#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

// The value between four pixels, 0 for those outside; far away nothing is converted.
double sample(const TensorView& x, int64_t plane, double row, double column) {
  const int64_t height = x.dims[2];
  const int64_t width = x.dims[3];
  const bool near = row > -1 && row < static_cast<double>(height) && column > -1 && column < static_cast<double>(width);
  if (!near) return 0;  // also NaN
  const double top = std::floor(row);
  const double left = std::floor(column);
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    const auto y = static_cast<int64_t>(top) + i / 2;
    const auto z = static_cast<int64_t>(left) + i % 2;
    if (y < 0 || y >= height || z < 0 || z >= width) continue;
    const double weight =
        (i / 2 == 0 ? 1 - (row - top) : row - top) * (i % 2 == 0 ? 1 - (column - left) : column - left);
    sum += weight * x.loadDouble((plane * height + y) * width + z);
  }
  return sum;
}

}  // namespace

Facts DeformableColumns::facts() const { return {}; }

void DeformableColumns::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto& offsets = context.input(1);
  checkFloating(context, 0);
  checkSameType(context, 0, 1);
  context.check(x.rank() == 4 && offsets.rank() == 4, "x {} and offsets {}; expected 4 axes", text(x.shape),
                text(offsets.shape));
  for (const auto* pair : {&kernel, &strides, &padding, &dilations}) {
    context.check(pair->size() == 2, "kernel, strides, padding and dilations have two numbers each");
  }
  context.check(kernel[0] >= 1 && kernel[1] >= 1 && strides[0] >= 1 && strides[1] >= 1 && padding[0] >= 0 &&
                    padding[1] >= 0 && dilations[0] >= 1 && dilations[1] >= 1 && groups >= 1,
                "kernel, strides, dilations and groups must be 1 or more, padding 0 or more");
  const int64_t taps = kernel[0] * kernel[1];
  context.check(!x.shape[1].isConstant() || x.shape[1].constant() % groups == 0, "{} channels in {} groups",
                x.shape[1].text(), groups);
  const Extent images = context.merge(x.shape[0], offsets.shape[0], "images of x and offsets");
  context.merge(offsets.shape[1], Extent(groups * taps * 2), "shifts");
  Shape places;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = dilations[i] * (kernel[i] - 1) + 1 - 2 * padding[i];
    const Extent room = x.shape[i + 2] - Extent(reach);
    context.check(!room.isConstant() || room.constant() >= 0, "axis {}: the kernel is larger than the input", i + 2);
    places.push_back(context.merge(floorDiv(room, Extent(strides[i])) + Extent(1), offsets.shape[i + 2], "places"));
  }
  if (hasMask) {
    const auto& mask = context.input(2);
    checkSameType(context, 0, 2);
    context.check(mask.rank() == 4, "mask {}; expected 4 axes", text(mask.shape));
    context.merge(mask.shape[0], images, "images of x and mask");
    context.merge(mask.shape[1], Extent(groups * taps), "factors of the mask");
    for (size_t i = 0; i < 2; ++i) context.merge(mask.shape[i + 2], places[i], "places of the mask");
  }
  context.output(x.dtype, {images, x.shape[1] * Extent(taps), places[0] * places[1]});
}

void DeformableColumns::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& offsets = context.inputs[1];
  const auto& out = context.outputs[0];
  const int64_t taps = kernel[0] * kernel[1];
  const int64_t channels = x.dims[1];
  const int64_t width = offsets.dims[3];
  const int64_t places = offsets.dims[2] * width;
  int64_t at = 0;
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t group = c / std::max<int64_t>(channels / groups, 1);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t first = (n * groups + group) * taps + tap;
        for (int64_t place = 0; place < places; ++place, ++at) {
          const auto corner = [&](size_t axis, int64_t position, int64_t step) {
            return static_cast<double>(position * strides[axis] - padding[axis] + step * dilations[axis]);
          };
          const double row = corner(0, place / width, tap / kernel[1]) + offsets.loadDouble(first * 2 * places + place);
          const double column =
              corner(1, place % width, tap % kernel[1]) + offsets.loadDouble((first * 2 + 1) * places + place);
          const double factor = hasMask ? context.inputs[2].loadDouble(first * places + place) : 1;
          out.storeDouble(at, sample(x, n * channels + c, row, column) * factor);
        }
      }
    }
  }
}

OperatorInfo operatorInfo_deformable_columns() { return describe<DeformableColumns>(); }

}  // namespace tenon::ops

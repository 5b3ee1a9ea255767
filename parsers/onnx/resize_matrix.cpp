// Each result along an axis is a sum of inputs with constant weights; nearest neighbours are gathered.
#include "resize_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/fold.h"

namespace tenon::parsers::onnx {
namespace {

// The place in the input of element `at` of the result.
double placeOf(const ResizeRule& rule, const ResizedAxis& axis, int64_t extent, int64_t at) {
  const auto x = static_cast<double>(at);
  const auto in = static_cast<double>(extent);
  const auto out = static_cast<double>(axis.size);
  const std::string& name = rule.coordinates;
  if (name == "half_pixel" || (name == "pytorch_half_pixel" && axis.size > 1)) {
    return (x + 0.5) / axis.scale - 0.5;
  }
  if (name == "pytorch_half_pixel") {
    return 0;
  }
  if (name == "half_pixel_symmetric") {
    const double offset = in / 2 * (1 - out / (in * axis.scale));
    return offset + (x + 0.5) / axis.scale - 0.5;
  }
  if (name == "align_corners") {
    return axis.size > 1 ? x * (in - 1) / (out - 1) : 0;
  }
  if (name == "asymmetric") {
    return x / axis.scale;
  }
  if (name == "tf_half_pixel_for_nn") {
    return (x + 0.5) / axis.scale;
  }
  if (name == "tf_crop_and_resize") {
    return axis.size > 1 ? axis.begin * (in - 1) + x * (axis.end - axis.begin) * (in - 1) / (out - 1)
                         : 0.5 * (axis.begin + axis.end) * (in - 1);
  }
  fail(FaultKind::kUnsupportedAttribute,
       fmt::format("coordinate_transformation_mode = '{}'; expected half_pixel, half_pixel_symmetric, "
                   "pytorch_half_pixel, align_corners, asymmetric, tf_half_pixel_for_nn or tf_crop_and_resize",
                   name));
}

double nearestOf(const ResizeRule& rule, double place) {
  if (rule.rounding == "round_prefer_floor") {
    return std::ceil(place - 0.5);
  }
  if (rule.rounding == "round_prefer_ceil") {
    return std::floor(place + 0.5);
  }
  return rule.rounding == "floor" ? std::floor(place) : std::ceil(place);
}

double cubicKernel(double t, double a) {
  t = std::fabs(t);
  if (t <= 1) {
    return ((a + 2) * t - (a + 3)) * t * t + 1;
  }
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// Adds the weights of one result to a row of the matrix; what lies outside counts for the border, or not at all.
void addWeights(const ResizeRule& rule, const ResizedAxis& axis, double place, std::vector<double>& row) {
  const bool cubic = rule.mode == "cubic";
  const double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (cubic ? 2.0 : 1.0) / shrink;
  const auto extent = static_cast<int64_t>(row.size());
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::ceil(place - reach)); static_cast<double>(i) <= place + reach; ++i) {
    const double t = (static_cast<double>(i) - place) * shrink;
    double weight = cubic ? cubicKernel(t, rule.cubic) : std::max(1 - std::fabs(t), 0.0);
    if (rule.excludeOutside && (i < 0 || i >= extent)) {
      weight = 0;
    }
    sum += weight;
    row[static_cast<size_t>(std::clamp<int64_t>(i, 0, extent - 1))] += weight;
  }
  for (double& weight : row) {
    weight = sum != 0 ? weight / sum : weight;
  }
}

Term alongAxis(const Term& x, int64_t axis, const Term& matrix) {
  std::vector<int32_t> swapped(static_cast<size_t>(x.rank()));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<size_t>(axis)], swapped.back());
  const Term rows = x.rank() == 1 ? x.unsqueeze({0}) : x.transpose(swapped);
  const Term result = rows.multiply(matrix, false, true);
  return x.rank() == 1 ? result.squeeze({0}) : result.transpose(swapped);
}

}  // namespace

Term resizedByMatrices(const Term& x, const ResizeRule& rule, const std::vector<ResizedAxis>& axes) {
  NetworkWriter& writer = x.writer();
  const bool nearest = rule.mode == "nearest";
  const DataType type = x.type();
  Term result = nearest || isFloating(type) ? x : x.cast(DataType::kFLOAT);
  std::optional<Term> outside;
  for (const ResizedAxis& axis : axes) {
    const int64_t extent = x.fixedDim(axis.axis, "an axis that is resized");
    if (axis.size < 1 || extent < 1 || axis.size > INT32_MAX || axis.size * extent > kMovementLimit) {
      fail(FaultKind::kUnsupportedShape, fmt::format("axis {} is resized from {} to {}; expected 1 or more, and {} "
                                                     "weights at most",
                                                     axis.axis, extent, axis.size, kMovementLimit));
    }
    std::vector<int64_t> indices;
    std::vector<int64_t> beyond;
    std::vector<double> weights;
    for (int64_t i = 0; i < axis.size; ++i) {
      const double place = placeOf(rule, axis, extent, i);
      beyond.push_back(place < 0 || place > static_cast<double>(extent - 1) ? 1 : 0);
      const auto last = static_cast<double>(extent - 1);
      indices.push_back(static_cast<int64_t>(std::clamp(nearestOf(rule, place), 0.0, last)));
      std::vector<double> row(nearest ? 0 : static_cast<size_t>(extent), 0.0);
      if (!nearest) {
        addWeights(rule, axis, place, row);
      }
      weights.insert(weights.end(), row.begin(), row.end());
    }
    if (rule.coordinates == "tf_crop_and_resize") {
      std::vector<int64_t> others;
      for (int64_t i = 0; i < x.rank(); ++i) {
        if (i != axis.axis) {
          others.push_back(i);
        }
      }
      const Term row = integers(writer, DataType::kBOOL, {axis.size}, beyond).unsqueeze(others);
      outside = outside ? either(*outside, row) : row;
    }
    result = nearest ? result.gather(integers(writer, DataType::kINT32, {axis.size}, indices), axis.axis)
                     : alongAxis(result, axis.axis, reals(writer, result.type(), {axis.size, extent}, weights));
  }
  if (outside) {
    result = where(*outside, result.number(rule.extrapolation), result);
  }
  return result.cast(type);
}

}  // namespace tenon::parsers::onnx

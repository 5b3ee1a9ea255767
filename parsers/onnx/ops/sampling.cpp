// Operators that read parts of images: RoiAlign and DeformConv between their pixels, by gathers of the four around, and
// MaxRoiPool.
#include <algorithm>
#include <cmath>
#include <functional>

#include "operator_table.h"
#include "registered_plugin.h"
#include "spatial_attributes.h"

namespace tenon::parsers::onnx::ops_sampling {
namespace {

// Calls `visit` for each of the four pixels around (y, x) with row, column (clamped, INT32), weight, and the
// coordinates before clamping.
using Corner = std::function<void(const Term& row, const Term& column, const Term& weight, const Term& inside)>;

void forEachCorner(const Term& y, const Term& x, int64_t height, int64_t width, const Corner& visit) {
  const Term top = floorOf(y);
  const Term left = floorOf(x);
  for (const int dy : {0, 1}) {
    for (const int dx : {0, 1}) {
      const Term row = top + dy;
      const Term column = left + dx;
      const Term weight = (dy != 0 ? y - top : 1.0 - (y - top)) * (dx != 0 ? x - left : 1.0 - (x - left));
      const Term nearRow = row.clamp(0, static_cast<double>(height - 1));
      const Term nearColumn = column.clamp(0, static_cast<double>(width - 1));
      visit(nearRow.cast(DataType::kINT32), nearColumn.cast(DataType::kINT32), weight,
            both(equal(row, nearRow), equal(column, nearColumn)));
    }
  }
}

// By the plugin of the standard library, where its creator is registered: any number of samples, images of any size.
std::optional<Term> roiAlignPlugin(OnnxNode& node) {
  const bool half = node.opset() >= 16 && node.choice("coordinate_transformation_mode", "half_pixel",
                                                      {"half_pixel", "output_half_pixel"}) == "half_pixel";
  const auto whole = [&](const char* name, int64_t otherwise) {
    return static_cast<int32_t>(node.integer(name, otherwise));
  };
  const int32_t numbers[] = {half ? 1 : 0, node.choice("mode", "avg", {"avg", "max"}) == "avg" ? 1 : 0,
                             whole("output_height", 1), whole("output_width", 1), whole("sampling_ratio", 0)};
  const float scale = node.real("spatial_scale", 1.0F);
  const char* const names[] = {"coordinate_transformation_mode", "mode", "output_height", "output_width",
                               "sampling_ratio"};
  std::vector<nvinfer1::PluginField> fields{{"spatial_scale", &scale, nvinfer1::PluginFieldType::kFLOAT32, 1}};
  for (size_t i = 0; i < std::size(numbers); ++i) {
    fields.emplace_back(names[i], &numbers[i], nvinfer1::PluginFieldType::kINT32, 1);
  }
  const Term image = node.term(0);
  return addRegistered("ROIAlign_TRT", "2", fields,
                       {image, node.term(1).cast(image.type()), node.term(2).cast(DataType::kINT32)});
}

// X [N, C, H, W], regions [R, 4] of x1, y1, x2, y2, batch indices [R]: [R, C, height, width]
ParsedValues importRoiAlign(OnnxNode& node) {
  if (const auto made = roiAlignPlugin(node)) {
    return {*made};
  }
  NetworkWriter& writer = node.writer();
  const Term image = node.term(0);
  const int64_t height = image.fixedDim(2, "the height of the image");
  const int64_t width = image.fixedDim(3, "the width of the image");
  const int64_t rows = node.integer("output_height", 1);
  const int64_t columns = node.integer("output_width", 1);
  const int64_t samples = node.integer("sampling_ratio", 0);
  if (rows < 1 || columns < 1 || rows > 1024 || columns > 1024 || samples < 1 || samples > 64) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("output_height = {}, output_width = {}, sampling_ratio = {}; expected 1 to 1024, 1 to 1024, and 1 "
                     "to 64 (0 lets the number of samples depend on the regions)",
                     rows, columns, samples));
  }
  const bool maximum = node.choice("mode", "avg", {"avg", "max"}) == "max";
  const bool half = node.opset() >= 16 && node.choice("coordinate_transformation_mode", "half_pixel",
                                                      {"half_pixel", "output_half_pixel"}) == "half_pixel";
  const Term regions =
      node.term(1).cast(DataType::kFLOAT) * static_cast<double>(node.real("spatial_scale", 1.0f)) - (half ? 0.5 : 0.0);
  // Sample i of an axis: begin + (i + 0.5) * size / (bins * samples), as [R, bins * samples].
  const auto places = [&](int64_t begin, int64_t bins) {
    const Term first = regions.slice(1, begin, 1);
    Term size = regions.slice(1, begin + 2, 1) - first;
    if (!half) {
      size = size.atLeast(size.number(1));
    }
    std::vector<double> parts;
    for (int64_t i = 0; i < bins * samples; ++i) {
      parts.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(bins * samples));
    }
    return first + size * reals(writer, DataType::kFLOAT, {1, bins * samples}, parts);
  };
  const auto legal = [&](const Term& place, int64_t extent) {
    return both(place > -1.0, negation(place > static_cast<double>(extent)));
  };
  const auto bounded = [](const Term& place, int64_t extent) {
    return place.clamp(0, static_cast<double>(extent - 1));
  };
  const Term allY = places(1, rows);
  const Term allX = places(0, columns);
  const Term valid = both(legal(allY, height).unsqueeze({2}), legal(allX, width).unsqueeze({1}));
  const Term y = bounded(allY, height).unsqueeze({2});
  const Term x = bounded(allX, width).unsqueeze({1});
  // Pixels of all images behind each other: [N * H * W, C].
  const Term flat = image.transpose({0, 2, 3, 1}).reshape({ParsedExtent::of(-1), image.dim(1)});
  const Term base = node.term(2).cast(DataType::kINT32).unsqueeze({1, 2}) * static_cast<double>(height * width);
  const ParsedExtent count = regions.dim(0);
  std::optional<Term> sum;
  forEachCorner(y, x, height, width, [&](const Term& row, const Term& column, const Term& weight, const Term&) {
    const Term index = base + row * static_cast<double>(width) + column;  // [R, rows * samples, columns * samples]
    const Term factor = where(valid, weight, weight.number(0)).cast(image.type()).unsqueeze({3});
    const Term part = flat.gather(index, 0) * factor;
    sum = !sum ? part : maximum ? sum->atLeast(part) : *sum + part;
  });
  const Term blocks = sum->reshape({count, ParsedExtent::of(rows), ParsedExtent::of(samples), ParsedExtent::of(columns),
                                    ParsedExtent::of(samples), image.dim(1)});
  const Term result =
      blocks.reduce(maximum ? nvinfer1::ReduceOperation::kMAX : nvinfer1::ReduceOperation::kAVG, {2, 4}, false);
  return {result.transpose({0, 3, 1, 2})};
}

// The parts that an axis of each region is cut into: the first pixel of each, and the one behind its last, [R, parts].
struct Bins {
  Term first;
  Term end;
};

// `begin` and `last` [R, 1] are the first and last pixel of each region.
Bins binsOf(const Term& begin, const Term& last, int64_t parts, int64_t extent) {
  const Term size = (last - begin + 1.0).atLeast(begin.number(1)) / static_cast<double>(parts);
  std::vector<double> numbers;
  for (int64_t i = 0; i <= parts; ++i) {
    numbers.push_back(static_cast<double>(i));
  }
  const Term edges = size * reals(begin.writer(), begin.type(), {1, parts + 1}, numbers);
  const auto most = static_cast<double>(extent);
  return {(floorOf(edges.slice(1, 0, parts)) + begin).clamp(0, most),
          (begin - floorOf(edges.slice(1, 1, parts) * -1.0)).clamp(0, most)};
}

// X [N, C, H, W], regions [R, 5] of batch index, x1, y1, x2, y2 in whole pixels: the maximum of each part of a region,
// 0 of one without a pixel, [R, C, height, width]
ParsedValues importMaxRoiPool(OnnxNode& node) {
  const Term image = node.term(0);
  const std::vector<int64_t> pooled = node.integers("pooled_shape");
  constexpr int64_t kMostParts = 64;
  const auto isPart = [](int64_t extent) { return extent >= 1 && extent <= kMostParts; };
  if (pooled.size() != 2 || !isPart(pooled[0]) || !isPart(pooled[1])) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("pooled_shape = {}; expected two extents of 1 to {}", toString(pooled), kMostParts));
  }
  const int64_t extents[] = {image.fixedDim(2, "the height of the image"), image.fixedDim(3, "the width of the image")};
  const Term regions = node.term(1).cast(DataType::kFLOAT);
  const Term exact = regions.slice(1, 1, 4) * static_cast<double>(node.real("spatial_scale", 1.0F));
  const Term rounded = floorOf(absOf(exact) + 0.5);  // halves away from 0
  const Term whole = where(exact < 0.0, rounded * -1.0, rounded);
  Term result = image.gather(regions.at(1, 0).cast(DataType::kINT32), 0);
  std::optional<Term> filled;
  for (const int64_t axis : {3, 2}) {  // columns of the parts first
    const int64_t place = axis == 3 ? 0 : 1;
    const int64_t parts = pooled[static_cast<size_t>(axis - 2)];
    const int64_t extent = extents[axis - 2];
    const Bins bins = binsOf(whole.slice(1, place, 1), whole.slice(1, place + 2, 1), parts, extent);
    const std::vector<int64_t> others = axis == 3 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1, 3};
    const Term pixels = iota(node.writer(), ParsedExtent::of(extent), DataType::kFLOAT).unsqueeze({0});
    std::vector<Term> all;
    for (int64_t i = 0; i < parts; ++i) {
      const Term inside = both(negation(pixels < bins.first.slice(1, i, 1)), pixels < bins.end.slice(1, i, 1));
      const Term seen = where(inside.unsqueeze(others), result, result.number(-HUGE_VAL));
      all.push_back(seen.reduce(nvinfer1::ReduceOperation::kMAX, {axis}, true));
    }
    result = concat(all, axis);
    const Term any = (bins.first < bins.end).unsqueeze(others);
    filled = filled ? both(*filled, any) : any;
  }
  return {where(*filled, result, result.number(0))};
}

// X [N, C, H, W], W [O, C / group, kh, kw], offset [N, offsets * kh * kw * 2, oh, ow], B, mask [N, offsets * kh * kw,
// ..]
ParsedValues importDeformConv(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term image = node.term(0);
  const Term kernel = node.term(1);
  if (image.rank() != 4 || kernel.rank() != 4) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("input {} and weights {}; expected rank 4", toString(image.shape()), toString(kernel.shape())));
  }
  const Dimensions weights = kernel.shape();
  const Spatial spatial = readSpatial(node, Dimensions(weights.begin() + 2, weights.end()));
  const int64_t groups = node.integer("group", 1);
  const int64_t offsets = node.integer("offset_group", 1);
  const int64_t channels = image.fixedDim(1, "the channels");
  const int64_t height = image.fixedDim(2, "the height of the image");
  const int64_t width = image.fixedDim(3, "the width of the image");
  const int64_t taps = spatial.kernel[0] * spatial.kernel[1];
  const Term offset = node.term(2);
  const int64_t rows = offset.fixedDim(2, "the height of the result");
  const int64_t columns = offset.fixedDim(3, "the width of the result");
  if (groups < 1 || offsets < 1 || channels % groups != 0 || channels % offsets != 0 ||
      weights[1] * groups != channels || weights[0] % groups != 0 || !offset.dim(1).is(offsets * taps * 2)) {
    fail(FaultKind::kInvalidNode,
         fmt::format("input {}, weights {}, offset {}, group = {}, offset_group = {} do not fit",
                     toString(image.shape()), toString(weights), toString(offset.shape()), groups, offsets));
  }
  const ParsedExtent batch = image.dim(0);
  const auto fixed = [](int64_t extent) { return ParsedExtent::of(extent); };
  // [N, offsets, taps, 2, rows, columns]; y before x
  const Term moved = offset.cast(DataType::kFLOAT)
                         .reshape({batch, fixed(offsets), fixed(taps), fixed(2), fixed(rows), fixed(columns)});
  std::vector<double> tapY, tapX, gridY, gridX;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t row = tap / spatial.kernel[1];
    const int64_t column = tap % spatial.kernel[1];
    tapY.push_back(static_cast<double>(row * spatial.dilations[0] - spatial.padsBegin[0]));
    tapX.push_back(static_cast<double>(column * spatial.dilations[1] - spatial.padsBegin[1]));
  }
  for (int64_t i = 0; i < rows; ++i) {
    gridY.push_back(static_cast<double>(i * spatial.strides[0]));
  }
  for (int64_t i = 0; i < columns; ++i) {
    gridX.push_back(static_cast<double>(i * spatial.strides[1]));
  }
  const auto constant = [&](const Dimensions& shape, const std::vector<double>& numbers) {
    return reals(writer, DataType::kFLOAT, shape, numbers);
  };
  const Term y = moved.at(3, 0) + constant({1, 1, taps, 1, 1}, tapY) + constant({1, 1, 1, rows, 1}, gridY);
  const Term x = moved.at(3, 1) + constant({1, 1, taps, 1, 1}, tapX) + constant({1, 1, 1, 1, columns}, gridX);
  // Channels of one group of offsets behind each other: [N, offsets, C / offsets, H * W].
  const Term flat = image.reshape({batch, fixed(offsets), fixed(channels / offsets), fixed(height * width)});
  std::optional<Term> sum;
  forEachCorner(y, x, height, width, [&](const Term& row, const Term& column, const Term& weight, const Term& inside) {
    const ParsedExtents target{batch, fixed(offsets), fixed(taps * rows * columns)};
    const Term index = (row * static_cast<double>(width) + column).reshape(target);
    const Term factor = where(inside, weight, weight.number(0)).cast(image.type()).reshape(target);
    const Term part = flat.gatherBatched(index, 3, 2) * factor.unsqueeze({2});
    sum = sum ? *sum + part : part;
  });
  Term picked = sum->reshape({batch, fixed(offsets), fixed(channels / offsets), fixed(taps), fixed(rows * columns)});
  if (node.hasInput(4)) {
    picked = picked * node.term(4).reshape({batch, fixed(offsets), fixed(1), fixed(taps), fixed(rows * columns)});
  }
  const Term operands = picked.reshape({batch, fixed(groups), fixed(channels / groups * taps), fixed(rows * columns)});
  const Term matrix = kernel.reshape(extentsOf({1, groups, weights[0] / groups, weights[1] * taps}));
  Term result = matrix.multiply(operands).reshape({batch, fixed(weights[0]), fixed(rows), fixed(columns)});
  if (node.hasInput(3)) {
    result = result + node.term(3).unsqueeze({0, 2, 3});
  }
  return {result};
}

const OperatorImporter kRows[] = {
    {"RoiAlign", 10, kNewestOpset, importRoiAlign,
     "addPluginV3 where ROIAlign_TRT is registered; else addGather, addElementWise, addReduce; sampling_ratio of 1 or more, static images"},
    {"MaxRoiPool", 1, kNewestOpset, importMaxRoiPool,
     "addGather, addElementWise, addSelect and addReduce for each part; static images"},
    {"DeformConv", 19, kNewestOpset, importDeformConv,
     "addGatherV2, addElementWise, addMatrixMultiply; two spatial axes, static images"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_sampling

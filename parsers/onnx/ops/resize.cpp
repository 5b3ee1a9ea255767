// Resize and Upsample.
#include <algorithm>
#include <cmath>

#include "operator_table.h"
#include "resize_matrix.h"

namespace tenon::parsers::onnx::ops_resize {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;
using nvinfer1::ResizeSelector;

void setMode(nvinfer1::IResizeLayer& layer, const std::string& mode) {
  if (mode == "nearest") {
    layer.setResizeMode(InterpolationMode::kNEAREST);
  } else if (mode == "linear" || mode == "bilinear") {
    layer.setResizeMode(InterpolationMode::kLINEAR);
  } else if (mode == "cubic") {
    layer.setResizeMode(InterpolationMode::kCUBIC);
  } else {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("mode = '{}'; expected nearest, linear or cubic", mode));
  }
}

void setRounding(nvinfer1::IResizeLayer& layer, const std::string& mode) {
  if (mode == "round_prefer_floor") {
    layer.setNearestRounding(ResizeRoundMode::kHALF_DOWN);
  } else if (mode == "round_prefer_ceil") {
    layer.setNearestRounding(ResizeRoundMode::kHALF_UP);
  } else if (mode == "floor") {
    layer.setNearestRounding(ResizeRoundMode::kFLOOR);
  } else if (mode == "ceil") {
    layer.setNearestRounding(ResizeRoundMode::kCEIL);
  } else {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("nearest_mode = '{}'; expected round_prefer_floor, "
                                                       "round_prefer_ceil, floor or ceil",
                                                       mode));
  }
}

void setCoordinates(nvinfer1::IResizeLayer& layer, const std::string& coordinates, const std::string& mode,
                    const std::string& nearest) {
  setRounding(layer, nearest);
  if (coordinates == "half_pixel" || coordinates == "pytorch_half_pixel") {
    layer.setCoordinateTransformation(ResizeCoordinateTransformation::kHALF_PIXEL);
    layer.setSelectorForSinglePixel(coordinates == "half_pixel" ? ResizeSelector::kFORMULA : ResizeSelector::kUPPER);
  } else if (coordinates == "asymmetric") {
    layer.setCoordinateTransformation(ResizeCoordinateTransformation::kASYMMETRIC);
  } else if (coordinates == "align_corners") {
    layer.setCoordinateTransformation(ResizeCoordinateTransformation::kALIGN_CORNERS);
  } else if (coordinates == "tf_half_pixel_for_nn" && mode == "nearest" && nearest == "floor") {
    // floor((x + 0.5) / s) is round-half-up of (x + 0.5) / s - 0.5.
    layer.setCoordinateTransformation(ResizeCoordinateTransformation::kHALF_PIXEL);
    layer.setNearestRounding(ResizeRoundMode::kHALF_UP);
  } else {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("coordinate_transformation_mode = '{}' with mode '{}'; expected half_pixel, pytorch_half_pixel, "
                     "asymmetric or align_corners",
                     coordinates, mode));
  }
}

// One scale for each axis of the input; axes that are not named keep their extent.
std::vector<float> fullScales(const WeightBytes& scales, const std::vector<int64_t>& axes, size_t rank) {
  std::vector<float> full(rank, 1.0f);
  const std::vector<double> given = toReals(scales);
  if (given.size() != axes.size()) {
    fail(FaultKind::kInvalidNode, fmt::format("scales has {} entries; expected {}", given.size(), axes.size()));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    full[static_cast<size_t>(axes[i])] = static_cast<float>(given[i]);
  }
  return full;
}

void setSizes(OnnxNode& node, nvinfer1::IResizeLayer& layer, const ParsedExtents& sizes) {
  Dimensions numbers;
  for (const ParsedExtent& size : sizes) {
    if (!size.known()) {
      layer.setInput(1, node.writer().shapeTensor(sizes));
      return;
    }
    numbers.push_back(size.value);
  }
  layer.setOutputDimensions(toDims(numbers));
}

std::vector<int64_t> axesOf(const OnnxNode& node, size_t rank) {
  std::vector<int64_t> axes = node.integers("axes");
  for (int64_t& axis : axes) {
    axis = normalizeAxis(axis, static_cast<int64_t>(rank));
  }
  for (size_t i = 0; i < rank && !node.has("axes"); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

// The same of scales that are computed at run time.
ParsedValue computedScales(NetworkWriter& writer, const ParsedValue& scales, const std::vector<int64_t>& axes,
                           size_t rank) {
  const Term one = reals(writer, DataType::kFLOAT, {1}, {1});
  std::vector<int64_t> places(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    places[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i) + 1;
  }
  const Term indices = integers(writer, DataType::kINT64, {static_cast<int64_t>(rank)}, places);
  const ParsedValue all = writer.concat({one.value(), writer.cast(scales, DataType::kFLOAT)}, 0);
  return writer.gather(all, indices.value(), 0);
}

bool isEmptyConstant(const ParsedValue& value) {
  return value.isNone() || (value.isConstant() && value.constant().count() == 0);
}

// `scales` and `sizes`: one of them says how large the result is.
void setExtent(OnnxNode& node, nvinfer1::IResizeLayer& layer, const ParsedValue& scales, const ParsedValue& sizes) {
  NetworkWriter& writer = node.writer();
  ParsedExtents in = writer.dims(node.input(0));
  const std::vector<int64_t> axes = axesOf(node, in.size());
  if (!isEmptyConstant(sizes)) {
    const ParsedExtents given = writer.elements(sizes);
    if (given.size() != axes.size()) {
      fail(FaultKind::kInvalidNode, fmt::format("sizes has {} entries; expected {}", given.size(), axes.size()));
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      in[static_cast<size_t>(axes[i])] = given[i];
    }
    setSizes(node, layer, in);
  } else if (scales.isConstant() && scales.constant().count() > 0) {
    const std::vector<float> full = fullScales(scales.constant(), axes, in.size());
    layer.setScales(full.data(), static_cast<int32_t>(full.size()));
  } else if (!scales.isNone() && !isEmptyConstant(scales)) {
    layer.setInput(1, writer.tensor(computedScales(writer, scales, axes, in.size())));
  } else {
    fail(FaultKind::kInvalidNode, "neither scales nor sizes are given");
  }
}

// What a node with constant scales or sizes makes of each axis that changes.
std::vector<ResizedAxis> resizedAxes(OnnxNode& node, const std::string& policy) {
  NetworkWriter& writer = node.writer();
  const Term x = node.term(0);
  const std::vector<int64_t> axes = axesOf(node, static_cast<size_t>(x.rank()));
  const ParsedValue scales = node.optional(2);
  const ParsedValue sizes = node.optional(3);
  const bool bySize = !isEmptyConstant(sizes);
  ParsedExtents given;
  if (bySize) {
    given = writer.elements(sizes);
  }
  const std::vector<double> factors = bySize ? std::vector<double>{} : toReals(node.constant(2, "scales"));
  const std::vector<double> regions =
      isEmptyConstant(node.optional(1)) ? std::vector<double>{} : toReals(node.constant(1, "roi"));
  if ((bySize ? given.size() : factors.size()) != axes.size() ||
      (!regions.empty() && regions.size() != 2 * axes.size())) {
    fail(FaultKind::kInvalidNode, fmt::format("sizes, scales and roi have {}, {} and {} entries for {} axes",
                                              given.size(), factors.size(), regions.size(), axes.size()));
  }
  const bool crops = node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  std::vector<ResizedAxis> result;
  double common = policy == "not_larger" ? INFINITY : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool whole = !crops || regions.empty() || (regions[i] == 0 && regions[i + axes.size()] == 1);
    const bool stays = bySize ? given[i] == x.dim(axes[i]) : factors[i] == 1;
    if (policy == "stretch" && whole && stays) {
      continue;  // also an extent that is known only at run time, as of the batch
    }
    ResizedAxis axis;
    axis.axis = axes[i];
    const auto extent = static_cast<double>(x.fixedDim(axes[i], "an axis that is resized"));
    if (bySize && !given[i].known()) {
      fail(FaultKind::kUnsupportedDynamic, "sizes are known only at run time; expected constants");
    }
    axis.size = bySize ? given[i].value : static_cast<int64_t>(std::floor(extent * factors[i]));
    axis.scale = bySize ? static_cast<double>(axis.size) / extent : factors[i];
    common = policy == "not_larger" ? std::min(common, axis.scale) : std::max(common, axis.scale);
    if (!regions.empty()) {
      axis.begin = regions[i];
      axis.end = regions[i + axes.size()];
    }
    result.push_back(axis);
  }
  for (size_t i = 0; bySize && policy != "stretch" && i < result.size(); ++i) {
    const auto extent = static_cast<double>(x.fixedDim(axes[i], "an axis that is resized"));
    result[i].scale = common;
    result[i].size = static_cast<int64_t>(std::floor(extent * common + 0.5));
  }
  std::vector<ResizedAxis> changed;
  for (const ResizedAxis& axis : result) {
    const bool stays = axis.scale == 1 && axis.size == x.fixedDim(axis.axis, "an axis that is resized");
    if (!stays || (crops && (axis.begin != 0 || axis.end != 1))) {
      changed.push_back(axis);
    }
  }
  return changed;
}

ParsedValues importResize(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool early = node.opset() < 11;  // opset 10: input and scales only, as Upsample
  const std::string policy =
      node.choice("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
  const std::string mode = node.text("mode", "nearest");
  const std::string coordinates = early ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = early ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  const bool antialias = node.integer("antialias", 0) != 0;
  const bool nearestForTf = coordinates == "tf_half_pixel_for_nn" && !(mode == "nearest" && nearest == "floor");
  if (!early && (antialias || policy != "stretch" || coordinates == "tf_crop_and_resize" ||
                 coordinates == "half_pixel_symmetric" || nearestForTf)) {
    const ResizeRule rule{node.choice("mode", "nearest", {"nearest", "linear", "cubic"}),
                          coordinates,
                          nearest,
                          node.real("cubic_coeff_a", -0.75f),
                          node.integer("exclude_outside", 0) != 0,
                          antialias,
                          node.real("extrapolation_value", 0.0f)};
    return {resizedByMatrices(node.term(0), rule, resizedAxes(node, policy))};
  }
  const DataType type = writer.typeOf(node.input(0));
  const bool byFloats = mode != "nearest" && (type == DataType::kINT32 || type == DataType::kINT64);  // no layer does
  const ParsedValue x = byFloats ? writer.cast(node.input(0), DataType::kFLOAT) : node.input(0);
  auto& layer = writer.added(writer.network().addResize(writer.tensor(x)), "addResize");
  setMode(layer, mode);
  setCoordinates(layer, coordinates, mode, nearest);
  if (mode == "cubic") {
    layer.setCubicCoeff(node.real("cubic_coeff_a", -0.75f));
    layer.setExcludeOutside(node.integer("exclude_outside", 0) != 0);
  }
  setExtent(node, layer, node.optional(early ? 1 : 2), early ? ParsedValue() : node.optional(3));
  return {byFloats ? writer.cast(writer.output(layer), type) : writer.output(layer)};
}

ParsedValues importUpsample(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const std::vector<float> attribute = node.reals("scales");
  const ParsedValue scales =
      node.opset() >= 9 ? node.input(1)
                        : ParsedValue(writer.store().ofReals(DataType::kFLOAT, {static_cast<int64_t>(attribute.size())},
                                                             std::vector<double>(attribute.begin(), attribute.end())));
  const std::string mode = node.text("mode", "nearest");
  auto& layer = writer.added(writer.network().addResize(node.tensor(0)), "addResize");
  setMode(layer, mode);
  setCoordinates(layer, "asymmetric", mode, "floor");
  setExtent(node, layer, scales, {});
  return {writer.output(layer)};
}

const OperatorImporter kRows[] = {
    {"Resize", 10, kNewestOpset, importResize,
     "addResize (INT32 and INT64 that are interpolated: by way of FLOAT); tf_crop_and_resize, half_pixel_symmetric, antialiasing and aspect policies with constant sizes: "
     "addMatrixMultiply or addGather for each axis"},
    {"Upsample", 7, 9, importUpsample, "addResize kASYMMETRIC"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_resize

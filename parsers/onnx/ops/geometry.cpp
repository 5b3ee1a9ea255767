// Operators on images: grids of affine maps, blocks back to images, crops, pools undone, regions and deformed windows.
#include <algorithm>
#include <cmath>

#include "operator_table.h"
#include "spatial_attributes.h"

namespace tenon::parsers::onnx::ops_geometry {
namespace {

using nvinfer1::ElementWiseOperation;

Dimensions fixedList(OnnxNode& node, size_t index, const char* what) {
  Dimensions list;
  for (const ParsedExtent& extent : node.writer().elements(node.input(index))) {
    if (!extent.known()) {
      fail(FaultKind::kUnsupportedInput,
           fmt::format("{} (input {}) is known only at run time; expected constants", what, index));
    }
    list.push_back(extent.value);
  }
  return list;
}

// Places of `count` pixels from -1 to 1: the middles of the outer ones, or their borders.
std::vector<double> normalizedPlaces(int64_t count, bool alignCorners) {
  std::vector<double> places;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    const auto size = static_cast<double>(count);
    places.push_back(!alignCorners ? (2 * at + 1) / size - 1 : count == 1 ? 0.0 : 2 * at / (size - 1) - 1);
  }
  return places;
}

// theta [N, d, d + 1] times (x, y[, z], 1) of every place: [N, (D,) H, W, d]
ParsedValues importAffineGrid(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term theta = node.term(0);
  const Dimensions size = fixedList(node, 1, "size");
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  if ((spatial != 2 && spatial != 3) || theta.rank() != 3 || !theta.dim(1).is(spatial) ||
      !theta.dim(2).is(spatial + 1)) {
    fail(FaultKind::kInvalidNode,
         fmt::format("theta {} and a size of {} entries; expected [N, 2, 3] with 4 entries, or "
                     "[N, 3, 4] with 5",
                     toString(theta.shape()), size.size()));
  }
  const bool alignCorners = node.integer("align_corners", 0) != 0;
  int64_t count = 1;
  std::vector<std::vector<double>> axes;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t extent = size[static_cast<size_t>(i) + 2];
    if (extent < 1 || extent > (1 << 16)) {
      fail(FaultKind::kInvalidNode, fmt::format("size = {}; expected extents of 1 to {}", toString(size), 1 << 16));
    }
    axes.push_back(normalizedPlaces(extent, alignCorners));
    count *= extent;
  }
  if (count > (1 << 24)) {
    fail(FaultKind::kUnsupportedShape, fmt::format("the grid has {} places; expected {} at most", count, 1 << 24));
  }
  std::vector<double> places;
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number;
    for (int64_t i = spatial; i-- > 0;) {  // the last axis varies fastest, and stands first
      const auto& axis = axes[static_cast<size_t>(i)];
      places.push_back(axis[static_cast<size_t>(rest) % axis.size()]);
      rest /= static_cast<int64_t>(axis.size());
    }
    places.push_back(1);
  }
  const Term base = reals(writer, theta.type(), {1, count, spatial + 1}, places);
  ParsedExtents target{theta.dim(0)};
  for (int64_t i = 0; i < spatial; ++i) {
    target.push_back(ParsedExtent::of(size[static_cast<size_t>(i) + 2]));
  }
  target.push_back(ParsedExtent::of(spatial));
  return {base.multiply(theta, false, true).reshape(target)};
}

// Blocks [N, C * block, blocks] added where they come from: a transposed convolution whose kernel has a 1 for the place
// of each of its inputs in the block.
ParsedValues importCol2Im(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term x = node.term(0);
  const Dimensions image = fixedList(node, 1, "image_shape");
  const Dimensions block = fixedList(node, 2, "block_shape");
  const size_t rank = image.size();
  int64_t places = 1;
  for (const int64_t extent : block) {
    places *= std::max<int64_t>(extent, 1);
  }
  if (rank < 1 || rank > 3 || block.size() != rank || x.rank() != 3) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("input {}, image_shape {} and block_shape {}; expected rank 3, and 1 to 3 axes of an image",
                     toString(x.shape()), toString(image), toString(block)));
  }
  const int64_t columns = x.fixedDim(1, "the channels times the block");
  if (columns % places != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("axis 1 of {} is no multiple of the {} elements of a block", toString(x.shape()), places));
  }
  const int64_t channels = columns / places;
  const auto list = [&](const char* name, size_t count, int64_t fallback) {
    Dimensions values = node.integers(name);
    if (values.empty()) {
      values.assign(count, fallback);
    }
    if (values.size() != count) {
      fail(FaultKind::kInvalidNode, fmt::format("{} has {} entries; expected {}", name, values.size(), count));
    }
    return values;
  };
  Spatial spatial;
  spatial.kernel = block;
  spatial.strides = list("strides", rank, 1);
  spatial.dilations = list("dilations", rank, 1);
  const Dimensions pads = list("pads", 2 * rank, 0);
  ParsedExtents unfolded{x.dim(0), ParsedExtent::of(columns)};
  Dimensions missing;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = (block[i] - 1) * spatial.dilations[i] + 1;
    const int64_t padded = image[i] + pads[i] + pads[i + rank];
    const int64_t count = spatial.strides[i] < 1 || padded < reach ? 0 : (padded - reach) / spatial.strides[i] + 1;
    if (count < 1) {
      fail(FaultKind::kInvalidNode,
           fmt::format("a block of {} elements does not fit into axis {} of the image {}", reach, i, toString(image)));
    }
    unfolded.push_back(ParsedExtent::of(count));
    // Elements behind the last block are zero.
    const int64_t rest = padded - ((count - 1) * spatial.strides[i] + reach);
    spatial.padsBegin.push_back(pads[i]);
    spatial.padsEnd.push_back(std::max<int64_t>(pads[i + rank] - rest, 0));
    missing.push_back(std::max<int64_t>(rest - pads[i + rank], 0));
  }
  Term blocks = x.reshape(unfolded);
  if (rank == 1) {
    blocks = Term(writer, withUnitAxis(writer, blocks));
    spatial.appendUnitAxis();
  }
  std::vector<double> ones(static_cast<size_t>(columns * places), 0.0);
  for (int64_t i = 0; i < columns; ++i) {
    ones[static_cast<size_t>(i * places + i % places)] = 1;
  }
  Dimensions kernelShape{columns, 1};
  kernelShape.insert(kernelShape.end(), spatial.kernel.begin(), spatial.kernel.end());
  const ParsedValue kernel = writer.store().ofReals(x.type(), kernelShape, ones);
  auto* made = writer.network().addDeconvolutionNd(writer.tensor(blocks), channels, toDims(spatial.kernel),
                                                   kernel.constant().weights(), {x.type(), nullptr, 0});
  auto& layer = writer.added(made, "addDeconvolutionNd");
  layer.setNbGroups(channels);
  layer.setStrideNd(toDims(spatial.strides));
  layer.setDilationNd(toDims(spatial.dilations));
  setPadding(layer, spatial);
  Term result(writer, writer.output(layer));
  if (rank == 1) {
    result = Term(writer, withoutUnitAxis(writer, result));
  }
  for (size_t i = 0; i < rank; ++i) {
    result = result.pad(static_cast<int64_t>(i) + 2, 0, missing[i]);
  }
  return {result};
}

ParsedValues importCenterCropPad(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const ParsedExtents wanted = writer.elements(node.input(1));
  std::vector<int64_t> axes = node.integers("axes");
  for (size_t i = 0; !node.has("axes") && i < in.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.size() != wanted.size()) {
    fail(FaultKind::kInvalidNode, fmt::format("shape has {} entries for {} axes", wanted.size(), axes.size()));
  }
  ParsedExtents start(in.size(), ParsedExtent::of(0));
  ParsedExtents size = in;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalizeAxis(axes[i], static_cast<int64_t>(in.size())));
    // Half of what is too much goes in front, rounded down; so does half of what is missing.
    const ParsedExtent zero = ParsedExtent::of(0);
    const auto halfOf = [&](const ParsedExtent& a, const ParsedExtent& b) {
      const ParsedExtent more =
          writer.combine(writer.combine(a, b, ElementWiseOperation::kSUB), zero, ElementWiseOperation::kMAX);
      return writer.combine(more, ParsedExtent::of(2), ElementWiseOperation::kFLOOR_DIV);
    };
    start[axis] = writer.combine(halfOf(in[axis], wanted[i]), halfOf(wanted[i], in[axis]), ElementWiseOperation::kSUB);
    size[axis] = wanted[i];
  }
  return {writer.slice(node.input(0), start, size, ParsedExtents(in.size(), ParsedExtent::of(1)),
                       nvinfer1::SampleMode::kFILL, {})};
}

// (extent - 1) * stride - padding + kernel
ParsedExtent unpooled(NetworkWriter& writer, const ParsedExtent& extent, int64_t stride, int64_t padding,
                      int64_t kernel) {
  const ParsedExtent steps = writer.combine(extent, ParsedExtent::of(stride), ElementWiseOperation::kPROD);
  return writer.combine(steps, ParsedExtent::of(kernel - stride - padding), ElementWiseOperation::kSUM);
}

// The elements of x at their places in a tensor of zeros; places count through the whole tensor. What output_shape says
// beyond the extents that follow from strides and kernel is filled with zeros.
ParsedValues importMaxUnpool(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term x = node.term(0);
  const Dimensions kernel = node.integers("kernel_shape");
  if (x.rank() != static_cast<int64_t>(kernel.size()) + 2) {
    fail(FaultKind::kInvalidNode, fmt::format("input {} with kernel_shape {}; expected one entry for each axis after "
                                              "the second",
                                              toString(x.shape()), toString(kernel)));
  }
  Dimensions strides = node.integers("strides");
  Dimensions pads = node.integers("pads");
  strides.resize(kernel.size(), 1);
  pads.resize(2 * kernel.size(), 0);
  for (const Dimensions* list : std::initializer_list<const Dimensions*>{&kernel, &strides, &pads}) {
    if (std::any_of(list->begin(), list->end(), [](int64_t number) { return number < 0 || number > INT32_MAX; })) {
      fail(FaultKind::kInvalidNode, fmt::format("kernel_shape {}, strides {} and pads {}; expected numbers of 0 to {}",
                                                toString(kernel), toString(strides), toString(pads), INT32_MAX));
    }
  }
  ParsedExtents target = x.dims();
  for (size_t i = 0; i < kernel.size(); ++i) {
    target[i + 2] = unpooled(writer, target[i + 2], strides[i], pads[i] + pads[i + kernel.size()], kernel[i]);
  }
  const ParsedExtents flat{ParsedExtent::of(-1)};
  const Term zeros = Term(writer, writer.scalar(x.type(), 0, 1)).expand({writer.product(target, 0, target.size())});
  auto* made = writer.network().addScatter(writer.tensor(zeros), writer.tensor(node.term(1).reshape(flat)),
                                           writer.tensor(x.reshape(flat)), nvinfer1::ScatterMode::kELEMENT);
  auto& layer = writer.added(made, "addScatter");
  layer.setAxis(0);
  const ParsedValue result = Term(writer, writer.output(layer)).reshape(target);
  if (!node.hasInput(2)) {
    return {result};
  }
  const ParsedExtents wanted = writer.elements(node.input(2));
  if (wanted.size() != target.size()) {
    fail(FaultKind::kInvalidNode,
         fmt::format("output_shape has {} entries; expected {}", wanted.size(), target.size()));
  }
  return {writer.slice(result, ParsedExtents(target.size(), ParsedExtent::of(0)), wanted,
                       ParsedExtents(target.size(), ParsedExtent::of(1)), nvinfer1::SampleMode::kFILL, {})};
}

const OperatorImporter kRows[] = {
    {"AffineGrid", 20, kNewestOpset, importAffineGrid, "addMatrixMultiply with constant places; size constant"},
    {"Col2Im", 18, kNewestOpset, importCol2Im, "addDeconvolutionNd with a kernel of zeros and ones; 1 to 3 axes"},
    {"CenterCropPad", 18, kNewestOpset, importCenterCropPad, "addSlice kFILL"},
    {"MaxUnpool", 9, kNewestOpset, importMaxUnpool, "addScatter kELEMENT; output_shape: addSlice kFILL"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_geometry

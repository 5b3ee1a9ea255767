// Where windows lie over static spatial extents, and the places of their maxima.
#include "windows.h"

#include <cfloat>
#include <cmath>
#include <functional>
#include <optional>

namespace tenon::parsers::onnx {
namespace {

constexpr int64_t kMostPlaces = 1024;

// Where windows begin and how many there are, with all padding explicit.
struct Windows {
  Dimensions in;
  Dimensions before;
  Dimensions after;  // padding that the last window reaches
  Dimensions count;
};

Windows windowsOf(const Term& x, const Spatial& spatial) {
  Windows windows;
  for (size_t i = 0; i < spatial.rank(); ++i) {
    const int64_t extent = x.fixedDim(static_cast<int64_t>(i) + 2,
                                      "a spatial extent of a pool with dilations or "
                                      "indices");
    const int64_t reach = (spatial.kernel[i] - 1) * spatial.dilations[i] + 1;
    const int64_t stride = spatial.strides[i];
    int64_t before = spatial.padsBegin[i];
    int64_t count = 0;
    const bool same =
        spatial.mode == nvinfer1::PaddingMode::kSAME_UPPER || spatial.mode == nvinfer1::PaddingMode::kSAME_LOWER;
    if (same) {
      count = (extent + stride - 1) / stride;
      const int64_t total = std::max<int64_t>((count - 1) * stride + reach - extent, 0);
      before = spatial.mode == nvinfer1::PaddingMode::kSAME_UPPER ? total / 2 : total - total / 2;
    } else {
      const int64_t room = extent + before + spatial.padsEnd[i] - reach;
      const bool up = spatial.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
      count = room < 0 ? 0 : (room + (up ? stride - 1 : 0)) / stride + 1;
      if (up && count > 1 && (count - 1) * stride >= extent + before) {
        --count;  // a window that begins behind the input
      }
    }
    if (count < 1) {
      fail(FaultKind::kInvalidNode,
           fmt::format("a window of {} elements does not fit into axis {} of {}", reach, i + 2, toString(x.shape())));
    }
    windows.in.push_back(extent);
    windows.before.push_back(before);
    windows.after.push_back(std::max<int64_t>((count - 1) * stride + reach - before - extent, 0));
    windows.count.push_back(count);
  }
  return windows;
}

Term padded(const Term& x, const Windows& windows, double fill) {
  Term result = x;
  for (size_t i = 0; i < windows.in.size(); ++i) {
    result = result.pad(static_cast<int64_t>(i) + 2, windows.before[i], windows.after[i], fill);
  }
  return result;
}

// Calls `visit` with the elements that all windows have at one of their places, place after place.
void forEachPlace(const Term& whole, const Windows& windows, const Spatial& spatial,
                  const std::function<void(const Term&)>& visit) {
  Dimensions place(spatial.rank(), 0);
  for (;;) {
    Term part = whole;
    for (size_t i = 0; i < place.size(); ++i) {
      part = part.slice(static_cast<int64_t>(i) + 2, place[i] * spatial.dilations[i], windows.count[i],
                        spatial.strides[i]);
    }
    visit(part);
    size_t axis = place.size();
    while (axis > 0 && ++place[axis - 1] == spatial.kernel[axis - 1]) {
      place[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

double lowest(DataType type) {
  switch (type) {
    case DataType::kINT8: return -128;
    case DataType::kUINT8: return 0;
    case DataType::kINT32: return -2147483648.0;
    case DataType::kINT64: return -9223372036854775808.0;
    default: return -INFINITY;
  }
}

// The place of each element of x in the whole tensor.
Term placesOf(const Term& x, const Windows& windows, bool columnMajor) {
  NetworkWriter& writer = x.writer();
  const size_t rank = windows.in.size();
  Dimensions weights(rank, 1);
  int64_t pixels = 1;
  for (size_t k = 0; k < rank; ++k) {
    const size_t i = columnMajor ? k : rank - 1 - k;
    weights[i] = pixels;
    pixels *= windows.in[i];
  }
  const int64_t channels = x.fixedDim(1, "the channels of a pool with indices");
  const auto along = [&](const ParsedExtent& extent, size_t axis, int64_t weight) {
    std::vector<int64_t> others;
    for (size_t i = 0; i < rank + 2; ++i) {
      if (i != axis) {
        others.push_back(static_cast<int64_t>(i));
      }
    }
    return (iota(writer, extent, DataType::kINT64) * static_cast<double>(weight)).unsqueeze(others);
  };
  Term places = along(x.dim(0), 0, channels * pixels) + along(x.dim(1), 1, pixels);
  for (size_t i = 0; i < rank; ++i) {
    places = places + along(ParsedExtent::of(windows.in[i]), i + 2, weights[i]);
  }
  return places;
}

}  // namespace

WindowMaximum windowMaximum(const Term& x, const Spatial& spatial, bool columnMajor) {
  const int64_t cells = elementCount(spatial.kernel);
  if (cells > kMostPlaces) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("kernel_shape = {} has {} places; a pool with indices has {} at most", toString(spatial.kernel),
                     cells, kMostPlaces));
  }
  const Windows windows = windowsOf(x, spatial);
  std::optional<Term> best;
  std::vector<Term> parts;
  forEachPlace(padded(x, windows, lowest(x.type())), windows, spatial, [&](const Term& part) {
    best = best ? best->atLeast(part) : part;
    parts.push_back(part);
  });
  // Backwards, so that the first of equal ones stays. Padding has no place.
  std::optional<Term> index;
  std::vector<Term> places;
  forEachPlace(padded(placesOf(x, windows, columnMajor), windows, -1), windows, spatial,
               [&](const Term& part) { places.push_back(part); });
  for (size_t i = parts.size(); i-- > 0;) {
    const Term hit = both(equal(parts[i], *best), places[i] > -1.0);
    index = where(hit, places[i], index ? *index : places[i]);
  }
  return {*best, *index};
}

Spatial withExplicitPadding(const Term& x, const Spatial& spatial) {
  const bool same =
      spatial.mode == nvinfer1::PaddingMode::kSAME_UPPER || spatial.mode == nvinfer1::PaddingMode::kSAME_LOWER;
  bool isKnown = true;
  for (size_t i = 0; i < spatial.rank(); ++i) {
    isKnown = isKnown && x.dim(static_cast<int64_t>(i) + 2).known();
  }
  if (!same && !isKnown) {
    return spatial;
  }
  const Windows windows = windowsOf(x, spatial);  // which fit
  if (!same) {
    return spatial;
  }
  Spatial result = spatial;
  result.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  result.padsBegin = windows.before;
  result.padsEnd = windows.after;
  return result;
}

}  // namespace tenon::parsers::onnx

// Where windows lie, and the places of their maxima.
#include "windows.h"

#include <cfloat>
#include <cmath>
#include <functional>
#include <optional>

namespace tenon::parsers::onnx {
namespace {

constexpr int64_t kMostPlaces = 1024;

using nvinfer1::ElementWiseOperation;

bool isSame(const Spatial& spatial) {
  return spatial.mode == nvinfer1::PaddingMode::kSAME_UPPER || spatial.mode == nvinfer1::PaddingMode::kSAME_LOWER;
}

// Where windows begin and how many there are, with all padding explicit.
struct Windows {
  ParsedExtents in;
  ParsedExtents before;
  ParsedExtents after;  // padding that the last window reaches
  ParsedExtents count;
};

Windows windowsOf(const Term& x, const Spatial& spatial) {
  NetworkWriter& writer = x.writer();
  const auto with = [&](const ParsedExtent& a, ElementWiseOperation operation, int64_t b) {
    return writer.combine(a, ParsedExtent::of(b), operation);
  };
  const auto positive = [&](const ParsedExtent& a) { return with(a, ElementWiseOperation::kMAX, 0); };
  const auto of = [&](const ParsedExtent& a, ElementWiseOperation operation, const ParsedExtent& b) {
    return writer.combine(a, b, operation);
  };
  Windows windows;
  for (size_t i = 0; i < spatial.rank(); ++i) {
    const ParsedExtent extent = x.dim(static_cast<int64_t>(i) + 2);
    const int64_t reach = (spatial.kernel[i] - 1) * spatial.dilations[i] + 1;
    const int64_t stride = spatial.strides[i];
    // How many windows begin within so many places.
    const auto begins = [&](const ParsedExtent& places) {
      return with(with(places, ElementWiseOperation::kSUM, stride - 1), ElementWiseOperation::kFLOOR_DIV, stride);
    };
    const auto end = [&](const ParsedExtent& count) {  // of the last window
      return with(with(with(count, ElementWiseOperation::kSUB, 1), ElementWiseOperation::kPROD, stride),
                  ElementWiseOperation::kSUM, reach);
    };
    ParsedExtent before = ParsedExtent::of(spatial.padsBegin[i]);
    ParsedExtent count;
    if (isSame(spatial)) {
      count = begins(extent);
      const ParsedExtent total = positive(of(end(count), ElementWiseOperation::kSUB, extent));
      const int64_t more = spatial.mode == nvinfer1::PaddingMode::kSAME_UPPER ? 0 : 1;
      before = with(with(total, ElementWiseOperation::kSUM, more), ElementWiseOperation::kFLOOR_DIV, 2);
    } else {
      const ParsedExtent room =
          with(extent, ElementWiseOperation::kSUM, spatial.padsBegin[i] + spatial.padsEnd[i] - reach + 1);
      const bool up = spatial.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
      count = begins(up ? with(room, ElementWiseOperation::kSUM, stride - 1) : room);
      if (up) {  // none begins behind the input
        count = of(count, ElementWiseOperation::kMIN,
                   begins(with(extent, ElementWiseOperation::kSUM, spatial.padsBegin[i])));
      }
      if (room.known() && room.value < 1) {
        count = ParsedExtent::of(0);
      }
    }
    if (count.known() && count.value < 1) {
      fail(FaultKind::kInvalidNode,
           fmt::format("a window of {} elements does not fit into axis {} of {}", reach, i + 2, toString(x.shape())));
    }
    windows.in.push_back(extent);
    windows.before.push_back(before);
    windows.after.push_back(
        positive(of(of(end(count), ElementWiseOperation::kSUB, before), ElementWiseOperation::kSUB, extent)));
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
      part = part.slice(static_cast<int64_t>(i) + 2, ParsedExtent::of(place[i] * spatial.dilations[i]),
                        windows.count[i], spatial.strides[i]);
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
  ParsedExtents weights(rank);
  ParsedExtent pixels = ParsedExtent::of(1);
  for (size_t k = 0; k < rank; ++k) {
    const size_t i = columnMajor ? k : rank - 1 - k;
    weights[i] = pixels;
    pixels = writer.combine(pixels, windows.in[i], ElementWiseOperation::kPROD);
  }
  const auto along = [&](size_t axis, const ParsedExtent& weight) {
    std::vector<int64_t> others;
    for (size_t i = 0; i < rank + 2; ++i) {
      if (i != axis) {
        others.push_back(static_cast<int64_t>(i));
      }
    }
    const Term numbers = iota(writer, x.dim(static_cast<int64_t>(axis)), DataType::kINT64);
    return (numbers * Term(writer, writer.fromExtents({weight}, true))).unsqueeze(others);
  };
  Term places = along(0, writer.combine(x.dim(1), pixels, ElementWiseOperation::kPROD)) + along(1, pixels);
  for (size_t i = 0; i < rank; ++i) {
    places = places + along(i + 2, weights[i]);
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
  for (size_t i = 0; i < spatial.rank(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    if (isSame(spatial)) {
      x.fixedDim(axis, "a spatial extent of a dilated pool with auto_pad");
    } else if (!x.dim(axis).known()) {
      return spatial;
    }
  }
  const Windows windows = windowsOf(x, spatial);  // which fit
  if (!isSame(spatial)) {
    return spatial;
  }
  Spatial result = spatial;
  result.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  for (size_t i = 0; i < spatial.rank(); ++i) {
    result.padsBegin[i] = windows.before[i].value;
    result.padsEnd[i] = windows.after[i].value;
  }
  return result;
}

}  // namespace tenon::parsers::onnx

// Windows three and five wide go along rows where the epilogue lets them. Else pixels in the middle of a row share the
// addresses of their taps; the others have a table of their own.
#include "backends/cpu/kernels/common/depthwise_sums.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/depthwise_rows_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {

DepthwiseWeights::DepthwiseWeights(std::string_view kernel, const ops::Convolution& op, const TensorView& w,
                                   const TensorView* b)
    : dims_(w.dims) {
  if (!isConstantF32(w) || w.dims.rank != 4 || w.dims[1] != 1 || w.dims[0] != op.groups ||
      w.dims.count(2, 4) > kMostTaps) {
    throw Unsupported("{} needs constant weights of one channel a group and at most {} window elements", kernel,
                      kMostTaps);
  }
  if (b == nullptr) return;
  if (!isConstantF32(*b)) throw Unsupported("{} needs a bias that is a constant", kernel);
  const auto* const values = static_cast<const float*>(b->data);
  bias_.assign(values, values + w.dims[0]);
  bias_.resize(static_cast<size_t>(panelCount(w.dims[0]) * tileGeometry().columns), 0.f);
}

runtime::PackedForm DepthwiseWeights::form(size_t input) const {
  return {{input},
          fmt::format("panels of {}, {} by {}, transposed", tileGeometry().columns, taps(), dims_[0]),
          panelBytes(taps(), dims_[0]),
          true};
}

void DepthwiseWeights::pack(const float* from, float* to) const {
  packPanelsInto({from, taps(), dims_[0], 1, taps()}, to, taps() * tileGeometry().columns);
}

void DepthwiseWeights::restore(const float* packed, float* to) const {
  unpackPanels(packed, to, taps(), dims_[0], 1, taps());
}

void DepthwiseSums::configure(const Window& window) {
  window_ = window;
  const Window& w = window_;
  taps_ = w.size[0] * w.size[1];
  const bool hasRows = (w.size[1] == 3 && (w.size[0] == 1 || w.size[0] == 3)) || (w.size[1] == 5 && w.size[0] <= 5);
  isRow_ = hasRows && w.dilation[1] == 1 && w.stride[1] <= 2 && w.before[1] <= w.size[1] / 2;
  zeros_.assign(static_cast<size_t>(w.channels + (kMaxTileRows - 1) * w.stride[1] * w.step), 0.f);
  firstInner_ = std::clamp<int64_t>((w.before[1] + w.stride[1] - 1) / w.stride[1], 0, w.out[1]);
  const int64_t reach = (w.size[1] - 1) * w.dilation[1];
  const int64_t room = w.extent[1] - 1 - reach + w.before[1];
  lastInner_ = room < 0 ? firstInner_ : std::clamp(room / w.stride[1] + 1, firstInner_, w.out[1]);
}

DepthwiseSums::Place DepthwiseSums::placeOf(int64_t pixel) const {
  const int64_t row = pixel / window_.out[1];
  return {row / window_.out[0], row % window_.out[0], pixel % window_.out[1]};
}

// Where the taps of a pixel stand, and how far they go from one pixel to the next.
void DepthwiseSums::pointAt(const Place& place, const float* x, const float** sources, int64_t* steps) const {
  const Window& w = window_;
  const float* const zeros = zeros_.data();
  const int64_t top = place.row * w.stride[0] - w.before[0];
  const int64_t left = place.column * w.stride[1] - w.before[1];
  for (int64_t r = 0; r < w.size[0]; ++r) {
    const int64_t y = top + r * w.dilation[0];
    const bool isInside = y >= 0 && y < w.extent[0];
    const float* const start = x + ((place.image * w.extent[0] + y) * w.extent[1] + left) * w.step;
    for (int64_t s = 0; s < w.size[1]; ++s) {
      *sources++ = isInside ? start + s * w.dilation[1] * w.step : zeros;
      *steps++ = isInside ? w.stride[1] * w.step : 0;
    }
  }
}

// Where the taps of consecutive pixels stand, tap by tap; a run of them within a row of the result at a time.
void DepthwiseSums::pointApart(int64_t pixel, int64_t count, const float* x, const float** sources) const {
  const Window& w = window_;
  const float* const zeros = zeros_.data();
  const int64_t step = w.stride[1] * w.step;
  for (int64_t done = 0; done < count;) {
    const Place place = placeOf(pixel + done);
    const int64_t run = std::min(count - done, w.out[1] - place.column);
    const int64_t top = place.row * w.stride[0] - w.before[0];
    const int64_t left = place.column * w.stride[1] - w.before[1];
    const float** to = sources + done;
    for (int64_t r = 0; r < w.size[0]; ++r) {
      const int64_t y = top + r * w.dilation[0];
      const bool isInside = y >= 0 && y < w.extent[0];
      const float* const line = x + (place.image * w.extent[0] + y) * w.extent[1] * w.step;
      for (int64_t s = 0; s < w.size[1]; ++s, to += count) {
        const int64_t column = left + s * w.dilation[1];
        const float* const from = line + column * w.step;
        if (isInside && column >= 0 && column + (run - 1) * w.stride[1] < w.extent[1]) {
          for (int64_t i = 0; i < run; ++i) to[i] = from + i * step;
          continue;
        }
        for (int64_t i = 0; i < run; ++i) {
          const int64_t at = column + i * w.stride[1];
          to[i] = isInside && at >= 0 && at < w.extent[1] ? from + i * step : zeros;
        }
      }
    }
    done += run;
  }
}

void DepthwiseSums::tile(TileCall& tile, const TileFunctions& functions, const Call& call, int count,
                         int64_t row) const {
  const int64_t width = tileGeometry().columns;
  for (int64_t channel = 0; channel < window_.channels; channel += width) {
    tile.offset = channel;
    tile.panel = call.panels + channel * taps_;
    tile.bias = call.bias == nullptr ? nullptr : call.bias + channel;
    tile.width = std::min(width, window_.channels - channel);
    call.epilogue->run(functions[static_cast<size_t>(count)], count, tile, call.out, call.extras, row, channel,
                       window_.channels);
  }
}

// A gate computes in place what has been stored.
void DepthwiseSums::runRows(const Call& call, const TileEpilogue::Ends& ends, int64_t pixel, int64_t count,
                            int64_t row) const {
  const Window& w = window_;
  const auto function = depthwiseRowsFunction(w.size[1], w.stride[1]);
  DepthwiseRows rows;
  rows.windowLines = w.size[0];
  rows.columns = w.extent[1];
  rows.channels = w.channels;
  rows.panels = call.panels;
  rows.bias = call.bias;
  rows.low = ends.low;
  rows.high = ends.high;
  rows.bends = ends.bends;
  rows.slopes = ends.slopes;
  rows.slope = ends.slope;
  rows.outStep = w.outStep;
  while (count > 0) {
    const Place place = placeOf(pixel);
    rows.pixels = std::min(count, w.out[1] - place.column);
    rows.first = place.column * w.stride[1] - w.before[1];
    rows.out = call.out + row * w.outStep;
    rows.firstLine = w.size[0];
    rows.endLine = 0;
    for (size_t r = 0; r < static_cast<size_t>(w.size[0]); ++r) {
      const int64_t y = place.row * w.stride[0] - w.before[0] + static_cast<int64_t>(r) * w.dilation[0];
      const bool isInside = y >= 0 && y < w.extent[0];
      if (isInside) {
        rows.firstLine = std::min(rows.firstLine, static_cast<int64_t>(r));
        rows.endLine = static_cast<int64_t>(r) + 1;
      }
      rows.lines[r] = isInside ? call.x + (place.image * w.extent[0] + y) * w.extent[1] * w.step : zeros_.data();
      rows.steps[r] = isInside ? w.step : 0;
    }
    function(rows);
    if (call.epilogue->isGate()) {
      call.epilogue->finish(rows.out, static_cast<int>(rows.pixels), w.outStep, w.channels, call.out, call.extras, row,
                            0, w.channels);
    }
    pixel += rows.pixels;
    row += rows.pixels;
    count -= rows.pixels;
  }
}

void DepthwiseSums::run(const Call& call, int64_t pixel, int64_t count, int64_t row) const {
  if (isRow_) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (call.epilogue->isGate()) return runRows(call, {-kInfinity, kInfinity, false, nullptr, 0}, pixel, count, row);
    if (const auto ends = call.epilogue->ends(call.extras)) return runRows(call, *ends, pixel, count, row);
  }
  const int64_t most = tileGeometry().rows;
  const float* apart[DepthwiseWeights::kMostTaps * kMaxTileRows];
  const float* sources[DepthwiseWeights::kMostTaps];
  int64_t steps[DepthwiseWeights::kMostTaps];
  TileCall tileCall;
  tileCall.taps = taps_;
  tileCall.rowStep = window_.stride[1] * window_.step;
  const int64_t end = pixel + count;
  while (pixel < end) {
    const Place place = placeOf(pixel);
    const int64_t inner = std::min(lastInner_ - place.column, end - pixel);  // from here on
    if (place.column >= firstInner_ && inner >= std::min(most, end - pixel)) {
      pointAt(place, call.x, sources, steps);
      tileCall.sources = sources;
      for (int64_t left = inner; left > 0;) {
        const int64_t some = std::min(most, left);
        if (some < most && pixel + some < end) break;  // goes on beyond the edge
        tile(tileCall, depthwiseFunctions(), call, static_cast<int>(some), row);
        left -= some;
        row += some;
        pixel += some;
        for (int64_t t = 0; t < taps_; ++t) sources[t] += some * steps[t];
      }
      continue;
    }
    const int64_t some = std::min(most, end - pixel);
    pointApart(pixel, some, call.x, apart);
    tileCall.sources = apart;
    tile(tileCall, depthwiseApartFunctions(), call, static_cast<int>(some), row);
    row += some;
    pixel += some;
  }
}

}  // namespace tenon::backends::cpu

// Where to cut, by a model of what a slice costs; and the geometry of the slices.
#include "backends/cpu/kernels/dnnl/window_slices.h"

#include <algorithm>
#include <cmath>

#include "core/storage.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

constexpr int64_t kMostSlices = 16;
constexpr int64_t kFloat = sizeof(float);

double priceOfAll(const WindowProblem& slice, int64_t slices) {
  return priceOf(
      slicePrice(slice.operations, (slice.x.dims.count() + slice.y.dims.count()) * kFloat, slice.weightBytes), slices);
}

bool isChannelsLast(const runtime::TensorShape& shape) { return shape.layout == Layout::kChannelsLast; }

void setImages(WindowProblem& problem, int64_t images) {
  const double share = static_cast<double>(images) / static_cast<double>(problem.y.dims[0]);
  problem.x.dims[0] = images;
  problem.y.dims[0] = images;
  problem.operations *= share;
}

void setChannels(WindowSlice& slice, int64_t begin, int64_t end) {
  auto& problem = slice.problem;
  const int64_t all = problem.y.dims[1];
  const int64_t count = end - begin;
  if (problem.groups > 1) {
    const int64_t each = problem.x.dims[1] / problem.groups;
    const int64_t outEach = all / problem.groups;
    slice.inputChannel = begin / outEach * each;
    problem.groups = count / outEach;
    problem.x.dims[1] = problem.groups * each;
  }
  slice.channel = begin;
  problem.y.dims[1] = count;
  problem.operations *= static_cast<double>(count) / static_cast<double>(all);
  problem.weightBytes = problem.weightBytes / all * count;
}

int64_t ceilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t floorDiv(int64_t a, int64_t b) { return -ceilDiv(-a, b); }

// Rows [begin, end) of the output; false where no row of the input belongs to them.
bool setRows(WindowSlice& slice, int64_t begin, int64_t end) {
  auto& problem = slice.problem;
  const int64_t stride = problem.strides[0];
  const int64_t before = problem.before[0];
  const int64_t rows = problem.x.dims[2];
  const int64_t all = problem.y.dims[2];
  const int64_t reach = (problem.window[0] - 1) * (problem.dilations[0] + 1) + 1;
  int64_t first = 0;
  int64_t last = 0;
  if (problem.isTransposed) {  // y[i * stride - before + k] += x[i] * w[k]
    first = std::max<int64_t>(0, ceilDiv(begin + before - reach + 1, stride));
    last = std::min(rows, floorDiv(end - 1 + before, stride) + 1);
    problem.before[0] = begin + before - first * stride;
    problem.after[0] = (last - first - 1) * stride + reach - (end - begin) - problem.before[0];
    if (problem.before[0] < 0) return false;
  } else {
    const int64_t from = begin * stride - before;
    const int64_t to = (end - 1) * stride - before + reach;
    first = std::max<int64_t>(0, from);
    last = std::min(rows, to);
    problem.before[0] = first - from;
    problem.after[0] = to - last;
  }
  if (last <= first) return false;
  slice.inputRow = first;
  slice.row = begin;
  problem.x.dims[2] = last - first;
  problem.y.dims[2] = end - begin;
  problem.operations *= static_cast<double>(end - begin) / static_cast<double>(all);
  return true;
}

int64_t offset(const runtime::TensorShape& whole, int64_t image, int64_t channel, int64_t row) {
  const auto& dims = whole.dims;
  if (isChannelsLast(whole)) {
    const int64_t rowElements = dims.rank > 2 ? dims.count(3, dims.rank) * dims[1] : dims[1];
    return ((dims.rank > 2 ? image * dims[2] + row : image) * rowElements + channel) * kFloat;
  }
  return (image * dims[1] + channel) * dims.count(2, dims.rank) * kFloat;
}

}  // namespace

int64_t convolutionChannelStep(const WindowProblem& problem, bool canPart) {
  const int64_t channels = problem.y.dims[1];
  const int64_t block = channelBlock(problem.y.layout);
  if (!canPart || problem.y.layout == Layout::kChannelsLast) return 0;
  if (problem.groups == 1) return block == 1 ? 32 : channels >= 8 * block ? 4 * block : 2 * block;
  const int64_t each = channels / problem.groups;
  const int64_t inEach = problem.x.dims[1] / problem.groups;
  if (each == 1 && inEach == 1) return std::max<int64_t>(8, block);
  return each % block == 0 && inEach % channelBlock(problem.x.layout) == 0 ? each : 0;
}

int64_t partBegin(int64_t extent, int64_t parts, int64_t part) {
  return part * (extent / parts) + std::min(part, extent % parts);
}

// In round figures of processors of today: 50 multiply-adds and 20 bytes of activations a nanosecond, weights from the
// last cache or memory, and the call itself with what a kernel loses at its edges.
double slicePrice(double operations, int64_t activationBytes, int64_t weightBytes) {
  return operations / 50 + static_cast<double>(activationBytes) / 20 + static_cast<double>(weightBytes) / 10 + 4000;
}

// What the slices take on 2 threads, and with less weight on 8. A part of the last slice is waited for where a thread
// is held up.
double priceOf(double slice, int64_t slices) {
  const auto on = [&](int64_t threads) {
    return slice * (static_cast<double>((slices + threads - 1) / threads) + 0.25);
  };
  return on(2) * std::pow(on(8), 0.25);
}

std::vector<Cut> cutsOf(const WindowProblem& problem) {
  struct Priced {
    Cut cut;
    double price;
  };
  const auto& y = problem.y.dims;
  const int64_t images = y[0];
  std::vector<Priced> found{{{Cut::Along::kImages, 1}, priceOfAll(problem, 1)}};
  const auto consider = [&](Cut::Along along, int64_t most, const auto& shrink) {
    for (const int64_t parts : kPartCounts) {
      const int64_t slices = along == Cut::Along::kImages ? parts : parts * images;
      if (parts > most || slices > std::max<int64_t>(kMostSlices, 2 * images) || slices > 4 * kMostSlices) break;
      WindowSlice longest{.problem = problem};
      if (along != Cut::Along::kImages) setImages(longest.problem, 1);
      if (shrink(longest, parts)) found.push_back({{along, parts}, priceOfAll(longest.problem, slices)});
    }
  };
  consider(Cut::Along::kImages, images, [&](WindowSlice& slice, int64_t parts) {
    setImages(slice.problem, (images + parts - 1) / parts);
    return true;
  });
  if (y.rank > 2 && isChannelsLast(problem.x) && isChannelsLast(problem.y)) {
    consider(Cut::Along::kRows, y[2], [&](WindowSlice& slice, int64_t parts) {
      const int64_t middle = parts / 2;
      return setRows(slice, partBegin(y[2], parts, middle),
                     partBegin(y[2], parts, middle) + (y[2] + parts - 1) / parts);
    });
  }
  if (problem.channelStep > 0 && !isChannelsLast(problem.y)) {
    const int64_t steps = (y[1] + problem.channelStep - 1) / problem.channelStep;
    consider(Cut::Along::kChannels, steps, [&](WindowSlice& slice, int64_t parts) {
      setChannels(slice, 0, std::min(y[1], (steps + parts - 1) / parts * problem.channelStep));
      return true;
    });
  }
  std::stable_sort(found.begin(), found.end(), [](const Priced& a, const Priced& b) { return a.price < b.price; });
  std::vector<Cut> cuts;
  for (const auto& one : found) cuts.push_back(one.cut);
  return cuts;
}

std::vector<WindowSlice> slicesOf(const WindowProblem& problem, const Cut& cut) {
  const auto& y = problem.y.dims;
  std::vector<WindowSlice> slices;
  if (cut.parts == 1) return {WindowSlice{.problem = problem}};
  if (cut.along == Cut::Along::kImages) {
    for (int64_t part = 0; part < cut.parts; ++part) {
      auto& slice = slices.emplace_back(WindowSlice{.problem = problem});
      slice.image = partBegin(y[0], cut.parts, part);
      setImages(slice.problem, partBegin(y[0], cut.parts, part + 1) - slice.image);
    }
    return slices;
  }
  const int64_t step = cut.along == Cut::Along::kRows ? 1 : problem.channelStep;
  const int64_t extent = y[cut.along == Cut::Along::kRows ? 2 : 1];
  const int64_t steps = (extent + step - 1) / step;
  for (int64_t image = 0; image < y[0]; ++image) {
    for (int64_t part = 0; part < cut.parts; ++part) {
      auto& slice = slices.emplace_back(WindowSlice{.problem = problem});
      slice.image = image;
      setImages(slice.problem, 1);
      const int64_t begin = partBegin(steps, cut.parts, part) * step;
      const int64_t end = std::min(extent, partBegin(steps, cut.parts, part + 1) * step);
      if (cut.along == Cut::Along::kChannels) {
        setChannels(slice, begin, end);
      } else if (!setRows(slice, begin, end)) {
        return {};
      }
    }
  }
  return slices;
}

bool isSameProblem(const WindowProblem& a, const WindowProblem& b) {
  return a.x.dims == b.x.dims && a.y.dims == b.y.dims && a.before == b.before && a.after == b.after;
}

int64_t offsetOfInput(const WindowProblem& whole, const WindowSlice& slice) {
  return offset(whole.x, slice.image, slice.inputChannel, slice.inputRow);
}

int64_t offsetOfOutput(const WindowProblem& whole, const WindowSlice& slice) {
  return offset(whole.y, slice.image, slice.channel, slice.row);
}

SlicedExtras sliceExtras(std::span<const runtime::TensorShape> extras, const WindowProblem& whole,
                         const WindowSlice& slice) {
  SlicedExtras result;
  for (auto extra : extras) {
    int64_t bytes = 0;
    if (extra.dims == whole.y.dims) {
      extra.dims = slice.problem.y.dims;
      bytes = offset(whole.y, slice.image, slice.channel, slice.row);
    } else if (extra.dims.count() > 1) {  // by channel
      for (int axis = 0; axis < extra.dims.rank; ++axis) {
        if (extra.dims[axis] > 1) extra.dims[axis] = slice.problem.y.dims[1];
      }
      bytes = slice.channel * kFloat;
    }
    result.shapes.push_back(extra);
    result.offsets.push_back(bytes);
  }
  return result;
}

}  // namespace tenon::backends::cpu

// Pooling of row-major images of 1 to 3 spatial axes: the rows of a window are joined into one line, over which the
// window then slides.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pool_axis.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/line_pool_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"
#include "ops/op/pooling.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kLine = 4096;  // elements at a time
constexpr int64_t kMostLines = 16;
constexpr int64_t kWideRows = 2;        // of kLine elements
constexpr int64_t kMostWindowRows = 9;  // of windows whose lines are joined together

class LinePoolingInstance final : public runtime::KernelInstance {
 public:
  explicit LinePoolingInstance(const ops::Pooling& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0].dims;
    const size_t spatial = op_.window.size();
    type_ = x.dtype;
    const bool isHalf = type_ == DataType::kF16 || type_ == DataType::kBF16;
    const bool isOrdered = isHalf && op_.type == ops::PoolingType::kMax;
    widen_ = narrow_ = nullptr;
    if (isOrdered) {
      widen_ = halfOrder(type_).to;
      narrow_ = halfOrder(type_).from;
    } else if (isHalf) {
      widen_ = castFunction(type_, DataType::kF32);
      narrow_ = castFunction(DataType::kF32, type_);
    }
    const auto computedIn = isHalf && !isOrdered ? DataType::kF32 : type_;
    maximum_ = linePoolMaximum(computedIn);
    computedBytes_ = bits(computedIn) / 8;
    bytes_ = bits(type_) / 8;
    const bool averages = op_.type != ops::PoolingType::kMax;
    const int64_t lastStep = op_.dilations.empty() ? 1 : op_.dilations[spatial - 1];
    if (maximum_.join == nullptr || (averages && computedIn != DataType::kF32) ||
        (op_.window[spatial - 1] - 1) * lastStep >= kLine / 2)
      throw Unsupported("cpu.line_pooling: {} of {} with a window of {}",
                        enumNames(op_.type)[static_cast<size_t>(op_.type)], name(type_), op_.window[spatial - 1]);
    planes_ = x.dims[0] * x.dims[1];
    const auto value = [&](const Shape& padding, size_t i) {
      if (padding.empty()) return int64_t{0};
      return padding[i].isConstant() ? padding[i].constant() : padding[i].evaluate(*shapes.symbols);
    };
    axes_ = {};
    for (size_t i = 0; i < spatial; ++i) {
      auto& axis = axes_[3 - spatial + i];
      axis.in = x.dims[static_cast<int>(i) + 2];
      axis.out = y[static_cast<int>(i) + 2];
      axis.window = op_.window[i];
      axis.step = op_.dilations.empty() ? 1 : op_.dilations[i];
      axis.stride = op_.strides.empty() ? 1 : op_.strides[i];
      axis.before = value(op_.prePadding, i);
      axis.after = value(op_.postPadding, i);
    }
    // Signals come with an axis of one element behind them.
    const auto isOne = [](const PoolAxis& axis) {
      return axis.in == 1 && axis.out == 1 && axis.window == 1 && axis.before == 0 && axis.after == 0;
    };
    for (int i = 0; i < 2 && isOne(axes_[2]); ++i) axes_ = {PoolAxis(), axes_[0], axes_[1]};
    for (size_t k = 0; k < ranges_.size(); ++k) {
      ranges_[k].clear();
      for (int64_t i = 0; i < axes_[k].out; ++i) ranges_[k].push_back(axes_[k].inside(i));
    }
    for (size_t k = 0; k < axes_.size(); ++k) {
      factors_[k].clear();
      for (int64_t i = 0; averages && i < axes_[k].out; ++i) factors_[k].push_back(inverse(axes_[k].inside(i)));
    }
    if (averages) factors_[2].resize(factors_[2].size() + kLineSlack);  // whole vectors are read
    windowRows_ = axes_[0].window * axes_[1].window;
    if (windowRows_ > kMostWindowRows || axes_[2].in > kLine) windowRows_ = 0;
    for (auto* neutral : {&neutralMaximum_, &neutralSum_}) neutral->assign(static_cast<size_t>(axes_[2].in) + 1, 0);
    maximum_.fill(neutralMaximum_.data(), static_cast<size_t>(axes_[2].in));
    planDirect();
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const x = static_cast<const char*>(arguments.inputs[0]);
    auto* const y = static_cast<char*>(arguments.outputs[0]);
    const auto& [depth, height, width] = axes_;
    const int64_t lines = planes_ * depth.out * height.out;
    // Some lines together: a line is not read back while its stores are still on their way.
    const int64_t span = (width.out - 1) * width.stride + width.reach();
    constexpr int64_t kSlide = 4;  // what a cell of a window costs beside an element that is joined
    const int64_t work = lines * (span * depth.window * height.window + width.out * width.window * kSlide);
    const int64_t group = std::clamp<int64_t>(kLine / std::max<int64_t>(1, span), 1, kMostLines);
    runJobs((lines + group - 1) / group, work, [&](int64_t job) {
      const int64_t begin = job * group;
      if (!places_.empty()) return directLines(x, y, begin, std::min(lines, begin + group));
      this->lines(x, y, begin, std::min(lines, begin + group));
    });
  }

 private:
  // One over the cells that an average counts; 0 where there are none.
  float inverse(const PoolRange& range) const {
    const int64_t cells = op_.exclusive ? range.cells : range.padded;
    return cells == 0 ? 0.f : 1.f / static_cast<float>(cells);
  }

  struct Place {
    int64_t plane = 0;  // its first element
    PoolRange z, rows;
    float depthFactor = 0, factor = 0;  // of averages
  };
  // Lines of results and what they read, of which element `origin` stands at `base`.
  struct Group {
    std::span<const Place> places;
    const char* base = nullptr;
    int64_t origin = 0;
    int64_t bytes = 4;
    VectorFunction widen = nullptr;  // where they are halves
  };
  Place placeOf(int64_t line) const {
    const auto& [depth, height, width] = axes_;
    const int64_t plane = line / (depth.out * height.out);
    const int64_t z = line / height.out % depth.out;
    Place place{plane * depth.in * height.in * width.in, ranges_[0][static_cast<size_t>(z)], {}};
    if (!factors_[0].empty()) place.depthFactor = factors_[0][static_cast<size_t>(z)];
    return place;
  }

  void lines(const char* x, char* y, int64_t begin, int64_t end) const {
    const auto& [depth, height, width] = axes_;
    std::array<Place, kMostLines> places;
    Place place;
    for (int64_t line = begin, row = begin % height.out; line < end; ++line, ++row) {
      if (line == begin || row == height.out) {
        row = line % height.out;
        place = placeOf(line);
      }
      place.rows = ranges_[1][static_cast<size_t>(row)];
      if (!factors_[1].empty()) place.factor = place.depthFactor * factors_[1][static_cast<size_t>(row)];
      places[static_cast<size_t>(line - begin)] = place;
    }
    alignas(64) float wide[kWideRows * kLine];
    const Group group = widened({{places.data(), static_cast<size_t>(end - begin)}, x, 0, bytes_, widen_}, wide);
    char* const to = y + begin * width.out * bytes_;
    const int64_t most = std::max<int64_t>(1, (kLine - width.reach()) / width.stride + 1);
    for (int64_t first = 0; first < width.out; first += most)
      chunk(group, first, std::min(most, width.out - first), to + first * bytes_);
  }

  // What every plane repeats: where each row of the windows of a line stands, in bytes, or -1 where it is missing, and
  // the factors of averages. For short lines of one kind of result, computed in the type of the input.
  void planDirect() {
    const auto& [depth, height, width] = axes_;
    places_.clear();
    lineFactors_.clear();
    constexpr int64_t kMostPlaces = 1 << 14;
    const int64_t span = (width.out - 1) * width.stride + width.reach();
    const bool isOne = op_.type != ops::PoolingType::kMaxAverageBlend && widen_ == nullptr && windowRows_ > 0;
    if (!isOne || span > kLine || depth.out * height.out * windowRows_ > kMostPlaces) return;
    left_ = std::clamp<int64_t>(width.before, 0, span);
    right_ = std::clamp<int64_t>(width.in + width.before, left_, span);
    if (right_ == left_) return;
    for (int64_t line = 0; line < depth.out * height.out; ++line) {
      const PoolRange& z = ranges_[0][static_cast<size_t>(line / height.out)];
      const PoolRange& rows = ranges_[1][static_cast<size_t>(line % height.out)];
      const size_t end = places_.size() + static_cast<size_t>(windowRows_);
      for (int64_t d = z.begin; d < z.end; d += depth.step) {
        for (int64_t r = rows.begin; r < rows.end; r += height.step)
          places_.push_back(((d * height.in + r) * width.in + left_ - width.before) * bytes_);
      }
      places_.resize(end, -1);
      lineFactors_.push_back(factors_[0].empty() ? 0.f
                                                 : factors_[0][static_cast<size_t>(line / height.out)] *
                                                       factors_[1][static_cast<size_t>(line % height.out)]);
    }
  }
  void directLines(const char* x, char* y, int64_t begin, int64_t end) const {
    const auto& [depth, height, width] = axes_;
    const bool isMax = op_.type == ops::PoolingType::kMax;
    const auto& functions = isMax ? maximum_ : sum_;
    const void* const neutral = isMax ? neutralMaximum_.data() : neutralSum_.data();
    const auto perPlane = static_cast<int64_t>(lineFactors_.size());
    const int64_t planeBytes = depth.in * height.in * width.in * bytes_;
    const auto count = static_cast<size_t>(end - begin);
    std::array<const void*, kMostLines * kMostWindowRows> rows;
    std::array<float, kMostLines> factors;
    const void** to = rows.data();
    const char* plane = x + begin / perPlane * planeBytes;
    for (int64_t line = begin, at = begin % perPlane; line < end; ++line, ++at) {
      if (at == perPlane) {
        at = 0;
        plane += planeBytes;
      }
      const int64_t* const place = places_.data() + at * windowRows_;
      for (int64_t w = 0; w < windowRows_; ++w) *to++ = place[w] < 0 ? neutral : plane + place[w];
      factors[static_cast<size_t>(line - begin)] = lineFactors_[static_cast<size_t>(at)];
    }
    const int64_t span = (width.out - 1) * width.stride + width.reach();
    alignas(64) char joined[(static_cast<size_t>(kLine) + kLineSlack) * sizeof(float)];
    const bool hasNan =
        functions.joinLines({rows.data(), static_cast<size_t>(windowRows_), count, static_cast<size_t>(left_),
                             static_cast<size_t>(right_ - left_), static_cast<size_t>(span - right_)},
                            joined);
    functions.slide(joined, hasNan,
                    {{static_cast<size_t>(width.window), static_cast<size_t>(width.step)},
                     static_cast<size_t>(width.stride),
                     static_cast<size_t>(span),
                     count,
                     static_cast<size_t>(width.out),
                     factors_[2].empty() ? nullptr : factors_[2].data(),
                     factors.data()},
                    y + begin * width.out * bytes_);
  }

  // What lies in one piece and is short is widened at once.
  Group widened(const Group& group, float* wide) const {
    if (group.widen == nullptr) return group;
    // Rows that stand apart may end in front of those of the line before.
    int64_t begin = std::numeric_limits<int64_t>::max();
    int64_t end = 0;
    for (const auto& place : group.places) {
      if (place.rows.cells == 0 || place.z.cells == 0) continue;
      const auto at = [&](int64_t z, int64_t row) { return place.plane + (z * axes_[1].in + row) * axes_[2].in; };
      begin = std::min(begin, at(place.z.begin, place.rows.begin));
      end = std::max(end, at(place.z.end - 1, place.rows.end));
    }
    if (end <= begin) return group;
    if (end - begin > kWideRows * kLine) return group;
    group.widen(group.base + begin * group.bytes, nullptr, nullptr, wide, static_cast<size_t>(end - begin));
    return {group.places, reinterpret_cast<const char*>(wide), begin, computedBytes_, nullptr};
  }

  // Results `first` to `first + count` of each line; there are several lines only where that is all of them.
  void chunk(const Group& group, int64_t first, int64_t count, char* to) const {
    alignas(64) char highest[kLine * sizeof(float)];
    alignas(64) float sums[kLine];
    const bool direct = op_.type != ops::PoolingType::kMaxAverageBlend && narrow_ == nullptr;
    const bool isMax = op_.type == ops::PoolingType::kMax;
    if (direct) return pool(isMax ? maximum_ : sum_, group, first, count, to);
    if (op_.type != ops::PoolingType::kAverage) pool(maximum_, group, first, count, highest);
    const int64_t all = count * static_cast<int64_t>(group.places.size());
    if (!isMax) pool(sum_, group, first, count, reinterpret_cast<char*>(sums));
    if (op_.type == ops::PoolingType::kMaxAverageBlend) {
      const auto blend = static_cast<float>(op_.blend);
      for (int64_t i = 0; i < all; ++i)
        sums[i] = (1 - blend) * reinterpret_cast<const float*>(highest)[i] + blend * sums[i];
    }
    const void* const made = isMax ? static_cast<const void*>(highest) : sums;
    if (narrow_ != nullptr) {
      narrow_(made, nullptr, nullptr, to, static_cast<size_t>(all));
    } else {
      std::copy_n(sums, all, reinterpret_cast<float*>(to));
    }
  }

  // Lines of results behind each other.
  void pool(const LinePoolFunctions& functions, const Group& group, int64_t first, int64_t count, char* out) const {
    const auto& width = axes_[2];
    const int64_t begin = first * width.stride - width.before;
    const int64_t span = (count - 1) * width.stride + width.reach();
    const int64_t left = std::clamp<int64_t>(-begin, 0, span);
    const int64_t right = std::clamp<int64_t>(width.in - begin, left, span);
    alignas(64) char joined[(static_cast<size_t>(kLine) + kLineSlack) * sizeof(float)];
    const size_t lines = group.places.size();
    SlidLines slid{{static_cast<size_t>(width.window), static_cast<size_t>(width.step)},
                   static_cast<size_t>(width.stride),
                   static_cast<size_t>(span),
                   lines,
                   static_cast<size_t>(count),
                   factors_[2].empty() ? nullptr : factors_[2].data() + first,
                   nullptr};
    std::array<float, kMostLines> lineFactors;
    for (size_t g = 0; g < lines; ++g) lineFactors[g] = group.places[g].factor;
    slid.lineFactors = lineFactors.data();
    if (windowRows_ > 0 && group.widen == nullptr && right > left) {
      std::array<const void*, kMostLines * kMostWindowRows> rows;
      rowsOf(functions, group, begin + left, rows.data());
      const bool hasNan =
          functions.joinLines({rows.data(), static_cast<size_t>(windowRows_), lines, static_cast<size_t>(left),
                               static_cast<size_t>(right - left), static_cast<size_t>(span - right)},
                              joined);
      return functions.slide(joined, hasNan, slid, out);
    }
    std::array<bool, kMostLines> hasNan{};
    for (size_t g = 0; g < lines; ++g) {
      char* const line = joined + static_cast<int64_t>(g) * span * computedBytes_;
      // What is joined may write behind its end, where what comes next is filled or joined.
      if (left > 0) functions.fill(line, static_cast<size_t>(left));
      hasNan[g] = join(functions, group, group.places[g], begin + left, static_cast<size_t>(right - left),
                       line + left * computedBytes_);
      if (span > right) functions.fill(line + right * computedBytes_, static_cast<size_t>(span - right));
    }
    functions.fill(joined + static_cast<int64_t>(lines) * span * computedBytes_, kLineSlack);
    functions.slide(joined, std::find(hasNan.begin(), hasNan.end(), true) != hasNan.end(), slid, out);
  }

  // As many rows of each line as a window has, from column `column` on: what joins nothing for those that are missing.
  void rowsOf(const LinePoolFunctions& functions, const Group& group, int64_t column, const void** to) const {
    const auto& neutral = functions.join == sum_.join ? neutralSum_ : neutralMaximum_;
    for (const auto& place : group.places) {
      const void** const end = to + windowRows_;
      for (int64_t d = place.z.begin; d < place.z.end; d += axes_[0].step) {
        for (int64_t r = place.rows.begin; r < place.rows.end; r += axes_[1].step) {
          const int64_t at = place.plane + (d * axes_[1].in + r) * axes_[2].in + column;
          *to++ = group.base + (at - group.origin) * group.bytes;
        }
      }
      while (to < end) *to++ = neutral.data();
    }
  }

  // The rows of a window, `count` elements of each from column `column` on; whether one of them is NaN.
  bool join(const LinePoolFunctions& functions, const Group& group, const Place& place, int64_t column, size_t count,
            char* to) const {
    if (count == 0) return false;
    constexpr size_t kMostRows = 32;                           // at a time
    alignas(64) char wide[kWideRows * kLine * sizeof(float)];  // halves: several rows where they are short
    std::array<const void*, kMostRows> rows;
    rows[0] = nullptr;
    size_t held = 0;
    size_t widened = 0;
    bool hasNan = false;
    bool isFirst = true;
    const auto flush = [&] {
      hasNan |= functions.join(rows.data(), held, to, count);
      rows[0] = to;
      held = 1;
      widened = 0;
      isFirst = false;
    };
    for (int64_t d = place.z.begin; d < place.z.end; d += axes_[0].step) {
      for (int64_t r = place.rows.begin; r < place.rows.end; r += axes_[1].step) {
        const int64_t at = place.plane + (d * axes_[1].in + r) * axes_[2].in + column;
        const void* from = group.base + (at - group.origin) * group.bytes;
        if (group.widen != nullptr) {
          char* const own = wide + widened * static_cast<size_t>(computedBytes_);
          group.widen(from, nullptr, nullptr, own, count);
          from = own;
          widened += count;
        }
        rows[held++] = from;
        if (held == kMostRows || widened + count > kWideRows * kLine) flush();
      }
    }
    if (held > (isFirst ? 0 : 1)) flush();
    if (isFirst) functions.fill(to, count);
    return hasNan;
  }

  ops::Pooling op_;
  LinePoolFunctions maximum_, sum_ = linePoolSum();
  VectorFunction widen_ = nullptr, narrow_ = nullptr;  // of halves
  DataType type_ = DataType::kF32;
  int64_t bytes_ = 4, computedBytes_ = 4;
  int64_t planes_ = 0;
  std::array<PoolAxis, 3> axes_;                    // the last ones are the spatial axes
  std::array<std::vector<PoolRange>, 2> ranges_;    // by position on the outer axes
  std::array<std::vector<float>, 3> factors_;       // of averages, by position on the axis
  int64_t windowRows_ = 0;                          // of a window, where lines are joined together
  std::vector<float> neutralMaximum_, neutralSum_;  // rows that change no result
  std::vector<int64_t> places_;                     // see planDirect()
  std::vector<float> lineFactors_;
  int64_t left_ = 0, right_ = 0;  // where a line begins and ends within what it is padded to
};

}  // namespace

KernelRow kernelRow_line_pooling() { return {"line_pooling", 1, &loadSimple<ops::Pooling, LinePoolingInstance>}; }

}  // namespace tenon::backends::cpu

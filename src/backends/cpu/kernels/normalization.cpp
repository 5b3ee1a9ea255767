// Layer, instance, group and root-mean-square normalization of f32, of a tensor or a sum of two, whose statistics are
// over the innermost axes; of halves by way of the workspace.
#include "ops/op/normalization.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/row_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/platform/threads.h"
#include "core/strided.h"

namespace tenon::backends::cpu {
namespace {

using runtime::Shapes;

constexpr int64_t kGrainElements = 16384;

// The extents of x with the channels of a group as an axis of their own, and what is reduced of them.
struct SplitAxes {
  Dims dims;
  std::vector<bool> reduced;
  bool split = false;  // axis 1 became axes 1 (groups) and 2 (channels of a group)
};

SplitAxes splitAxes(const ops::Normalization& op, const Dims& x) {
  SplitAxes result;
  result.split = op.groups > 1;
  std::vector<bool> reduced(static_cast<size_t>(x.rank), false);
  for (const int64_t axis : op.axes) reduced[static_cast<size_t>(axis < 0 ? axis + x.rank : axis)] = true;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (result.split && axis == 1) {
      result.dims.push(op.groups);
      result.reduced.push_back(false);
      result.dims.push(x[1] / op.groups);
      result.reduced.push_back(true);
    } else {
      result.dims.push(x[axis]);
      result.reduced.push_back(reduced[static_cast<size_t>(axis)]);
    }
  }
  return result;
}

// Strides of a scale or bias over the split axes.
Strides parameterStrides(const ops::Normalization& op, const Dims& parameter, const Dims& x) {
  const bool perGroup = op.groups > 1 && parameter.rank == x.rank && parameter[1] == op.groups && parameter[1] != x[1];
  Dims space = x;
  if (perGroup) space[1] = op.groups;
  const auto own = stridesWithin(parameter, Layout::kLinear, space);
  if (op.groups <= 1) return own;
  Strides result{};
  for (int axis = 0; axis < x.rank; ++axis) {
    const int64_t stride = own[static_cast<size_t>(axis)];
    if (axis == 1) {
      result[1] = perGroup ? stride : stride * (x[1] / op.groups);
      result[2] = perGroup ? 0 : stride;
    } else {
      result[static_cast<size_t>(axis == 0 ? 0 : axis + 1)] = stride;
    }
  }
  return result;
}

class NormalizationInstance final : public runtime::KernelInstance {
 public:
  explicit NormalizationInstance(const ops::Normalization& op) : op_(op), functions_(rowFunctions()) {}

  size_t configure(const Shapes& shapes) override {
    const auto& x = shapes.inputs[0].dims;
    const auto axes = splitAxes(op_, x);
    const auto own = axes.dims.strides();
    const auto scale = parameterStrides(op_, shapes.inputs[1].dims, x);
    const auto bias = parameterStrides(op_, shapes.inputs[2].dims, x);
    Dims kept, reduced;
    std::array<Strides, 3> keptStrides{}, reducedStrides{};
    for (int axis = 0; axis < axes.dims.rank; ++axis) {
      const auto at = static_cast<size_t>(axis);
      auto& dims = axes.reduced[at] ? reduced : kept;
      auto& strides = axes.reduced[at] ? reducedStrides : keptStrides;
      const auto to = static_cast<size_t>(dims.rank);
      strides[0][to] = own[at];
      strides[1][to] = scale[at];
      strides[2][to] = bias[at];
      dims.push(axes.dims[axis]);
    }
    rows_ = kept.count();
    length_ = reduced.count();
    kept_ = collapse(kept, {keptStrides[0], keptStrides[1], keptStrides[2]});
    reduced_ = collapse(reduced, {reducedStrides[0], reducedStrides[1], reducedStrides[2]});
    // One row of scales and one of biases, or one of each, serve all rows.
    const auto isShared = [&](size_t operand) {
      return kept_.strides[operand].back() == 0 && reduced_.strides[operand].back() <= 1;
    };
    isOneRun_ = !op_.skip && reduced_.outer() == 1 && kept_.extents.size() == 1 && isShared(1) && isShared(2);
    isByChannels_ = !op_.skip && reduced_.outer() == 1 && reduced_.strides[1].back() == 0 &&
                    reduced_.strides[2].back() == 0 && kept_.strides[0].back() == length_;
    for (size_t i = 0; i < 2; ++i)
      spread_[i].resize(isOneRun_ && reduced_.strides[i + 1].back() == 0 ? static_cast<size_t>(length_) : 0);
    type_ = shapes.inputs[0].dtype;
    counts_.clear();
    if (type_ == DataType::kF32) return 0;
    isByRows_ = isOneRun_ && length_ <= kWideElements;
    parameters_ = {shapes.inputs[1].dims.count(), shapes.inputs[2].dims.count()};
    if (isByRows_) return static_cast<size_t>(parameters_[0] + parameters_[1]) * sizeof(float);
    for (const auto& input : shapes.inputs) counts_.push_back(input.dims.count());
    for (const auto& output : shapes.outputs) counts_.push_back(output.dims.count());
    inputs_ = shapes.inputs.size();
    return static_cast<size_t>(std::accumulate(counts_.begin(), counts_.end(), int64_t{0})) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (rows_ == 0 || length_ == 0) return;
    if (type_ == DataType::kF32) return compute(arguments.inputs, arguments.outputs);
    if (isByRows_) return computeRows(arguments);
    std::array<void*, kMostOperands> wide{};
    auto* at = static_cast<float*>(arguments.workspace);
    for (size_t i = 0; i < counts_.size(); at += counts_[i++]) {
      wide[i] = at;
      if (i < inputs_) convert(type_, DataType::kF32, arguments.inputs[i], wide[i], counts_[i]);
    }
    compute(wide.data(), wide.data() + inputs_);
    for (size_t i = inputs_; i < counts_.size(); ++i)
      convert(DataType::kF32, type_, wide[i], arguments.outputs[i - inputs_], counts_[i]);
  }

 private:
  static constexpr size_t kMostOperands = 8;
  static constexpr int64_t kWideElements = 4096;  // of halves that are f32 at a time

  static void convert(DataType from, DataType to, const void* in, void* out, int64_t count) {
    const auto function = castFunction(from, to);
    platform::parallelFor(count, kGrainElements, [&](int64_t begin, int64_t end) {
      function(static_cast<const char*>(in) + begin * (bits(from) / 8), nullptr, nullptr,
               static_cast<char*>(out) + begin * (bits(to) / 8), static_cast<size_t>(end - begin));
    });
  }

  // The one value in all of a row where the row is wanted.
  static const float* spread(const float* value, std::vector<float>& row) {
    if (row.empty()) return value;
    std::fill(row.begin(), row.end(), *value);
    return row.data();
  }

  // Halves, some rows at a time: they are f32 in the first cache alone.
  void computeRows(const runtime::LaunchArguments& arguments) {
    auto* const scale = static_cast<float*>(arguments.workspace);
    auto* const bias = scale + parameters_[0];
    convert(type_, DataType::kF32, arguments.inputs[1], scale, parameters_[0]);
    convert(type_, DataType::kF32, arguments.inputs[2], bias, parameters_[1]);
    const float* const scales = spread(scale, spread_[0]);
    const float* const biases = spread(bias, spread_[1]);
    const auto* const x = static_cast<const uint16_t*>(arguments.inputs[0]);
    auto* const y = static_cast<uint16_t*>(arguments.outputs[0]);
    const auto widen = castFunction(type_, DataType::kF32);
    const auto narrow = castFunction(DataType::kF32, type_);
    const int64_t together = kWideElements / length_;
    platform::parallelFor(rows_, std::max<int64_t>(1, kGrainElements / length_), [&](int64_t begin, int64_t end) {
      alignas(64) float wide[kWideElements];
      for (int64_t row = begin; row < end; row += together) {
        const int64_t rows = std::min(together, end - row);
        const auto count = static_cast<size_t>(rows * length_);
        widen(x + row * length_, nullptr, nullptr, wide, count);
        functions_.normalize(wide, wide, static_cast<size_t>(rows), static_cast<size_t>(length_), op_.centered,
                             op_.epsilon, scales, biases);
        narrow(wide, nullptr, nullptr, y + row * length_, count);
      }
    });
  }

  void compute(const void* const* inputs, void* const* outputs) {
    const auto* x = static_cast<const float*>(inputs[0]);
    const auto* scale = static_cast<const float*>(inputs[1]);
    const auto* bias = static_cast<const float*>(inputs[2]);
    auto* y = static_cast<float*>(outputs[0]);
    const int64_t inner = kept_.inner();
    if (isOneRun_) {
      scale = spread(scale, spread_[0]);
      bias = spread(bias, spread_[1]);
      return platform::parallelFor(
          rows_, std::max<int64_t>(1, kGrainElements / length_), [&](int64_t begin, int64_t end) {
            functions_.normalize(x + begin * length_, y + begin * length_, static_cast<size_t>(end - begin),
                                 static_cast<size_t>(length_), op_.centered, op_.epsilon, scale, bias);
          });
    }
    platform::parallelFor(rows_, std::max<int64_t>(1, kGrainElements / length_), [&](int64_t begin, int64_t end) {
      if (isByChannels_) return channels(x, y, scale, bias, begin, end);
      for (int64_t i = begin; i < end; ++i) {
        int64_t at[3];
        kept_.offsets(i / inner, at);
        for (size_t k = 0; k < 3; ++k) at[k] += i % inner * kept_.strides[k].back();
        const float* from = x + at[0];
        if (op_.skip) {
          // The sum is normalized in place where nobody else reads it.
          float* sum = (op_.keepSum ? static_cast<float*>(outputs[1]) : y) + at[0];
          const float* skip = static_cast<const float*>(inputs[3]) + at[0];
          for (int64_t k = 0; k < length_; ++k) sum[k] = from[k] + skip[k];
          from = sum;
        }
        row(from, y + at[0], scale + at[1], bias + at[2]);
      }
    });
  }

  // Rows [begin, end) with one scale and bias each.
  void channels(const float* x, float* y, const float* scale, const float* bias, int64_t begin, int64_t end) const {
    const int64_t inner = kept_.inner();
    for (int64_t i = begin; i < end;) {
      const int64_t stop = std::min(end, (i / inner + 1) * inner);
      int64_t at[3];
      kept_.offsets(i / inner, at);
      for (size_t k = 0; k < 3; ++k) at[k] += i % inner * kept_.strides[k].back();
      functions_.normalizeChannels(x + at[0], y + at[0], static_cast<size_t>(stop - i), static_cast<size_t>(length_),
                                   op_.centered, op_.epsilon,
                                   {scale + at[1], bias + at[2], kept_.strides[1].back(), kept_.strides[2].back()});
      i = stop;
    }
  }

  void row(const float* x, float* y, const float* scale, const float* bias) const {
    const auto length = static_cast<size_t>(length_);
    const double sum = op_.centered ? functions_.sum(x, length) : 0;
    const auto mean = static_cast<float>(sum / static_cast<double>(length_));
    const double variance = functions_.squares(x, mean, length) / static_cast<double>(length_);
    const auto factor = static_cast<float>(1 / std::sqrt(variance + op_.epsilon));
    const auto inner = static_cast<size_t>(reduced_.inner());
    const int64_t scaleStep = reduced_.strides[1].back();
    const int64_t biasStep = reduced_.strides[2].back();
    for (int64_t run = 0; run < reduced_.outer(); ++run) {
      int64_t at[3];
      reduced_.offsets(run, at);
      const float* s = scale + at[1];
      const float* b = bias + at[2];
      if (scaleStep == 0 && biasStep == 0) {
        functions_.scaleAll(x + at[0], y + at[0], inner, mean, factor * *s, *b);
      } else if (scaleStep == 1 && biasStep == 1) {
        functions_.scaleEach(x + at[0], y + at[0], inner, mean, factor, s, b);
      } else {
        for (size_t i = 0; i < inner; ++i) {
          const auto k = static_cast<int64_t>(i);
          y[at[0] + k] = (x[at[0] + k] - mean) * factor * s[k * scaleStep] + b[k * biasStep];
        }
      }
    }
  }

  ops::Normalization op_;
  const RowFunctions& functions_;
  LoopSpace kept_;     // operands: x and y, scale, bias
  LoopSpace reduced_;  // the same within one row, which x walks element by element
  int64_t rows_ = 0;
  int64_t length_ = 0;
  bool isByChannels_ = false;  // rows behind each other, of one scale and bias each
  bool isOneRun_ = false;      // rows behind each other, whose scales and biases are the same row or value
  std::array<std::vector<float>, 2> spread_;
  DataType type_ = DataType::kF32;
  bool isByRows_ = false;                // halves in one run of rows that are short enough
  std::array<int64_t, 2> parameters_{};  // elements of scale and bias
  std::vector<int64_t> counts_;          // elements of inputs and outputs, of halves
  size_t inputs_ = 0;
};

}  // namespace

KernelRow kernelRow_normalization() {
  return {"normalization", 1, &loadSimple<ops::Normalization, NormalizationInstance>};
}

}  // namespace tenon::backends::cpu

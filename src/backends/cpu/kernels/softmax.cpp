// Softmax of f32, f16 and bf16 along one axis: by rows where it is contiguous, by vectors of columns where the axes
// behind it are, few columns by turning them into rows, else element by element.
#include "ops/op/softmax.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/common/axis_loops.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/softmax_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrain = 2048;  // elements that a thread is worth waking for

class SoftmaxInstance final : public runtime::KernelInstance {
 public:
  explicit SoftmaxInstance(const ops::Softmax& op)
      : op_(op),
        rows_(op.logarithm ? softmaxFunctions().logRows : softmaxFunctions().rows),
        columns_(op.logarithm ? softmaxFunctions().logColumns : softmaxFunctions().columns) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    const auto own = stridesOf(x.dims, x.layout);
    std::vector<bool> isReduced(static_cast<size_t>(x.dims.rank), false);
    isReduced[axis] = true;
    axes_ = splitAxes(x.dims, own, isReduced, std::vector<int64_t>(own.begin(), own.end()));
    count_ = x.dims.count();
    extent_ = x.dims[static_cast<int>(axis)];
    step_ = own[axis];
    const auto& kept = axes_.kept;
    byColumns_ = step_ != 1 && kept.strides[1].back() == 1 && kept.inner() >= static_cast<int64_t>(kSoftmaxColumns);
    // Few columns are turned into rows and back.
    turns_ = step_ != 1 && !byColumns_ && kept.strides[1].back() == 1 && step_ == kept.inner() &&
             extent_ >= static_cast<int64_t>(kSoftmaxColumns);
    // Rows that lie behind each other are one task.
    rowsJoin_ = step_ == 1 && (kept.inner() == 1 || kept.strides[1].back() == extent_);
    type_ = x.dtype;
    // Halves are computed in f32: rows that fit on the stack one by one, else all of them.
    const bool isHalf = type_ != DataType::kF32;
    wide_ = isHalf && (byColumns_ || step_ != 1 || extent_ > kLongestRow);
    return static_cast<size_t>(count_) * ((wide_ ? 2 : 0) + (turns_ ? 1 : 0)) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    auto* const memory = static_cast<float*>(arguments.workspace);
    if (!wide_) {
      if (type_ == DataType::kF32)
        return compute(static_cast<const float*>(arguments.inputs[0]), static_cast<float*>(arguments.outputs[0]),
                       memory);
      return halfRows(static_cast<const uint16_t*>(arguments.inputs[0]), static_cast<uint16_t*>(arguments.outputs[0]));
    }
    float* const from = memory;
    float* const to = from + count_;
    convert(castFunction(type_, DataType::kF32), arguments.inputs[0], sizeof(uint16_t), from, sizeof(float));
    compute(from, to, to + count_);
    convert(castFunction(DataType::kF32, type_), to, sizeof(float), arguments.outputs[0], sizeof(uint16_t));
  }

 private:
  static constexpr int64_t kLongestRow = 8192;

  void convert(VectorFunction function, const void* from, int64_t fromBytes, void* to, int64_t toBytes) const {
    platform::parallelFor(count_, kGrain * 8, [&](int64_t begin, int64_t end) {
      function(static_cast<const char*>(from) + begin * fromBytes, nullptr, nullptr,
               static_cast<char*>(to) + begin * toBytes, static_cast<size_t>(end - begin));
    });
  }

  int64_t offsetOf(int64_t line) const {
    int64_t offsets[2];
    const int64_t inner = axes_.kept.inner();
    axes_.kept.offsets(line / inner, offsets);
    return offsets[1] + line % inner * axes_.kept.strides[1].back();
  }

  void halfRows(const uint16_t* in, uint16_t* out) const {
    const auto widen = castFunction(type_, DataType::kF32);
    const auto narrow = castFunction(DataType::kF32, type_);
    platform::parallelFor(count_ / extent_, std::max<int64_t>(1, kGrain / extent_), [&](int64_t begin, int64_t end) {
      // Apart from each other: a part of a vector that was just stored is slow to read.
      alignas(64) float rows[kLongestRow], results[kLongestRow];
      const int64_t inner = axes_.kept.inner();
      const int64_t most = std::max<int64_t>(1, kLongestRow / extent_);
      for (int64_t i = begin; i < end;) {
        const int64_t run = rowsJoin_ ? std::min({most, end - i, inner - i % inner}) : 1;
        const int64_t at = offsetOf(i);
        const auto count = static_cast<size_t>(run * extent_);
        widen(in + at, nullptr, nullptr, rows, count);
        rows_(rows, results, static_cast<size_t>(run), static_cast<size_t>(extent_));
        narrow(results, nullptr, nullptr, out + at, count);
        i += run;
      }
    });
  }

  void compute(const float* in, float* out, float* turned) const {
    if (byColumns_) return computeColumns(in, out);
    if (turns_) return computeTurned(in, out, turned);
    const int64_t inner = axes_.kept.inner();
    platform::parallelFor(count_ / extent_, std::max<int64_t>(1, kGrain / extent_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t run = rowsJoin_ ? std::min(end - i, inner - i % inner) : 1;
        const int64_t at = offsetOf(i);
        if (step_ == 1) {
          rows_(in + at, out + at, static_cast<size_t>(run), static_cast<size_t>(extent_));
        } else {
          one(in + at, out + at);
        }
        i += run;
      }
    });
  }

  void computeColumns(const float* in, float* out) const {
    constexpr int64_t kMost = 256;
    const int64_t inner = axes_.kept.inner();
    // Blocks are alike, so that none is narrower than a vector.
    const int64_t blocks = std::max<int64_t>(1, inner / kMost);
    platform::parallelFor(axes_.kept.outer() * blocks, std::max<int64_t>(1, kGrain * blocks / (extent_ * inner)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              int64_t offsets[2];
                              axes_.kept.offsets(i / blocks, offsets);
                              const int64_t first = inner * (i % blocks) / blocks;
                              const int64_t last = inner * (i % blocks + 1) / blocks;
                              columns_(in + offsets[1] + first, out + offsets[1] + first, static_cast<size_t>(extent_),
                                       static_cast<size_t>(step_), static_cast<size_t>(last - first));
                            }
                          });
  }

  void computeTurned(const float* in, float* out, float* turned) const {
    const int64_t inner = axes_.kept.inner();
    const int64_t outer = axes_.kept.outer();
    constexpr int64_t kRows = 1024;  // of a piece
    const int64_t pieces = (extent_ + kRows - 1) / kRows;
    const auto transpose = transposeFunctions(sizeof(float)).transpose;
    const auto each = [&](auto turn) {
      platform::parallelFor(
          outer * pieces, std::max<int64_t>(1, 16 * kGrain / (kRows * inner)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              int64_t offsets[2];
              axes_.kept.offsets(i / pieces, offsets);
              const int64_t first = i % pieces * kRows;
              turn(offsets[1] + first * inner, i / pieces * extent_ * inner + first, std::min(kRows, extent_ - first));
            }
          });
    };
    const auto width = static_cast<size_t>(inner);
    const auto length = static_cast<size_t>(extent_);
    each([&](int64_t from, int64_t to, int64_t rows) {
      transpose(in + from, width, turned + to, length, static_cast<size_t>(rows), width);
    });
    platform::parallelFor(outer * inner, std::max<int64_t>(1, kGrain / extent_), [&](int64_t begin, int64_t end) {
      rows_(turned + begin * extent_, turned + begin * extent_, static_cast<size_t>(end - begin), length);
    });
    each([&](int64_t to, int64_t from, int64_t rows) {
      transpose(turned + from, length, out + to, width, width, static_cast<size_t>(rows));
    });
  }

  void one(const float* in, float* out) const {
    float most = in[0];
    for (int64_t i = 1; i < extent_; ++i) most = std::max(most, in[i * step_]);
    double sum = 0;
    for (int64_t i = 0; i < extent_; ++i) {
      out[i * step_] = in[i * step_] - most;
      const float e = std::exp(out[i * step_]);
      if (!op_.logarithm) out[i * step_] = e;
      sum += static_cast<double>(e);
    }
    if (op_.logarithm) {
      const auto logarithm = static_cast<float>(std::log(sum));
      for (int64_t i = 0; i < extent_; ++i) out[i * step_] -= logarithm;
      return;
    }
    const auto scale = static_cast<float>(1 / sum);
    for (int64_t i = 0; i < extent_; ++i) out[i * step_] *= scale;
  }

  ops::Softmax op_;
  decltype(SoftmaxFunctions::rows) rows_;
  decltype(SoftmaxFunctions::columns) columns_;
  AxisLoops axes_;
  DataType type_ = DataType::kF32;
  int64_t count_ = 0;
  int64_t extent_ = 1;
  int64_t step_ = 1;
  bool byColumns_ = false;
  bool rowsJoin_ = false;
  bool turns_ = false;
  bool wide_ = false;  // halves by way of the workspace
};

}  // namespace

KernelRow kernelRow_softmax() { return {"softmax", 1, &loadSimple<ops::Softmax, SoftmaxInstance>}; }

}  // namespace tenon::backends::cpu

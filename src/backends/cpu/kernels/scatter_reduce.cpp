// Elements combined with others at indices: lines along the axis share nothing, so threads take some each. Lines that
// lie side by side are taken together.
#include "ops/op/scatter_reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/scatter_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

class ScatterReduceInstance final : public runtime::KernelInstance {
 public:
  explicit ScatterReduceInstance(const ops::ScatterReduce& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    data_ = shapes.inputs[0].dims;
    some_ = shapes.inputs[1].dims;
    type_ = shapes.inputs[0].dtype;
    indexType_ = shapes.inputs[1].dtype;
    axis_ = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    functions_ = scatterFunctions(op_.op, type_, indexType_);
    const bool adds = op_.op == ops::ReduceOp::kSum || op_.op == ops::ReduceOp::kProd;
    isInPlace_ = type_ != DataType::kF32 || !adds || meetsFew();
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (functions_.row == nullptr) throw Unsupported("cpu.scatter_reduce: values of {} are not supported", name(type_));
    const int64_t bytes = bits(type_) / 8;
    if (data_.count() != 0) copyData(arguments, data_.count() * bytes);
    if (some_.count() == 0) return;
    return isInPlace_ ? combineInPlace(arguments, bytes) : combineInDouble(arguments);
  }

 private:
  // Some lines along the axis that lie side by side, at `to` in the data and `from` in the updates.
  struct Lines {
    int64_t to, from, count;
  };

  // Whether an element is met so seldom, as a rule, that f32 loses no more than a few digits of the last place.
  bool meetsFew() const {
    constexpr int64_t kFew = 16;
    constexpr int64_t kAtMost = 1 << 14;
    return some_[axis_] <= std::min(kFew * data_[axis_], kAtMost);
  }

  void copyData(const runtime::LaunchArguments& arguments, int64_t bytes) const {
    constexpr int64_t kPiece = 1 << 17;
    const auto* const from = static_cast<const char*>(arguments.inputs[0]);
    auto* const to = static_cast<char*>(arguments.outputs[0]);
    runJobs((bytes + kPiece - 1) / kPiece, bytes, [&](int64_t job) {
      std::memcpy(to + job * kPiece, from + job * kPiece, static_cast<size_t>(std::min(kPiece, bytes - job * kPiece)));
    });
  }

  // In the type of the values, where the data is. A job has whole lines, as many side by side as there are for all
  // threads.
  void combineInPlace(const runtime::LaunchArguments& arguments, int64_t bytes) const {
    constexpr int64_t kLeast = 64;
    if (axis_ + 1 == some_.rank && linesAreNeighbours()) return combineNeighbours(arguments, bytes);
    const int64_t row = axis_ + 1 < some_.rank ? some_[some_.rank - 1] : 1;
    const int64_t rows = some_.count() / some_[axis_] / row;
    const int64_t wanted = rows >= kJobs ? 1 : kJobs / rows;  // pieces of a row
    const int64_t together = std::max(std::min(row, kLeast), (row + wanted - 1) / wanted);
    const int64_t pieces = (row + together - 1) / together;
    runJobs(rows * pieces, some_.count() * 2, [&](int64_t job) {
      Lines lines = linesOf(job / pieces);
      const int64_t first = job % pieces * together;
      lines.to += first;
      lines.from += first;
      lines.count = std::min(together, row - first);
      combineLinesInPlace(lines, arguments, bytes);
    });
  }
  // Whether lines along the last axis stand behind each other in the data as in the updates.
  bool linesAreNeighbours() const {
    for (int i = 1; i < axis_; ++i) {
      if (data_[i] != some_[i]) return false;
    }
    return true;
  }
  void combineNeighbours(const runtime::LaunchArguments& arguments, int64_t bytes) const {
    constexpr int64_t kUpdates = 4096;  // of a job
    const int64_t count = some_[axis_];
    const int64_t lines = some_.count() / count;
    const int64_t together = std::clamp<int64_t>(kUpdates / count, 1, lines);
    const int64_t indexBytes = bits(indexType_) / 8;
    runJobs((lines + together - 1) / together, some_.count() * 2, [&](int64_t job) {
      const int64_t first = job * together;
      const size_t done = functions_.lines(static_cast<char*>(arguments.outputs[0]) + first * data_[axis_] * bytes,
                                           static_cast<const char*>(arguments.inputs[2]) + first * count * bytes,
                                           static_cast<const char*>(arguments.inputs[1]) + first * count * indexBytes,
                                           data_[axis_], data_[axis_], static_cast<size_t>(count),
                                           static_cast<size_t>(std::min(together, lines - first)));
      checkAll(done, arguments, first * count);
    });
  }
  // Says which index behind that at `from` is outside.
  void checkAll(size_t done, const runtime::LaunchArguments& arguments, int64_t from) const {
    if (done != kAllScattered) indexOf(arguments.inputs[1], from + static_cast<int64_t>(done));
  }
  void combineLinesInPlace(const Lines& lines, const runtime::LaunchArguments& arguments, int64_t bytes) const {
    const auto* const updates = static_cast<const char*>(arguments.inputs[2]);
    const auto* const indices = static_cast<const char*>(arguments.inputs[1]);
    auto* const out = static_cast<char*>(arguments.outputs[0]) + lines.to * bytes;
    const int64_t indexBytes = bits(indexType_) / 8;
    const int64_t toStep = data_.strides()[static_cast<size_t>(axis_)];
    const int64_t fromStep = some_.strides()[static_cast<size_t>(axis_)];
    const int64_t extent = data_[axis_];
    const auto count = static_cast<size_t>(lines.count);
    if (toStep == 1 && fromStep == 1 && lines.count == 1)
      return checkAll(functions_.lines(out, updates + lines.from * bytes, indices + lines.from * indexBytes, 1, extent,
                                       static_cast<size_t>(some_[axis_]), 1),
                      arguments, lines.from);
    constexpr int64_t kNarrow = 8;  // shorter rows are not worth a call each
    if (lines.count <= kNarrow)
      return checkAll(functions_.narrow(out, updates + lines.from * bytes, indices + lines.from * indexBytes, toStep,
                                        extent, count, static_cast<size_t>(some_[axis_]), fromStep),
                      arguments, lines.from);
    for (int64_t k = 0; k < some_[axis_]; ++k) {
      const int64_t from = lines.from + k * fromStep;
      const char* const at = indices + from * indexBytes;
      if (functions_.areAlike(at, count)) {
        functions_.row(out + indexOf(arguments.inputs[1], from) * toStep * bytes, updates + from * bytes, count);
        continue;
      }
      const size_t done = functions_.elements(out, updates + from * bytes, at, toStep, extent, count);
      if (done < count) indexOf(arguments.inputs[1], from + static_cast<int64_t>(done));
    }
  }

  // Where elements are met often, f32 is combined in double, as in the reference.
  void combineInDouble(const runtime::LaunchArguments& arguments) const {
    constexpr int64_t kMostSums = 1 << 18;  // of all elements of some lines
    const int64_t together = std::clamp<int64_t>(kMostSums / std::max<int64_t>(data_[axis_], 1), 1, 128);
    const int64_t row = axis_ + 1 < some_.rank ? some_[some_.rank - 1] : 1;  // of lines side by side
    const int64_t pieces = (row + together - 1) / together;
    const int64_t all = some_.count() / some_[axis_] / row * pieces;
    constexpr int64_t kEach = 16;  // of a job, which makes its memory once
    runJobs((all + kEach - 1) / kEach, some_.count() * 8, [&](int64_t job) {
      Sums sums;
      for (int64_t i = job * kEach; i < std::min(all, (job + 1) * kEach); ++i) {
        Lines lines = linesOf(i / pieces);
        const int64_t first = i % pieces * together;
        lines.to += first;
        lines.from += first;
        lines.count = std::min(together, row - first);
        if (some_[axis_] * kMany >= data_[axis_]) {
          combineAll(lines, arguments, sums.values);
        } else {
          combineLines(lines, arguments, sums);
        }
      }
    });
  }

  // Where a row of lines stands in the data and in the updates.
  Lines linesOf(int64_t row) const {
    const auto strides = data_.strides();
    const auto steps = some_.strides();
    Lines lines{0, 0, 1};
    const int last = axis_ + 1 < some_.rank ? some_.rank - 1 : some_.rank;
    for (int i = last; i-- > 0;) {
      if (i == axis_) continue;
      lines.to += row % some_[i] * strides[static_cast<size_t>(i)];
      lines.from += row % some_[i] * steps[static_cast<size_t>(i)];
      row /= some_[i];
    }
    return lines;
  }

  // What updates name: `slots` says where an element of the axis has its sums, `named` which element has those.
  struct Sums {
    std::vector<int32_t> slots;
    std::vector<int64_t> named;
    std::vector<double> values;
  };

  static constexpr int64_t kMany = 4;
  static constexpr int64_t kJobs = 16;

  // Where there are nearly as many updates as elements: all elements of the lines as sums.
  void combineAll(const Lines& lines, const runtime::LaunchArguments& arguments, std::vector<double>& sums) const {
    auto* const out = static_cast<float*>(arguments.outputs[0]) + lines.to;
    const int64_t toStep = data_.strides()[static_cast<size_t>(axis_)];
    const int64_t extent = data_[axis_];
    sums.resize(static_cast<size_t>(extent * lines.count));
    double* const all = sums.data();
    const bool dense = toStep == lines.count;
    const int64_t row = dense ? extent * lines.count : lines.count;
    const int64_t rows = dense ? 1 : extent;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t w = 0; w < row; ++w) all[i * row + w] = out[i * toStep + w];
    }
    if (indexType_ == DataType::kI64) {
      addUpdates(lines, arguments, static_cast<const int64_t*>(arguments.inputs[1]), all);
    } else {
      addUpdates(lines, arguments, static_cast<const int32_t*>(arguments.inputs[1]), all);
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t w = 0; w < row; ++w) out[i * toStep + w] = static_cast<float>(all[i * row + w]);
    }
  }
  template <typename Index>
  void addUpdates(const Lines& lines, const runtime::LaunchArguments& arguments, const Index* indices,
                  double* sums) const {
    const auto* const updates = static_cast<const float*>(arguments.inputs[2]);
    const int64_t step = some_.strides()[static_cast<size_t>(axis_)];
    const int64_t extent = data_[axis_];
    const int64_t count = some_[axis_];
    const auto add = [&](int64_t from, int64_t w) {
      int64_t index = indices[from + w];
      index += index < 0 ? extent : 0;
      if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(extent))
        indexOf(arguments.inputs[1], from + w);  // which says so
      double& sum = sums[index * lines.count + w];
      sum = combined(sum, updates[from + w]);
    };
    if (lines.count == 1) {
      for (int64_t k = 0; k < count; ++k) add(lines.from + k * step, 0);
      return;
    }
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t w = 0; w < lines.count; ++w) add(lines.from + k * step, w);
    }
  }

  void combineLines(const Lines& lines, const runtime::LaunchArguments& arguments, Sums& sums) const {
    const auto* const updates = static_cast<const float*>(arguments.inputs[2]);
    auto* const out = static_cast<float*>(arguments.outputs[0]) + lines.to;
    const int64_t toStep = data_.strides()[static_cast<size_t>(axis_)];
    const int64_t fromStep = some_.strides()[static_cast<size_t>(axis_)];
    const int64_t count = some_[axis_];
    sums.slots.assign(static_cast<size_t>(data_[axis_]), -1);
    sums.named.clear();
    sums.values.clear();
    const auto rowOf = [&](int64_t index) {
      auto& slot = sums.slots[static_cast<size_t>(index)];
      if (slot < 0) {
        slot = static_cast<int32_t>(sums.named.size());
        sums.named.push_back(index);
        for (int64_t w = 0; w < lines.count; ++w) sums.values.push_back(out[index * toStep + w]);
      }
      return sums.values.data() + slot * lines.count;
    };
    for (int64_t k = 0; k < count; ++k) {
      const int64_t from = lines.from + k * fromStep;
      if (isOneIndex(arguments.inputs[1], from, lines.count)) {
        combineRow(rowOf(indexOf(arguments.inputs[1], from)), updates + from, lines.count);
        continue;
      }
      for (int64_t w = 0; w < lines.count; ++w) {
        double* const sum = rowOf(indexOf(arguments.inputs[1], from + w)) + w;
        *sum = combined(*sum, updates[from + w]);
      }
    }
    for (size_t slot = 0; slot < sums.named.size(); ++slot) {
      const auto* const sum = sums.values.data() + static_cast<int64_t>(slot) * lines.count;
      for (int64_t w = 0; w < lines.count; ++w) out[sums.named[slot] * toStep + w] = static_cast<float>(sum[w]);
    }
  }

  double combined(double a, double b) const { return op_.op == ops::ReduceOp::kSum ? a + b : a * b; }

  void combineRow(double* __restrict__ sums, const float* __restrict__ updates, int64_t count) const {
    if (op_.op == ops::ReduceOp::kSum) {
      for (int64_t w = 0; w < count; ++w) sums[w] += static_cast<double>(updates[w]);
      return;
    }
    for (int64_t w = 0; w < count; ++w) sums[w] *= static_cast<double>(updates[w]);
  }

  bool isOneIndex(const void* indices, int64_t from, int64_t count) const {
    const auto same = [&](const auto* at) {
      return std::all_of(at + 1, at + count, [&](auto index) { return index == *at; });
    };
    return indexType_ == DataType::kI64 ? same(static_cast<const int64_t*>(indices) + from)
                                        : same(static_cast<const int32_t*>(indices) + from);
  }

  // Between 0 and the extent of the axis.
  int64_t indexOf(const void* indices, int64_t at) const {
    const int64_t index = whole(indices, at);
    const int64_t extent = data_[axis_];
    checkUser(index >= -extent && index < extent, "scatter_reduce: index {} is outside of axis {} of extent {}", index,
              axis_, extent);
    return index < 0 ? index + extent : index;
  }

  int64_t whole(const void* indices, int64_t i) const {
    return indexType_ == DataType::kI64 ? static_cast<const int64_t*>(indices)[i]
                                        : static_cast<const int32_t*>(indices)[i];
  }

  const ops::ScatterReduce op_;
  ScatterFunctions functions_;
  bool isInPlace_ = false;
  Dims data_, some_;
  DataType type_ = DataType::kF32, indexType_ = DataType::kI64;
  int axis_ = 0;
};

}  // namespace

KernelRow kernelRow_scatter_reduce() {
  return {"scatter_reduce", 1, &loadSimple<ops::ScatterReduce, ScatterReduceInstance>};
}

}  // namespace tenon::backends::cpu

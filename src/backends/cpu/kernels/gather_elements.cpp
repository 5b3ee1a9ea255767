// Gather of single elements, of what several indices name together, and along an axis behind batch axes.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/pick_simd.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/op/gather.h"

namespace tenon::backends::cpu {
namespace {

// What a pick costs, as runJobs counts: a row costs its bytes.
constexpr int64_t kPickWork = 12, kRowWork = 64;
constexpr int64_t kPicks = 16384;  // of a job

class GatherElementsInstance final : public runtime::KernelInstance {
 public:
  explicit GatherElementsInstance(const ops::Gather& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    data_ = shapes.inputs[0].dims;
    indices_ = shapes.inputs[1].dims;
    indexType_ = shapes.inputs[1].dtype;
    bytes_ = bits(shapes.inputs[0].dtype) / 8;
    count_ = shapes.outputs[0].dims.count();
    if (count_ > 0 && op_.mode == ops::GatherMode::kElement && data_.count() == 0)
      throw Unsupported("cpu.gather_elements: no data");
    if (op_.mode == ops::GatherMode::kElement) {
      if (indices_.rank == 0) throw Unsupported("cpu.gather_elements: a scalar");
      joinAxes();
    }
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    const auto* const data = static_cast<const char*>(arguments.inputs[0]);
    auto* const out = static_cast<char*>(arguments.outputs[0]);
    const void* const indices = arguments.inputs[1];
    std::atomic<bool> outside{false};
    if (op_.mode == ops::GatherMode::kElement) {
      elements(data, indices, out, outside);
    } else if (op_.mode == ops::GatherMode::kNd) {
      rows(data, indices, out, outside);
    } else {
      alongAxis(data, indices, out, outside);
    }
    if (outside)
      throw UserError("gather: {}", op_.outside(data_, TensorView{const_cast<void*>(indices), indexType_, indices_}));
  }

 private:
  // Axes of which the inner one has all of the data's elements become one; the axis that indices count stays by itself.
  void joinAxes() {
    const int axis = static_cast<int>(op_.axis < 0 ? op_.axis + indices_.rank : op_.axis);
    from_ = places_ = {};
    for (int at = 0; at < indices_.rank; ++at) {
      const int last = from_.rank - 1;
      if (at > 0 && at != axis && at - 1 != axis && data_[at] == indices_[at]) {
        from_[last] *= data_[at];
        places_[last] *= indices_[at];
        continue;
      }
      if (at == axis) axis_ = from_.rank;
      from_.push(data_[at]);
      places_.push(indices_[at]);
    }
  }

  void elements(const char* data, const void* indices, char* out, std::atomic<bool>& outside) const {
    const int rank = places_.rank;
    const auto strides = from_.strides();
    const int64_t axisStep = strides[static_cast<size_t>(axis_)];
    const int64_t width = places_[rank - 1];
    const int64_t indexBytes = bits(indexType_) / 8;
    const auto pick = pickFunctions(bytes_, indexType_);
    constexpr int64_t kShort = 32;
    if (width <= kShort && axis_ + 1 == rank && rank <= 2) return shortLines(pick, data, indices, out, outside);
    if (width <= kShort && axis_ + 2 == rank && rank <= 3) return shortRows(pick, data, indices, out, outside);
    const int64_t pieces = (width + kPicks - 1) / kPicks;
    runJobs(count_ / width * pieces, count_ * kPickWork, [&](int64_t job) {
      const int64_t row = job / pieces;
      const int64_t first = job % pieces * kPicks;
      int64_t from = axis_ == rank - 1 ? 0 : first;
      int64_t rest = row;
      for (int at = rank - 2; at >= 0; --at) {
        if (at != axis_) from += rest % places_[at] * strides[static_cast<size_t>(at)];
        rest /= places_[at];
      }
      const char* const source = data + from * bytes_;
      const char* const places = static_cast<const char*>(indices) + (row * width + first) * indexBytes;
      char* const to = out + (row * width + first) * bytes_;
      const auto count = static_cast<size_t>(std::min(kPicks, width - first));
      if (axis_ == rank - 1 ? pick.line(source, places, to, count, from_[axis_])
                            : pick.rows(source, places, to, count, axisStep, from_[axis_]))
        outside.store(true, std::memory_order_relaxed);
    });
  }

  // Lines behind each other, many of a job.
  void shortLines(const PickFunctions& pick, const char* data, const void* indices, char* out,
                  std::atomic<bool>& outside) const {
    constexpr int64_t kTogether = 4096;
    const int64_t width = places_[axis_];
    const int64_t lines = count_ / width;
    const int64_t together = std::max<int64_t>(1, kTogether / width);
    runJobs((lines + together - 1) / together, count_ * kPickWork, [&](int64_t job) {
      const int64_t first = job * together;
      if (pick.shortLines(data + first * from_[axis_] * bytes_,
                          static_cast<const char*>(indices) + first * width * (bits(indexType_) / 8),
                          out + first * width * bytes_, static_cast<size_t>(width),
                          static_cast<size_t>(std::min(together, lines - first)), from_[axis_]))
        outside.store(true, std::memory_order_relaxed);
    });
  }
  // Rows of elements that all read the same lines beside each other.
  void shortRows(const PickFunctions& pick, const char* data, const void* indices, char* out,
                 std::atomic<bool>& outside) const {
    const int64_t step = from_.count(axis_ + 1, from_.rank);
    const int64_t width = places_[axis_ + 1];
    const int64_t each = places_[axis_] * width;
    runJobs(count_ / each, count_ * kPickWork, [&](int64_t job) {
      if (pick.shortRows(data + job * from_[axis_] * step * bytes_,
                         static_cast<const char*>(indices) + job * each * (bits(indexType_) / 8),
                         out + job * each * bytes_, static_cast<size_t>(width), static_cast<size_t>(places_[axis_]),
                         step, from_[axis_]))
        outside.store(true, std::memory_order_relaxed);
    });
  }

  int64_t indexAt(const void* indices, int64_t at) const {
    return indexType_ == DataType::kI32 ? static_cast<const int32_t*>(indices)[at]
                                        : static_cast<const int64_t*>(indices)[at];
  }

  // The place of an index on an axis; 0 and a mark where it is outside.
  int64_t place(const void* indices, int64_t at, int axis, std::atomic<bool>& outside) const {
    const int64_t extent = data_[axis];
    const int64_t index = indexAt(indices, at);
    if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
    outside.store(true, std::memory_order_relaxed);
    return -1;
  }

  void copy(const char* from, char* to, int64_t bytes) const {
    if (bytes == 4) {
      std::memcpy(to, from, 4);
    } else {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
  }

  void rows(const char* data, const void* indices, char* out, std::atomic<bool>& outside) const {
    const auto batch = static_cast<int>(op_.batchDims);
    const auto length = static_cast<int>(indices_[indices_.rank - 1]);
    const auto strides = data_.strides();
    const int64_t picks = indices_.count(batch, indices_.rank - 1);
    const int64_t rowBytes = data_.count(batch + length, data_.rank) * bytes_;
    const int64_t batchSize = data_.count(batch, data_.rank);
    const int64_t all = indices_.count(0, indices_.rank - 1);
    constexpr int64_t kRows = 256;
    runJobs((all + kRows - 1) / kRows, all * std::max<int64_t>(kRowWork, rowBytes), [&](int64_t job) {
      for (int64_t row = job * kRows; row < std::min(all, (job + 1) * kRows); ++row) {
        int64_t from = row / picks * batchSize;
        bool inside = true;
        for (int k = 0; k < length; ++k) {
          const int64_t at = place(indices, row * length + k, batch + k, outside);
          inside = inside && at >= 0;
          from += at * strides[static_cast<size_t>(batch + k)];
        }
        if (inside) copy(data + from * bytes_, out + row * rowBytes, rowBytes);
      }
    });
  }

  // Single elements: a row of indices serves every row of data that it belongs to.
  void pickRows(const char* data, const void* indices, char* out, int64_t bytes, std::atomic<bool>& outside) const {
    const auto axis = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    const int64_t outer = data_.count(static_cast<int>(op_.batchDims), axis);
    const int64_t picks = indices_.count(static_cast<int>(op_.batchDims), indices_.rank);
    const int64_t extent = data_[axis];
    const int64_t indexBytes = bits(indexType_) / 8;
    const auto pick = pickFunctions(bytes, indexType_);
    const int64_t pieces = (picks + kPicks - 1) / kPicks;
    runJobs(data_.count(0, axis) * pieces, count_ * kPickWork, [&](int64_t job) {
      const int64_t row = job / pieces;
      const int64_t first = job % pieces * kPicks;
      const char* const places = static_cast<const char*>(indices) + (row / outer * picks + first) * indexBytes;
      if (pick.line(data + row * extent * bytes, places, out + (row * picks + first) * bytes,
                    static_cast<size_t>(std::min(kPicks, picks - first)), extent))
        outside.store(true, std::memory_order_relaxed);
    });
  }

  void alongAxis(const char* data, const void* indices, char* out, std::atomic<bool>& outside) const {
    const auto axis = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    if (data_.count() == 0) {  // whatever the indices say, there is nothing
      outside = true;
      return;
    }
    const int64_t bytes = data_.count(axis + 1, data_.rank) * bytes_;
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) return pickRows(data, indices, out, bytes, outside);
    copyRows(data, indices, out, outside);
  }

  void copyRows(const char* data, const void* indices, char* out, std::atomic<bool>& outside) const {
    const auto axis = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    const auto batch = static_cast<int>(op_.batchDims);
    const int64_t outer = data_.count(batch, axis);
    const int64_t picks = indices_.count(batch, indices_.rank);
    const int64_t rowBytes = data_.count(axis + 1, data_.rank) * bytes_;
    runJobs(data_.count(0, axis), count_ * std::max<int64_t>(1, bytes_ / 4), [&](int64_t row) {
      const int64_t first = row / outer * picks;
      for (int64_t p = 0; p < picks; ++p) {
        const int64_t at = place(indices, first + p, axis, outside);
        if (at >= 0) copy(data + (row * data_[axis] + at) * rowBytes, out + (row * picks + p) * rowBytes, rowBytes);
      }
    });
  }

  ops::Gather op_;
  Dims data_, indices_;
  Dims from_, places_;  // of data and indices, with axes joined
  int axis_ = 0;        // of these
  DataType indexType_ = DataType::kI32;
  int64_t bytes_ = 4;
  int64_t count_ = 0;
};

}  // namespace

KernelRow kernelRow_gather_elements() {
  return {"gather_elements", 1, &loadSimple<ops::Gather, GatherElementsInstance>};
}

}  // namespace tenon::backends::cpu

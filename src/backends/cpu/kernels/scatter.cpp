// Scatter: the data is copied, unless it is there already, then rows of updates are copied one after another.
#include "ops/op/scatter.h"

#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"
#include "core/strided.h"

namespace tenon::backends::cpu {
namespace {

class ScatterInstance final : public runtime::KernelInstance {
 public:
  explicit ScatterInstance(const ops::Scatter& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    data_ = shapes.outputs[0].dims;
    indices_ = shapes.inputs[1].dims;
    indexType_ = shapes.inputs[1].dtype;
    elementBytes_ = bits(shapes.outputs[0].dtype) / 8;
    if (op_.mode == ops::ScatterMode::kElement && indices_.rank == 0) throw Unsupported("cpu.scatter: a scalar");
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const data = static_cast<const char*>(arguments.inputs[0]);
    auto* const out = static_cast<char*>(arguments.outputs[0]);
    if (data != out) copyData(data, out);
    const void* const indices = arguments.inputs[1];
    if (indexType_ == DataType::kI32) {
      write(static_cast<const int32_t*>(indices), arguments.inputs[2], out);
    } else {
      write(static_cast<const int64_t*>(indices), arguments.inputs[2], out);
    }
  }

 private:
  void copyData(const char* from, char* to) const {
    constexpr int64_t kPiece = 1 << 16;
    const int64_t bytes = data_.count() * elementBytes_;
    runJobs((bytes + kPiece - 1) / kPiece, bytes, [&](int64_t i) {
      std::memcpy(to + i * kPiece, from + i * kPiece, static_cast<size_t>(std::min(kPiece, bytes - i * kPiece)));
    });
  }

  // The place of an index on an axis.
  template <typename Index>
  int64_t place(const Index* indices, int64_t at, int axis) const {
    const int64_t extent = data_[axis];
    const int64_t index = indices[at];
    if (index < -extent || index >= extent)
      throw UserError("scatter: index {} is outside axis {} of extent {}", index, axis, extent);
    return index + (index < 0 ? extent : 0);
  }

  template <typename Index>
  void writeRows(const Index* indices, const char* updates, char* out) const {
    const auto length = static_cast<int>(indices_[indices_.rank - 1]);
    const auto strides = data_.strides();
    const int64_t rowBytes = data_.count(length, data_.rank) * elementBytes_;
    const int64_t rows = indices_.count(0, indices_.rank - 1);
    if (rowBytes == 0) return;
    const auto each = [&](int64_t first, auto copyRow) {
      for (int64_t row = 0; row < rows; ++row) {
        int64_t to = 0;
        for (int k = 0; k < length; ++k) to += place(indices, row * length + k, k) * strides[static_cast<size_t>(k)];
        copyRow(out + to * elementBytes_ + first, updates + row * rowBytes + first);
      }
    };
    if (rowBytes == 4) return each(0, [](char* to, const char* from) { std::memcpy(to, from, 4); });
    if (rowBytes == 8) return each(0, [](char* to, const char* from) { std::memcpy(to, from, 8); });
    // The last of the rows that meet in a place stays: each thread writes a part of all rows.
    constexpr int64_t kPart = 1 << 11;
    const int64_t parts = std::max<int64_t>(1, rowBytes / kPart);
    runJobs(parts, rows * rowBytes, [&](int64_t part) {
      const int64_t first = part * kPart;
      const auto bytes = static_cast<size_t>(part + 1 == parts ? rowBytes - first : kPart);
      each(first, [&](char* to, const char* from) { std::memcpy(to, from, bytes); });
    });
  }

  // Updates by rows of the last axis. A job has all that may meet in one element, in its order: lines along the axis,
  // beside each other on the last one.
  template <typename T, typename Index>
  void writeElements(const Index* indices, const T* updates, T* out) const {
    const int last = indices_.rank - 1;
    const int axis = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    const auto strides = data_.strides();
    const int64_t axisStride = strides[static_cast<size_t>(axis)];
    const int64_t width = indices_[last];
    const int64_t extent = data_[axis];
    if (indices_.count() == 0) return;
    const bool isLast = axis == last;
    const int64_t outer = indices_.count(0, axis);
    const int64_t middle = isLast ? 1 : indices_.count(axis + 1, last);
    const int64_t rows = isLast ? 1 : indices_[axis];  // of a job
    constexpr int64_t kColumns = 1024, kLine = 64, kJobs = 32;
    const int64_t columns = isLast ? width : std::clamp(outer * middle * width / kJobs, kLine, kColumns);
    const int64_t chunks = (width + columns - 1) / columns;
    runJobs(outer * middle * chunks, indices_.count() * 16, [&](int64_t job) {
      const int64_t first = job % chunks * columns;
      const int64_t end = std::min(width, first + columns);
      const int64_t line = job / chunks / middle * rows * middle + job / chunks % middle;
      int64_t to = 0;  // of the lines, which differ along the axis alone
      int64_t rest = line;
      for (int at = last - 1; at >= 0; --at) {
        if (at != axis) to += rest % indices_[at] * strides[static_cast<size_t>(at)];
        rest /= indices_[at];
      }
      T* const lines = out + to;
      for (int64_t row = line; row < line + rows * middle; row += middle) {
        const int64_t from = row * width;
        for (int64_t i = first; i < end; ++i) {
          int64_t index = indices[from + i];
          index += index < 0 ? extent : 0;
          if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(extent)) place(indices, from + i, axis);  // says so
          if (isLast) {
            lines[index] = updates[from + i];
          } else {
            lines[i + index * axisStride] = updates[from + i];
          }
        }
      }
    });
  }

  template <typename Index>
  void write(const Index* indices, const void* updates, void* out) const {
    const auto elements = [&]<typename T>(T) {
      writeElements(indices, static_cast<const T*>(updates), static_cast<T*>(out));
    };
    if (op_.mode == ops::ScatterMode::kNd)
      return writeRows(indices, static_cast<const char*>(updates), static_cast<char*>(out));
    switch (elementBytes_) {
      case 1: return elements(uint8_t{});
      case 2: return elements(uint16_t{});
      case 4: return elements(uint32_t{});
      default: return elements(uint64_t{});
    }
  }

  ops::Scatter op_;
  Dims data_, indices_;
  DataType indexType_ = DataType::kI32;
  int64_t elementBytes_ = 4;
};

}  // namespace

KernelRow kernelRow_scatter() { return {"scatter", 1, &loadSimple<ops::Scatter, ScatterInstance>}; }

}  // namespace tenon::backends::cpu

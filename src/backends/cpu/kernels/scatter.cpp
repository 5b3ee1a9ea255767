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
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const data = static_cast<const char*>(arguments.inputs[0]);
    auto* const out = static_cast<char*>(arguments.outputs[0]);
    if (data != out) copyData(data, out);
    const auto* const updates = static_cast<const char*>(arguments.inputs[2]);
    if (op_.mode == ops::ScatterMode::kNd) {
      writeRows(arguments.inputs[1], updates, out);
    } else {
      writeElements(arguments.inputs[1], updates, out);
    }
  }

 private:
  void copyData(const char* from, char* to) const {
    constexpr int64_t kPiece = 1 << 18;
    const int64_t bytes = data_.count() * elementBytes_;
    runJobs((bytes + kPiece - 1) / kPiece, bytes / 16, [&](int64_t i) {
      std::memcpy(to + i * kPiece, from + i * kPiece, static_cast<size_t>(std::min(kPiece, bytes - i * kPiece)));
    });
  }

  int64_t place(const void* indices, int64_t at, int axis) const {
    const int64_t extent = data_[axis];
    const int64_t index = loadInt(indexType_, indices, at);
    checkUser(index >= -extent && index < extent, "scatter: index {} is outside axis {} of extent {}", index, axis,
              extent);
    return index < 0 ? index + extent : index;
  }

  void writeRows(const void* indices, const char* updates, char* out) const {
    const auto length = static_cast<int>(indices_[indices_.rank - 1]);
    const auto strides = data_.strides();
    const int64_t rowBytes = data_.count(length, data_.rank) * elementBytes_;
    const int64_t rows = indices_.count(0, indices_.rank - 1);
    if (rowBytes == 0) return;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t to = 0;
      for (int k = 0; k < length; ++k) to += place(indices, row * length + k, k) * strides[static_cast<size_t>(k)];
      std::memcpy(out + to * elementBytes_, updates + row * rowBytes, static_cast<size_t>(rowBytes));
    }
  }

  void writeElements(const void* indices, const char* updates, char* out) const {
    const int axis = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    auto strides = data_.strides();
    const int64_t axisStride = strides[static_cast<size_t>(axis)];
    strides[static_cast<size_t>(axis)] = 0;
    int64_t position = 0;
    for (IndexIterator i(indices_); i.valid(); i.next(), ++position) {
      const int64_t to = i.dot(strides) + place(indices, position, axis) * axisStride;
      std::memcpy(out + to * elementBytes_, updates + position * elementBytes_, static_cast<size_t>(elementBytes_));
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

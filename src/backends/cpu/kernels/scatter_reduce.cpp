// Elements combined with others at indices: lines along the axis share nothing, so threads take some each.
#include "ops/op/scatter_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

// Integers wrap.
int64_t combined(ops::ReduceOp op, int64_t a, int64_t b) {
  switch (op) {
    case ops::ReduceOp::kSum: return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ops::ReduceOp::kProd: return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case ops::ReduceOp::kMax: return std::max(a, b);
    default: return std::min(a, b);
  }
}

double combined(ops::ReduceOp op, double a, double b) {
  switch (op) {
    case ops::ReduceOp::kSum: return a + b;
    case ops::ReduceOp::kProd: return a * b;
    case ops::ReduceOp::kMax: return std::isnan(a) || a > b ? a : b;
    default: return std::isnan(a) || a < b ? a : b;
  }
}

class ScatterReduceInstance final : public runtime::KernelInstance {
 public:
  explicit ScatterReduceInstance(const ops::ScatterReduce& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    data_ = shapes.inputs[0].dims;
    some_ = shapes.inputs[1].dims;
    type_ = shapes.inputs[0].dtype;
    indexType_ = shapes.inputs[1].dtype;
    axis_ = static_cast<int>(op_.axis < 0 ? op_.axis + data_.rank : op_.axis);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    switch (type_) {
      case DataType::kF32: return combine<float>(arguments);
      case DataType::kI64: return combine<int64_t>(arguments);
      default: throw Unsupported("cpu.scatter_reduce: values of {} are not supported", name(type_));
    }
  }

 private:
  // Where the axes but `axis_` of the updates stand in the data, line by line. f32 is summed in double, as the
  // reference.
  template <typename T>
  void combine(const runtime::LaunchArguments& arguments) const {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const auto* const data = static_cast<const T*>(arguments.inputs[0]);
    const auto* const updates = static_cast<const T*>(arguments.inputs[2]);
    auto* const out = static_cast<T*>(arguments.outputs[0]);
    if (data_.count() != 0) std::memcpy(out, data, static_cast<size_t>(data_.count()) * sizeof(T));
    if (some_.count() == 0) return;
    const auto strides = data_.strides();
    const auto steps = some_.strides();
    const auto at = static_cast<size_t>(axis_);
    const int64_t extent = data_[axis_];
    const int64_t count = some_[axis_];
    const int64_t lines = some_.count() / count;
    runJobs(lines, some_.count() * 8, [&](int64_t line) {
      int64_t to = 0;
      int64_t from = 0;
      int64_t rest = line;
      for (int i = data_.rank; i-- > 0;) {
        if (i == axis_) continue;
        to += rest % some_[i] * strides[static_cast<size_t>(i)];
        from += rest % some_[i] * steps[static_cast<size_t>(i)];
        rest /= some_[i];
      }
      std::vector<Sum> values(static_cast<size_t>(extent));
      for (int64_t k = 0; k < extent; ++k)
        values[static_cast<size_t>(k)] = static_cast<Sum>(data[to + k * strides[at]]);
      for (int64_t k = 0; k < count; ++k) {
        int64_t index = whole(arguments.inputs[1], from + k * steps[at]);
        checkUser(index >= -extent && index < extent, "scatter_reduce: index {} is outside of axis {} of extent {}",
                  index, axis_, extent);
        if (index < 0) index += extent;
        Sum& value = values[static_cast<size_t>(index)];
        value = combined(op_.op, value, static_cast<Sum>(updates[from + k * steps[at]]));
      }
      for (int64_t k = 0; k < extent; ++k) out[to + k * strides[at]] = static_cast<T>(values[static_cast<size_t>(k)]);
    });
  }

  int64_t whole(const void* indices, int64_t i) const {
    return indexType_ == DataType::kI64 ? static_cast<const int64_t*>(indices)[i]
                                        : static_cast<const int32_t*>(indices)[i];
  }

  const ops::ScatterReduce op_;
  Dims data_, some_;
  DataType type_ = DataType::kF32, indexType_ = DataType::kI64;
  int axis_ = 0;
};

}  // namespace

KernelRow kernelRow_scatter_reduce() {
  return {"scatter_reduce", 1, &loadSimple<ops::ScatterReduce, ScatterReduceInstance>};
}

}  // namespace tenon::backends::cpu

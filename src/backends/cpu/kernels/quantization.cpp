// Quantization and its inverse with scales per tensor, axis or block: runs of elements that share a scale, or of which
// each has its own.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/quantize_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"
#include "ops/op/dequantize.h"
#include "ops/op/quantize.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlock = 2048;  // elements at a time

// How scales lie along the elements of x, as axes from the outermost: of each axis, elements per scale and the distance
// of scales.
struct ScaleRuns {
  Dims dims;
  std::vector<int64_t> block, stride;
  int64_t run = 1;       // elements in a row with one scale, or with scales in a row
  bool ownEach = false;  // scales in a row

  ScaleRuns() = default;
  ScaleRuns(const Dims& x, const Dims& scale, int64_t axis) : dims(x) {
    const auto rank = static_cast<size_t>(x.rank);
    block.assign(rank, 1);
    stride.assign(rank, 0);
    if (scale.count() != 1 && scale.rank == 1) stride[static_cast<size_t>(axis < 0 ? axis + x.rank : axis)] = 1;
    if (scale.count() != 1 && scale.rank != 1) {
      const auto own = scale.strides();
      for (size_t i = 0; i < rank; ++i) {
        const int at = static_cast<int>(i);
        stride[i] = own[i];
        block[i] = std::max<int64_t>(x[at] / std::max<int64_t>(scale[at], 1), 1);
        if (block[i] >= x[at]) stride[i] = 0;
      }
    }
    int last = x.rank - 1;
    for (; last >= 0 && stride[static_cast<size_t>(last)] == 0; --last) run *= x[last];
    if (last < 0) return;
    const auto at = static_cast<size_t>(last);
    ownEach = last == x.rank - 1 && block[at] == 1 && stride[at] == 1;
    run *= ownEach ? x[last] : block[at];
  }

  int64_t scaleOf(int64_t element) const {
    int64_t offset = 0;
    for (int axis = dims.rank - 1; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      offset += element % dims[axis] / block[at] * stride[at];
      element /= dims[axis];
    }
    return offset;
  }
};

template <typename Op>
class QuantizationInstance final : public runtime::KernelInstance {
 public:
  explicit QuantizationInstance(const Op& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& scale = shapes.inputs[1];
    from_ = x.dtype;
    to_ = shapes.outputs[0].dtype;
    narrow_ = kQuantizes ? to_ : from_;
    functions_ = quantizeFunctions(narrow_);
    if (kQuantizes ? functions_.quantize == nullptr : functions_.dequantize == nullptr)
      throw Unsupported("cpu.quantization: values of {} are not supported", name(narrow_));
    const DataType wide = kQuantizes ? from_ : to_;
    convert_ = wide == DataType::kF32
                   ? nullptr
                   : castFunction(kQuantizes ? wide : DataType::kF32, kQuantizes ? DataType::kF32 : wide);
    runs_ = ScaleRuns(x.dims, scale.dims, op_.axis);
    count_ = x.dims.count();
    scaleType_ = scale.dtype;
    scales_ = scale.dims.count();
    zeroType_ = shapes.inputs.size() > 2 ? shapes.inputs[2].dtype : DataType::kF32;
    hasZero_ = shapes.inputs.size() > 2;
    return static_cast<size_t>(2 * scales_) * sizeof(double);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    auto* const scales = static_cast<double*>(arguments.workspace);
    auto* const zeros = scales + scales_;
    for (int64_t i = 0; i < scales_; ++i) {
      scales[i] = loadDouble(scaleType_, arguments.inputs[1], i);
      zeros[i] = hasZero_ ? loadDouble(zeroType_, arguments.inputs[2], i) : 0;
    }
    const auto* const x = static_cast<const char*>(arguments.inputs[0]);
    auto* const y = static_cast<char*>(arguments.outputs[0]);
    const int64_t perJob = std::max<int64_t>(1, kBlock / runs_.run);  // runs
    const int64_t runs = count_ / runs_.run;
    const int64_t blocks = (runs_.run + kBlock - 1) / kBlock;
    runJobs((runs + perJob - 1) / perJob * blocks, count_ * 2, [&](int64_t job) {
      const int64_t first = job % blocks * kBlock;
      const int64_t count = std::min(kBlock, runs_.run - first);
      const int64_t begin = job / blocks * perJob;
      for (int64_t run = begin; run < std::min(runs, begin + perJob); ++run) {
        const int64_t at = run * runs_.run + first;
        const int64_t scale = runs_.scaleOf(at);
        piece(x + at * (bits(from_) / 8), scales + scale, zeros + scale, y + at * (bits(to_) / 8), count);
      }
    });
  }

 private:
  static constexpr bool kQuantizes = std::is_same_v<Op, ops::Quantize>;

  void piece(const char* x, const double* scales, const double* zeros, char* y, int64_t count) const {
    alignas(64) float wide[kBlock];
    const auto size = static_cast<size_t>(count);
    const size_t step = runs_.ownEach ? 1 : 0;
    if constexpr (kQuantizes) {
      if (convert_ != nullptr) convert_(x, nullptr, nullptr, wide, size);
      functions_.quantize(convert_ != nullptr ? wide : reinterpret_cast<const float*>(x), scales, zeros, step, y, size);
    } else {
      functions_.dequantize(x, scales, zeros, step, convert_ != nullptr ? wide : reinterpret_cast<float*>(y), size);
      if (convert_ != nullptr) convert_(wide, nullptr, nullptr, y, size);
    }
  }

  Op op_;
  QuantizeFunctions functions_;
  VectorFunction convert_ = nullptr;  // of halves
  DataType from_ = DataType::kF32, to_ = DataType::kI8, narrow_ = DataType::kI8;
  DataType scaleType_ = DataType::kF32, zeroType_ = DataType::kF32;
  bool hasZero_ = false;
  ScaleRuns runs_;
  int64_t count_ = 0, scales_ = 0;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (op.as<ops::Quantize>() != nullptr) return loadSimple<ops::Quantize, QuantizationInstance<ops::Quantize>>(request);
  return loadSimple<ops::Dequantize, QuantizationInstance<ops::Dequantize>>(request);
}

}  // namespace

KernelRow kernelRow_quantization() { return {"quantization", 1, &load}; }

}  // namespace tenon::backends::cpu

// Sums and averages of scalar work on bytes. Where that is a straight line in them, as numbers that come from bytes by
// a scale and a zero point are, the bytes are added up as integers, else the values of a table.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/byte_map_simd.h"
#include "core/error.h"
#include "ops/op/pointwise_reduce.h"

namespace tenon::backends::cpu {
namespace {

class ByteSumsInstance final : public runtime::KernelInstance {
 public:
  explicit ByteSumsInstance(const ops::PointwiseReduce& op) : op_(op) {
    if (op.op != ops::ReduceOp::kSum && op.op != ops::ReduceOp::kAvg)
      throw Unsupported("cpu.byte_sums: a reduction that adds nothing up");
  }

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    if (shapes.inputs.size() != 1 || bits(x.dtype) != 8) throw Unsupported("cpu.byte_sums: operands of other types");
    outputs_ = shapes.outputs[0].dims.count();
    count_ = outputs_ == 0 ? 0 : x.dims.count() / outputs_;
    byColumns_ = x.layout == Layout::kChannelsLast;
    channels_ = byColumns_ ? x.dims[1] : 1;
    sign_ = x.dtype == DataType::kI8 ? 0x80 : 0;
    if (table_.empty()) tabulate(x.dtype);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    const auto* const x = static_cast<const uint8_t*>(arguments.inputs[0]);
    auto* const y = static_cast<float*>(arguments.outputs[0]);
    if (!byColumns_) return runJobs(outputs_, outputs_ * count_, [&](int64_t i) { y[i] = rowOf(x + i * count_); });
    constexpr auto kColumns = static_cast<int64_t>(kByteColumns);
    const int64_t chunks = (channels_ + kColumns - 1) / kColumns;
    runJobs(outputs_ / channels_ * chunks, outputs_ * count_, [&](int64_t job) {
      const int64_t first = job % chunks * kColumns;
      const int64_t at = job / chunks * channels_;
      columns(x + at * count_ + first, std::min(kColumns, channels_ - first), y + at + first);
    });
  }

 private:
  // By the byte, of those with a sign plus 128.
  void tabulate(DataType type) {
    std::vector<uint8_t> bytes(kByteValues);
    for (size_t i = 0; i < kByteValues; ++i) bytes[i] = static_cast<uint8_t>(i ^ sign_);
    const Dims dims{static_cast<int64_t>(kByteValues)};
    const runtime::TensorShape input{type, dims, Layout::kLinear};
    PointwiseRunner runner(op_.expr);
    runner.configure(std::span(&input, 1), runtime::TensorShape{DataType::kF32, dims, Layout::kLinear});
    table_.resize(kByteValues);
    void* const inputs[] = {bytes.data()};
    runner.run(inputs, table_.data());
    constexpr double kRounding = 4e-7;  // of the largest value
    first_ = static_cast<double>(table_[0]);
    slope_ = (static_cast<double>(table_[kByteValues - 1]) - first_) / static_cast<double>(kByteValues - 1);
    const double largest = std::max(std::abs(first_), std::abs(static_cast<double>(table_[kByteValues - 1])));
    isLine_ = std::isfinite(largest);
    for (size_t i = 0; i < kByteValues; ++i) {
      const double line = first_ + slope_ * static_cast<double>(i);
      isLine_ = isLine_ && std::abs(static_cast<double>(table_[i]) - line) <= kRounding * largest;
    }
  }

  float finished(double sum) const {
    return static_cast<float>(op_.op == ops::ReduceOp::kAvg ? sum / static_cast<double>(count_) : sum);
  }
  float ofBytes(uint64_t sum) const {
    return finished(first_ * static_cast<double>(count_) + slope_ * static_cast<double>(sum));
  }

  float rowOf(const uint8_t* x) const {
    if (isLine_) return ofBytes(maps_.sum(x, static_cast<size_t>(count_), sign_));
    double sum = 0;
    for (int64_t i = 0; i < count_; ++i) sum += static_cast<double>(table_[x[i] ^ sign_]);
    return finished(sum);
  }

  void columns(const uint8_t* x, int64_t width, float* y) const {
    if (isLine_) {
      uint64_t sums[kByteColumns] = {};
      constexpr auto kRows = static_cast<int64_t>(kByteSumRows);
      for (int64_t row = 0; row < count_; row += kRows)
        maps_.addRows(x + row * channels_, static_cast<size_t>(std::min(kRows, count_ - row)),
                      static_cast<size_t>(channels_), static_cast<size_t>(width), sign_, sums);
      for (int64_t i = 0; i < width; ++i) y[i] = ofBytes(sums[i]);
      return;
    }
    double sums[kByteColumns] = {};
    for (int64_t row = 0; row < count_; ++row) {
      for (int64_t i = 0; i < width; ++i) sums[i] += static_cast<double>(table_[x[row * channels_ + i] ^ sign_]);
    }
    for (int64_t i = 0; i < width; ++i) y[i] = finished(sums[i]);
  }

  const ByteMaps& maps_ = byteMaps();
  ops::PointwiseReduce op_;
  std::vector<float> table_;
  double first_ = 0, slope_ = 0;
  bool isLine_ = false, byColumns_ = false;
  uint8_t sign_ = 0;
  int64_t outputs_ = 0, count_ = 0, channels_ = 1;
};

}  // namespace

KernelRow kernelRow_byte_sums() { return {"byte_sums", 1, &loadSimple<ops::PointwiseReduce, ByteSumsInstance>}; }

}  // namespace tenon::backends::cpu

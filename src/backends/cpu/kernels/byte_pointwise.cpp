// Scalar work from bytes to bytes. All values of the expression are computed once, by the block-wise runner: for one
// operand they are the table that elements are looked up in, for two they tell whether a formula is right, or are
// looked up themselves.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/byte_formula.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlock = 8192;  // bytes at a time

class BytePointwiseInstance final : public runtime::KernelInstance {
 public:
  explicit BytePointwiseInstance(const ops::Pointwise& op) : expr_(op.expr), runner_(op.expr) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    operands_ = shapes.inputs.size();
    if (operands_ < 1 || operands_ > 2) throw Unsupported("cpu.byte_pointwise: {} operands", operands_);
    broadcasts_ = false;
    for (const auto& input : shapes.inputs) {
      if (bits(input.dtype) != 8) throw Unsupported("cpu.byte_pointwise: an operand of {}", name(input.dtype));
      broadcasts_ = broadcasts_ || input.dims != y.dims;
    }
    if (broadcasts_) {  // not at the shapes that the build has tuned for
      runner_.configure(shapes.inputs, y);
      return 0;
    }
    rows_ = 1;
    width_ = y.dims.count();
    steps_[0] = steps_[1] = steps_[2] = width_;
    if (y.layout == Layout::kChannelsLast && width_ != 0) {
      const int64_t step[] = {runtime::pixelStep(shapes.inputs[0]), runtime::pixelStep(shapes.inputs[operands_ - 1]),
                              runtime::pixelStep(y)};
      if (std::any_of(std::begin(step), std::end(step), [&](int64_t own) { return own != y.dims[1]; })) {
        std::copy_n(step, 3, steps_);
        rows_ = width_ / y.dims[1];
        width_ = y.dims[1];
      }
    }
    if (table_.empty()) tabulate(shapes);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (broadcasts_) return runner_.run(arguments.inputs, arguments.outputs[0]);
    const auto* const a = static_cast<const uint8_t*>(arguments.inputs[0]);
    const auto* const b = static_cast<const uint8_t*>(arguments.inputs[operands_ - 1]);
    auto* const y = static_cast<uint8_t*>(arguments.outputs[0]);
    if (rows_ * width_ == 0) return;
    const int64_t blocks = (width_ + kBlock - 1) / kBlock;
    const int64_t together = std::max<int64_t>(1, kBlock / width_);  // rows of a job
    runJobs((rows_ + together - 1) / together * blocks, rows_ * width_, [&](int64_t job) {
      const int64_t first = job % blocks * kBlock;
      const int64_t count = std::min(kBlock, width_ - first);
      const int64_t begin = job / blocks * together;
      for (int64_t row = begin; row < std::min(rows_, begin + together); ++row)
        piece(a + row * steps_[0] + first, b + row * steps_[1] + first, y + row * steps_[2] + first,
              static_cast<size_t>(count));
    });
  }

 private:
  // Element i of the table is of operands i / 256 and i % 256, or of operand i alone.
  void tabulate(const runtime::Shapes& shapes) {
    const size_t count = operands_ == 1 ? kByteValues : kByteValues * kByteValues;
    std::vector<uint8_t> first(count), second(count);
    for (size_t i = 0; i < count; ++i) {
      first[i] = static_cast<uint8_t>(operands_ == 1 ? i : i / kByteValues);
      second[i] = static_cast<uint8_t>(i % kByteValues);
    }
    const Dims dims{static_cast<int64_t>(count)};
    std::vector<runtime::TensorShape> types;
    std::vector<DataType> kinds;
    for (const auto& input : shapes.inputs) {
      types.push_back({input.dtype, dims, Layout::kLinear});
      kinds.push_back(input.dtype);
    }
    PointwiseRunner runner(expr_);
    runner.configure(types, runtime::TensorShape{shapes.outputs[0].dtype, dims, Layout::kLinear});
    table_.resize(count);
    void* const inputs[] = {first.data(), second.data()};
    runner.run(inputs, table_.data());
    if (operands_ == 1) return;
    formula_ = byteFormulaOf(expr_, kinds, shapes.outputs[0].dtype);
    if (!formula_) return;
    std::vector<uint8_t> values(count);
    for (const bool isExact : {false, true}) {
      formula_->isExact = isExact;
      maps_.compute(*formula_, first.data(), second.data(), values.data(), count);
      if (values == table_) return;
    }
    formula_.reset();
  }

  void piece(const uint8_t* a, const uint8_t* b, uint8_t* y, size_t count) const {
    if (operands_ == 1) return maps_.lookUp(table_.data(), a, y, count);
    if (formula_) return maps_.compute(*formula_, a, b, y, count);
    for (size_t i = 0; i < count; ++i) y[i] = table_[a[i] * kByteValues + b[i]];
  }

  const ByteMaps& maps_ = byteMaps();
  ops::ScalarExpr expr_;
  PointwiseRunner runner_;
  bool broadcasts_ = false;
  std::vector<uint8_t> table_;
  std::optional<ByteFormula> formula_;
  size_t operands_ = 1;
  int64_t rows_ = 1, width_ = 0;
  int64_t steps_[3] = {0, 0, 0};  // from row to row, of the operands and of the result
};

}  // namespace

KernelRow kernelRow_byte_pointwise() {
  return {"byte_pointwise", 1, &loadSimple<ops::Pointwise, BytePointwiseInstance>};
}

}  // namespace tenon::backends::cpu

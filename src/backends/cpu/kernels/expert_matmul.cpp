// Products with experts: the rows of one expert beside each other, then one product for them, in blocks of columns.
#include "ops/op/expert_matmul.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/attention_simd.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kColumns = 256;  // of a piece of work

class ExpertMatMulInstance final : public runtime::KernelInstance {
 public:
  explicit ExpertMatMulInstance(const ops::ExpertMatMul&) : functions_(attentionFunctions()) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& x = shapes.inputs[0].dims;
    const Dims& weights = shapes.inputs[2].dims;
    chosen_ = shapes.inputs[1].dims[1];
    rows_ = x[0] * chosen_;
    shared_ = x[1] == 1;
    isWide_ = shapes.inputs[1].dtype == DataType::kI64;
    experts_ = weights[0];
    depth_ = weights[1];
    columns_ = weights[2];
    order_.resize(static_cast<size_t>(rows_));
    starts_.resize(static_cast<size_t>(experts_) + 1);
    return static_cast<size_t>(rows_ * (depth_ + columns_)) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    const auto* const weights = static_cast<const float*>(arguments.inputs[2]);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    auto* const gathered = static_cast<float*>(arguments.workspace);
    float* const products = gathered + rows_ * depth_;
    sortRows(arguments.inputs[1]);
    const int64_t sorted = starts_.back();
    for (int64_t i = 0; i < sorted; ++i) {
      const int64_t row = order_[static_cast<size_t>(i)];
      std::memcpy(gathered + i * depth_, x + (shared_ ? row / chosen_ : row) * depth_, bytes(depth_));
    }
    const int64_t blocks = (columns_ + kColumns - 1) / kColumns;
    platform::parallelFor(experts_ * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const auto expert = static_cast<size_t>(piece / blocks);
        const int64_t first = starts_[expert];
        const int64_t many = starts_[expert + 1] - first;
        if (many == 0) continue;
        const int64_t column = piece % blocks * kColumns;
        functions_.product(gathered + first * depth_, depth_,
                           weights + static_cast<int64_t>(expert) * depth_ * columns_ + column, columns_,
                           products + first * columns_ + column, columns_, many, std::min(kColumns, columns_ - column),
                           depth_);
      }
    });
    for (int64_t i = 0; i < sorted; ++i)
      std::memcpy(out + order_[static_cast<size_t>(i)] * columns_, products + i * columns_, bytes(columns_));
    for (int64_t i = sorted; i < rows_; ++i)
      std::fill_n(out + order_[static_cast<size_t>(i)] * columns_, columns_, 0.F);
  }

 private:
  static size_t bytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

  int64_t expertOf(const void* experts, int64_t row) const {
    const int64_t expert =
        isWide_ ? static_cast<const int64_t*>(experts)[row] : static_cast<const int32_t*>(experts)[row];
    return expert >= 0 && expert < experts_ ? expert : experts_;
  }

  // Rows by expert, those of no expert last; starts_[e]: the first row of expert e.
  void sortRows(const void* experts) {
    std::fill(starts_.begin(), starts_.end(), 0);
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t expert = expertOf(experts, row);
      if (expert < experts_) ++starts_[static_cast<size_t>(expert) + 1];
    }
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    int64_t rest = starts_.back();
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t expert = expertOf(experts, row);
      int64_t& place = expert < experts_ ? starts_[static_cast<size_t>(expert)] : rest;
      order_[static_cast<size_t>(place++)] = row;
    }
    // Each start has moved to where the next expert begins.
    for (size_t i = starts_.size() - 1; i > 0; --i) starts_[i] = starts_[i - 1];
    starts_[0] = 0;
  }

  const AttentionFunctions& functions_;
  int64_t rows_ = 0;
  int64_t chosen_ = 1;  // experts of a token
  int64_t experts_ = 0;
  int64_t depth_ = 0;
  int64_t columns_ = 0;
  bool shared_ = false;  // the experts of a token read the same row
  bool isWide_ = false;
  std::vector<int64_t> order_;
  std::vector<int64_t> starts_;
};

}  // namespace

KernelRow kernelRow_expert_matmul() {
  return {"expert_matmul", 1, &loadSimple<ops::ExpertMatMul, ExpertMatMulInstance>};
}

}  // namespace tenon::backends::cpu

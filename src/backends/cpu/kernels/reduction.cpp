// Reductions and softmax over f32, with the reduced axes brought into one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/row_simd.h"
#include "core/platform/threads.h"
#include "core/strided.h"
#include "ops/op/reduce.h"
#include "ops/op/softmax.h"

namespace tenon::backends::cpu {
namespace {

using runtime::Shapes;

constexpr int64_t kGrain = 16384;

// Loops of a reduction: `kept` walks the output, `reduced` the axes that go.
struct Axes {
  LoopSpace kept;     // operands: output, input
  LoopSpace reduced;  // operand: input
};

Axes splitAxes(const Dims& dims, const Strides& in, const std::vector<bool>& isReduced,
               const std::vector<int64_t>& outStrides) {
  Dims keptDims;
  Dims reducedDims;
  Strides keptIn{}, keptOut{}, reducedIn{};
  for (int axis = 0; axis < dims.rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    if (isReduced[at]) {
      reducedIn[static_cast<size_t>(reducedDims.rank)] = in[at];
      reducedDims.push(dims[axis]);
    } else {
      keptIn[static_cast<size_t>(keptDims.rank)] = in[at];
      keptOut[static_cast<size_t>(keptDims.rank)] = outStrides[at];
      keptDims.push(dims[axis]);
    }
  }
  return {collapse(keptDims, {keptOut, keptIn}), collapse(reducedDims, {reducedIn})};
}

// Sums in four chains of double; enough for the compiler to vectorize and for results that do not depend on the width.
double sumRow(const float* in, int64_t stride, int64_t count) {
  double chains[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t k = 0; k < 4; ++k) chains[k] += static_cast<double>(in[(i + k) * stride]);
  }
  for (; i < count; ++i) chains[0] += static_cast<double>(in[i * stride]);
  return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}

class ReduceInstance final : public runtime::KernelInstance {
 public:
  explicit ReduceInstance(const ops::Reduce& op) : op_(op) {}

  size_t configure(const Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    std::vector<bool> isReduced(static_cast<size_t>(x.dims.rank), false);
    for (const int64_t axis : op_.axes) isReduced[static_cast<size_t>(axis < 0 ? axis + x.dims.rank : axis)] = true;
    const auto own = stridesOf(y.dims, y.layout);
    std::vector<int64_t> outStrides(isReduced.size(), 0);
    for (size_t axis = 0, to = 0; axis < isReduced.size(); ++axis) {
      if (op_.keepDims) {
        outStrides[axis] = own[axis];
      } else if (!isReduced[axis]) {
        outStrides[axis] = own[to++];
      }
    }
    axes_ = splitAxes(x.dims, stridesOf(x.dims, x.layout), isReduced, outStrides);
    outputs_ = y.dims.count();
    reducedCount_ = 1;
    for (const int64_t extent : axes_.reduced.extents) reducedCount_ *= extent;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    const int64_t inner = axes_.kept.inner();
    // Where the kept axis is the one that memory walks, whole rows are accumulated; else one result after another.
    const bool rows = axes_.kept.strides[1].back() == 1 && axes_.reduced.strides[0].back() != 1 && inner > 1;
    // Narrower where there is work for several threads: a result is the same whichever block it is in.
    const int64_t widest = inner * reducedCount_ >= 2 * kGrain ? kRow / 8 : kRow;
    const int64_t block = rows ? std::min(inner, widest) : 1;
    const int64_t blocks = (inner + block - 1) / block;
    platform::parallelFor(axes_.kept.outer() * blocks,
                          std::max<int64_t>(1, kGrain / std::max<int64_t>(1, reducedCount_ * block)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              int64_t offsets[2];
                              axes_.kept.offsets(i / blocks, offsets);
                              const int64_t first = i % blocks * block;
                              const float* from = in + offsets[1] + first * axes_.kept.strides[1].back();
                              float* to = out + offsets[0] + first * axes_.kept.strides[0].back();
                              if (rows) {
                                reduceRows(from, to, std::min(block, inner - first));
                              } else {
                                *to = reduceOne(from);
                              }
                            }
                          });
  }

 private:
  static constexpr int64_t kRow = 256;

  double start() const {
    switch (op_.op) {
      case ops::ReduceOp::kProd: return 1;
      case ops::ReduceOp::kMax: return -std::numeric_limits<double>::infinity();
      case ops::ReduceOp::kMin: return std::numeric_limits<double>::infinity();
      default: return 0;
    }
  }

  double join(double a, double b) const {
    switch (op_.op) {
      case ops::ReduceOp::kProd: return a * b;
      case ops::ReduceOp::kMax: return a != a || a > b ? a : b;
      case ops::ReduceOp::kMin: return a != a || a < b ? a : b;
      default: return a + b;
    }
  }

  float finish(double value) const {
    return static_cast<float>(op_.op == ops::ReduceOp::kAvg ? value / static_cast<double>(reducedCount_) : value);
  }

  float reduceOne(const float* in) const {
    double value = start();
    const int64_t inner = axes_.reduced.inner();
    const int64_t step = axes_.reduced.strides[0].back();
    const bool sums = op_.op == ops::ReduceOp::kSum || op_.op == ops::ReduceOp::kAvg;
    for (int64_t row = 0; row < axes_.reduced.outer(); ++row) {
      int64_t offset = 0;
      axes_.reduced.offsets(row, &offset);
      if (sums) {
        value += sumRow(in + offset, step, inner);
      } else {
        for (int64_t i = 0; i < inner; ++i) value = join(value, static_cast<double>(in[offset + i * step]));
      }
    }
    return finish(value);
  }

  void reduceRows(const float* in, float* out, int64_t width) const {
    double values[kRow];
    std::fill_n(values, width, start());
    const int64_t inner = axes_.reduced.inner();
    const int64_t step = axes_.reduced.strides[0].back();
    const bool sums = op_.op == ops::ReduceOp::kSum || op_.op == ops::ReduceOp::kAvg;
    for (int64_t row = 0; row < axes_.reduced.outer(); ++row) {
      int64_t offset = 0;
      axes_.reduced.offsets(row, &offset);
      if (sums) {
        const auto rows = static_cast<size_t>(inner);
        functions_.addRows(in + offset, static_cast<size_t>(step), rows, values, static_cast<size_t>(width));
        continue;
      }
      for (int64_t i = 0; i < inner; ++i) {
        const float* line = in + offset + i * step;
        for (int64_t k = 0; k < width; ++k) values[k] = join(values[k], static_cast<double>(line[k]));
      }
    }
    const int64_t toStep = axes_.kept.strides[0].back();
    for (int64_t k = 0; k < width; ++k) out[k * toStep] = finish(values[k]);
  }

  ops::Reduce op_;
  const RowFunctions& functions_ = rowFunctions();
  Axes axes_;
  int64_t outputs_ = 0;
  int64_t reducedCount_ = 1;
};

class SoftmaxInstance final : public runtime::KernelInstance {
 public:
  explicit SoftmaxInstance(const ops::Softmax& op) : op_(op) {}

  size_t configure(const Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    const auto own = stridesOf(x.dims, x.layout);
    std::vector<bool> isReduced(static_cast<size_t>(x.dims.rank), false);
    isReduced[axis] = true;
    axes_ = splitAxes(x.dims, own, isReduced, std::vector<int64_t>(own.begin(), own.end()));
    count_ = x.dims.count();
    extent_ = x.dims[static_cast<int>(axis)];
    step_ = own[axis];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    const int64_t inner = axes_.kept.inner();
    platform::parallelFor(count_ / extent_, std::max<int64_t>(1, kGrain / 8 / extent_),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              int64_t offsets[2];
                              axes_.kept.offsets(i / inner, offsets);
                              const int64_t offset = offsets[1] + i % inner * axes_.kept.strides[1].back();
                              one(in + offset, out + offset);
                            }
                          });
  }

 private:
  void one(const float* in, float* out) const {
    float most = in[0];
    for (int64_t i = 1; i < extent_; ++i) most = std::max(most, in[i * step_]);
    double sum = 0;
    for (int64_t i = 0; i < extent_; ++i) {
      const float e = std::exp(in[i * step_] - most);
      out[i * step_] = e;
      sum += static_cast<double>(e);
    }
    const auto scale = static_cast<float>(1 / sum);
    for (int64_t i = 0; i < extent_; ++i) out[i * step_] *= scale;
  }

  ops::Softmax op_;
  Axes axes_;
  int64_t count_ = 0;
  int64_t extent_ = 1;
  int64_t step_ = 1;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (op.as<ops::Softmax>() != nullptr) return loadSimple<ops::Softmax, SoftmaxInstance>(request);
  return loadSimple<ops::Reduce, ReduceInstance>(request);
}

}  // namespace

KernelRow kernelRow_reduction() { return {"reduction", 1, &load}; }

}  // namespace tenon::backends::cpu

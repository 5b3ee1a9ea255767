// Reductions of f32 with a pointwise prologue: values are computed block by block and reduced while they are in the L1
// cache.
#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_reduce.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/simd/column_products_simd.h"
#include "backends/cpu/kernels/simd/row_simd.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

using ops::ReduceOp;

constexpr int64_t kGrain = 8192;   // values that a thread is worth waking for
constexpr int64_t kSplit = 65536;  // values of one piece where there are few outputs
constexpr int64_t kManyOutputs = 64;

class PointwiseReduceInstance final : public runtime::KernelInstance {
 public:
  explicit PointwiseReduceInstance(const ops::PointwiseReduce& op)
      : op_(op), runner_(op.expr), functions_(rowFunctions()) {}

  size_t configure(const runtime::Shapes& shapes) override {
    loops_ = PointwiseReduceLoops(op_, shapes.inputs, shapes.outputs[0]);
    const runtime::TensorShape values{DataType::kF32, loops_.dims, Layout::kLinear};
    runner_.configure(shapes.inputs, std::span(&values, 1), true);
    inputs_ = shapes.inputs.size();
    factors_ = factorsOf(op_.expr);
    sumsMagnitudes_ = sumsMagnitudes(op_) && loops_.byRows;
    sumsProducts_ = sums() && (factors_[0] >= 0 || sumsMagnitudes_);
    for (size_t k = 0; k < inputs_; ++k) {
      const bool isInPlace = !loops_.byRows || loops_.reduced.strides[k + 1].back() == 1;
      sumsProducts_ = sumsProducts_ && shapes.inputs[k].dtype == DataType::kF32 && isInPlace;
    }
    elementBytes_.clear();
    for (const auto& input : shapes.inputs) elementBytes_.push_back(bits(input.dtype) / 8);
    outputs_ = shapes.outputs[0].dims.count();
    reducedCount_ = 1;
    for (const int64_t extent : loops_.reduced.extents) reducedCount_ *= extent;
    blocksPerRow_ = (loops_.reduced.inner() + PointwiseRunner::kBlock - 1) / PointwiseRunner::kBlock;
    blocks_ = reducedCount_ == 0 ? 0 : loops_.reduced.outer() * blocksPerRow_;
    pieces_ = 1;
    if (loops_.byRows && outputs_ < kManyOutputs) {
      pieces_ = std::clamp<int64_t>(reducedCount_ / kSplit, 1, std::max<int64_t>(blocks_, 1));
    }
    isOneRow_ = loops_.byRows && pieces_ == 1 && loops_.reduced.outer() == 1 && reducedCount_ > 0 &&
                reducedCount_ <= PointwiseRunner::kBlock;
    joinsColumns_ = findJoinedColumns();
    rowsTogether_ = isOneRow_ && areNeighbours() ? PointwiseRunner::kBlock / reducedCount_ : 1;
    return pieces_ == 1 ? 0 : static_cast<size_t>(outputs_ * pieces_) * sizeof(double);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    auto* out = static_cast<float*>(arguments.outputs[0]);
    auto* partial = static_cast<double*>(arguments.workspace);
    const int64_t columns = loops_.byRows ? 1 : std::min(loops_.kept.inner(), PointwiseRunner::kBlock);
    const int64_t perRow = (loops_.kept.inner() + columns - 1) / columns;
    const int64_t tasks = loops_.kept.outer() * perRow * pieces_;
    const int64_t values = std::max<int64_t>(1, columns * reducedCount_ / pieces_);
    platform::parallelFor(tasks, std::max<int64_t>(1, kGrain / values), [&](int64_t begin, int64_t end) {
      alignas(64) char scratch[PointwiseRunner::kScratchBytes];
      runner_.prepare(scratch);
      if (isOneRow_) return shortRows(arguments.inputs, out, begin, end, scratch);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t at = task / pieces_;
        const int64_t first = at % perRow * columns;
        Place place = placeOf(arguments.inputs, at / perRow, first);
        if (!loops_.byRows) {
          addColumns(place, out + place.output, std::min(columns, loops_.kept.inner() - first), scratch);
        } else if (pieces_ == 1) {
          out[place.output] = finish(addRow(place, 0, blocks_, scratch));
        } else {
          const int64_t piece = task % pieces_;
          partial[task] = addRow(place, blocks_ * piece / pieces_, blocks_ * (piece + 1) / pieces_, scratch);
        }
      }
    });
    for (int64_t at = 0; pieces_ > 1 && at < outputs_; ++at) {
      double value = start();
      for (int64_t piece = 0; piece < pieces_; ++piece) value = join(value, partial[at * pieces_ + piece]);
      out[placeOf(arguments.inputs, at / perRow, at % perRow).output] = finish(value);
    }
  }

 private:
  static constexpr size_t kMost = PointwiseRunner::kMaxInputs + 1;  // the loops take one more
  struct Place {
    int64_t output = 0;
    std::array<const char*, kMost> in{};
  };

  Place placeOf(void* const* inputs, int64_t outer, int64_t inner) const {
    std::array<int64_t, kMost> offsets{};
    loops_.kept.offsets(outer, offsets.data());
    Place place;
    place.output = offsets[0] + inner * loops_.kept.strides[0].back();
    for (size_t k = 0; k < inputs_; ++k) {
      const int64_t offset = offsets[k + 1] + inner * loops_.kept.strides[k + 1].back();
      place.in[k] = static_cast<const char*>(inputs[k]) + offset * elementBytes_[k];
    }
    return place;
  }

  // Whether along a row of results each input walks on where it was, or stands still.
  bool areNeighbours() const {
    if (!sums() || sumsProducts_) return false;
    for (size_t k = 1; k <= inputs_; ++k) {
      const int64_t step = loops_.reduced.strides[k].back();
      if (loops_.kept.strides[k].back() != step * reducedCount_) return false;
    }
    return true;
  }

  // Results [begin, end), each of one short row.
  void shortRows(void* const* inputs, float* out, int64_t begin, int64_t end, char* scratch) const {
    const int64_t inner = loops_.kept.inner();
    std::array<int64_t, kMost> strides{};
    stridesOfRun(loops_.reduced, strides);
    while (begin < end) {
      const int64_t stop = std::min(end, (begin / inner + 1) * inner);
      Place place = placeOf(inputs, begin / inner, begin % inner);
      while (begin < stop) {
        const int64_t rows = std::min(rowsTogether_, stop - begin);
        reduceRows(place, strides.data(), rows, out, scratch);
        place.output += rows * loops_.kept.strides[0].back();
        for (size_t k = 0; k < inputs_; ++k) place.in[k] += rows * loops_.kept.strides[k + 1].back() * elementBytes_[k];
        begin += rows;
      }
    }
  }
  void reduceRows(const Place& place, const int64_t* strides, int64_t rows, float* out, char* scratch) const {
    const auto count = static_cast<size_t>(reducedCount_);
    if (sumsProducts_) {
      out[place.output] = finish(products(place.in, count));
      return;
    }
    const auto* values =
        static_cast<const float*>(runner_.values(place.in.data(), strides, rows * reducedCount_, scratch));
    for (int64_t row = 0; row < rows; ++row, values += count) {
      double total = start();
      if (sums()) total = functions_.sum(values, count);
      for (size_t i = 0; !sums() && i < count; ++i) total = join(total, static_cast<double>(values[i]));
      out[place.output + row * loops_.kept.strides[0].back()] = finish(total);
    }
  }
  double products(const std::array<const char*, kMost>& in, size_t count) const {
    if (sumsMagnitudes_) return functions_.magnitudes(reinterpret_cast<const float*>(in[0]), count);
    const auto factor = [&](size_t k) { return reinterpret_cast<const float*>(in[static_cast<size_t>(factors_[k])]); };
    return functions_.products(factor(0), factor(1), count);
  }

  double start() const {
    switch (op_.op) {
      case ReduceOp::kProd: return 1;
      case ReduceOp::kMax: return -std::numeric_limits<double>::infinity();
      case ReduceOp::kMin: return std::numeric_limits<double>::infinity();
      default: return 0;
    }
  }
  double join(double a, double b) const {
    switch (op_.op) {
      case ReduceOp::kProd: return a * b;
      case ReduceOp::kMax: return a != a || a > b ? a : b;
      case ReduceOp::kMin: return a != a || a < b ? a : b;
      default: return a + b;
    }
  }
  float finish(double value) const {
    return static_cast<float>(op_.op == ReduceOp::kAvg ? value / static_cast<double>(reducedCount_) : value);
  }
  bool sums() const { return op_.op == ReduceOp::kSum || op_.op == ReduceOp::kAvg; }

  // Inputs of the block at a place of the reduced space.
  void step(const Place& place, const LoopSpace& space, int64_t outer, int64_t inner,
            std::array<const char*, kMost>& in) const {
    std::array<int64_t, kMost> offsets;  // as many as there are operands
    space.offsets(outer, offsets.data());
    for (size_t k = 0; k < inputs_; ++k) {
      in[k] = place.in[k] + (offsets[k + 1] + inner * space.strides[k + 1].back()) * elementBytes_[k];
    }
  }
  void stridesOfRun(const LoopSpace& space, std::array<int64_t, kMost>& strides) const {
    for (size_t k = 0; k < inputs_; ++k) strides[k] = space.strides[k + 1].back();
  }

  // The inputs whose product the expression is, or -1.
  static std::array<int64_t, 2> factorsOf(const ops::ScalarExpr& expr) {
    using Kind = ops::ScalarArgument::Kind;
    constexpr std::array<int64_t, 2> kNone{-1, -1};
    if (expr.instructions.size() != 1) return kNone;
    const auto& only = expr.instructions[0];
    const auto& [first, second, third] = only.arguments;
    if (first.kind != Kind::kInput) return kNone;
    if (only.op == ops::ScalarOp::k_mul && second.kind == Kind::kInput) return {first.index, second.index};
    const bool isSquare =
        only.op == ops::ScalarOp::k_pow && second.kind == Kind::kLiteral && sameField(second.literal, 2.);
    return isSquare ? std::array<int64_t, 2>{first.index, first.index} : kNone;
  }

  // Whole runs of what lies in one piece, without values in between.
  double addProducts(const Place& place, int64_t begin, int64_t end) const {
    std::array<const char*, kMost> in{};
    double total = 0;
    for (int64_t block = begin; block < end;) {
      const int64_t row = block / blocksPerRow_;
      const int64_t first = block % blocksPerRow_ * PointwiseRunner::kBlock;
      const int64_t stop = std::min(end, (row + 1) * blocksPerRow_);
      const int64_t last = std::min(loops_.reduced.inner(), (stop - row * blocksPerRow_) * PointwiseRunner::kBlock);
      step(place, loops_.reduced, row, first, in);
      total += products(in, static_cast<size_t>(last - first));
      block = stop;
    }
    return total;
  }

  double addRow(const Place& place, int64_t begin, int64_t end, char* scratch) const {
    if (sumsProducts_) return addProducts(place, begin, end);
    std::array<const char*, kMost> in{};
    std::array<int64_t, kMost> strides{};
    stridesOfRun(loops_.reduced, strides);
    double total = start();
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block % blocksPerRow_ * PointwiseRunner::kBlock;
      const int64_t count = std::min(PointwiseRunner::kBlock, loops_.reduced.inner() - first);
      step(place, loops_.reduced, block / blocksPerRow_, first, in);
      const auto* values = static_cast<const float*>(runner_.values(in.data(), strides.data(), count, scratch));
      if (sums()) {
        total += functions_.sum(values, static_cast<size_t>(count));
      } else {
        for (int64_t i = 0; i < count; ++i) total = join(total, static_cast<double>(values[i]));
      }
    }
    return total;
  }

  // Of two inputs as they lie: along the columns each walks by steps of 1 or stands still.
  void addColumnProducts(const Place& place, size_t width, double* totals) const {
    const auto add = cpu::addProducts();
    for (int64_t row = 0; reducedCount_ > 0 && row < loops_.reduced.outer(); ++row) {
      std::array<const char*, kMost> in{};
      step(place, loops_.reduced, row, 0, in);
      const auto factor = [&](size_t k) {
        const auto input = static_cast<size_t>(factors_[k]);
        return FloatOperand{reinterpret_cast<const float*>(in[input]), loops_.reduced.strides[input + 1].back(),
                            loops_.kept.strides[input + 1].back() == 1};
      };
      add(factor(0), factor(1), static_cast<size_t>(loops_.reduced.inner()), width, totals);
    }
  }

  // Whether rows of all columns lie behind each other in each input, or it stands still, so that several are one run.
  bool findJoinedColumns() const {
    const int64_t width = loops_.kept.inner();
    bool joins = !loops_.byRows && sums() && !sumsProducts_ && width * 2 <= PointwiseRunner::kBlock;
    for (size_t k = 1; k <= inputs_; ++k)
      joins = joins && loops_.reduced.strides[k].back() == loops_.kept.strides[k].back() * width;
    return joins;
  }
  void addJoinedColumns(const Place& place, int64_t width, double* totals, char* scratch) const {
    std::array<const char*, kMost> in{};
    std::array<int64_t, kMost> strides{};
    stridesOfRun(loops_.kept, strides);
    const int64_t inner = loops_.reduced.inner();
    const int64_t together = PointwiseRunner::kBlock / width;
    for (int64_t outer = 0; reducedCount_ > 0 && outer < loops_.reduced.outer(); ++outer) {
      for (int64_t i = 0; i < inner; i += together) {
        const int64_t rows = std::min(together, inner - i);
        step(place, loops_.reduced, outer, i, in);
        const auto* values =
            static_cast<const float*>(runner_.values(in.data(), strides.data(), rows * width, scratch));
        float sums[PointwiseRunner::kBlock];
        std::copy_n(values, width, sums);
        for (int64_t row = 1; row < rows; ++row) {
          for (int64_t k = 0; k < width; ++k) sums[k] += values[row * width + k];
        }
        for (int64_t k = 0; k < width; ++k) totals[k] += static_cast<double>(sums[k]);
      }
    }
  }

  void addColumns(const Place& place, float* out, int64_t width, char* scratch) const {
    double totals[PointwiseRunner::kBlock];
    std::fill_n(totals, width, start());
    if (sumsProducts_) addColumnProducts(place, static_cast<size_t>(width), totals);
    if (joinsColumns_) addJoinedColumns(place, width, totals, scratch);
    std::array<const char*, kMost> in{};
    std::array<int64_t, kMost> strides{};
    stridesOfRun(loops_.kept, strides);
    const int64_t inner = loops_.reduced.inner();
    for (int64_t i = 0; !sumsProducts_ && !joinsColumns_ && i < reducedCount_; ++i) {
      step(place, loops_.reduced, i / inner, i % inner, in);
      const auto* values = static_cast<const float*>(runner_.values(in.data(), strides.data(), width, scratch));
      if (sums()) {
        for (int64_t k = 0; k < width; ++k) totals[k] += static_cast<double>(values[k]);
      } else {
        for (int64_t k = 0; k < width; ++k) totals[k] = join(totals[k], static_cast<double>(values[k]));
      }
    }
    const int64_t to = loops_.kept.strides[0].back();
    for (int64_t k = 0; k < width; ++k) out[k * to] = finish(totals[k]);
  }

  ops::PointwiseReduce op_;
  PointwiseRunner runner_;
  const RowFunctions& functions_;
  PointwiseReduceLoops loops_;
  size_t inputs_ = 0;
  std::array<int64_t, 2> factors_{-1, -1};
  bool sumsProducts_ = false;    // of two inputs in one piece, which may be the same, or ...
  bool sumsMagnitudes_ = false;  // ... |x| of one
  std::vector<int64_t> elementBytes_;
  int64_t outputs_ = 0;
  int64_t reducedCount_ = 1;
  int64_t blocksPerRow_ = 1;
  int64_t blocks_ = 0;         // of the values of one output
  bool joinsColumns_ = false;  // several rows of columns at once
  bool isOneRow_ = false;      // what a result is made of, and short
  int64_t rowsTogether_ = 1;
  int64_t pieces_ = 1;  // by shapes only, so that results do not depend on the number of threads
};

}  // namespace

KernelRow kernelRow_pointwise_reduce() {
  return {"pointwise_reduce", 1, &loadSimple<ops::PointwiseReduce, PointwiseReduceInstance>};
}

}  // namespace tenon::backends::cpu

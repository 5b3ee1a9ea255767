// Reductions of any type, with the reduced axes brought into one: rows where they are contiguous, else columns beside
// each other.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/axis_loops.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/reduce_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/op/reduce.h"

namespace tenon::backends::cpu {
namespace {

using runtime::Shapes;

constexpr int64_t kGrain = 16384;
constexpr int64_t kColumns = 1024;  // of a block
constexpr int64_t kWideRows = 16;   // of halves, at a time
constexpr int64_t kSplit = 65536;   // elements of one piece where there are few outputs
constexpr int64_t kManyOutputs = 64;

bool isHalf(DataType type) { return type == DataType::kF16 || type == DataType::kBF16; }

class ReduceInstance final : public runtime::KernelInstance {
 public:
  explicit ReduceInstance(const ops::Reduce& op) : op_(op) {}

  size_t configure(const Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    type_ = x.dtype;
    computedIn_ = isHalf(type_) ? DataType::kF32 : type_;
    functions_ = reduceFunctions(op_.op, computedIn_);
    if (functions_.row == nullptr) throw Unsupported("cpu.reduction: values of {} are not supported", name(type_));
    widen_ = isHalf(type_) ? castFunction(type_, computedIn_) : nullptr;
    bytes_ = bits(type_) / 8;
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
    // Where the kept axis is the one that memory walks, whole rows are accumulated; else one result after another.
    byColumns_ = axes_.kept.strides[1].back() == 1 && axes_.reduced.strides[0].back() != 1 && axes_.kept.inner() > 1;
    byRows_ = !byColumns_ && widen_ == nullptr && axes_.reduced.strides[0].back() == 1 && outputs_ >= kManyOutputs;
    pieces_ = 1;
    units_ = axes_.reduced.outer() > 1 ? axes_.reduced.outer() : axes_.reduced.inner();
    if (!byColumns_ && outputs_ < kManyOutputs) {
      pieces_ = std::clamp<int64_t>(reducedCount_ / kSplit, 1, std::max<int64_t>(1, units_));
    }
    return pieces_ == 1 ? 0 : static_cast<size_t>(outputs_ * pieces_) * kAccumulator;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    const auto* in = static_cast<const char*>(arguments.inputs[0]);
    auto* out = static_cast<char*>(arguments.outputs[0]);
    if (byColumns_) return launchColumns(in, out);
    if (byRows_) return launchRows(in, out);
    auto* partial = static_cast<char*>(arguments.workspace);
    const int64_t grain = std::max<int64_t>(1, kGrain * pieces_ / std::max<int64_t>(1, reducedCount_));
    platform::parallelFor(outputs_ * pieces_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [from, to] = placeOf(i / pieces_);
        alignas(8) char value[kAccumulator];
        functions_.start(value, 1);
        const int64_t piece = i % pieces_;
        reduceUnits(in + from * bytes_, units_ * piece / pieces_, units_ * (piece + 1) / pieces_, value);
        if (pieces_ == 1) {
          store(value, 1, out + to * bytes_, 1);
        } else {
          std::memcpy(partial + i * kAccumulator, value, kAccumulator);
        }
      }
    });
    for (int64_t i = 0; pieces_ > 1 && i < outputs_; ++i) {
      char* const value = partial + i * pieces_ * kAccumulator;
      for (int64_t piece = 1; piece < pieces_; ++piece) functions_.join(value + piece * kAccumulator, value, 1);
      store(value, 1, out + placeOf(i).second * bytes_, 1);
    }
  }

 private:
  static constexpr int64_t kAccumulator = 8;  // bytes

  // Where the elements of an output begin, and where it stands.
  std::pair<int64_t, int64_t> placeOf(int64_t output) const {
    int64_t offsets[2];
    const int64_t inner = axes_.kept.inner();
    axes_.kept.offsets(output / inner, offsets);
    return {offsets[1] + output % inner * axes_.kept.strides[1].back(),
            offsets[0] + output % inner * axes_.kept.strides[0].back()};
  }

  // Rows of several outputs that lie behind each other are read one after another, and then those of the next place of
  // the outer reduced axes.
  void launchRows(const char* in, char* out) const {
    const int64_t inner = axes_.kept.inner();
    const int64_t row = axes_.reduced.inner();
    const int64_t block = std::min(inner, std::clamp<int64_t>(kGrain / std::max<int64_t>(1, row), 1, kColumns));
    const int64_t blocks = (inner + block - 1) / block;
    const int64_t step = axes_.kept.strides[1].back();
    const int64_t outStep = axes_.kept.strides[0].back();
    platform::parallelFor(
        axes_.kept.outer() * blocks, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, reducedCount_ * block)),
        [&](int64_t begin, int64_t end) {
          alignas(64) char values[kColumns * kAccumulator];
          for (int64_t i = begin; i < end; ++i) {
            int64_t offsets[2];
            axes_.kept.offsets(i / blocks, offsets);
            const int64_t first = i % blocks * block;
            const int64_t count = std::min(block, inner - first);
            functions_.start(values, static_cast<size_t>(count));
            for (int64_t place = 0; reducedCount_ > 0 && place < axes_.reduced.outer(); ++place) {
              int64_t offset = 0;
              axes_.reduced.offsets(place, &offset);
              functions_.rows(in + (offsets[1] + first * step + offset) * bytes_, static_cast<size_t>(step),
                              static_cast<size_t>(count), static_cast<size_t>(row), values);
            }
            store(values, count, out + (offsets[0] + first * outStep) * bytes_, outStep);
          }
        });
  }

  void launchColumns(const char* in, char* out) const {
    const int64_t inner = axes_.kept.inner();
    // Narrower where there is work for several threads: a result is the same whichever block it is in.
    const int64_t widest = inner * reducedCount_ >= 2 * kGrain && axes_.kept.outer() < 8 ? kColumns / 8 : kColumns;
    const int64_t block = std::min(inner, reducedCount_ > 64 ? widest : kColumns);
    const int64_t blocks = (inner + block - 1) / block;
    platform::parallelFor(axes_.kept.outer() * blocks,
                          std::max<int64_t>(1, kGrain / std::max<int64_t>(1, reducedCount_ * block)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              int64_t offsets[2];
                              axes_.kept.offsets(i / blocks, offsets);
                              const int64_t first = i % blocks * block;
                              reduceColumns(in + (offsets[1] + first) * bytes_,
                                            out + (offsets[0] + first * axes_.kept.strides[0].back()) * bytes_,
                                            std::min(block, inner - first));
                            }
                          });
  }

  void reduceColumns(const char* in, char* out, int64_t width) const {
    alignas(64) char values[kColumns * kAccumulator];
    alignas(64) float wide[kColumns * kWideRows];
    const auto count = static_cast<size_t>(width);
    functions_.start(values, count);
    const int64_t inner = axes_.reduced.inner();
    const int64_t step = axes_.reduced.strides[0].back();
    for (int64_t row = 0; reducedCount_ > 0 && row < axes_.reduced.outer(); ++row) {
      int64_t offset = 0;
      axes_.reduced.offsets(row, &offset);
      const char* from = in + offset * bytes_;
      if (widen_ == nullptr) {
        functions_.columns(from, static_cast<size_t>(step), static_cast<size_t>(inner), values, count);
        continue;
      }
      for (int64_t i = 0; i < inner; i += kWideRows) {
        const int64_t rows = std::min(kWideRows, inner - i);
        for (int64_t r = 0; r < rows; ++r)
          widen_(from + (i + r) * step * bytes_, nullptr, nullptr, wide + r * width, count);
        functions_.columns(wide, count, static_cast<size_t>(rows), values, count);
      }
    }
    store(values, width, out, axes_.kept.strides[0].back());
  }

  // Units are rows of the reduced space, or elements where it is one row.
  void reduceUnits(const char* in, int64_t begin, int64_t end, void* value) const {
    if (reducedCount_ == 0) return;
    const int64_t inner = axes_.reduced.inner();
    if (axes_.reduced.outer() == 1)
      return reduceRow(in + begin * axes_.reduced.strides[0].back() * bytes_, end - begin, value);
    for (int64_t row = begin; row < end; ++row) {
      int64_t offset = 0;
      axes_.reduced.offsets(row, &offset);
      reduceRow(in + offset * bytes_, inner, value);
    }
  }

  void reduceRow(const char* in, int64_t count, void* value) const {
    const int64_t step = axes_.reduced.strides[0].back();
    if (widen_ == nullptr) {
      if (step == 1) return functions_.row(in, static_cast<size_t>(count), value);
      return functions_.columns(in, static_cast<size_t>(step), static_cast<size_t>(count), value, 1);
    }
    constexpr int64_t kBuffer = 4096;
    alignas(64) uint16_t near[kBuffer];
    alignas(64) float wide[kBuffer];
    for (int64_t first = 0; first < count; first += kBuffer) {
      const int64_t some = std::min(kBuffer, count - first);
      const auto* from = reinterpret_cast<const uint16_t*>(in) + first * step;
      for (int64_t i = 0; step != 1 && i < some; ++i) near[i] = from[i * step];
      widen_(step == 1 ? from : near, nullptr, nullptr, wide, static_cast<size_t>(some));
      functions_.row(wide, static_cast<size_t>(some), value);
    }
  }

  void store(const void* values, int64_t count, char* out, int64_t step) const {
    alignas(64) char made[kColumns * kAccumulator];
    alignas(64) char narrow[kColumns * sizeof(uint16_t)];
    const auto size = static_cast<size_t>(count);
    const bool direct = step == 1 && widen_ == nullptr;
    functions_.finish(values, size, reducedCount_, direct ? out : made);
    if (direct) return;
    const char* from = made;
    if (widen_ != nullptr) {
      castFunction(computedIn_, type_)(made, nullptr, nullptr, narrow, size);
      from = narrow;
    }
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(out + k * step * bytes_, from + k * bytes_, static_cast<size_t>(bytes_));
  }

  ops::Reduce op_;
  ReduceFunctions functions_;
  VectorFunction widen_ = nullptr;  // of halves
  DataType type_ = DataType::kF32;
  DataType computedIn_ = DataType::kF32;
  int64_t bytes_ = 4;
  AxisLoops axes_;
  int64_t outputs_ = 0;
  int64_t reducedCount_ = 1;
  bool byColumns_ = false;
  bool byRows_ = false;  // rows that lie in one piece, many at a time
  int64_t units_ = 1;
  int64_t pieces_ = 1;  // by shapes only, so that results do not depend on the number of threads
};

}  // namespace

KernelRow kernelRow_reduction() { return {"reduction", 1, &loadSimple<ops::Reduce, ReduceInstance>}; }

}  // namespace tenon::backends::cpu

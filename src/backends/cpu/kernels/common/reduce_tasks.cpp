// Reductions as tasks: which elements a task reads, and how it joins them.
#include "backends/cpu/kernels/common/reduce_tasks.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kColumns = 1024;  // of a block
constexpr int64_t kWideRows = 16;   // of halves, at a time
constexpr int64_t kWide = 4096;     // elements of halves, at a time
constexpr int64_t kSplit = 65536;   // elements of one piece where there are few outputs
constexpr int64_t kManyOutputs = 64, kSomeOutputs = 8;

bool isHalf(DataType type) { return type == DataType::kF16 || type == DataType::kBF16; }

}  // namespace

size_t ReduceTasks::configure(const runtime::TensorShape& x, const runtime::TensorShape& y) {
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
  const bool isOfOne = reducedCount_ == 1;
  byColumns_ =
      axes_.kept.strides[1].back() == 1 && axes_.kept.inner() > 1 && (isOfOne || axes_.reduced.strides[0].back() != 1);
  isCopy_ = isOfOne && byColumns_ && axes_.kept.strides[0].back() == 1;
  byRows_ = !byColumns_ && (widen_ == nullptr || axes_.reduced.inner() <= kWide) &&
            axes_.reduced.strides[0].back() == 1 && outputs_ >= (reducedCount_ < kSplit ? kSomeOutputs : kManyOutputs);
  pieces_ = 1;
  units_ = axes_.reduced.outer() > 1 ? axes_.reduced.outer() : axes_.reduced.inner();
  if (!byColumns_ && outputs_ < kManyOutputs) {
    pieces_ = std::clamp<int64_t>(reducedCount_ / kSplit, 1, std::max<int64_t>(1, units_));
  }
  setTasks();
  return pieces_ == 1 ? 0 : static_cast<size_t>(outputs_ * pieces_) * kAccumulator;
}

void ReduceTasks::setTasks() {
  const int64_t inner = axes_.kept.inner();
  if (byColumns_) {
    // Narrower where there is work for several threads: a result is the same whichever block it is in.
    const int64_t widest = inner * reducedCount_ >= 2 * kGrain && axes_.kept.outer() < 8 ? kColumns / 8 : kColumns;
    block_ = std::min(inner, reducedCount_ > 64 ? widest : kColumns);
  } else if (byRows_) {
    // Enough blocks for several threads where there is work for them.
    constexpr int64_t kBlocks = 8, kLeast = 4;
    const int64_t widest =
        outputs_ * reducedCount_ >= 2 * kGrain ? std::max(kLeast, (outputs_ + kBlocks - 1) / kBlocks) : kColumns;
    block_ = std::clamp<int64_t>(kGrain / std::max<int64_t>(1, axes_.reduced.inner()), 1, kColumns);
    block_ = std::min({inner, block_, widest});
  }
  if (outputs_ == 0) {
    tasks_ = 0;
  } else if (byColumns_ || byRows_) {
    tasks_ = axes_.kept.outer() * ((inner + block_ - 1) / block_);
    grain_ = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, reducedCount_ * block_));
  } else {
    tasks_ = outputs_ * pieces_;
    grain_ = std::max<int64_t>(1, kGrain * pieces_ / std::max<int64_t>(1, reducedCount_));
  }
}

void ReduceTasks::run(int64_t task, const void* in, void* out, void* workspace) const {
  const auto* const from = static_cast<const char*>(in);
  auto* const to = static_cast<char*>(out);
  if (byColumns_) return reduceColumns(task, from, to);
  if (byRows_) return reduceRows(task, from, to);
  reducePiece(task, from, to, static_cast<char*>(workspace));
}

void ReduceTasks::finish(void* out, void* workspace) const {
  for (int64_t i = 0; pieces_ > 1 && i < outputs_; ++i) {
    char* const value = static_cast<char*>(workspace) + i * pieces_ * kAccumulator;
    for (int64_t piece = 1; piece < pieces_; ++piece) functions_.join(value + piece * kAccumulator, value, 1);
    store(value, 1, static_cast<char*>(out) + placeOf(i).second * bytes_, 1);
  }
}

// Where the elements of an output begin, and where it stands.
std::pair<int64_t, int64_t> ReduceTasks::placeOf(int64_t output) const {
  int64_t offsets[2];
  const int64_t inner = axes_.kept.inner();
  axes_.kept.offsets(output / inner, offsets);
  return {offsets[1] + output % inner * axes_.kept.strides[1].back(),
          offsets[0] + output % inner * axes_.kept.strides[0].back()};
}

std::pair<int64_t, int64_t> ReduceTasks::unitsOf(int64_t task) const {
  const int64_t piece = task % pieces_;
  return {units_ * piece / pieces_, units_ * (piece + 1) / pieces_};
}

// One result, or a part of it.
void ReduceTasks::reducePiece(int64_t task, const char* in, char* out, char* partial) const {
  alignas(8) char value[kAccumulator];
  functions_.start(value, 1);
  const auto [begin, end] = unitsOf(task);
  reduceUnits(in + placeOf(task / pieces_).first * bytes_, begin, end, value);
  storePiece(task, value, out, partial);
}

void ReduceTasks::storePiece(int64_t task, const char* value, char* out, char* partial) const {
  if (pieces_ > 1) {
    std::memcpy(partial + task * kAccumulator, value, kAccumulator);
  } else {
    store(value, 1, out + placeOf(task).second * bytes_, 1);
  }
}

bool ReduceTasks::isOfRows() const {
  return type_ == DataType::kF32 && !byRows_ && !byColumns_ && axes_.reduced.outer() == 1 &&
         axes_.reduced.strides[0].back() == 1;
}

void ReduceTasks::runExtremes(int64_t task, const void* in, void* least, void* leastWorkspace, const ReduceTasks& other,
                              void* most, void* mostWorkspace) const {
  alignas(8) char lower[kAccumulator];
  alignas(8) char upper[kAccumulator];
  functions_.start(lower, 1);
  other.functions_.start(upper, 1);
  const auto [begin, end] = unitsOf(task);
  const auto* const from = static_cast<const char*>(in) + (placeOf(task / pieces_).first + begin) * bytes_;
  if (reducedCount_ > 0) functions_.extremes(from, static_cast<size_t>(end - begin), lower, upper);
  storePiece(task, lower, static_cast<char*>(least), static_cast<char*>(leastWorkspace));
  other.storePiece(task, upper, static_cast<char*>(most), static_cast<char*>(mostWorkspace));
}

// Rows of several outputs that lie behind each other are read one after another, and then those of the next place of
// the outer reduced axes.
void ReduceTasks::reduceRows(int64_t task, const char* in, char* out) const {
  alignas(64) char values[kColumns * kAccumulator];
  const int64_t inner = axes_.kept.inner();
  const int64_t blocks = (inner + block_ - 1) / block_;
  const int64_t step = axes_.kept.strides[1].back();
  const int64_t outStep = axes_.kept.strides[0].back();
  int64_t offsets[2];
  axes_.kept.offsets(task / blocks, offsets);
  const int64_t first = task % blocks * block_;
  const int64_t count = std::min(block_, inner - first);
  functions_.start(values, static_cast<size_t>(count));
  for (int64_t place = 0; reducedCount_ > 0 && place < axes_.reduced.outer(); ++place) {
    int64_t offset = 0;
    axes_.reduced.offsets(place, &offset);
    joinRows(in + (offsets[1] + first * step + offset) * bytes_, step, count, values);
  }
  store(values, count, out + (offsets[0] + first * outStep) * bytes_, outStep);
}

void ReduceTasks::joinRows(const char* in, int64_t step, int64_t count, char* values) const {
  const int64_t row = axes_.reduced.inner();
  const auto join = [&](const void* from, int64_t pitch, int64_t first, int64_t rows) {
    functions_.rows(from, static_cast<size_t>(pitch), static_cast<size_t>(rows), static_cast<size_t>(row),
                    values + first * static_cast<int64_t>(functions_.accumulatorBytes));
  };
  if (widen_ == nullptr) return join(in, step, 0, count);
  alignas(64) float wide[kWide];
  const int64_t together = step == row ? std::max<int64_t>(1, kWide / row) : 1;
  for (int64_t first = 0; first < count; first += together) {
    const int64_t rows = std::min(together, count - first);
    widen_(in + first * step * bytes_, nullptr, nullptr, wide, static_cast<size_t>(rows * row));
    join(wide, row, first, rows);
  }
}

void ReduceTasks::reduceColumns(int64_t task, const char* in, char* out) const {
  const int64_t blocks = (axes_.kept.inner() + block_ - 1) / block_;
  int64_t offsets[2];
  axes_.kept.offsets(task / blocks, offsets);
  const int64_t column = task % blocks * block_;
  const int64_t width = std::min(block_, axes_.kept.inner() - column);
  in += (offsets[1] + column) * bytes_;
  out += (offsets[0] + column * axes_.kept.strides[0].back()) * bytes_;
  if (isCopy_) {
    std::memcpy(out, in, static_cast<size_t>(width * bytes_));
    return;
  }
  if (functions_.fewRows != nullptr && widen_ == nullptr && axes_.reduced.outer() == 1 && reducedCount_ > 0 &&
      reducedCount_ <= kFewReducedRows && axes_.kept.strides[0].back() == 1)
    return functions_.fewRows(in, static_cast<size_t>(axes_.reduced.strides[0].back()),
                              static_cast<size_t>(reducedCount_), static_cast<size_t>(width),
                              op_.op == ops::ReduceOp::kAvg, out);
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
    const int64_t together = step == width ? std::max<int64_t>(1, kWide / width) : kWideRows;
    for (int64_t i = 0; i < inner; i += together) {
      const int64_t rows = std::min(together, inner - i);
      if (step == width) {
        widen_(from + i * step * bytes_, nullptr, nullptr, wide, count * static_cast<size_t>(rows));
      } else {
        for (int64_t r = 0; r < rows; ++r)
          widen_(from + (i + r) * step * bytes_, nullptr, nullptr, wide + r * width, count);
      }
      functions_.columns(wide, count, static_cast<size_t>(rows), values, count);
    }
  }
  store(values, width, out, axes_.kept.strides[0].back());
}

// Units are rows of the reduced space, or elements where it is one row.
void ReduceTasks::reduceUnits(const char* in, int64_t begin, int64_t end, void* value) const {
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

void ReduceTasks::reduceRow(const char* in, int64_t count, void* value) const {
  const int64_t step = axes_.reduced.strides[0].back();
  if (widen_ == nullptr) {
    if (step == 1) return functions_.row(in, static_cast<size_t>(count), value);
    return functions_.columns(in, static_cast<size_t>(step), static_cast<size_t>(count), value, 1);
  }
  alignas(64) uint16_t near[kWide];
  alignas(64) float wide[kWide];
  for (int64_t first = 0; first < count; first += kWide) {
    const int64_t some = std::min(kWide, count - first);
    const auto* from = reinterpret_cast<const uint16_t*>(in) + first * step;
    for (int64_t i = 0; step != 1 && i < some; ++i) near[i] = from[i * step];
    widen_(step == 1 ? from : near, nullptr, nullptr, wide, static_cast<size_t>(some));
    functions_.row(wide, static_cast<size_t>(some), value);
  }
}

void ReduceTasks::store(const void* values, int64_t count, char* out, int64_t step) const {
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
  if (step == 1) {
    std::memcpy(out, from, static_cast<size_t>(count * bytes_));
    return;
  }
  for (int64_t k = 0; k < count; ++k)
    std::memcpy(out + k * step * bytes_, from + k * bytes_, static_cast<size_t>(bytes_));
}

}  // namespace tenon::backends::cpu

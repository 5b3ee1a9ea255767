// Copies by a table of positions per axis: slices that clamp, repeat or mirror what lies outside, and resizing to the
// nearest element, of any type.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/copy_simd.h"
#include "backends/cpu/kernels/simd/table_pick_simd.h"
#include "core/error.h"
#include "ops/op/resize.h"
#include "ops/op/slice.h"
#include "ops/resize_taps.h"
#include "ops/scalar_math.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kElementWork = 4;  // what an element costs at least, as runJobs counts: it costs its bytes

// Where index i of an axis of extent n reads; n is above zero.
int64_t locate(ops::SliceMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == ops::SliceMode::kClamp) return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == ops::SliceMode::kWrap) return ops::scalar_math::floorModulo(i, n);
  if (n == 1) return 0;
  const int64_t folded = ops::scalar_math::floorModulo(i, 2 * (n - 1));
  return folded < n ? folded : 2 * (n - 1) - folded;
}

// The input's position of each position of an axis of the output.
std::vector<int64_t> positions(const ops::Slice& op, const runtime::Shapes& shapes, int axis) {
  const auto at = static_cast<size_t>(axis);
  const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
  const int64_t n = shapes.inputs[0].dims[axis];
  const int64_t start = value(op.start[at]);
  const int64_t stride = op.stride.empty() ? 1 : value(op.stride[at]);
  checkUser(n > 0, "slice ({}): axis {} of the input is empty", enumNames(op.mode)[static_cast<size_t>(op.mode)], axis);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < shapes.outputs[0].dims[axis]; ++i) {
    const uint64_t at64 = static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(stride);
    result.push_back(locate(op.mode, static_cast<int64_t>(at64), n));
  }
  return result;
}

std::vector<int64_t> positions(const ops::Resize& op, const runtime::Shapes& shapes, int axis) {
  const int64_t out = shapes.outputs[0].dims[axis];
  const auto bound = op.bound(shapes.symbols);
  std::vector<int64_t> result;
  for (int64_t o = 0; o < out; ++o)
    result.push_back(ops::resizeTaps(bound, static_cast<size_t>(axis), o, shapes.inputs[0].dims[axis], out)[0].index);
  return result;
}

template <typename Op>
class TableCopyInstance final : public runtime::KernelInstance {
 public:
  explicit TableCopyInstance(const Op& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    tables_.clear();
    runs_.clear();
    pick_.clear();
    outer_ = 0;
    if (y.dims.count() == 0) return 0;
    const auto strides = x.dims.strides();
    // Axes at the end that are copied whole belong to the element.
    int last = y.dims.rank - 1;
    bytes_ = bits(x.dtype) / 8;
    for (; last >= 0; --last) {
      auto table = positions(op_, shapes, last);
      bool whole = x.dims[last] == y.dims[last];
      for (size_t i = 0; whole && i < table.size(); ++i) whole = table[i] == static_cast<int64_t>(i);
      if (!whole) {
        makeRuns(table, x.dims[last]);
        break;
      }
      bytes_ *= x.dims[last];
    }
    const int64_t elementBytes = bits(x.dtype) / 8;
    for (int axis = 0; axis < last; ++axis) {
      tables_.push_back(positions(op_, shapes, axis));
      for (auto& position : tables_.back()) position *= strides[static_cast<size_t>(axis)] * elementBytes;
    }
    if (last < 0) runs_ = {{0, 0, 1, 1}};
    outer_ = y.dims.count(0, std::max(last, 0));
    width_ = last < 0 ? 1 : y.dims[last];
    period_ = tables_.empty() ? 0 : periodOf(tables_.back());
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const from = static_cast<const char*>(arguments.inputs[0]);
    auto* const to = static_cast<char*>(arguments.outputs[0]);
    constexpr int64_t kPiece = 1 << 15;  // bytes of a job
    const int64_t rowBytes = width_ * bytes_;
    const int64_t all = period_ == 0 ? outer_ : period_;
    const int64_t rows = std::clamp<int64_t>(kPiece / std::max<int64_t>(1, rowBytes), 1, std::max<int64_t>(1, all));
    const int64_t pieces = (all + rows - 1) / rows;
    const int64_t lines = period_ == 0 ? 1 : outer_ / static_cast<int64_t>(tables_.back().size());
    runJobs(pieces * lines, outer_ * width_ * std::max<int64_t>(kElementWork, bytes_), [&](int64_t job) {
      const int64_t begin = job % pieces * rows;
      const int64_t end = std::min(all, begin + rows);
      if (period_ == 0) return copyRows(from, to, begin, end);
      const auto extent = static_cast<int64_t>(tables_.back().size());
      const int64_t line = job / pieces * extent;
      copyRows(from, to, line + begin, line + end);
      repeatRows(to + line * rowBytes, begin, end, extent);
    });
  }

 private:
  // Neighbours of the output that are `step` apart in the input: 1 forwards, -1 backwards, 0 the same one.
  struct Run {
    int64_t to = 0, from = 0, count = 0, step = 0;
  };

  // Rows of the output; one that reads what the row before did is a copy of it.
  void copyRows(const char* from, char* to, int64_t begin, int64_t end) const {
    const int64_t rowBytes = width_ * bytes_;
    const int64_t inner = tables_.empty() ? 1 : static_cast<int64_t>(tables_.back().size());
    int64_t base = baseOf(begin / inner);
    int64_t before = -1;
    for (int64_t row = begin, i = begin % inner; row < end; ++row) {
      const int64_t offset = base + (tables_.empty() ? 0 : tables_.back()[static_cast<size_t>(i)]);
      char* const target = to + row * rowBytes;
      if (pick_.isPlanned()) {  // all that read the same at once: what was just stored is slow to read
        const int64_t most = std::min(end - row, inner - i);
        PickedRows rows{1, width_};
        while (rows.count < most &&
               tables_.back()[static_cast<size_t>(i)] == tables_.back()[static_cast<size_t>(i + rows.count)])
          ++rows.count;
        pick_.run(from + offset, target, rows);
        row += rows.count - 1;
        i += rows.count - 1;
      } else if (offset == before) {
        copyPiece_(target - rowBytes, target, static_cast<size_t>(rowBytes));
      } else {
        copyRow(from + offset, target);
      }
      before = offset;
      if (++i < inner || row + 1 == end) continue;
      i = 0;
      base = baseOf((row + 1) / inner);
    }
  }
  // After how many rows the last outer axis repeats itself; 0 where it does not or they are few.
  int64_t periodOf(const std::vector<int64_t>& table) const {
    constexpr int64_t kLeast = 1 << 13;  // bytes
    const auto again = table.empty() ? table.end() : std::find(table.begin() + 1, table.end(), table[0]);
    const auto period = again - table.begin();
    const bool repeats = again != table.end() && std::equal(again, table.end(), table.begin());
    return repeats && period * width_ * bytes_ >= kLeast ? period : 0;
  }
  // Rows [begin, end) of a line, while they are in the cache, to where the line repeats them.
  void repeatRows(char* line, int64_t begin, int64_t end, int64_t extent) const {
    const int64_t rowBytes = width_ * bytes_;
    for (int64_t first = begin + period_; first < extent; first += period_) {
      const int64_t count = std::min(end - begin, extent - first);
      std::memcpy(line + first * rowBytes, line + begin * rowBytes, static_cast<size_t>(count * rowBytes));
    }
  }

  // Where a line along the last outer axis begins in the input.
  int64_t baseOf(int64_t line) const {
    int64_t offset = 0;
    for (size_t axis = tables_.size(); axis-- > 1;) {
      const auto extent = static_cast<int64_t>(tables_[axis - 1].size());
      offset += tables_[axis - 1][static_cast<size_t>(line % extent)];
      line /= extent;
    }
    return offset;
  }

  void makeRuns(const std::vector<int64_t>& table, int64_t extent) {
    for (size_t i = 0; i < table.size();) {
      Run run{static_cast<int64_t>(i), table[i], 1, 1};
      if (i + 1 < table.size()) run.step = table[i + 1] - table[i];
      if (run.step < -1 || run.step > 1) run.step = 1;
      while (i + static_cast<size_t>(run.count) < table.size() &&
             table[i + static_cast<size_t>(run.count)] == run.from + run.count * run.step)
        ++run.count;
      runs_.push_back(run);
      i += static_cast<size_t>(run.count);
    }
    constexpr size_t kShort = 64;  // elements of a run
    if (runs_.size() * kShort > table.size() && pick_.plan(table, extent, bytes_)) return;
    // Many short runs: element by element.
    if (runs_.size() * 4 > table.size()) {
      indices_ = table;
      runs_.clear();
    } else {
      indices_.clear();
    }
  }

  void copyRow(const char* from, char* to) const {
    switch (bytes_) {
      case 1: return copy(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(to));
      case 2: return copy(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to));
      case 4: return copy(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to));
      case 8: return copy(reinterpret_cast<const uint64_t*>(from), reinterpret_cast<uint64_t*>(to));
      default: break;
    }
    const auto size = static_cast<size_t>(bytes_);
    for (size_t i = 0; i < indices_.size(); ++i) std::memcpy(to + i * size, from + indices_[i] * bytes_, size);
    for (const auto& run : runs_) {
      if (run.step == 1) {
        copyPiece_(from + run.from * bytes_, to + run.to * bytes_, static_cast<size_t>(run.count * bytes_));
        continue;
      }
      for (int64_t i = 0; i < run.count; ++i)
        std::memcpy(to + (run.to + i) * bytes_, from + (run.from + i * run.step) * bytes_, size);
    }
  }

  template <typename T>
  void copy(const T* from, T* to) const {
    for (size_t i = 0; i < indices_.size(); ++i) to[i] = from[indices_[i]];
    for (const auto& run : runs_) {
      T* const target = to + run.to;
      const T* const source = from + run.from;
      if (run.step == 1) {
        copyPiece_(source, target, static_cast<size_t>(run.count) * sizeof(T));
      } else if (run.step == 0) {
        std::fill_n(target, run.count, *source);
      } else {
        for (int64_t i = 0; i < run.count; ++i) target[i] = source[-i];
      }
    }
  }

  Op op_;
  std::vector<std::vector<int64_t>> tables_;  // bytes, per outer axis and position
  std::vector<int64_t> indices_;              // of the innermost axis, where it has no long runs
  std::vector<Run> runs_;
  TablePick pick_;  // in place of both
  CopyRowFunction copyPiece_ = copyRowFunction();
  int64_t bytes_ = 4;  // of an element, with the axes that are copied whole
  int64_t outer_ = 0, width_ = 1;
  int64_t period_ = 0;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (op.as<ops::Resize>() != nullptr) return loadSimple<ops::Resize, TableCopyInstance<ops::Resize>>(request);
  return loadSimple<ops::Slice, TableCopyInstance<ops::Slice>>(request);
}

}  // namespace

KernelRow kernelRow_table_copy() { return {"table_copy", 1, &load}; }

}  // namespace tenon::backends::cpu

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
    indices_.clear();
    pick_.clear();
    outer_ = 0;
    if (y.dims.count() == 0) return 0;
    // Axes at the end that are copied whole belong to the element.
    int last = y.dims.rank - 1;
    bytes_ = bits(x.dtype) / 8;
    for (; last >= 0; --last) {
      auto table = positions(op_, shapes, last);
      bool whole = x.dims[last] == y.dims[last];
      for (size_t i = 0; whole && i < table.size(); ++i) whole = table[i] == static_cast<int64_t>(i);
      if (!whole) {
        tables_.push_back(std::move(table));
        break;
      }
      bytes_ *= x.dims[last];
    }
    all_ = x.dims.count() * (bits(x.dtype) / 8);
    width_ = last < 0 ? 1 : y.dims[last];
    for (int axis = last - 1; axis >= 0; --axis) tables_.insert(tables_.begin(), positions(op_, shapes, axis));
    if (last < 0) {
      runs_ = {{0, 0, 1, 1}};
    } else {
      planRow(x.dims, last);
    }
    int64_t stride = bytes_ * (last < 0 ? 1 : x.dims.count(static_cast<int>(tables_.size()), last + 1));
    for (size_t axis = tables_.size(); axis-- > 0; stride *= x.dims[static_cast<int>(axis)]) {
      for (auto& position : tables_[axis]) position *= stride;
    }
    planBlocks();
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outer_ == 0) return;
    const auto* const from = static_cast<const char*>(arguments.inputs[0]);
    auto* const to = static_cast<char*>(arguments.outputs[0]);
    const int64_t work = outer_ * width_ * std::max<int64_t>(kElementWork, bytes_);
    if (level_ < tables_.size()) {
      const auto extent = static_cast<int64_t>(tables_[level_].size());
      const int64_t bytes = extent * blocks_[level_];
      const int64_t lines = outer_ * width_ * bytes_ / bytes;
      const int64_t together = std::max<int64_t>(1, kPiece / bytes);
      return runJobs((lines + together - 1) / together, work, [&](int64_t job) {
        for (int64_t line = job * together; line < std::min(lines, (job + 1) * together); ++line)
          fill(level_, from, baseOf(line, level_), to + line * bytes);
      });
    }
    const int64_t rowBytes = width_ * bytes_;
    const int64_t extent = tables_.empty() ? 1 : static_cast<int64_t>(tables_.back().size());
    const int64_t period = periodOfRows(extent);
    const int64_t rows = std::clamp<int64_t>(kPiece / std::max<int64_t>(1, rowBytes), 1, period);
    const int64_t pieces = (period + rows - 1) / rows;
    runJobs(pieces * (outer_ / extent), work, [&](int64_t job) {
      const int64_t begin = job % pieces * rows;
      const int64_t end = std::min(period, begin + rows);
      char* const line = to + job / pieces * extent * rowBytes;
      copyRows(from, tables_.empty() ? 0 : baseOf(job / pieces, tables_.size() - 1), line, begin, end);
      for (int64_t first = begin + period; first < extent; first += period) {  // while they are in the cache
        const int64_t count = std::min(end - begin, extent - first);
        std::memcpy(line + first * rowBytes, line + begin * rowBytes, static_cast<size_t>(count * rowBytes));
      }
    });
  }

 private:
  // Neighbours of the output that are `step` apart in the input: 1 forwards, -1 backwards, 0 the same one.
  struct Run {
    int64_t to = 0, from = 0, count = 0, step = 0;
  };

  static constexpr int64_t kPiece = 1 << 15;  // bytes of a job

  // Rows [begin, end) of a line that begins at `base`; one that reads what the row before did is a copy of it.
  void copyRows(const char* from, int64_t base, char* to, int64_t begin, int64_t end) const {
    constexpr int64_t kFirst[] = {0};
    const int64_t* const table = tables_.empty() ? kFirst : tables_.back().data();
    const int64_t rowBytes = width_ * bytes_;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t source = base + table[row];
      char* const target = to + row * rowBytes;
      if (pick_.isPlanned() && source <= lastPick_) {
        PickedRows rows{1, pickStep_};  // all that read the same at once: what was just stored is slow to read
        while (row + rows.count < end && table[row] == table[row + rows.count]) ++rows.count;
        pick_.run(from + source, target, rows);
        row += rows.count - 1;
      } else if (row > begin && table[row] == table[row - 1]) {
        copyPiece_(target - rowBytes, target, static_cast<size_t>(rowBytes));
      } else {
        copyRow(from + source, target);
      }
    }
  }
  // A line along an outer axis and all behind it: what repeats itself is copied from where it stands already.
  void fill(size_t axis, const char* from, int64_t base, char* to) const {
    const auto& table = tables_[axis];
    const int64_t bytes = blocks_[axis];
    const int64_t period = periods_[axis];
    if (axis + 1 == tables_.size()) {
      copyRows(from, base, to, 0, period);
    } else {
      for (int64_t i = 0; i < period; ++i) {
        const auto at = static_cast<size_t>(i);
        if (i > 0 && table[at] == table[at - 1]) {
          std::memcpy(to + i * bytes, to + (i - 1) * bytes, static_cast<size_t>(bytes));
        } else {
          fill(axis + 1, from, base + table[at], to + i * bytes);
        }
      }
    }
    const auto extent = static_cast<int64_t>(table.size());
    for (int64_t done = period; done < extent;) {
      const int64_t count = std::min(done, extent - done);
      std::memcpy(to + done * bytes, to, static_cast<size_t>(count * bytes));
      done += count;
    }
  }
  // After how many positions a table repeats itself; all of them where it does not.
  static int64_t periodOf(const std::vector<int64_t>& table) {
    const auto again = std::find(table.begin() + 1, table.end(), table[0]);
    return std::equal(again, table.end(), table.begin()) ? again - table.begin() : static_cast<int64_t>(table.size());
  }
  // The same of the rows of long lines; few rows are not copied, so that there are jobs for all threads.
  int64_t periodOfRows(int64_t extent) const {
    constexpr int64_t kLeast = 1 << 13;  // bytes
    return !tables_.empty() && periods_.back() * width_ * bytes_ >= kLeast ? periods_.back() : extent;
  }

  // Blocks of the output, and from which axis on a job fills lines as a whole.
  void planBlocks() {
    constexpr int64_t kMost = 1 << 19;  // bytes of a line, which the second cache holds
    blocks_.assign(tables_.size(), 0);
    periods_.assign(tables_.size(), 0);
    level_ = tables_.size();
    int64_t bytes = width_ * bytes_;
    outer_ = 1;
    for (size_t axis = tables_.size(); axis-- > 0;) {
      blocks_[axis] = bytes;
      periods_[axis] = periodOf(tables_[axis]);
      const auto extent = static_cast<int64_t>(tables_[axis].size());
      bytes *= extent;
      outer_ *= extent;
      if (bytes <= kMost) level_ = axis;
    }
  }

  // Where a line along the axis begins in the input.
  int64_t baseOf(int64_t line, size_t axis) const {
    int64_t offset = 0;
    while (axis-- > 0) {
      const auto extent = static_cast<int64_t>(tables_[axis].size());
      offset += tables_[axis][static_cast<size_t>(line % extent)];
      line /= extent;
    }
    return offset;
  }

  // Takes the table of the innermost axis, and those in front of it as long as rows are short and can be picked.
  void planRow(const Dims& in, int last) {
    std::vector<int64_t> table = std::move(tables_.back());
    tables_.pop_back();
    int64_t extent = in[last];
    makeRuns(table);
    constexpr size_t kShort = 64;  // elements of a run
    if (runs_.size() * kShort <= table.size()) return;
    bool isPicked = planPick(table, extent);
    constexpr int64_t kShortRow = 64;  // bytes
    while (!tables_.empty() && width_ * bytes_ < kShortRow) {
      std::vector<int64_t> joined;
      for (const int64_t outer : tables_.back()) {
        for (const int64_t inner : table) joined.push_back(outer * extent + inner);
      }
      TablePick before = pick_;
      if (!planPick(joined, extent * in[--last])) {
        pick_ = std::move(before);
        break;
      }
      isPicked = true;
      extent *= in[last];
      width_ = static_cast<int64_t>(joined.size());
      table = std::move(joined);
      tables_.pop_back();
      makeRuns(table);
    }
    // Many short runs, and rows whose vectors would reach beyond the input: element by element.
    if (isPicked || runs_.size() * 4 > table.size()) {
      indices_ = std::move(table);
      runs_.clear();
    }
  }
  // Whole vectors are read, of the rows behind the one that is meant too, where there are any.
  bool planPick(const std::vector<int64_t>& table, int64_t extent) {
    constexpr int64_t kMost = 1 << 12;  // elements of a row
    if (static_cast<int64_t>(table.size()) > kMost) return false;
    const bool isPair = bytes_ == 8;
    std::vector<int64_t> words;
    for (size_t i = 0; isPair && i < table.size(); ++i) words.insert(words.end(), {table[i] * 2, table[i] * 2 + 1});
    const int64_t unit = isPair ? 4 : bytes_;
    const int64_t vectors = unit == 4 ? 128 : 32;  // bytes of two
    const int64_t reach = std::min(std::max(extent * bytes_, vectors), all_) / unit;
    if (!pick_.plan(isPair ? words : table, reach, unit)) return false;
    pickStep_ = static_cast<int64_t>(table.size()) * bytes_ / unit;
    lastPick_ = all_ - reach * unit;
    return true;
  }

  void makeRuns(const std::vector<int64_t>& table) {
    runs_.clear();
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
  std::vector<int64_t> blocks_, periods_;     // of these: bytes of a position in the output, positions that differ
  size_t level_ = 0;                          // from which axis on a job fills whole lines
  std::vector<int64_t> indices_;              // of the innermost axis, where it has no long runs
  std::vector<Run> runs_;
  TablePick pick_;  // in place of both, for rows that begin at `lastPick_` bytes of the input at most
  int64_t pickStep_ = 0, lastPick_ = 0;
  CopyRowFunction copyPiece_ = copyRowFunction();
  int64_t bytes_ = 4;  // of an element, with the axes that are copied whole
  int64_t outer_ = 0, width_ = 1;
  int64_t all_ = 0;  // bytes of the input
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (op.as<ops::Resize>() != nullptr) return loadSimple<ops::Resize, TableCopyInstance<ops::Resize>>(request);
  return loadSimple<ops::Slice, TableCopyInstance<ops::Slice>>(request);
}

}  // namespace

KernelRow kernelRow_table_copy() { return {"table_copy", 1, &load}; }

}  // namespace tenon::backends::cpu

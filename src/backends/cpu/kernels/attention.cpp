// Attention of f32, a block of query rows at a time: scores, softmax and the sum over values stay in the cache.
#include "ops/op/attention.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/attention_simd.h"
#include "backends/cpu/kernels/simd/gemv_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/platform/threads.h"
#include "core/strided.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kRowsPerBlock = 32;
constexpr int64_t kFewRows = 2;               // of queries, which meet the keys where they lie
constexpr double kOperationsPerThread = 4e5;  // below this a second thread costs more than it does

// Rows of one head of one batch in q, k, v or the output.
struct HeadRows {
  int64_t rows = 0;
  int64_t width = 0;
  int64_t step = 0;  // between rows
  int64_t heads = 1;

  int64_t first = 0;  // column

  HeadRows() = default;
  // `part` of `parts` that stand side by side in the columns.
  HeadRows(const Dims& dims, int64_t count, int64_t part, int64_t parts)
      : rows(dims[dims.rank - 2]), step(dims[dims.rank - 1]), heads(std::max<int64_t>(count, 1)) {
    width = step / parts / heads;
    first = part * heads * width;
  }
  int64_t offset(int64_t unit) const { return unit / heads * rows * step + first + unit % heads * width; }
};

class AttentionInstance final : public runtime::KernelInstance {
 public:
  explicit AttentionInstance(const ops::Attention& op) : op_(op), functions_(attentionFunctions()) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const int64_t parts = op_.packed ? 3 : 1;
    q_ = HeadRows(shapes.inputs[0].dims, op_.heads, 0, parts);
    k_ = HeadRows(shapes.inputs[op_.packed ? 0 : 1].dims, op_.headsOfKeys(), 1 % parts, parts);
    v_ = HeadRows(shapes.inputs[op_.packed ? 0 : 2].dims, op_.headsOfKeys(), 2 % parts, parts);
    sharing_ = op_.queriesOfKeys(shapes.inputs[0].dims, shapes.inputs[op_.packed ? 0 : 1].dims);
    const Dims& out = shapes.outputs[0].dims;
    out_ = HeadRows(out, op_.heads, 0, 1);
    empty_ = out.count() == 0;
    Dims scores;
    for (int i = 0; i + 2 < out.rank; ++i) scores.push(out[i]);
    if (op_.heads > 0) scores.push(op_.heads);
    units_ = scores.count();
    leading_ = scores;
    scores.push(q_.rows);
    scores.push(k_.rows);
    if (op_.hasMask) {
      const auto strides = stridesWithin(shapes.inputs[op_.maskInput()].dims, Layout::kLinear, scores);
      maskUnit_ = strides;
      maskRow_ = strides[static_cast<size_t>(scores.rank - 2)];
      maskColumn_ = strides[static_cast<size_t>(scores.rank - 1)];
    }
    padded_ = wholeVectors(k_.rows);
    blocks_ = (q_.rows + kRowsPerBlock - 1) / kRowsPerBlock;
    isFew_ = q_.rows <= kFewRows && q_.width > 0;
    const double operations =
        2.0 * static_cast<double>(units_ * q_.rows) * static_cast<double>(k_.rows * (q_.width + v_.width));
    const auto useful = static_cast<int64_t>(operations / kOperationsPerThread) + 1;
    slots_ = std::clamp<int64_t>(std::min<int64_t>(useful, platform::coreCount()), 1,
                                 std::max<int64_t>(units_ * blocks_, 1));
    slotFloats_ = (q_.width + kRowsPerBlock) * padded_;
    return empty_ ? 0 : static_cast<size_t>(slots_ * slotFloats_) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    const int64_t total = units_ * blocks_;
    platform::parallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        float* scratch = static_cast<float*>(arguments.workspace) + slot * slotFloats_;
        int64_t packed = -1;
        for (int64_t i = slot * total / slots_; i < (slot + 1) * total / slots_; ++i) {
          const int64_t unit = i / blocks_;
          const int64_t keys = unit / sharing_;
          if (keys != packed && !isFew_)
            packKeys(static_cast<const float*>(arguments.inputs[op_.packed ? 0 : 1]) + k_.offset(keys), scratch);
          packed = keys;
          block(arguments, unit, i % blocks_, scratch);
        }
      }
    });
  }

 private:
  // Keys with one column each; the columns beyond the keys are zero.
  void packKeys(const float* keys, float* to) const {
    transpose_(keys, static_cast<size_t>(k_.step), to, static_cast<size_t>(padded_), static_cast<size_t>(k_.rows),
               static_cast<size_t>(q_.width));
    for (int64_t d = 0; d < q_.width && k_.rows < padded_; ++d)
      std::fill(to + d * padded_ + k_.rows, to + (d + 1) * padded_, 0.f);
  }

  void block(const runtime::LaunchArguments& arguments, int64_t unit, int64_t index, float* scratch) const {
    const int64_t first = q_.rows * index / blocks_;
    const int64_t rows = q_.rows * (index + 1) / blocks_ - first;
    const auto* q = static_cast<const float*>(arguments.inputs[0]) + q_.offset(unit) + first * q_.step;
    const auto* v = static_cast<const float*>(arguments.inputs[op_.packed ? 0 : 2]) + v_.offset(unit / sharing_);
    auto* out = static_cast<float*>(arguments.outputs[0]) + out_.offset(unit) + first * out_.step;
    const float* keys = scratch;
    float* scores = scratch + q_.width * padded_;
    const auto* mask =
        op_.hasMask ? static_cast<const float*>(arguments.inputs[op_.maskInput()]) + maskOffset(unit) + first * maskRow_
                    : nullptr;
    const int64_t seen = op_.causal ? std::min(first + rows, k_.rows) : k_.rows;  // by one of the rows
    const auto [begin, end] = seenThrough(mask, first, rows, seen);
    const int64_t columns = wholeVectors(end - begin);
    if (isFew_) {
      const auto* k = static_cast<const float*>(arguments.inputs[op_.packed ? 0 : 1]) + k_.offset(unit / sharing_);
      for (int64_t i = 0; i < rows; ++i)
        dots_(k + begin * k_.step, k_.step, q + i * q_.step, q_.width, scores + i * padded_, end - begin);
    } else {
      functions_.product(q, q_.step, keys + begin, padded_, scores, padded_, rows, columns, q_.width);
    }
    float sums[kRowsPerBlock];
    for (int64_t i = 0; i < rows; ++i) {
      float* row = scores + i * padded_;
      const int64_t own = std::min(op_.causal ? first + i + 1 : seen, end) - begin;
      const float factor =
          prepare(row, mask == nullptr ? nullptr : mask + i * maskRow_ + begin * maskColumn_, own, columns);
      sums[i] = functions_.softmax(row, columns, factor);
      if (!op_.emptyIsZero || sums[i] > 0) continue;
      std::fill(row, row + columns, 0.f);  // weights of 0, which still make NaN of an infinite value
      sums[i] = 1;
    }
    functions_.product(scores, padded_, v + begin * v_.step, v_.step, out, out_.step, rows, v_.width, end - begin);
    for (int64_t i = 0; i < rows; ++i) {
      functions_.scale(out + i * out_.step, v_.width, k_.rows == 0 ? 0 : 1 / sums[i]);
    }
  }

  // The keys that one of the rows sees, by whole vectors: a mask that takes so much away that no score makes up for it
  // leaves weights of exactly 0. Rows that see nothing weigh all keys alike, or none, and want them all.
  struct Keys {
    int64_t begin, end;
  };
  Keys seenThrough(const float* mask, int64_t first, int64_t rows, int64_t seen) const {
    if (mask == nullptr || maskColumn_ != 1) return {0, seen};
    constexpr float kUnseen = -1e30F;  // infinities and the lowest numbers of f32 and bf16
    const auto sees = [&](const float* row, int64_t vector, int64_t own) {
      int any = 0;  // of NaN, too
      for (int64_t t = vector * kScoreLanes; t < std::min((vector + 1) * kScoreLanes, own); ++t)
        any |= static_cast<int>(!(row[t] < kUnseen));
      return any != 0;
    };
    Keys keys{seen, 0};
    const int64_t different = maskRow_ == 0 && !op_.causal ? std::min<int64_t>(rows, 1) : rows;
    for (int64_t i = 0; i < different; ++i) {
      const float* const row = mask + i * maskRow_;
      const int64_t own = op_.causal ? std::min(first + i + 1, seen) : seen;
      int64_t last = (own + kScoreLanes - 1) / kScoreLanes - 1;
      while (last >= 0 && !sees(row, last, own)) --last;
      if (last < 0) return {0, seen};
      keys.end = std::max(keys.end, std::min((last + 1) * kScoreLanes, seen));
      int64_t vector = 0;
      while (vector * kScoreLanes < keys.begin && !sees(row, vector, own)) ++vector;
      keys.begin = std::min(keys.begin, vector * kScoreLanes);
    }
    return keys;
  }

  static int64_t wholeVectors(int64_t keys) {
    return std::max<int64_t>((keys + kScoreLanes - 1) / kScoreLanes, 1) * kScoreLanes;
  }

  // scale * score (capped) + mask of the keys that the row sees, or what gives that when multiplied by the factor that
  // is returned; the other columns are left out of the softmax.
  float prepare(float* row, const float* mask, int64_t keys, int64_t columns) const {
    auto factor = static_cast<float>(op_.scale);
    if (op_.softcap != 0) {
      functions_.capped(row, columns, static_cast<float>(op_.scale / op_.softcap), static_cast<float>(op_.softcap));
      factor = 1;
    }
    if (mask == nullptr) {
      if (factor > 0) {
        functions_.leaveOut(row, keys, columns);
        return factor;
      }
      functions_.scale(row, keys, factor);
    } else if (maskColumn_ == 1) {
      functions_.masked(row, mask, keys, columns, factor);
      return 1;
    } else {
      for (int64_t t = 0; t < keys; ++t) row[t] = row[t] * factor + mask[t * maskColumn_];
    }
    functions_.leaveOut(row, keys, columns);
    return 1;
  }

  int64_t maskOffset(int64_t unit) const {
    int64_t offset = 0;
    for (int axis = leading_.rank - 1; axis >= 0; --axis) {
      offset += unit % leading_[axis] * maskUnit_[static_cast<size_t>(axis)];
      unit /= leading_[axis];
    }
    return offset;
  }

  ops::Attention op_;
  const AttentionFunctions& functions_;
  HeadRows q_, k_, v_, out_;
  Dims leading_;
  Strides maskUnit_{};
  int64_t maskRow_ = 0;
  int64_t maskColumn_ = 0;
  int64_t units_ = 0;    // batches x heads
  int64_t sharing_ = 1;  // of them have the same keys
  int64_t blocks_ = 0;   // of query rows per unit
  int64_t padded_ = 0;   // keys, rounded up to whole vectors
  int64_t slots_ = 1;
  int64_t slotFloats_ = 0;
  decltype(TransposeFunctions::transpose) transpose_ = transposeFunctions(sizeof(float)).transpose;
  RowsTimesColumn dots_ = rowsTimesColumn();
  bool isFew_ = false;
  bool empty_ = false;
};

}  // namespace

KernelRow kernelRow_attention() { return {"attention", 1, &loadSimple<ops::Attention, AttentionInstance>}; }

}  // namespace tenon::backends::cpu

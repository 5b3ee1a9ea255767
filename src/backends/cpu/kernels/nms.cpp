// Suppression of boxes, class by class: candidates are sorted as far as they are looked at, and each box is held
// against the selected ones in vectors.
#include "ops/op/nms.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/nonzero_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "core/storage.h"
#include "ops/box.h"

namespace tenon::backends::cpu {
namespace {

// Lower keys are better: scores descending, then pairs of box and class as they stand in memory. No NaN comes here.
uint64_t keyOf(float score, uint32_t pair) {
  const auto bits = std::bit_cast<uint32_t>(score == 0 ? 0.f : score);
  const uint32_t order = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(~order) << 32 | pair;
}
uint32_t pairOf(uint64_t key) { return static_cast<uint32_t>(key); }

// Memory of one batch item.
struct Scratch {
  float* scores;        // by pair, where they are not f32 already
  uint64_t* keys;       // by pair; at the end those that are selected
  int64_t* counts;      // by block of pairs
  int64_t* begins;      // by class: where its candidates begin
  int64_t* taken;       // by class: how many are selected
  uint64_t* byClass;    // candidates, class by class; the selected ones of each move to its front
  BoxColumns selected;  // by class, from the place where its candidates begin
};

class NmsInstance final : public runtime::KernelInstance {
 public:
  explicit NmsInstance(const ops::Nms& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& boxes = shapes.inputs[0];
    const auto& scores = shapes.inputs[1];
    type_ = boxes.dtype;
    if (type_ != DataType::kF32 && type_ != DataType::kF16 && type_ != DataType::kBF16)
      throw Unsupported("cpu.nms: boxes of {}", name(type_));
    perClass_ = shapes.inputs[2].dtype;
    items_ = scores.dims[0];
    boxes_ = scores.dims[1];
    classes_ = scores.dims[2];
    hasBoxPerClass_ = boxes.dims.rank == 4;
    rows_ = shapes.outputs[0].dims[0];
    pairs_ = boxes_ * classes_;
    if (pairs_ > std::numeric_limits<uint32_t>::max())
      throw Unsupported("cpu.nms: {} pairs of box and class in a batch item", pairs_);
    candidates_ = std::min(pairs_, op_.limit);
    blocks_ = (pairs_ + kBlock - 1) / kBlock;
    places_ = std::clamp<int64_t>(std::min<int64_t>(items_, platform::teamSize()), 1, items_ == 0 ? 1 : items_);
    const auto scratch = layOut(nullptr);
    return static_cast<size_t>(resultBytes() + places_ * static_cast<int64_t>(scratch.second));
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    Limits limits;
    limits.perClass = loadInt(perClass_, arguments.inputs[2], 0);
    limits.overlap = *static_cast<const float*>(arguments.inputs[3]);
    limits.score = *static_cast<const float*>(arguments.inputs[4]);
    auto* const counts = static_cast<int64_t*>(arguments.workspace);  // selected, by item
    auto* const results = reinterpret_cast<uint32_t*>(counts + items_);
    char* const memory = static_cast<char*>(arguments.workspace) + resultBytes();
    const auto bytes = static_cast<int64_t>(layOut(nullptr).second);
    runJobs(places_, pairs_ * items_ * 8, [&](int64_t place) {
      const Scratch scratch = layOut(memory + place * bytes).first;
      for (int64_t item = items_ * place / places_; item < items_ * (place + 1) / places_; ++item)
        counts[item] = select(arguments, item, limits, scratch, results + item * candidates_);
    });
    if (op_.indexType == DataType::kI64) {
      write(counts, results, static_cast<int64_t*>(arguments.outputs[0]), arguments.outputs[1]);
    } else {
      write(counts, results, static_cast<int32_t*>(arguments.outputs[0]), arguments.outputs[1]);
    }
  }

 private:
  static constexpr int64_t kBlock = 8192;       // pairs that a thread looks through at a time
  static constexpr int64_t kSortedLeast = 32;   // candidates of a class ...
  static constexpr int64_t kSortedFirst = 256;  // ... and at most; then as many more as there were

  struct Limits {
    int64_t perClass = 0;
    double overlap = 0;
    float score = 0;
  };

  int64_t resultBytes() const {
    return (items_ * static_cast<int64_t>(sizeof(int64_t)) + items_ * candidates_ * 4 + 63) / 64 * 64;
  }

  std::pair<Scratch, size_t> layOut(char* memory) const {
    size_t at = 0;
    const auto take = [&](auto*& pointer, int64_t count) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(memory + at);
      at = (at + static_cast<size_t>(count) * sizeof(*pointer) + 63) / 64 * 64;
    };
    Scratch s{};
    take(s.scores, type_ == DataType::kF32 ? 0 : pairs_);
    take(s.keys, pairs_);
    take(s.counts, blocks_);
    take(s.begins, classes_ + 1);
    take(s.taken, classes_);
    take(s.byClass, candidates_);
    for (auto* column : {&s.selected.x1, &s.selected.y1, &s.selected.x2, &s.selected.y2, &s.selected.area})
      take(*column, candidates_);
    return {s, at};
  }

  // The pairs of one batch item that are selected, in order; returns how many.
  int64_t select(const runtime::LaunchArguments& arguments, int64_t item, const Limits& limits, const Scratch& s,
                 uint32_t* result) const {
    const int64_t found = collect(arguments.inputs[1], item, limits.score, s);
    const int64_t count = std::min(found, candidates_);
    if (count < found) std::nth_element(s.keys, s.keys + count, s.keys + found);
    groupByClass(s, count);
    runJobs(classes_, count * 64, [&](int64_t kind) { suppress(arguments.inputs[0], item, kind, limits, s); });
    int64_t selected = 0;
    for (int64_t kind = 0; kind < classes_; ++kind) {
      std::copy_n(s.byClass + s.begins[kind], s.taken[kind], s.keys + selected);
      selected += s.taken[kind];
    }
    if (classes_ > 1) std::sort(s.keys, s.keys + selected);
    for (int64_t i = 0; i < selected; ++i) result[i] = pairOf(s.keys[i]);
    return selected;
  }

  // Keys of scores above the threshold, in front of `keys`.
  int64_t collect(const void* scores, int64_t item, float threshold, const Scratch& s) const {
    const auto* const all = static_cast<const char*>(scores) + item * pairs_ * (bits(type_) / 8);
    runJobs(blocks_, pairs_, [&](int64_t block) {
      const int64_t first = block * kBlock;
      const int64_t end = std::min(pairs_, first + kBlock);
      const auto* values = reinterpret_cast<const float*>(all);
      if (type_ != DataType::kF32) {
        castFunction(type_, DataType::kF32)(all + first * (bits(type_) / 8), nullptr, nullptr, s.scores + first,
                                            static_cast<size_t>(end - first));
        values = s.scores;
      }
      uint64_t* to = s.keys + first;
      for (int64_t i = first; i < end; ++i) {
        *to = keyOf(values[i], static_cast<uint32_t>(i));
        to += values[i] > threshold ? 1 : 0;
      }
      s.counts[block] = to - (s.keys + first);
    });
    int64_t count = 0;
    for (int64_t block = 0; block < blocks_; ++block) {
      std::copy_n(s.keys + block * kBlock, s.counts[block], s.keys + count);
      count += s.counts[block];
    }
    return count;
  }

  int64_t classOf(uint64_t key) const {
    return classes_ == 1 ? 0 : pairOf(key) % static_cast<uint32_t>(classes_);  // 32 bits divide faster
  }

  void groupByClass(const Scratch& s, int64_t count) const {
    std::fill_n(s.begins, classes_ + 1, int64_t{0});
    for (int64_t i = 0; i < count; ++i) ++s.begins[classOf(s.keys[i]) + 1];
    for (int64_t kind = 0; kind < classes_; ++kind) s.begins[kind + 1] += s.begins[kind];
    // Places move to the end of their class on the way, and back.
    for (int64_t i = 0; i < count; ++i) s.byClass[s.begins[classOf(s.keys[i])]++] = s.keys[i];
    for (int64_t kind = classes_; kind > 0; --kind) s.begins[kind] = s.begins[kind - 1];
    s.begins[0] = 0;
  }

  void suppress(const void* boxes, int64_t item, int64_t kind, const Limits& limits, const Scratch& s) const {
    const int64_t begin = s.begins[kind];
    uint64_t* const candidates = s.byClass + begin;
    const int64_t count = s.begins[kind + 1] - begin;
    const BoxColumns held{s.selected.x1 + begin, s.selected.y1 + begin, s.selected.x2 + begin, s.selected.y2 + begin,
                          s.selected.area + begin};
    const auto overlaps = overlapsAny();
    size_t compared = 0;
    int64_t selected = 0;
    int64_t sorted = 0;  // so many of the candidates are in order: the best ones
    const int64_t sortedFirst = std::clamp(2 * std::min(limits.perClass, kSortedFirst), kSortedLeast, kSortedFirst);
    for (int64_t at = 0; at < count && selected < limits.perClass; ++at) {
      if (at == sorted) {
        const int64_t more = std::min(count - at, std::max(sortedFirst, at));
        if (more < count - at) std::nth_element(candidates + at, candidates + at + more, candidates + count);
        std::sort(candidates + at, candidates + at + more);
        sorted += more;
      }
      const uint64_t key = candidates[at];
      const auto box = boxOf(boxes, item, pairOf(key));
      const bool hasArea = box.area > 0;  // others overlap nothing
      if (hasArea && overlaps(held, compared, box.x1, box.y1, box.x2, box.y2, box.area, limits.overlap)) continue;
      candidates[selected++] = key;
      if (!hasArea) continue;
      held.x1[compared] = box.x1;
      held.y1[compared] = box.y1;
      held.x2[compared] = box.x2;
      held.y2[compared] = box.y2;
      held.area[compared] = box.area;
      ++compared;
    }
    s.taken[kind] = selected;
  }

  ops::Box boxOf(const void* boxes, int64_t item, int64_t pair) const {
    const int64_t at = hasBoxPerClass_ ? item * pairs_ + pair : item * boxes_ + pair / classes_;
    float c[4];
    const auto* const from = static_cast<const char*>(boxes) + at * 4 * (bits(type_) / 8);
    if (type_ == DataType::kF32) {
      std::copy_n(reinterpret_cast<const float*>(from), 4, c);
    } else {
      castFunction(type_, DataType::kF32)(from, nullptr, nullptr, c, 4);
    }
    return op_.format == ops::BoxFormat::kCorners ? ops::boxOfCorners(c[0], c[1], c[2], c[3])
                                                  : ops::boxOfCenter(c[0], c[1], c[2], c[3]);
  }

  template <typename T>
  void write(const int64_t* counts, const uint32_t* results, T* rows, void* number) const {
    int64_t row = 0;
    for (int64_t item = 0; item < items_; ++item) {
      for (int64_t i = 0; i < counts[item] && row < rows_; ++i, ++row) {
        const int64_t pair = results[item * candidates_ + i];
        rows[row * 3] = static_cast<T>(item);
        rows[row * 3 + 1] = static_cast<T>(pair % classes_);
        rows[row * 3 + 2] = static_cast<T>(pair / classes_);
      }
    }
    *static_cast<int32_t*>(number) = static_cast<int32_t>(row);
    std::fill(rows + row * 3, rows + rows_ * 3, T{0});
  }

  ops::Nms op_;
  DataType type_ = DataType::kF32;
  DataType perClass_ = DataType::kI32;
  int64_t items_ = 0, boxes_ = 0, classes_ = 0;
  int64_t pairs_ = 0;       // of box and class, in a batch item
  int64_t candidates_ = 0;  // at most, in a batch item
  int64_t rows_ = 0, blocks_ = 0, places_ = 1;
  bool hasBoxPerClass_ = false;
};

}  // namespace

KernelRow kernelRow_nms() { return {"nms", 1, &loadSimple<ops::Nms, NmsInstance>}; }

}  // namespace tenon::backends::cpu

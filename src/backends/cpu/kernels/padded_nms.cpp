// Suppression of overlapping boxes: candidates are collected and sorted on all threads, class by class, then each is
// compared with the kept ones of its class, whose corners lie in rows, some at a time.
#include "ops/op/padded_nms.h"

#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"

namespace tenon::backends::cpu {
namespace {

struct Candidate {
  float score;
  int32_t type;
  int32_t box;
};

bool before(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.type != b.type ? a.type < b.type : a.box < b.box;
}

void cut(std::vector<Candidate>& list, int64_t limit) {
  if (limit > 0 && static_cast<int64_t>(list.size()) > limit) {
    std::nth_element(list.begin(), list.begin() + limit, list.end(), before);
    list.resize(static_cast<size_t>(limit));
  }
  std::sort(list.begin(), list.end(), before);
}

// Kept boxes of one class, a row per corner. In double, as the reference: decisions are the same.
class Kept {
 public:
  void add(const double (&box)[4], double area) {
    for (int i = 0; i < 4; ++i) corners_[i].push_back(box[i]);
    areas_.push_back(area);
  }
  // Whether the box overlaps one of them too much.
  bool suppress(const double (&box)[4], double area, const ops::PaddedNms& op) const {
    const size_t count = areas_.size();
    constexpr size_t kBlock = 64;
    for (size_t first = 0; first < count; first += kBlock) {
      const size_t end = std::min(count, first + kBlock);
      if (op.inclusiveOverlap ? any<true>(box, area, op, first, end) : any<false>(box, area, op, first, end))
        return true;
    }
    return false;
  }

 private:
  template <bool kInclusive>
  bool any(const double (&box)[4], double area, const ops::PaddedNms& op, size_t first, size_t end) const {
    const double* const __restrict x1 = corners_[0].data();
    const double* const __restrict y1 = corners_[1].data();
    const double* const __restrict x2 = corners_[2].data();
    const double* const __restrict y2 = corners_[3].data();
    const double* const __restrict areas = areas_.data();
    const double meeting = op.pixels == ops::PixelSides::kAll ? 1 : 0;
    const double limit = op.overlapThreshold;
    int64_t found = 0;
    for (size_t i = first; i < end; ++i) {
      const double width = std::min(x2[i], box[2]) - std::max(x1[i], box[0]) + meeting;
      const double height = std::min(y2[i], box[3]) - std::max(y1[i], box[1]) + meeting;
      const bool meet = (width > 0) & (height > 0);
      const double shared = width * height;
      const double overlap = meet ? shared / (areas[i] + area - shared) : 0;
      found |= kInclusive ? overlap >= limit : overlap > limit;
    }
    return found != 0;
  }
  std::vector<double> corners_[4];
  std::vector<double> areas_;
};

class PaddedNmsInstance final : public runtime::KernelInstance {
 public:
  explicit PaddedNmsInstance(const ops::PaddedNms& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& scores = shapes.inputs[1].dims;
    images_ = scores[0];
    boxes_ = scores[1];
    classes_ = scores[2];
    sets_ = shapes.inputs[0].dims[2];
    keep_ = shapes.outputs[1].dims[1];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    for (int64_t n = 0; n < images_; ++n) {
      const auto* const boxes = static_cast<const float*>(arguments.inputs[0]) + n * boxes_ * sets_ * 4;
      const auto* const scores = static_cast<const float*>(arguments.inputs[1]) + n * boxes_ * classes_;
      auto* const count = static_cast<int32_t*>(arguments.outputs[0]) + n;
      auto* const places = static_cast<int32_t*>(arguments.outputs[1]) + n * keep_;
      auto* const types = static_cast<int32_t*>(arguments.outputs[2]) + n * keep_;
      auto* const best = static_cast<float*>(arguments.outputs[3]) + n * keep_;
      const int64_t written = choose(boxes, candidates(scores), places, types, best);
      *count = static_cast<int32_t>(written);
      std::fill(places + written, places + keep_, -1);
      std::fill(types + written, types + keep_, -1);
      std::fill(best + written, best + keep_, 0.0F);
    }
  }

 private:
  std::vector<Candidate> candidates(const float* scores) const {
    // Rows of boxes in parts, then each class alone where classes have limits of their own.
    const int64_t parts = std::clamp<int64_t>(boxes_ * classes_ / 65536, 1, 64);
    const int64_t rows = (boxes_ + parts - 1) / parts;
    std::vector<std::vector<Candidate>> found(static_cast<size_t>(parts));
    runJobs(parts, boxes_ * classes_, [&](int64_t part) {
      auto& own = found[static_cast<size_t>(part)];
      for (int64_t box = part * rows; box < std::min(boxes_, (part + 1) * rows); ++box) collect(scores, box, own);
    });
    std::vector<Candidate> all;
    for (const auto& own : found) all.insert(all.end(), own.begin(), own.end());
    if (op_.perClass > 0) {
      std::vector<std::vector<Candidate>> byClass(static_cast<size_t>(classes_));
      for (const Candidate& one : all) byClass[static_cast<size_t>(one.type)].push_back(one);
      runJobs(classes_, static_cast<int64_t>(all.size()) * 16,
              [&](int64_t c) { cut(byClass[static_cast<size_t>(c)], op_.perClass); });
      all.clear();
      for (const auto& own : byClass) all.insert(all.end(), own.begin(), own.end());
    }
    cut(all, op_.inAll);
    return all;
  }

  void collect(const float* scores, int64_t box, std::vector<Candidate>& to) const {
    const float* const row = scores + box * classes_;
    for (int64_t c = 0; c < classes_; ++c) {
      const auto score = static_cast<double>(row[c]);
      const bool passes = op_.inclusive ? score >= op_.scoreThreshold : score > op_.scoreThreshold;
      if (passes && c != op_.background) to.push_back({row[c], static_cast<int32_t>(c), static_cast<int32_t>(box)});
    }
  }

  int64_t choose(const float* boxes, const std::vector<Candidate>& all, int32_t* places, int32_t* types,
                 float* best) const {
    std::vector<Kept> kept(static_cast<size_t>(op_.agnostic ? 1 : classes_));
    std::vector<int64_t> counts(static_cast<size_t>(classes_));
    const double longer = op_.pixels == ops::PixelSides::kNone ? 0 : 1;
    int64_t written = 0;
    for (const Candidate& one : all) {
      if (written == keep_) break;
      const float* const given = boxes + (one.box * sets_ + (sets_ == 1 ? 0 : one.type)) * 4;
      const double a[2] = {given[0], given[1]};
      const double b[2] = {given[2], given[3]};
      const double box[4] = {std::min(a[0], b[0]), std::min(a[1], b[1]), std::max(a[0], b[0]), std::max(a[1], b[1])};
      const double area = (box[2] - box[0] + longer) * (box[3] - box[1] + longer);
      Kept& own = kept[op_.agnostic ? 0 : static_cast<size_t>(one.type)];
      if (own.suppress(box, area, op_)) continue;
      own.add(box, area);
      if (op_.keepPerClass > 0 && counts[static_cast<size_t>(one.type)]++ >= op_.keepPerClass) continue;
      places[written] = one.box;
      types[written] = one.type;
      best[written++] = one.score;
    }
    return written;
  }

  const ops::PaddedNms op_;
  int64_t images_ = 0, boxes_ = 0, classes_ = 0, sets_ = 0, keep_ = 0;
};

}  // namespace

KernelRow kernelRow_padded_nms() { return {"padded_nms", 1, &loadSimple<ops::PaddedNms, PaddedNmsInstance>}; }

}  // namespace tenon::backends::cpu

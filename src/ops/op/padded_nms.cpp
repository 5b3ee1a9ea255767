// PaddedNms: shape rule, and the definition as it is written, one candidate after the other, in double.
#include "ops/op/padded_nms.h"

#include <algorithm>
#include <map>

#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

struct Candidate {
  double score;
  int64_t type;  // class
  int64_t box;
};

bool before(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.type != b.type ? a.type < b.type : a.box < b.box;
}

struct Corners {
  double low[2];
  double high[2];
};

class Image {
 public:
  Image(const PaddedNms& op, const EvalContext& context, int64_t image)
      : op_(op), boxes_(context.inputs[0]), scores_(context.inputs[1]), image_(image) {}

  std::vector<Candidate> candidates() const {
    std::vector<Candidate> result;
    const int64_t boxes = scores_.dims[1];
    const int64_t classes = scores_.dims[2];
    for (int64_t type = 0; type < classes; ++type) {
      if (type == op_.background) continue;
      std::vector<Candidate> own;
      for (int64_t box = 0; box < boxes; ++box) {
        const double score = scores_.loadDouble((image_ * boxes + box) * classes + type);
        if (op_.inclusive ? score >= op_.scoreThreshold : score > op_.scoreThreshold) own.push_back({score, type, box});
      }
      cut(own, op_.perClass);
      result.insert(result.end(), own.begin(), own.end());
    }
    cut(result, op_.inAll);
    return result;
  }

  bool suppresses(const Candidate& kept, const Candidate& other) const {
    if (!op_.agnostic && kept.type != other.type) return false;
    const double overlap = overlapOf(cornersOf(kept), cornersOf(other));
    return op_.inclusiveOverlap ? overlap >= op_.overlapThreshold : overlap > op_.overlapThreshold;
  }

 private:
  static void cut(std::vector<Candidate>& list, int64_t limit) {
    std::sort(list.begin(), list.end(), before);
    if (limit > 0 && static_cast<int64_t>(list.size()) > limit) list.resize(static_cast<size_t>(limit));
  }

  Corners cornersOf(const Candidate& candidate) const {
    const int64_t sets = boxes_.dims[2];
    const int64_t set = sets == 1 ? 0 : candidate.type;
    const int64_t at = ((image_ * boxes_.dims[1] + candidate.box) * sets + set) * 4;
    Corners result{};
    for (int axis = 0; axis < 2; ++axis) {
      const double a = boxes_.loadDouble(at + axis);
      const double b = boxes_.loadDouble(at + axis + 2);
      result.low[axis] = std::min(a, b);
      result.high[axis] = std::max(a, b);
    }
    return result;
  }

  double overlapOf(const Corners& a, const Corners& b) const {
    const double longer = op_.pixels == PixelSides::kNone ? 0 : 1;
    const double meeting = op_.pixels == PixelSides::kAll ? 1 : 0;
    double shared = 1, areaA = 1, areaB = 1;
    for (int axis = 0; axis < 2; ++axis) {
      const double side = std::min(a.high[axis], b.high[axis]) - std::max(a.low[axis], b.low[axis]) + meeting;
      if (!(side > 0)) return 0;
      shared *= side;
      areaA *= a.high[axis] - a.low[axis] + longer;
      areaB *= b.high[axis] - b.low[axis] + longer;
    }
    return shared / (areaA + areaB - shared);
  }

  const PaddedNms& op_;
  const TensorView& boxes_;
  const TensorView& scores_;
  const int64_t image_;
};

}  // namespace

Facts PaddedNms::facts() const { return {}; }

void PaddedNms::infer(InferContext& context) const {
  const auto& boxes = context.input(0);
  const auto& scores = context.input(1);
  checkFloating(context, 0);
  checkSameType(context, 0, 1);
  context.check(boxes.rank() == 4, "boxes {}; expected [N, B, 1 or C, 4]", text(boxes.shape));
  context.check(scores.rank() == 3, "scores {}; expected [N, B, C]", text(scores.shape));
  context.check(boxes.shape[3].isConstant(4), "boxes {} have {} coordinates; expected 4", text(boxes.shape),
                boxes.shape[3].text());
  const Extent images = context.merge(boxes.shape[0], scores.shape[0], "images of boxes and scores");
  context.merge(boxes.shape[1], scores.shape[1], "boxes and their scores");
  if (!boxes.shape[2].isConstant(1)) context.merge(boxes.shape[2], scores.shape[2], "classes of boxes and scores");
  context.check(!keep.isConstant() || keep.constant() >= 0, "keep is {}; expected 0 or more", keep.text());
  context.check(perClass >= 0 && inAll >= 0 && keepPerClass >= 0,
                "perClass is {}, inAll {}, keepPerClass {}; expected 0 for no limit, or more", perClass, inAll,
                keepPerClass);
  context.output(DataType::kI32, {images});
  context.output(DataType::kI32, {images, keep});
  context.output(DataType::kI32, {images, keep});
  context.output(scores.dtype, {images, keep});
}

void PaddedNms::evaluate(const EvalContext& context) const {
  const int64_t images = context.inputs[1].dims[0];
  const int64_t limit = context.outputs[1].dims[1];
  for (int64_t n = 0; n < images; ++n) {
    const Image image(*this, context, n);
    std::vector<Candidate> kept;
    std::map<int64_t, int64_t> ofClass;
    int64_t count = 0;
    for (const Candidate& candidate : image.candidates()) {
      if (count == limit) break;
      const bool lost =
          std::any_of(kept.begin(), kept.end(), [&](const auto& other) { return image.suppresses(other, candidate); });
      if (lost) continue;
      kept.push_back(candidate);
      if (keepPerClass > 0 && ofClass[candidate.type]++ >= keepPerClass) continue;
      const int64_t at = n * limit + count++;
      context.outputs[1].storeInt(at, candidate.box);
      context.outputs[2].storeInt(at, candidate.type);
      context.outputs[3].storeDouble(at, candidate.score);
    }
    context.outputs[0].storeInt(n, count);
    for (int64_t at = n * limit + count; at < (n + 1) * limit; ++at) {
      context.outputs[1].storeInt(at, -1);
      context.outputs[2].storeInt(at, -1);
      context.outputs[3].storeDouble(at, 0);
    }
  }
}

OperatorInfo operatorInfo_padded_nms() { return describe<PaddedNms>(); }

}  // namespace tenon::ops

// Nms: shape rule and reference.
#include "ops/op/nms.h"

#include <algorithm>
#include <vector>

#include "ops/box.h"
#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

struct Candidate {
  double score = 0;
  int64_t box = 0;
  int64_t kind = 0;  // its class
};

bool isBetter(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.box != b.box ? a.box < b.box : a.kind < b.kind;
}

class Suppression {
 public:
  Suppression(const Nms& op, const EvalContext& context)
      : op_(op), boxes_(context.inputs[0]), scores_(context.inputs[1]) {
    perClass_ = context.inputs[2].loadInt(0);
    overlap_ = context.inputs[3].loadDouble(0);
    threshold_ = context.inputs[4].loadDouble(0);
  }

  // Those of one batch item that are selected, in order.
  std::vector<Candidate> select(int64_t item) const {
    std::vector<Candidate> selected;
    for (const auto& candidate : candidates(item)) {
      const Box box = boxOf(item, candidate);
      int64_t sameClass = 0;
      bool isSuppressed = false;
      for (const auto& other : selected) {
        if (other.kind != candidate.kind) continue;
        ++sameClass;
        isSuppressed = isSuppressed || overlap(box, boxOf(item, other), overlap_);
      }
      if (!isSuppressed && sameClass < perClass_) selected.push_back(candidate);
    }
    return selected;
  }

 private:
  std::vector<Candidate> candidates(int64_t item) const {
    const int64_t boxes = scores_.dims[1];
    const int64_t classes = scores_.dims[2];
    std::vector<Candidate> result;
    for (int64_t box = 0; box < boxes; ++box) {
      for (int64_t kind = 0; kind < classes; ++kind) {
        const double score = scores_.loadDouble((item * boxes + box) * classes + kind);
        if (score > threshold_) result.push_back({score, box, kind});
      }
    }
    std::sort(result.begin(), result.end(), isBetter);
    if (static_cast<int64_t>(result.size()) > op_.limit) result.resize(static_cast<size_t>(op_.limit));
    return result;
  }

  Box boxOf(int64_t item, const Candidate& of) const {
    int64_t at = item * boxes_.dims[1] + of.box;
    if (boxes_.dims.rank == 4) at = at * boxes_.dims[2] + of.kind;
    const auto value = [&](int64_t i) { return boxes_.loadDouble(at * 4 + i); };
    return op_.format == BoxFormat::kCorners ? boxOfCorners(value(0), value(1), value(2), value(3))
                                             : boxOfCenter(value(0), value(1), value(2), value(3));
  }

  const Nms& op_;
  const TensorView& boxes_;
  const TensorView& scores_;
  int64_t perClass_ = 0;
  double overlap_ = 0;
  double threshold_ = 0;
};

void checkNumber(const InferContext& context, size_t input, std::string_view role, bool isInteger) {
  const auto& type = context.input(input);
  const bool fits =
      isInteger ? type.dtype == DataType::kI32 || type.dtype == DataType::kI64 : type.dtype == DataType::kF32;
  context.check(fits && type.rank() <= 1 && product(type.shape).isConstant(1),
                "the {} (input {}) is {} {}, expected one number of type {}", role, input, name(type.dtype),
                text(type.shape), isInteger ? "i32 or i64" : "f32");
}

}  // namespace

Facts Nms::facts() const { return {}; }

void Nms::infer(InferContext& context) const {
  const auto& boxes = context.input(0);
  const auto& scores = context.input(1);
  checkFloating(context, 0);
  checkSameType(context, 0, 1);
  context.check(scores.rank() == 3, "the scores (input 1) have the shape {}, expected [batch, boxes, classes]",
                text(scores.shape));
  context.check((boxes.rank() == 3 || boxes.rank() == 4) && boxes.shape.back().isConstant(4),
                "the boxes (input 0) have the shape {}, expected [batch, boxes, 4] or [batch, boxes, classes, 4]",
                text(boxes.shape));
  const auto fits = [&](size_t axis, std::string_view role) {
    const auto& a = boxes.shape[axis];
    const auto& b = scores.shape[axis];
    context.check(a == b || !a.isConstant() || !b.isConstant(), "boxes {} and scores {} differ in the {}",
                  text(boxes.shape), text(scores.shape), role);
  };
  fits(0, "batch");
  fits(1, "number of boxes");
  if (boxes.rank() == 4) fits(2, "number of classes");
  checkNumber(context, 2, "number of boxes per class", true);
  checkNumber(context, 3, "allowed overlap", false);
  checkNumber(context, 4, "score threshold", false);
  context.check(limit >= 0, "the limit {} is negative", limit);
  context.check(!most.isConstant() || most.constant() >= 0, "{} rows at most", most.text());
  context.check(indexType == DataType::kI32 || indexType == DataType::kI64, "index type {}, expected i32 or i64",
                name(indexType));
  context.output(indexType, {most, 3});
  context.output(DataType::kI32, {});
}

void Nms::evaluate(const EvalContext& context) const {
  const Suppression suppression(*this, context);
  const auto& rows = context.outputs[0];
  int64_t count = 0;
  for (int64_t item = 0; item < context.inputs[1].dims[0]; ++item) {
    for (const auto& selected : suppression.select(item)) {
      if (count == rows.dims[0]) break;
      rows.storeInt(count * 3, item);
      rows.storeInt(count * 3 + 1, selected.kind);
      rows.storeInt(count * 3 + 2, selected.box);
      ++count;
    }
  }
  for (int64_t i = count * 3; i < rows.count(); ++i) rows.storeInt(i, 0);
  context.outputs[1].storeInt(0, count);
}

OperatorInfo operatorInfo_nms() { return describe<Nms>(); }

}  // namespace tenon::ops

// Suppression plugins against a suppression written anew: boxes are struck from a list by the better ones.
#include <algorithm>
#include <numeric>

#include "support.h"

namespace tenon::test {
namespace {

struct Rules {
  double score = 0, overlap = 0.5;
  int64_t keep = 0, perClass = 0, keepPerClass = 0, background = -1;
  bool agnostic = false, inclusive = false;
  double longer = 0;
};

struct Chosen {
  int64_t box, type;
  double score;
};

// Corners x1, y1, x2, y2 of box b for class c of image n.
using Corners = std::function<std::array<double, 4>(int64_t n, int64_t b, int64_t c)>;

double overlapOf(std::array<double, 4> a, std::array<double, 4> b, double longer) {
  for (auto* box : {&a, &b}) {
    if ((*box)[0] > (*box)[2]) std::swap((*box)[0], (*box)[2]);
    if ((*box)[1] > (*box)[3]) std::swap((*box)[1], (*box)[3]);
  }
  const double w = std::min(a[2], b[2]) - std::max(a[0], b[0]) + longer;
  const double h = std::min(a[3], b[3]) - std::max(a[1], b[1]) + longer;
  if (w <= 0 || h <= 0) return 0;
  const auto area = [&](const auto& x) { return (x[2] - x[0] + longer) * (x[3] - x[1] + longer); };
  return w * h / (area(a) + area(b) - w * h);
}

// Strikes out: for every class in turn, then the classes together in order of their scores.
std::vector<Chosen> choose(const Array& scores, int64_t image, const Corners& corners, const Rules& rules) {
  const int64_t boxes = scores.dims[1];
  const int64_t classes = scores.dims[2];
  const auto better = [](const Chosen& a, const Chosen& b) { return a.score > b.score; };
  std::vector<Chosen> all;
  for (int64_t c = 0; c < classes; ++c) {
    if (c == rules.background) continue;
    std::vector<Chosen> own;
    for (int64_t b = 0; b < boxes; ++b) {
      const double score = scores.at({image, b, c});
      if (rules.inclusive ? score >= rules.score : score > rules.score) own.push_back({b, c, score});
    }
    std::stable_sort(own.begin(), own.end(), better);
    if (rules.perClass > 0 && static_cast<int64_t>(own.size()) > rules.perClass)
      own.resize(static_cast<size_t>(rules.perClass));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::stable_sort(all.begin(), all.end(), better);
  std::vector<bool> struck(all.size(), false);
  std::vector<Chosen> result;
  std::map<int64_t, int64_t> counts;
  for (size_t i = 0; i < all.size(); ++i) {
    if (struck[i]) continue;
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (!rules.agnostic && all[j].type != all[i].type) continue;
      const double overlap =
          overlapOf(corners(image, all[i].box, all[i].type), corners(image, all[j].box, all[j].type), rules.longer);
      if (rules.inclusive ? overlap >= rules.overlap : overlap > rules.overlap) struck[j] = true;
    }
    if (rules.keepPerClass > 0 && counts[all[i].type]++ >= rules.keepPerClass) continue;
    if (static_cast<int64_t>(result.size()) < rules.keep) result.push_back(all[i]);
  }
  return result;
}

struct Expected {
  std::vector<double> counts, boxes, scores, classes;
};

Expected expectFour(
    const Array& scores, const Corners& corners, const Rules& rules, double emptyClass, bool clip,
    const std::function<double(double)>& shown = [](double x) { return x; }) {
  Expected result;
  for (int64_t n = 0; n < scores.dims[0]; ++n) {
    const auto chosen = choose(scores, n, corners, rules);
    result.counts.push_back(static_cast<double>(chosen.size()));
    for (int64_t k = 0; k < rules.keep; ++k) {
      const bool there = k < static_cast<int64_t>(chosen.size());
      const Chosen one = there ? chosen[static_cast<size_t>(k)] : Chosen{};
      const auto box = there ? corners(n, one.box, one.type) : std::array<double, 4>{};
      for (const double end : box) result.boxes.push_back(clip ? std::clamp(end, 0.0, 1.0) : end);
      result.scores.push_back(there ? shown(one.score) : 0);
      result.classes.push_back(there ? static_cast<double>(one.type) : emptyClass);
    }
  }
  return result;
}

void expectAll(const Arrays& got, const Expected& expected, int64_t images, int64_t keep,
               const std::vector<int64_t>& countDims, const std::string& what) {
  ASSERT_EQ(got.size(), 4U) << what;
  expectNear(got[0], countDims, expected.counts, 0, what + ": counts");
  expectNear(got[1], {images, keep, 4}, expected.boxes, 1e-5, what + ": boxes");
  expectNear(got[2], {images, keep}, expected.scores, 1e-5, what + ": scores");
  expectNear(got[3], {images, keep}, expected.classes, 0, what + ": classes");
}

std::array<double, 4> rowOf(const Array& boxes, int64_t row) {
  const auto at = static_cast<size_t>(row * 4);
  return {boxes.values[at], boxes.values[at + 1], boxes.values[at + 2], boxes.values[at + 3]};
}

TEST(EfficientNms, AgreesWithItsDefinition) {
  Random random(11);
  for (int round = 0; round < 12; ++round) {
    const int64_t images = random.whole(1, 2), count = random.whole(1, 23), classes = random.whole(1, 4);
    const bool own = random.whole(0, 1) == 1, coded = round % 3 == 2;
    const auto keep = static_cast<int32_t>(random.whole(1, 30));
    Rules rules{0.25, 0.4, keep, 0, 0, random.whole(-1, classes - 1), random.whole(0, 1) == 1, true};
    const bool sigmoid = random.whole(0, 1) == 1, centres = random.whole(0, 1) == 1;
    Array boxes = own ? random.array({images, count, classes, 4}, 0, 1) : random.array({images, count, 4}, 0, 1);
    const Array scores = random.distinct({images, count, classes});
    Arrays inputs{boxes, scores};
    Array anchors = random.array({1, count, 4}, 0.25, 1);
    if (coded) inputs.push_back(anchors);
    const int64_t sets = own ? classes : 1;
    const Corners corners = [&](int64_t n, int64_t b, int64_t c) {
      auto box = rowOf(boxes, (n * count + b) * sets + (own ? c : 0));
      const auto order = [](std::array<double, 4>& x) {
        if (x[0] > x[2]) std::swap(x[0], x[2]);
        if (x[1] > x[3]) std::swap(x[1], x[3]);
      };
      if (coded) {
        auto anchor = rowOf(anchors, b);
        if (centres) {
          box = {box[0] * anchor[2] + anchor[0], box[1] * anchor[3] + anchor[1], anchor[2] * std::exp(box[2]),
                 anchor[3] * std::exp(box[3])};
        } else {
          order(box);
          order(anchor);
          for (size_t i = 0; i < 4; ++i) box[i] += anchor[i];
        }
      }
      if (centres) box = {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
      return box;
    };
    const double given = sigmoid ? 0.6 : rules.score;
    if (sigmoid) rules.score = std::log(static_cast<double>(0.6F) / (1 - static_cast<double>(0.6F)));
    FieldList fields;
    fields.reals("score_threshold", {static_cast<float>(given)})
        .reals("iou_threshold", {0.4F})
        .ints("max_output_boxes", {keep});
    fields.ints("background_class", {static_cast<int32_t>(rules.background)}).ints("score_activation", {sigmoid});
    fields.ints("class_agnostic", {rules.agnostic}).ints("box_coding", {centres});
    const auto got = runAllWays("EfficientNMS_TRT", "1", fields, inputs, coded ? Extents::kFixed : Extents::kDynamic);
    const auto shown = [&](double x) { return sigmoid ? 1 / (1 + std::exp(-x)) : x; };
    expectAll(got, expectFour(scores, corners, rules, 0, false, shown), images, keep, {images, 1},
              "round " + std::to_string(round));
  }
}

TEST(EfficientNms, OnnxRowsRepeatTheLast) {
  Random random(12);
  for (const double threshold : {0.3, 2.0}) {
    const Array boxes = random.boxes({2, 9, 4}, 1);
    const Array scores = random.distinct({2, 9, 3});
    const int32_t most = 4;
    const Rules rules{threshold, 0.3, most, 0, 0, -1, false, true};
    std::vector<double> expected;
    for (int64_t n = 0; n < 2; ++n) {
      for (const Chosen& one : choose(
               scores, n, [&](int64_t i, int64_t b, int64_t) { return rowOf(boxes, i * 9 + b); }, rules)) {
        for (const int64_t x : {n, one.type, one.box}) expected.push_back(static_cast<double>(x));
      }
    }
    if (threshold > 1) {
      expected.assign(3, -1);
    }
    while (expected.size() < 2 * most * 3) expected.push_back(expected[expected.size() - 3]);
    FieldList fields;
    fields.reals("score_threshold", {static_cast<float>(threshold)})
        .reals("iou_threshold", {0.3F})
        .ints("max_output_boxes_per_class", {most});
    const auto got = runAllWays("EfficientNMS_ONNX_TRT", "1", fields, {boxes, scores}, Extents::kDynamic);
    ASSERT_EQ(got.size(), 1U);
    expectNear(got[0], {2 * most, 3}, expected, 0, "rows");
  }
}

TEST(EfficientNms, TensorFlowLimitsEachClassAndClips) {
  Random random(13);
  for (const bool implicit : {false, true}) {
    for (const int32_t padded : {0, 1}) {
      const Array boxes = random.array({1, 12, 1, 4}, -0.5, 1.5);
      const Array scores = random.distinct({1, 12, 2});
      const int64_t keep = padded == 1 ? 6 : 10;
      const Rules rules{0.1, 0.6, keep, 0, 3, -1, false, true};
      FieldList fields;
      fields.ints("max_output_size_per_class", {3}).ints("max_total_size", {10}).reals("iou_threshold", {0.6F});
      fields.reals("score_threshold", {0.1F}).ints("pad_per_class", {padded}).ints("clip_boxes", {1});
      Arrays inputs{boxes, scores};
      if (implicit) inputs = {{{12, 1, 4}, boxes.values}, {{12, 2}, scores.values}};
      auto got =
          runAllWays(implicit ? "EfficientNMS_Implicit_TF_TRT" : "EfficientNMS_Explicit_TF_TRT", "1", fields, inputs);
      if (implicit) {
        for (Array& one : got) one.dims.insert(one.dims.begin(), 1);
      }
      const auto expected = expectFour(
          scores, [&](int64_t, int64_t b, int64_t) { return rowOf(boxes, b); }, rules, 0, true);
      expectAll(got, expected, 1, keep, implicit ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 1},
                implicit ? "implicit" : "explicit");
    }
  }
}

TEST(BatchedNms, AgreesWithItsDefinition) {
  Random random(14);
  for (int round = 0; round < 10; ++round) {
    const bool dynamic = round % 2 == 0, normalized = random.whole(0, 1) == 1, own = random.whole(0, 1) == 1;
    const int64_t images = random.whole(1, 2), count = random.whole(1, 19), classes = random.whole(1, 3);
    const auto keep = static_cast<int32_t>(random.whole(1, 12));
    const Array boxes = random.boxes({images, count, own ? classes : 1, 4}, normalized ? 1.25 : 20);
    const Array scores = random.distinct({images, count, classes});
    const Rules rules{0.2, 0.35, keep, 6, 0, random.whole(-1, classes - 1), false, false, normalized ? 0.0 : 1.0};
    FieldList fields;
    fields.ints("shareLocation", {!own}).ints("backgroundLabelId", {static_cast<int32_t>(rules.background)});
    fields.ints("numClasses", {static_cast<int32_t>(classes)}).ints("topK", {6}).ints("keepTopK", {keep});
    fields.reals("scoreThreshold", {0.2F})
        .reals("iouThreshold", {0.35F})
        .ints("isNormalized", {normalized})
        .ints("clipBoxes", {normalized});
    const auto got = runAllWays(dynamic ? "BatchedNMSDynamic_TRT" : "BatchedNMS_TRT", "1", fields, {boxes, scores},
                                dynamic ? Extents::kDynamic : Extents::kFixed);
    const Corners corners = [&](int64_t n, int64_t b, int64_t c) {
      return rowOf(boxes, own ? (n * count + b) * classes + c : n * count + b);
    };
    const auto dims = dynamic ? std::vector<int64_t>{images, 1} : std::vector<int64_t>{images};
    expectAll(got, expectFour(scores, corners, rules, -1, normalized), images, keep, dims,
              "round " + std::to_string(round));
  }
}

}  // namespace
}  // namespace tenon::test

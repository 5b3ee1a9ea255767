// Two-stage detectors: regions proposed from anchors, and detections refined from regions.
#include <algorithm>
#include <limits>

#include "support.h"

namespace tenon::test {
namespace {

using Box = std::array<double, 4>;
struct Scored {
  double score;
  Box box;
  int64_t type = 0;
};

// The best `most`, of which each stays that no better one of its type overlaps.
std::vector<Scored> keep(std::vector<Scored> all, size_t most, double threshold, double longer, size_t limit) {
  std::stable_sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  if (all.size() > most) all.resize(most);
  std::vector<Scored> kept;
  for (const Scored& one : all) {
    const bool lost = std::any_of(kept.begin(), kept.end(), [&](const Scored& other) {
      const double w = std::min(one.box[2], other.box[2]) - std::max(one.box[0], other.box[0]) + longer;
      const double h = std::min(one.box[3], other.box[3]) - std::max(one.box[1], other.box[1]) + longer;
      const auto area = [&](const Box& b) { return (b[2] - b[0] + longer) * (b[3] - b[1] + longer); };
      return one.type == other.type && w > 0 && h > 0 && w * h / (area(one.box) + area(other.box) - w * h) > threshold;
    });
    if (!lost) kept.push_back(one);
  }
  if (kept.size() > limit) kept.resize(limit);
  return kept;
}

// x1, y1, x2, y2 of the anchors of a map, moved and cut at the image.
Box decoded(double cx, double cy, double w, double h, const std::array<double, 4>& d, double lastX, double lastY) {
  const double x = cx + d[0] * w, y = cy + d[1] * h, halfW = std::exp(d[2]) * w / 2, halfH = std::exp(d[3]) * h / 2;
  return {std::clamp(x - halfW, 0.0, lastX), std::clamp(y - halfH, 0.0, lastY), std::clamp(x + halfW, 0.0, lastX),
          std::clamp(y + halfH, 0.0, lastY)};
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

TEST(ProposalPlugins, Proposal) {
  Random random(71);
  const int64_t rows = 3, columns = 4, anchors = 4, images = 2, count = 6;
  const Array scores = random.distinct({images, anchors, rows, columns}),
              deltas = random.array({images, anchors * 4, rows, columns}, -0.5, 0.5);
  const double sizes[] = {16, 40}, ratios[] = {1, 2};
  std::vector<double> expected;
  for (int64_t n = 0; n < images; ++n) {
    std::vector<Scored> all;
    for (int64_t i = 0; i < anchors * rows * columns; ++i) {
      const int64_t a = i / rows / columns, y = i / columns % rows, x = i % columns;
      std::array<double, 4> d{};
      for (int64_t k = 0; k < 4; ++k) d[static_cast<size_t>(k)] = deltas.at({n, a * 4 + k, y, x});
      const double w = sizes[a / 2] * ratios[a % 2], h = sizes[a / 2] / ratios[a % 2];
      const Box box =
          decoded((static_cast<double>(x) + 0.5) * 16, (static_cast<double>(y) + 0.5) * 16, w, h, d, 63, 47);
      const bool tiny = box[2] - box[0] <= 10 || box[3] - box[1] <= 10;
      all.push_back({tiny ? kNever : scores.at({n, a, y, x}), box});
    }
    const auto kept = keep(all, 30, static_cast<double>(0.3F), 1, static_cast<size_t>(count));
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
      const Box b = k < kept.size() ? kept[k].box : Box{};
      for (const double end : {b[1] / 47, b[0] / 63, b[3] / 47, b[2] / 63}) expected.push_back(end);
    }
  }
  for (const char* name : {"Proposal", "ProposalDynamic"}) {
    FieldList fields;
    fields.ints("input_height", {48})
        .ints("input_width", {64})
        .ints("rpn_stride", {16})
        .reals("roi_min_size", {10})
        .reals("nms_iou_threshold", {0.3F});
    fields.ints("pre_nms_top_n", {30})
        .ints("post_nms_top_n", {count})
        .reals("anchor_sizes", {16, 40})
        .reals("anchor_ratios", {1, 2});
    const auto got =
        runAllWays(name, "1", fields, {scores, deltas}, name[8] == 'D' ? Extents::kDynamic : Extents::kFixed);
    expectNear(got.at(0), {images, count, 4, 1}, expected, 1e-4, name);
  }
}

TEST(ProposalPlugins, ProposalsAndPooling) {
  Random random(72);
  const int64_t rows = 4, columns = 5, anchors = 2, count = 3, channels = 2, ph = 2, pw = 3;
  const Array scores = random.distinct({1, anchors * 2, rows, columns}),
              deltas = random.array({1, anchors * 4, rows, columns}, -0.5, 0.5);
  const Array map = random.array({1, channels, rows, columns}), info{{1, 1, 1, 3}, {60, 80, 1.5}};
  std::vector<Scored> all;
  for (int64_t i = 0; i < anchors * rows * columns; ++i) {
    const int64_t a = i / rows / columns, y = i / columns % rows, x = i % columns;
    std::array<double, 4> d{};
    for (int64_t k = 0; k < 4; ++k) d[static_cast<size_t>(k)] = deltas.at({0, a * 4 + k, y, x});
    const double ratio = a == 0 ? 1 : 2;
    const double w = std::round(std::sqrt(256 / ratio)), h = std::round(w * ratio);
    const Box box =
        decoded(7.5 + static_cast<double>(x) * 16, 7.5 + static_cast<double>(y) * 16, w * 2, h * 2, d, 79, 59);
    const bool tiny = box[2] - box[0] + 1 < 12 * 1.5 || box[3] - box[1] + 1 < 12 * 1.5;
    all.push_back({tiny ? kNever : scores.at({0, anchors + a, y, x}), box});
  }
  const auto kept = keep(all, 20, static_cast<double>(0.4F), 1, static_cast<size_t>(count));
  ASSERT_EQ(kept.size(), static_cast<size_t>(count));
  std::vector<double> boxes, pooled;
  for (const Scored& one : kept) {
    boxes.insert(boxes.end(), one.box.begin(), one.box.end());
    for (int64_t c = 0; c < channels; ++c) {
      const auto first = [&](int k) { return std::round(one.box[static_cast<size_t>(k)] / 16); };
      const double w = std::max(first(2) - first(0) + 1, 1.0), h = std::max(first(3) - first(1) + 1, 1.0);
      for (int64_t i = 0; i < ph; ++i) {
        for (int64_t j = 0; j < pw; ++j) {
          double best = kNever;
          for (int64_t y = 0; y < rows; ++y) {
            for (int64_t x = 0; x < columns; ++x) {
              const double v = static_cast<double>(y) - first(1), u = static_cast<double>(x) - first(0);
              const bool inside = v >= std::floor(static_cast<double>(i) * h / ph) &&
                                  v < std::ceil(static_cast<double>(i + 1) * h / ph) &&
                                  u >= std::floor(static_cast<double>(j) * w / pw) &&
                                  u < std::ceil(static_cast<double>(j + 1) * w / pw);
              if (inside) best = std::max(best, map.at({0, c, y, x}));
            }
          }
          pooled.push_back(best == kNever ? 0 : best);
        }
      }
    }
  }
  FieldList fields;
  fields.ints("poolingH", {2})
      .ints("poolingW", {3})
      .ints("featureStride", {16})
      .ints("preNmsTop", {20})
      .ints("nmsMaxOut", {count});
  fields.ints("anchorsRatioCount", {2})
      .ints("anchorsScaleCount", {1})
      .reals("iouThreshold", {0.4F})
      .reals("minBoxSize", {12});
  fields.reals("spatialScale", {0.0625F}).reals("anchorsRatios", {1, 2}).reals("anchorsScales", {2});
  const auto got = runAllWays("RPROI_TRT", "1", fields, {scores, deltas, map, info});
  ASSERT_EQ(got.size(), 2U);
  expectNear(got[0], {1, 1, count, 4}, boxes, 1e-4, "boxes");
  expectNear(got[1], {1, count, channels, ph, pw}, pooled, 1e-5, "pooled");
}

// y1, x1, y2, x2 between 0 and 1, moved by differences with the deviations 0.1 and 0.2.
Box moved(const Box& b, const double* d) {
  Box result{};
  for (size_t i = 0; i < 2; ++i) {
    const double size = b[i + 2] - b[i], centre = (b[i] + b[i + 2]) / 2 + d[i] * 0.1 * size,
                 half = std::exp(d[i + 2] * 0.2) * size / 2;
    result[i] = std::clamp(centre - half, 0.0, 1.0);
    result[i + 2] = std::clamp(centre + half, 0.0, 1.0);
  }
  return result;
}

// In pixels, whose last one belongs to the box.
Box movedInPixels(const Box& b, const double* d, double height, double width, double place, double size) {
  Box result{};
  for (size_t i = 0; i < 2; ++i) {
    const double side = b[i + 2] - b[i] + 1, last = (i == 0 ? height : width) - 1;
    const double grown = std::exp(std::min(d[i + 2] / size, std::log(1000.0 / 16))) * side;
    const double low = b[i] + side / 2 + d[i] / place * side - grown / 2;
    result[i] = std::clamp(low, 0.0, last);
    result[i + 2] = std::clamp(low + grown - 1, 0.0, last);
  }
  return result;
}

void append(std::vector<double>& to, const std::vector<Scored>& kept, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    const Box b = k < kept.size() ? kept[k].box : Box{};
    to.insert(to.end(), b.begin(), b.end());
  }
}

TEST(ProposalPlugins, ProposalLayer) {
  Random random(73);
  std::vector<Box> anchors;
  for (int level = 0; level < 5; ++level) {
    for (int y = 0; y < 32; y += 4 << level) {
      for (int x = 0; x < 64; x += 4 << level) {
        for (const double ratio : {0.5, 1.0, 2.0}) {
          const double h = (32 << level) / std::sqrt(ratio), w = (32 << level) * std::sqrt(ratio);
          anchors.push_back({(y - h / 2) / 31, (x - w / 2) / 63, (y + h / 2 - 1) / 31, (x + w / 2 - 1) / 63});
        }
      }
    }
  }
  const auto total = static_cast<int64_t>(anchors.size());
  const Array object = random.distinct({2, total, 2, 1}), deltas = random.array({2, total, 4, 1});
  std::vector<double> expected;
  for (int64_t n = 0; n < 2; ++n) {
    std::vector<Scored> all;
    for (int64_t i = 0; i < total; ++i) {
      all.push_back({object.at({n, i, 1, 0}),
                     moved(anchors[static_cast<size_t>(i)], deltas.values.data() + (n * total + i) * 4)});
    }
    append(expected, keep(all, 60, static_cast<double>(0.6F), 0, 10), 10);
  }
  const auto got = runAllWays("ProposalLayer_TRT", "1",
                              FieldList()
                                  .ints("prenms_topk", {60})
                                  .ints("keep_topk", {10})
                                  .reals("iou_threshold", {0.6F})
                                  .ints("image_size", {3, 32, 64}),
                              {object, deltas});
  expectNear(got.at(0), {2, 10, 4}, expected, 1e-4, "ProposalLayer");
}

TEST(ProposalPlugins, MultilevelProposals) {
  Random random(74);
  Arrays inputs;
  std::vector<std::vector<Scored>> found(2);
  for (int level = 0; level < 5; ++level) {
    const int stride = 4 << level;
    std::vector<Box> anchors;
    for (int y = stride / 2; y < 64; y += stride) {
      for (int x = stride / 2; x < 128; x += stride) {
        for (const auto& [wide, high] : {std::pair{1.0, 1.0}, {1.4, 0.7}, {0.7, 1.4}}) {
          const double h = 8 * stride * high, w = 8 * stride * wide;
          anchors.push_back({y - h / 2, x - w / 2, y + h / 2, x + w / 2});
        }
      }
    }
    const auto total = static_cast<int64_t>(anchors.size());
    const Array deltas = random.array({2, total, 4, 1}, -0.3, 0.3);
    Array object = random.distinct({2, total, 1, 1});
    for (double& v : object.values) v = held(v * 0.9 + level * 0.001);  // levels without ties
    for (int64_t n = 0; n < 2; ++n) {
      std::vector<Scored> all;
      for (int64_t i = 0; i < total; ++i) {
        const double score = object.at({n, i, 0, 0});
        if (score >= static_cast<double>(0.2F))
          all.push_back({score, movedInPixels(anchors[static_cast<size_t>(i)],
                                              deltas.values.data() + (n * total + i) * 4, 64, 128, 1, 1)});
      }
      const auto kept = keep(all, 40, 0.5, 0, 12);
      found[static_cast<size_t>(n)].insert(found[static_cast<size_t>(n)].end(), kept.begin(), kept.end());
    }
    inputs.push_back(deltas);
    inputs.push_back(object);
  }
  std::vector<double> expected;
  for (auto& all : found) {
    std::stable_sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
    append(expected, all, 12);
  }
  FieldList fields;
  fields.ints("prenms_topk", {40})
      .ints("keep_topk", {12})
      .reals("fg_threshold", {0.2F})
      .reals("iou_threshold", {0.5F})
      .ints("image_size", {3, 64, 128});
  const auto got = runAllWays("MultilevelProposeROI_TRT", "1", fields, inputs);
  expectNear(got.at(0), {2, 12, 4}, expected, 1e-3, "MultilevelProposeROI");
}

TEST(ProposalPlugins, Detections) {
  Random random(75);
  const int64_t count = 17, classes = 3;
  for (const bool inPixels : {false, true}) {
    const Array deltas = random.array({2, count, classes * 4, 1, 1}),
                scores = random.distinct({2, count, classes, 1, 1});
    const Array regions = random.boxes({2, count, 4}, inPixels ? 60 : 1);
    std::vector<double> expected;
    for (int64_t n = 0; n < 2; ++n) {
      std::vector<Scored> all;
      for (int64_t i = 0; i < count; ++i) {
        int64_t best = inPixels ? 1 : 0;
        for (int64_t c = best; c < classes; ++c) {
          if (scores.at({n, i, c, 0, 0}) > scores.at({n, i, best, 0, 0})) best = c;
        }
        const double score = scores.at({n, i, best, 0, 0});
        if (best == 0 || score < static_cast<double>(0.3F)) continue;
        const double* d = deltas.values.data() + ((n * count + i) * classes + best) * 4;
        const Box region{regions.at({n, i, 0}), regions.at({n, i, 1}), regions.at({n, i, 2}), regions.at({n, i, 3})};
        all.push_back({score, inPixels ? movedInPixels(region, d, 64, 96, 10, 5) : moved(region, d), best});
      }
      const auto kept = keep(all, 1000, static_cast<double>(0.2F), 0, 8);
      for (size_t k = 0; k < 8; ++k) {
        const Scored one = k < kept.size() ? kept[k] : Scored{0, {}, 0};
        expected.insert(expected.end(), one.box.begin(), one.box.end());
        expected.push_back(static_cast<double>(one.type));
        expected.push_back(one.score);
      }
    }
    FieldList fields;
    fields.ints("num_classes", {3})
        .ints("keep_topk", {8})
        .reals("score_threshold", {0.3F})
        .reals("iou_threshold", {0.2F})
        .ints("image_size", {3, 64, 96});
    const auto got =
        runAllWays(inPixels ? "GenerateDetection_TRT" : "DetectionLayer_TRT", "1", fields, {deltas, scores, regions});
    expectNear(got.at(0), {2, 8, 6}, expected, 1e-3, inPixels ? "GenerateDetection" : "DetectionLayer");
  }
}

}  // namespace
}  // namespace tenon::test

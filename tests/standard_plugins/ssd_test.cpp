// Single-shot detectors: prior boxes, anchors, the detection output.
#include <algorithm>
#include <cstring>

#include "support.h"

namespace tenon::test {
namespace {

TEST(SsdPlugins, PriorBox) {
  Random random(41);
  for (const bool clip : {false, true}) {
    const Array map = random.array({1, 2, 3, 2}), image = random.array({1, 3, 60, 40});
    // min 10, square of the mean with 20, ratio 2, ratio 1/2; then the same of 15 and 25.
    FieldList fields;
    fields.reals("minSize", {10, 15})
        .reals("maxSize", {20, 25})
        .reals("aspectRatios", {1, 2})
        .ints("flip", {1})
        .ints("clip", {clip});
    fields.reals("variance", {0.1F, 0.1F, 0.2F, 0.2F})
        .ints("imgH", {0})
        .ints("imgW", {0})
        .reals("stepH", {0})
        .reals("stepW", {0})
        .reals("offset", {0.5F});
    const auto got = runAllWays("PriorBox_TRT", "1", fields, {map, image});
    std::vector<double> expected;
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 2; ++x) {
        for (const auto& [least, most] : {std::pair{10.0, 20.0}, {15.0, 25.0}}) {
          const double mean = std::sqrt(least * most);
          for (const auto& [w, h] : {std::pair{least, least},
                                     {mean, mean},
                                     {least * std::sqrt(2), least / std::sqrt(2)},
                                     {least / std::sqrt(2), least * std::sqrt(2)}}) {
            const double cx = (x + 0.5) * 20, cy = (y + 0.5) * 20;
            for (const double end : {(cx - w / 2) / 40, (cy - h / 2) / 60, (cx + w / 2) / 40, (cy + h / 2) / 60}) {
              expected.push_back(clip ? std::clamp(end, 0.0, 1.0) : end);
            }
          }
        }
      }
    }
    const size_t boxes = expected.size() / 4;
    for (size_t i = 0; i < boxes; ++i) {
      for (const double v : {0.1, 0.1, 0.2, 0.2}) expected.push_back(v);
    }
    expectNear(got.at(0), {1, 2, static_cast<int64_t>(boxes) * 4, 1}, expected, 1e-5, "PriorBox");
  }
}

TEST(SsdPlugins, GridAnchors) {
  for (const bool rectangular : {false, true}) {
    const std::vector<int32_t> shapes =
        rectangular ? std::vector<int32_t>{3, 2, 2, 1, 1, 1} : std::vector<int32_t>{3, 2, 1};
    FieldList fields;
    fields.reals("minSize", {0.2F})
        .reals("maxSize", {0.8F})
        .reals("aspectRatios", {1, 2, 0.5F, 3})
        .ints("featureMapShapes", shapes);
    fields.reals("variance", {0.1F, 0.2F, 0.3F, 0.4F}).ints("numLayers", {3});
    const auto got = runAllWays(rectangular ? "GridAnchorRect_TRT" : "GridAnchor_TRT", "1", fields, {});
    ASSERT_EQ(got.size(), 3U);
    const double scales[] = {0.2, 0.5, 0.8, 1.0};
    for (size_t layer = 0; layer < 3; ++layer) {
      const int rows = rectangular ? shapes[layer * 2] : shapes[layer];
      const int columns = rectangular ? shapes[layer * 2 + 1] : shapes[layer];
      std::vector<std::pair<double, double>> sizes;  // scale, ratio
      if (layer == 0) {
        sizes = {{0.1, 1}, {0.2, 2}, {0.2, 0.5}};
      } else {
        for (const double ratio : {1.0, 2.0, 0.5, 3.0}) sizes.emplace_back(scales[layer], ratio);
        sizes.emplace_back(std::sqrt(scales[layer] * scales[layer + 1]), 1);
      }
      std::vector<double> expected;
      for (int i = 0; i < rows * columns; ++i) {
        const double cx = (i % columns + 0.5) / columns, cy = (i / columns + 0.5) / rows;
        for (const auto& [scale, ratio] : sizes) {
          const double w = scale * std::sqrt(ratio) / 2, h = scale / std::sqrt(ratio) / 2;
          for (const double end : {cx - w, cy - h, cx + w, cy + h}) expected.push_back(end);
        }
      }
      const auto count = static_cast<int64_t>(expected.size());
      for (int64_t i = 0; i < count; ++i) expected.push_back(0.1 * static_cast<double>(i % 4 + 1));
      expectNear(got[layer], {2, count, 1}, expected, 1e-5, "layer " + std::to_string(layer));
    }
  }
}

// One box of the detection output, decoded.
std::array<double, 4> decoded(const double* loc, const double* prior, const double* variance, int code, bool encoded) {
  double d[4];
  for (int i = 0; i < 4; ++i) d[i] = loc[i];
  if (code == 3) {
    std::swap(d[0], d[1]);
    std::swap(d[2], d[3]);
  }
  for (int i = 0; i < 4; ++i) d[i] *= encoded && code != 3 ? 1 : variance[i];
  const double w = prior[2] - prior[0], h = prior[3] - prior[1];
  switch (code) {
    case 0: return {prior[0] + d[0], prior[1] + d[1], prior[2] + d[2], prior[3] + d[3]};
    case 2: return {prior[0] + d[0] * w, prior[1] + d[1] * h, prior[2] + d[2] * w, prior[3] + d[3] * h};
    default: {
      const double cx = d[0] * w + (prior[0] + prior[2]) / 2, cy = d[1] * h + (prior[1] + prior[3]) / 2;
      const double bw = std::exp(d[2]) * w / 2, bh = std::exp(d[3]) * h / 2;
      return {cx - bw, cy - bh, cx + bw, cy + bh};
    }
  }
}

TEST(SsdPlugins, DetectionOutput) {
  Random random(42);
  for (int round = 0; round < 8; ++round) {
    const bool dynamic = round % 2 == 0, shared = round % 3 != 0, encoded = round % 4 == 1, sigmoid = round >= 4;
    const int code = round % 4;
    const int64_t images = 2, count = 11, classes = 3, sets = shared ? 1 : classes, keep = 6;
    const Array loc = random.array({images, count * sets * 4, 1, 1}, -0.5, 0.5);
    Array conf = random.distinct({images, count * classes, 1, 1});
    Array prior = random.boxes({images, 2, count * 4, 1}, 1);
    for (size_t i = 0; i < prior.values.size(); ++i) {
      if (static_cast<int64_t>(i) / (count * 4) % 2 == 1) prior.values[i] = 0.125 * static_cast<double>(i % 4 + 1);
    }
    std::vector<double> expected, counts;
    for (int64_t n = 0; n < images; ++n) {
      struct One {
        double score;
        int64_t type;
        std::array<double, 4> box;
      };
      std::vector<One> all;
      for (int64_t c = 1; c < classes; ++c) {  // 0 is the background
        for (int64_t b = 0; b < count; ++b) {
          const double raw = conf.values[static_cast<size_t>((n * count + b) * classes + c)];
          const double score = sigmoid ? 1 / (1 + std::exp(-raw)) : raw;
          if (score <= static_cast<double>(0.55F)) continue;
          const double* from = loc.values.data() + ((n * count + b) * sets + (shared ? 0 : c)) * 4;
          all.push_back(
              {score, c,
               decoded(from, prior.values.data() + b * 4, prior.values.data() + (count + b) * 4, code, encoded)});
        }
      }
      std::stable_sort(all.begin(), all.end(), [](const One& a, const One& b) { return a.score > b.score; });
      std::vector<One> kept;
      for (const One& one : all) {
        const auto covers = [&](const One& other) {
          if (other.type != one.type) return false;
          const auto side = [](double a, double b) { return std::abs(a - b); };
          const double w = std::min(std::max(one.box[0], one.box[2]), std::max(other.box[0], other.box[2])) -
                           std::max(std::min(one.box[0], one.box[2]), std::min(other.box[0], other.box[2]));
          const double h = std::min(std::max(one.box[1], one.box[3]), std::max(other.box[1], other.box[3])) -
                           std::max(std::min(one.box[1], one.box[3]), std::min(other.box[1], other.box[3]));
          if (w <= 0 || h <= 0) return false;
          const auto area = [&](const One& o) { return side(o.box[0], o.box[2]) * side(o.box[1], o.box[3]); };
          return w * h / (area(one) + area(other) - w * h) > static_cast<double>(0.4F);
        };
        if (std::none_of(kept.begin(), kept.end(), covers)) kept.push_back(one);
      }
      if (static_cast<int64_t>(kept.size()) > keep) kept.resize(static_cast<size_t>(keep));
      counts.push_back(static_cast<double>(kept.size()));
      for (size_t k = 0; k < static_cast<size_t>(keep); ++k) {
        expected.push_back(static_cast<double>(n));
        if (k >= kept.size()) {
          for (const double v : {-1, 0, 0, 0, 0, 0}) expected.push_back(v);
          continue;
        }
        expected.push_back(static_cast<double>(kept[k].type));
        expected.push_back(kept[k].score);
        for (const double end : kept[k].box) expected.push_back(std::clamp(end, 0.0, 1.0));
      }
    }
    FieldList fields;
    fields.ints("shareLocation", {shared})
        .ints("varianceEncodedInTarget", {encoded})
        .ints("backgroundLabelId", {0})
        .ints("numClasses", {3});
    fields.ints("topK", {20}).ints("keepTopK", {6}).reals("confidenceThreshold", {0.55F}).reals("nmsThreshold", {0.4F});
    fields.ints("inputOrder", {2, 0, 1})
        .ints("confSigmoid", {sigmoid})
        .ints("isNormalized", {1})
        .ints("codeType", {code});
    const auto got = runAllWays(dynamic ? "NMSDynamic_TRT" : "NMS_TRT", "1", fields, {conf, prior, loc});
    ASSERT_EQ(got.size(), 2U);
    expectNear(got[0], {images, 1, keep, 7}, expected, 1e-4, "round " + std::to_string(round));
    ASSERT_EQ(got[1].values.size(), static_cast<size_t>(images));
    for (size_t n = 0; n < 2; ++n) {  // INT32 in a tensor of FP32
      const auto value = static_cast<float>(got[1].values[n]);
      int32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      EXPECT_EQ(bits, static_cast<int32_t>(counts[n])) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace tenon::test

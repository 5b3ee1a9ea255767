// Mask R-CNN: regions proposed over the levels of a pyramid, and detections refined from regions.
#include <cmath>

#include "common/proposals.h"
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

// Boxes y1, x1, y2, x2 between 0 and 1 moved by differences, whose deviations are 0.1 and 0.2.
Value moved(const Value& boxes, const Value& deltas) {
  const auto b = columns(boxes);
  const auto d = columns(deltas);
  std::vector<Value> low, high;
  for (size_t i = 0; i < 2; ++i) {
    const Value size = b[i + 2] - b[i];
    const Value centre = (b[i] + b[i + 2]) * 0.5 + d[i] * 0.1 * size;
    const Value half = (d[i + 2] * 0.2).call("exp") * size * 0.5;
    low.push_back(clamp(centre - half, 0, 1));
    high.push_back(clamp(centre + half, 0, 1));
  }
  return boxesOf({low[0], low[1], high[0], high[1]});
}

// Boxes in pixels, whose last pixel belongs to them, moved by differences divided by their weights.
Value movedInPixels(const Value& boxes, const Value& deltas, const std::vector<int64_t>& image, double place,
                    double size) {
  const auto b = columns(boxes);
  const auto d = columns(deltas);
  const double most = std::log(1000.0 / 16);
  std::vector<Value> low, high;
  for (size_t i = 0; i < 2; ++i) {
    const auto last = static_cast<double>(image.at(i + 1) - 1);
    const Value side = b[i + 2] - b[i] + 1;
    const Value centre = b[i] + side * 0.5 + d[i] / place * side;
    const Value grown = d[i + 2].scalar(fmt::format("div(x0,{});min(t0,{});exp(t1)", size, most)) * side;
    const Value first = centre - grown * 0.5;
    low.push_back(clamp(first, 0, last));
    high.push_back(clamp(first + grown - 1, 0, last));
  }
  return boxesOf({low[0], low[1], high[0], high[1]});
}

// Coordinates of pixels and what decides about them are computed in FP32, whatever the operands are.
constexpr auto kFloat = nv::DataType::kFLOAT;

Value anchorsOf(Layers& layers, const std::vector<float>& anchors) {
  return layers.constant(anchors, {1, static_cast<int64_t>(anchors.size() / 4), 4});
}

std::vector<int64_t> imageOf(const Fields& f, std::vector<int64_t> otherwise) {
  const auto image = f.integers("image_size", std::move(otherwise));
  if (image.size() != 3 || image[1] < 1 || image[2] < 1)
    throw PluginError("image_size: expected 3 numbers of 1 or more");
  return image;
}

std::vector<Dims> keptShapes(const Fields& f, const std::vector<Dims>& in, int64_t width) {
  return {{in.at(0).at(0), f.integer("keep_topk"), width}};
}

Spec proposalLayer() {
  return {"ProposalLayer_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"prenms_topk", Type::kINT32, 1, true},
           {"keep_topk", Type::kINT32, 1, true},
           {"iou_threshold", Type::kFLOAT32, 1, true},
           {"image_size", Type::kINT32, 3}},
          "x",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) { return keptShapes(f, in, 4); },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const auto image = imageOf(f, {3, 1024, 1024});
            const auto lastY = static_cast<double>(image[1] - 1);
            const auto lastX = static_cast<double>(image[2] - 1);
            std::vector<float> anchors;
            for (int level = 0; level < 5; ++level) {
              const int64_t stride = int64_t{4} << level;
              const double scale = 32 << level;
              for (int64_t y = 0; y < image[1]; y += stride) {
                for (int64_t x = 0; x < image[2]; x += stride) {
                  for (const double ratio : {0.5, 1.0, 2.0}) {
                    const double h = scale / std::sqrt(ratio) / 2;
                    const double w = scale * std::sqrt(ratio) / 2;
                    const auto cy = static_cast<double>(y);
                    const auto cx = static_cast<double>(x);
                    for (const double end :
                         {(cy - h) / lastY, (cx - w) / lastX, (cy + h - 1) / lastY, (cx + w - 1) / lastX}) {
                      anchors.push_back(static_cast<float>(end));
                    }
                  }
                }
              }
            }
            const auto count = static_cast<int64_t>(anchors.size() / 4);
            const Value scores = layers.input(0);
            layers.check(scores.dim(1) == Size(count), "{} scores for {} anchors of the image", scores.dim(1).text(),
                         count);
            const Value deltas = layers.input(1).cast(kFloat).reshape({scores.dim(0), Size(count), Size(4)});
            const Value object =
                scores.cast(kFloat).reshape({scores.dim(0), Size(count), Size(2)}).slice(2, 1, 1).squeeze(2);
            const Ranked ranked = best(object, moved(anchorsOf(layers, anchors), deltas), f.integer("prenms_topk"));
            layers.output(0, keepBest(ranked, f.integer("keep_topk"),
                                      fmt::format("inclusive=true overlapThreshold={}", f.real("iou_threshold")))
                                 .boxes.cast(scores.type()));
          },
          3,
          [](const Fields& f) {
            checkPositive(f, {"prenms_topk", "keep_topk"});
            (void)imageOf(f, {3, 1024, 1024});
          }};
}

Spec multilevelProposal() {
  return {"MultilevelProposeROI_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"prenms_topk", Type::kINT32, 1, true},
           {"keep_topk", Type::kINT32, 1, true},
           {"fg_threshold", Type::kFLOAT32, 1, true},
           {"iou_threshold", Type::kFLOAT32, 1, true},
           {"image_size", Type::kINT32, 3}},
          "x",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) { return keptShapes(f, in, 4); },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const auto image = imageOf(f, {3, 832, 1344});
            layers.check(layers.inputCount() == 10, "there are {} inputs; expected differences and scores of 5 levels",
                         layers.inputCount());
            const int64_t keep = f.integer("keep_topk");
            std::vector<Value> scores, boxes;
            for (int level = 0; level < 5; ++level) {
              const int64_t stride = int64_t{4} << level;
              std::vector<float> anchors;
              for (int64_t y = stride / 2; y < image[1]; y += stride) {
                for (int64_t x = stride / 2; x < image[2]; x += stride) {
                  for (const auto& [wide, high] : {std::pair{1.0, 1.0}, std::pair{1.4, 0.7}, std::pair{0.7, 1.4}}) {
                    const auto size = static_cast<double>(8 * stride);
                    const auto cy = static_cast<double>(y);
                    const auto cx = static_cast<double>(x);
                    const double h = size * high / 2;
                    const double w = size * wide / 2;
                    for (const double end : {cy - h, cx - w, cy + h, cx + w})
                      anchors.push_back(static_cast<float>(end));
                  }
                }
              }
              const auto count = static_cast<int64_t>(anchors.size() / 4);
              const Value deltas = layers.input(2 * level).cast(kFloat);
              layers.check(deltas.dim(1) == Size(count), "{} differences of level {} for {} anchors of the image",
                           deltas.dim(1).text(), level, count);
              const Value object = layers.input(2 * level + 1).cast(kFloat).reshape({deltas.dim(0), Size(count)});
              const Value moved = movedInPixels(anchorsOf(layers, anchors),
                                                deltas.reshape({deltas.dim(0), Size(count), Size(4)}), image, 1, 1);
              const Ranked kept = keepBest(best(object, moved, f.integer("prenms_topk")), keep,
                                           fmt::format("scoreThreshold={} inclusive=true overlapThreshold={}",
                                                       f.real("fg_threshold"), f.real("iou_threshold")));
              scores.push_back(kept.scores);
              boxes.push_back(kept.boxes);
            }
            layers.output(
                0, best(layers.concat(scores, 1), layers.concat(boxes, 1), keep).boxes.cast(layers.input(0).type()));
          },
          3,
          [](const Fields& f) {
            checkPositive(f, {"prenms_topk", "keep_topk"});
            (void)imageOf(f, {3, 832, 1344});
          }};
}

// Rows y1, x1, y2, x2, class, score of regions whose best class is not the background, zeros behind the last.
Spec detection(const char* name, bool inPixels) {
  Spec spec{name,
            "1",
            Interface::kV2Ext,
            false,
            {{"num_classes", Type::kINT32, 1, true},
             {"keep_topk", Type::kINT32, 1, true},
             {"score_threshold", Type::kFLOAT32, 1, true},
             {"iou_threshold", Type::kFLOAT32, 1, true}},
            "x",
            "x",
            [](const Fields& f, const std::vector<Dims>& in) { return keptShapes(f, in, 6); },
            {}};
  if (inPixels) spec.fields.push_back({"image_size", Type::kINT32, 3});
  spec.expand = [inPixels](Layers& layers) {
    const Fields& f = layers.fields();
    const Value regions = layers.input(2);
    const Size images = regions.dim(0);
    const Size count = regions.dim(1);
    const int64_t classes = f.integer("num_classes");
    const Value deltas = layers.input(0).reshape({images, count, Size(classes), Size(4)});
    const Value scores = layers.input(1).reshape({images, count, Size(classes)});
    const int64_t first = inPixels && classes > 1 ? 1 : 0;  // where the background cannot win
    const auto top = scores.slice(2, first, classes - first).topk(1, 2);
    const Value type = first == 0 ? top[1] : top[1].scalar("add(x0,1)");  // [N, R, 1]
    const Value own = deltas.gather(type, 2, 2).squeeze(2);
    const Value boxes = inPixels ? movedInPixels(regions, own, imageOf(f, {3, 832, 1344}), 10, 5) : moved(regions, own);
    // Only the best class of a region has its score; nothing has that of the background.
    const Value others = layers.fill({}, kNever).cast(scores.type());
    const Value mine = layers.pointwise("equal(x0,x1)", {layers.iota(classes), type});
    const Kept kept = suppress(
        boxes.unsqueeze(2), where(mine, scores, others),
        fmt::format("scoreThreshold={} inclusive=true overlapThreshold={} keep={} background={}",
                    f.real("score_threshold"), f.real("iou_threshold"), f.integer("keep_topk"), classes > 1 ? 0 : -1));
    const Value label = kept.classes.scalar("max(x0,0)").cast(scores.type()).unsqueeze(2);
    layers.output(0, layers.concat({keptBoxes(boxes.unsqueeze(2), kept), label, kept.scores.unsqueeze(2)}, 2));
  };
  spec.sampleRank = 4;
  spec.check = [inPixels](const Fields& f) {
    checkPositive(f, {"num_classes", "keep_topk"});
    if (inPixels) (void)imageOf(f, {3, 832, 1344});
  };
  return spec;
}

}  // namespace

std::vector<Spec> specs_mask_rcnn() {
  return {proposalLayer(), multilevelProposal(), detection("DetectionLayer_TRT", false),
          detection("GenerateDetection_TRT", true)};
}

}  // namespace tenon::plugins

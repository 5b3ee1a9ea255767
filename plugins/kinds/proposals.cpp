// Two-stage detectors: regions proposed from anchors, and detections refined from regions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/boxes.h"
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

// The best `count` rows, or as many as there are: boxes [N, B, 4] by scores [N, B].
struct Ranked {
  Value scores;
  Value boxes;
};
Ranked best(const Value& scores, const Value& boxes, int64_t count) {
  const auto top = scores.topk(std::min(count, scores.dim(1).number()), 1);
  return {top[0], boxes.gather(top[1], 1, 1)};
}

// Greedy suppression of one class: boxes [N, keep, 4] and scores [N, keep], zeros behind the last.
Ranked keepBest(const Ranked& ranked, int64_t keep, const std::string& options) {
  const Kept kept =
      suppress(ranked.boxes.unsqueeze(2), ranked.scores.unsqueeze(2), fmt::format("keep={} {}", keep, options));
  return {kept.scores, keptBoxes(ranked.boxes.unsqueeze(2), kept)};
}

void checkPositive(const Fields& f, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (f.integer(name) < 1) throw PluginError(fmt::format("{} is {}; expected 1 or more", name, f.integer(name)));
  }
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Boxes from differences [N, A, 4, H, W] to anchors centred on each cell: x1, y1, x2, y2 within the image, [N, A, H,
// W].
struct Grid {
  std::vector<float> widths;
  std::vector<float> heights;
  double firstX;
  double firstY;
  double stride;
};
std::vector<Value> decodeGrid(const Value& deltas, const Grid& grid, const Value& lastX, const Value& lastY) {
  Layers& layers = deltas.layers();
  const auto anchors = static_cast<int64_t>(grid.widths.size());
  const int64_t rows = deltas.dim(3).number();
  const int64_t columnCount = deltas.dim(4).number();
  std::vector<float> xs, ys;
  for (int64_t x = 0; x < columnCount; ++x)
    xs.push_back(static_cast<float>(grid.firstX + static_cast<double>(x) * grid.stride));
  for (int64_t y = 0; y < rows; ++y)
    ys.push_back(static_cast<float>(grid.firstY + static_cast<double>(y) * grid.stride));
  const Value width = layers.constant(grid.widths, {1, anchors, 1, 1});
  const Value height = layers.constant(grid.heights, {1, anchors, 1, 1});
  const Value centreX = layers.constant(xs, {1, 1, 1, columnCount});
  const Value centreY = layers.constant(ys, {1, 1, rows, 1});
  const auto part = [&](int64_t i) { return deltas.slice(2, i, 1).squeeze(2).cast(nv::DataType::kFLOAT); };
  const Value x = part(0) * width + centreX;
  const Value y = part(1) * height + centreY;
  const Value halfWidth = part(2).call("exp") * width * 0.5;
  const Value halfHeight = part(3).call("exp") * height * 0.5;
  const auto within = [&](const Value& place, const Value& last) {
    return layers.pointwise("max(x0,0);min(t0,x1)", {place, last});
  };
  return {within(x - halfWidth, lastX), within(y - halfHeight, lastY), within(x + halfWidth, lastX),
          within(y + halfHeight, lastY)};
}

// [N, A, H, W] in a row, anchors first.
Value inRow(const Value& value) { return value.reshape({value.dim(0), value.dim(1) * value.dim(2) * value.dim(3)}); }
Value boxesInRow(const std::vector<Value>& ends) {
  std::vector<Value> rows;
  for (const Value& end : ends) rows.push_back(inRow(end).unsqueeze(2));
  return boxesOf(rows);
}

Spec proposal(bool dynamic) {
  Spec spec{dynamic ? "ProposalDynamic" : "Proposal",
            "1",
            dynamic ? Interface::kV2DynamicExt : Interface::kV2Ext,
            false,
            {{"input_height", Type::kINT32},
             {"input_width", Type::kINT32},
             {"rpn_stride", Type::kINT32},
             {"roi_min_size", Type::kFLOAT32},
             {"nms_iou_threshold", Type::kFLOAT32},
             {"pre_nms_top_n", Type::kINT32},
             {"post_nms_top_n", Type::kINT32},
             {"anchor_sizes", Type::kFLOAT32},
             {"anchor_ratios", Type::kFLOAT32}},
            "x",
            "x",
            [](const Fields& f, const std::vector<Dims>& in) {
              return std::vector<Dims>{{in.at(0).at(0), f.integer("post_nms_top_n"), 4, 1}};
            },
            {}};
  spec.expand = [](Layers& layers) {
    const Fields& f = layers.fields();
    const Value scores = layers.input(0);
    const Value deltas = layers.input(1);
    Grid grid{{}, {}, 0, 0, static_cast<double>(f.integer("rpn_stride", 16))};
    for (const double size : f.reals("anchor_sizes")) {
      for (const double ratio : f.reals("anchor_ratios")) {
        grid.widths.push_back(static_cast<float>(size * ratio));
        grid.heights.push_back(static_cast<float>(size / ratio));
      }
    }
    grid.firstX = grid.firstY = grid.stride / 2;
    const auto anchors = static_cast<int64_t>(grid.widths.size());
    layers.check(deltas.dim(1) == Size(anchors * 4) && scores.dim(1) == Size(anchors),
                 "{} scores and {} differences per cell; expected {} and {}", scores.dim(1).text(),
                 deltas.dim(1).text(), anchors, anchors * 4);
    const auto lastX = static_cast<double>(f.integer("input_width") - 1);
    const auto lastY = static_cast<double>(f.integer("input_height") - 1);
    const auto ends = decodeGrid(deltas.reshape({deltas.dim(0), Size(anchors), Size(4), deltas.dim(2), deltas.dim(3)}),
                                 grid, layers.fill({}, lastX), layers.fill({}, lastY));
    // Boxes that are too small come last.
    const double least = f.real("roi_min_size", 1);
    const Value known =
        layers.pointwise(fmt::format("sub(x2,x0);sub(x3,x1);min(t0,t1);greater(t2,{});select(t3,x4,-inf)", least),
                         {ends[0], ends[1], ends[2], ends[3], scores.cast(nv::DataType::kFLOAT)});
    const Ranked kept =
        keepBest(best(inRow(known), boxesInRow(ends), f.integer("pre_nms_top_n", 6000)), f.integer("post_nms_top_n"),
                 fmt::format("scoreThreshold={} inclusive=true overlapThreshold={} pixels=all", kNever,
                             f.real("nms_iou_threshold", 0.7)));
    const auto c = columns(kept.boxes);
    layers.output(0,
                  boxesOf({c[1] / lastY, c[0] / lastX, c[3] / lastY, c[2] / lastX}).cast(scores.type()).unsqueeze(3));
  };
  spec.sampleRank = dynamic ? 0 : 3;
  spec.check = [](const Fields& f) {
    checkPositive(f, {"input_height", "input_width", "post_nms_top_n"});
    if (f.reals("anchor_sizes").empty() || f.reals("anchor_ratios").empty()) {
      throw PluginError("anchor_sizes and anchor_ratios: expected at least one number each");
    }
  };
  return spec;
}

// As Proposal, with the sizes of the images as an input, and what the map has in each region.
Spec proposalAndPooling() {
  return {"RPROI_TRT",
          "1",
          Interface::kV2IOExt,
          false,
          {{"poolingH", Type::kINT32},
           {"poolingW", Type::kINT32},
           {"featureStride", Type::kINT32},
           {"preNmsTop", Type::kINT32},
           {"nmsMaxOut", Type::kINT32},
           {"anchorsRatioCount", Type::kINT32},
           {"anchorsScaleCount", Type::kINT32},
           {"iouThreshold", Type::kFLOAT32},
           {"minBoxSize", Type::kFLOAT32},
           {"spatialScale", Type::kFLOAT32},
           {"anchorsRatios", Type::kFLOAT32},
           {"anchorsScales", Type::kFLOAT32}},
          "x",
          "xx",
          [](const Fields& f, const std::vector<Dims>& in) {
            const Dim images = in.at(0).at(0);
            const Dim count = f.integer("nmsMaxOut");
            return std::vector<Dims>{{images, 1, count, 4},
                                     {images, count, in.at(2).at(1), f.integer("poolingH"), f.integer("poolingW")}};
          },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value scores = layers.input(0);
            const Value deltas = layers.input(1);
            const Value map = layers.input(2);
            const Value info =
                layers.input(3).reshape({scores.dim(0), Size(3), Size(1), Size(1)}).cast(nv::DataType::kFLOAT);
            const auto stride = static_cast<double>(f.integer("featureStride", 16));
            // Sides are rounded before they are scaled.
            Grid grid{{}, {}, (stride - 1) / 2, (stride - 1) / 2, stride};
            for (const double ratio : f.reals("anchorsRatios")) {
              for (const double scale : f.reals("anchorsScales")) {
                const double width = std::round(std::sqrt(stride * stride / ratio));
                grid.widths.push_back(static_cast<float>(width * scale));
                grid.heights.push_back(static_cast<float>(std::round(width * ratio) * scale));
              }
            }
            const auto anchors = static_cast<int64_t>(grid.widths.size());
            layers.check(scores.dim(1) == Size(anchors * 2) && deltas.dim(1) == Size(anchors * 4),
                         "{} scores and {} differences per cell; expected {} and {}", scores.dim(1).text(),
                         deltas.dim(1).text(), anchors * 2, anchors * 4);
            const auto ends =
                decodeGrid(deltas.reshape({deltas.dim(0), Size(anchors), Size(4), deltas.dim(2), deltas.dim(3)}), grid,
                           info.slice(1, 1, 1) - 1, info.slice(1, 0, 1) - 1);
            const Value known = layers.pointwise(
                fmt::format("sub(x2,x0);sub(x3,x1);min(t0,t1);add(t2,1);mul(x5,{});less(t3,t4);select(t5,-inf,x4)",
                            f.real("minBoxSize")),
                {ends[0], ends[1], ends[2], ends[3], scores.slice(1, anchors, anchors).cast(nv::DataType::kFLOAT),
                 info.slice(1, 2, 1)});
            const int64_t count = f.integer("nmsMaxOut");
            const Ranked kept = keepBest(best(inRow(known), boxesInRow(ends), f.integer("preNmsTop", 6000)), count,
                                         fmt::format("scoreThreshold={} inclusive=true overlapThreshold={} pixels=all",
                                                     kNever, f.real("iouThreshold", 0.7)));
            layers.output(0, kept.boxes.cast(scores.type()).unsqueeze(1));
            const auto c = columns(kept.boxes);
            std::vector<Value> places;
            for (const size_t i : {1, 0, 3, 2}) {
              places.push_back(
                  c[i].scalar(fmt::format("mul(x0,{});add(t0,0.5);floor(t1)", f.real("spatialScale", 0.0625))));
            }
            for (size_t i = 0; i < 2; ++i) {
              places[i + 2] = layers.pointwise("sub(x1,x0);add(t0,1);max(t1,1);add(x0,t2)", {places[i], places[i + 2]});
            }
            const Size images = scores.dim(0);
            const Value image =
                layers.iota(images).unsqueeze(1).expand({images, Size(count)}).reshape({images * Size(count), Size(1)});
            const Value level = layers.fill(image.shape(), 0, nv::DataType::kINT32);
            const Value pooled = layers.add(
                fmt::format("roi_align{{height={} width={} grid=pixels pool=max}}", f.integer("poolingH"),
                            f.integer("poolingW")),
                {boxesOf(places).reshape({images * Size(count), Size(4)}), layers.concat({level, image}, 1), map});
            layers.output(1, pooled.reshape({images, Size(count), map.dim(1), Size(f.integer("poolingH")),
                                             Size(f.integer("poolingW"))}));
          },
          3,
          [](const Fields& f) {
            checkPositive(f, {"poolingH", "poolingW", "nmsMaxOut"});
            const auto counts = [&](const char* list, const char* count) {
              const auto given = static_cast<int64_t>(f.reals(list).size());
              if (given < 1 || (f.has(count) && f.integer(count) != given)) {
                throw PluginError(fmt::format("{} has {} numbers; {} is {}", list, given, count, f.integer(count)));
              }
            };
            counts("anchorsRatios", "anchorsRatioCount");
            counts("anchorsScales", "anchorsScaleCount");
          }};
}

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

std::vector<Spec> specs_proposals() {
  return {proposal(false),
          proposal(true),
          proposalAndPooling(),
          proposalLayer(),
          multilevelProposal(),
          detection("DetectionLayer_TRT", false),
          detection("GenerateDetection_TRT", true)};
}

}  // namespace tenon::plugins

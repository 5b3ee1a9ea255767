// Faster R-CNN: regions proposed from anchors centred on the cells of a map, and what the map has in them.
#include <cmath>

#include "common/proposals.h"
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

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

}  // namespace

std::vector<Spec> specs_proposals() { return {proposal(false), proposal(true), proposalAndPooling()}; }

}  // namespace tenon::plugins

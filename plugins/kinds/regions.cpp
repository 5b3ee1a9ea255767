// Regions of feature maps, sampled to a grid of one size.
#include "common/boxes.h"
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

// Of every region which map and which image; regions [N, R, 4], levels i32 [N, R] or none for one map.
Value originsOf(const Value& regions, const Value& levels) {
  Layers& layers = regions.layers();
  const Size images = regions.dim(0);
  const Size each = regions.dim(1);
  const Value image = layers.iota(images).unsqueeze(1).expand({images, each});
  return layers.concat({levels.unsqueeze(2), image.unsqueeze(2)}, 2).reshape({images * each, Size(2)});
}

Value noLevels(const Value& regions) {
  return regions.layers().fill({regions.dim(0), regions.dim(1)}, 0, nv::DataType::kINT32);
}

// regions [N, R, 4] as y and x of both ends, in pixels of their map. [N, R, C, height, width].
Value align(const Value& regions, const Value& levels, const std::vector<Value>& maps, int64_t height, int64_t width,
            const std::string& options) {
  Layers& layers = regions.layers();
  const Size images = regions.dim(0);
  const Size each = regions.dim(1);
  std::vector<Value> operands{regions.cast(nv::DataType::kFLOAT).reshape({images * each, Size(4)}),
                              originsOf(regions, levels)};
  operands.insert(operands.end(), maps.begin(), maps.end());
  const Value all = layers.add(fmt::format("roi_align{{height={} width={} {}}}", height, width, options), operands);
  return all.reshape({images, each, maps[0].dim(1), Size(height), Size(width)});
}

// A coordinate in the units of each region's own map; `ofLevel` is one number per map.
Value byLevel(const Value& levels, const std::vector<float>& ofLevel) {
  return levels.layers().constant(ofLevel, {static_cast<int64_t>(ofLevel.size())}).gather(levels, 0).unsqueeze(2);
}

std::vector<float> sidesOf(const std::vector<Value>& maps, int axis, int64_t less) {
  std::vector<float> result;
  for (const Value& map : maps) result.push_back(static_cast<float>(map.dim(axis).number() - less));
  return result;
}

// How many of the thresholds, each four times the one before, an area exceeds.
Value levelsOf(const Value& area, double threshold, int levels) {
  Value result = area.layers().fill(area.shape(), 0, nv::DataType::kINT32);
  for (int i = 1; i < levels; ++i, threshold *= 4) {
    result = result + (area > static_cast<double>(static_cast<float>(threshold))).cast(nv::DataType::kINT32);
  }
  return result;
}

std::vector<Spec> cropAndResize() {
  struct Version {
    const char* name;
    const char* version;
    Interface interface;
  };
  std::vector<Spec> result;
  for (const Version& v : {Version{"CropAndResize", "1", Interface::kV2Ext},
                           Version{"CropAndResizeDynamic", "1", Interface::kV2DynamicExt},
                           Version{"CropAndResizeDynamic", "2", Interface::kV3}}) {
    result.push_back({v.name,
                      v.version,
                      v.interface,
                      false,
                      {{"crop_width", Type::kINT32, 1, true}, {"crop_height", Type::kINT32, 1, true}},
                      "x",
                      "x",
                      [](const Fields& f, const std::vector<Dims>& in) {
                        return std::vector<Dims>{{in.at(0).at(0), in.at(1).at(1), in.at(0).at(1),
                                                  f.integer("crop_height"), f.integer("crop_width")}};
                      },
                      [](Layers& layers) {
                        const Fields& f = layers.fields();
                        const Value map = layers.input(0);
                        const Value given = layers.input(1);
                        const Value boxes = given.rank() == 4 ? given.squeeze(3) : given;
                        const auto c = columns(boxes.cast(nv::DataType::kFLOAT));
                        const auto height = static_cast<double>(map.dim(2).number() - 1);
                        const auto width = static_cast<double>(map.dim(3).number() - 1);
                        const Value regions = boxesOf({c[0] * height, c[1] * width, c[2] * height, c[3] * width});
                        layers.output(0, align(regions, noLevels(regions), {map}, f.integer("crop_height"),
                                               f.integer("crop_width"), "grid=corners border=zero"));
                      },
                      v.interface == Interface::kV2Ext ? 3 : 0,
                      [](const Fields& f) {
                        if (f.integer("crop_height") < 1 || f.integer("crop_width") < 1) {
                          throw PluginError(fmt::format("the crop is {} x {}; expected 1 or more",
                                                        f.integer("crop_height"), f.integer("crop_width")));
                        }
                      }});
  }
  return result;
}

std::vector<Spec> roiAlign() {
  std::vector<Spec> result;
  for (const bool isNew : {false, true}) {
    result.push_back({"ROIAlign_TRT",
                      isNew ? "2" : "1",
                      isNew ? Interface::kV3 : Interface::kV2DynamicExt,
                      false,
                      {{"coordinate_transformation_mode", Type::kINT32},
                       {"mode", Type::kINT32},
                       {"output_height", Type::kINT32},
                       {"output_width", Type::kINT32},
                       {"sampling_ratio", Type::kINT32},
                       {"spatial_scale", Type::kFLOAT32}},
                      "xxi",
                      "x",
                      [](const Fields& f, const std::vector<Dims>& in) {
                        return std::vector<Dims>{{in.at(1).at(0), in.at(0).at(1), f.integer("output_height", 1),
                                                  f.integer("output_width", 1)}};
                      },
                      [](Layers& layers) {
                        const Fields& f = layers.fields();
                        const Value map = layers.input(0);
                        const bool halfPixel = f.integer("coordinate_transformation_mode", 1) == 1;
                        const auto c = columns(layers.input(1).cast(nv::DataType::kFLOAT) * f.real("spatial_scale", 1) -
                                               (halfPixel ? 0.5 : 0.0));
                        std::vector<Value> ends{c[1], c[0], c[3], c[2]};
                        if (!halfPixel) {  // a region is at least a pixel wide
                          for (size_t i = 0; i < 2; ++i) {
                            ends[i + 2] = layers.pointwise("sub(x1,x0);max(t0,1);add(x0,t1)", {ends[i], ends[i + 2]});
                          }
                        }
                        const Value image = layers.input(2).cast(nv::DataType::kINT32).unsqueeze(1);
                        const Value level = layers.fill(image.shape(), 0, nv::DataType::kINT32);
                        layers.output(
                            0, layers.add(fmt::format("roi_align{{height={} width={} samples={} least=0 pool={} "
                                                      "border=margin}}",
                                                      f.integer("output_height", 1), f.integer("output_width", 1),
                                                      f.integer("sampling_ratio", 0),
                                                      f.integer("mode", 1) == 1 ? "mean" : "weighted_max"),
                                          {boxesOf(ends), layers.concat({level, image}, 1), map}));
                      },
                      0,
                      [](const Fields& f) {
                        for (const char* name : {"coordinate_transformation_mode", "mode"}) {
                          if (f.integer(name) != 0 && f.integer(name) != 1) {
                            throw PluginError(fmt::format("{} is {}; expected 0 or 1", name, f.integer(name)));
                          }
                        }
                      }});
  }
  return result;
}

std::vector<Value> mapsOf(Layers& layers, int count) {
  layers.check(layers.inputCount() == count + 1, "there are {} inputs; expected the regions and {} maps",
               layers.inputCount(), count);
  std::vector<Value> maps;
  for (int i = 1; i <= count; ++i) maps.push_back(layers.input(i));
  return maps;
}

std::vector<Dims> pooledShapes(const Fields& f, const std::vector<Dims>& in) {
  const Dim size = f.integer("pooled_size", 7);
  return {{in.at(0).at(0), in.at(0).at(1), in.at(1).at(1), size, size}};
}

void checkPooled(const Fields& f) {
  if (f.integer("pooled_size", 7) < 1) {
    throw PluginError(fmt::format("pooled_size is {}; expected 1 or more", f.integer("pooled_size")));
  }
}

// Five maps of strides 4 to 64; regions in pixels of the image, those that leave it are zeros.
Spec multilevel() {
  return {"MultilevelCropAndResize_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"pooled_size", Type::kINT32, 1, true}, {"image_size", Type::kINT32, 3}},
          "x",
          "x",
          pooledShapes,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const auto maps = mapsOf(layers, 5);
            const auto image = f.integers("image_size", {3, 832, 1344});
            const auto c = columns(layers.input(0).cast(nv::DataType::kFLOAT));
            const Value levels = levelsOf(((c[2] - c[0]) * (c[3] - c[1])).squeeze(2), 224.0 * 224 / 4, 5);
            // 1 where the ends are in order and within the image.
            const Value valid = layers.pointwise(
                fmt::format("less(x0,0);greater(x2,{0});or(t0,t1);less(x1,0);or(t2,t3);greater(x3,{1});or(t4,t5);"
                            "less(x0,x2);less(x1,x3);and(t7,t8);not(t6);and(t9,t10)",
                            image.at(1), image.at(2)),
                c);
            const Value scale = byLevel(levels, {0.25F, 0.125F, 0.0625F, 0.03125F, 0.015625F});
            const Value known = where(valid.squeeze(2), levels, layers.fill(levels.shape(), -1, nv::DataType::kINT32));
            layers.output(0, align(boxesOf({c[0] * scale, c[1] * scale, c[2] * scale, c[3] * scale}), known, maps,
                                   f.integer("pooled_size"), f.integer("pooled_size"), "samples=1"));
          },
          2,
          [](const Fields& f) {
            checkPooled(f);
            if (f.integers("image_size", {3, 832, 1344}).size() != 3)
              throw PluginError("image_size: expected 3 numbers");
          }};
}

// Four maps; regions relative to the image or in its pixels.
Spec pyramid() {
  return {"PyramidROIAlign_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"fpn_scale", Type::kINT32},
           {"pooled_size", Type::kINT32},
           {"image_size", Type::kINT32, 2},
           {"roi_coords_absolute", Type::kINT32},
           {"roi_coords_swap", Type::kINT32},
           {"roi_coords_plusone", Type::kINT32},
           {"roi_coords_transform", Type::kINT32},
           {"sampling_ratio", Type::kINT32},
           {"legacy", Type::kINT32}},
          "x",
          "x",
          pooledShapes,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const auto maps = mapsOf(layers, 4);
            const auto image = f.integers("image_size", {1024, 1024});
            const double imageH = static_cast<double>(image.at(0));
            const double imageW = static_cast<double>(image.at(1));
            const bool legacy = f.flag("legacy");
            const bool absolute = !legacy && f.flag("roi_coords_absolute", true);
            const bool plusOne = !legacy && f.flag("roi_coords_plusone");
            const bool yFirst = legacy || f.flag("roi_coords_swap");
            const int64_t transform = legacy ? -1 : f.integer("roi_coords_transform", 2);
            const int64_t samples = legacy ? 1 : f.integer("sampling_ratio", 0);
            const auto scale = static_cast<double>(f.integer("fpn_scale", 224));
            const double threshold =
                legacy ? 224.0 * 224 * 2 / (1024.0 * 1024) / 16 : scale * scale / (imageH * imageW) / 4;
            auto c = columns(layers.input(0).cast(nv::DataType::kFLOAT));
            if (!yFirst) c = {c[1], c[0], c[3], c[2]};
            std::vector<Value> ends;  // y and x of both ends, relative to the image
            for (size_t i = 0; i < 4; ++i) {
              const Value end = c[i].with(i < 2 ? "min" : "max", c[i < 2 ? i + 2 : i - 2]);
              const double side = i % 2 == 0 ? imageH : imageW;
              ends.push_back(absolute ? clamp(end, 0, side) / side : clamp(end, 0, 1));
            }
            Value height = ends[2] - ends[0];
            Value width = ends[3] - ends[1];
            if (plusOne) {
              height = height + 1 / imageH;
              width = width + 1 / imageW;
            }
            const Value levels = levelsOf((height * width).squeeze(2), threshold, 4);
            const int64_t less = transform == -1 ? 1 : 0;
            const Value rows = byLevel(levels, sidesOf(maps, 2, less));
            const Value columnsOf = byLevel(levels, sidesOf(maps, 3, less));
            const double shift = transform == 2 ? 0.5 : 0;
            std::vector<Value> places;
            for (size_t i = 0; i < 4; ++i) places.push_back(ends[i] * (i % 2 == 0 ? rows : columnsOf) - shift);
            const int64_t size = f.integer("pooled_size", 7);
            // With transform -1 samples start on the ends; more than one of them go on behind the last end.
            const bool corners = transform == -1 && samples == 1;
            layers.check(transform != -1 || corners, "roi_coords_transform -1 with a sampling_ratio of {}; expected 1",
                         samples);
            layers.output(0, align(boxesOf(places), levels, maps, size, size,
                                   corners ? "grid=corners"
                                           : fmt::format("samples={} offset={}", samples, transform == 0 ? 0.0 : 0.5)));
          },
          2,
          [](const Fields& f) {
            checkPooled(f);
            const auto image = f.integers("image_size", {1024, 1024});
            if (image.size() != 2 || image[0] < 1 || image[1] < 1) {
              throw PluginError("image_size: expected 2 numbers of 1 or more");
            }
            const int64_t transform = f.integer("roi_coords_transform", 2);
            if (transform < -1 || transform > 2) {
              throw PluginError(fmt::format("roi_coords_transform is {}; expected -1 to 2", transform));
            }
          }};
}

}  // namespace

std::vector<Spec> specs_regions() {
  std::vector<Spec> all = cropAndResize();
  for (const Spec& spec : roiAlign()) all.push_back(spec);
  all.push_back(multilevel());
  all.push_back(pyramid());
  return all;
}

}  // namespace tenon::plugins

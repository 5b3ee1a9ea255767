// Single-shot detectors: prior boxes and anchors, which are constants, and the detection output.
#include <algorithm>
#include <bit>
#include <cmath>

#include "common/boxes.h"
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;
using Box = std::array<float, 4>;

// boxes, then their variances: [2, boxes * 4, 1].
Value withVariances(Layers& layers, const std::vector<Box>& boxes, const std::vector<double>& variances) {
  std::vector<float> values;
  for (const Box& box : boxes) values.insert(values.end(), box.begin(), box.end());
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (const double variance : variances) values.push_back(static_cast<float>(variance));
  }
  return layers.constant(values, {2, static_cast<int64_t>(boxes.size()) * 4, 1});
}

Box around(float x, float y, float width, float height) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

std::vector<double> variancesOf(const Fields& f) {
  auto result = f.reals("variance", {0.1, 0.1, 0.2, 0.2});
  if (result.size() == 1) result.resize(4, result[0]);
  if (result.size() != 4) throw PluginError(fmt::format("variance has {} numbers; expected 4", result.size()));
  return result;
}

// Ratios of width to height, the first of them 1, each once.
std::vector<double> priorRatios(const Fields& f) {
  std::vector<double> result{1};
  for (const double ratio : f.reals("aspectRatios")) {
    const auto same = [&](double other) { return std::abs(other - ratio) < 1e-6; };
    if (std::any_of(result.begin(), result.end(), same)) continue;
    result.push_back(ratio);
    if (f.flag("flip", true)) result.push_back(1 / ratio);
  }
  return result;
}

int64_t priorsOf(const Fields& f) {
  return static_cast<int64_t>(priorRatios(f).size() * f.reals("minSize").size() + f.reals("maxSize").size());
}

// Sizes of the boxes of one cell, in pixels of the image: of each smallest side the square, the square of the geometric
// mean with the largest, then the other ratios.
std::vector<std::pair<double, double>> priorSizes(const Fields& f) {
  const auto least = f.reals("minSize");
  const auto most = f.reals("maxSize");
  std::vector<std::pair<double, double>> result;
  for (size_t i = 0; i < least.size(); ++i) {
    result.emplace_back(least[i], least[i]);
    if (!most.empty()) {
      const double side = std::sqrt(least[i] * most[i]);
      result.emplace_back(side, side);
    }
    const auto ratios = priorRatios(f);
    for (size_t k = 1; k < ratios.size(); ++k) {
      result.emplace_back(least[i] * std::sqrt(ratios[k]), least[i] / std::sqrt(ratios[k]));
    }
  }
  return result;
}

Spec priorBox() {
  return {"PriorBox_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"minSize", Type::kFLOAT32},
           {"maxSize", Type::kFLOAT32},
           {"aspectRatios", Type::kFLOAT32},
           {"flip", Type::kINT32},
           {"clip", Type::kINT32},
           {"variance", Type::kFLOAT32, 4},
           {"imgH", Type::kINT32},
           {"imgW", Type::kINT32},
           {"stepH", Type::kFLOAT32},
           {"stepW", Type::kFLOAT32},
           {"offset", Type::kFLOAT32}},
          "x",
          "f",
          [](const Fields& f, const std::vector<Dims>& in) {
            const Dims& map = in.at(0);
            return std::vector<Dims>{{map.at(0), 2, map.at(2) * map.at(3) * Dim(priorsOf(f) * 4), 1}};
          },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value map = layers.input(0);
            const Value image = layers.input(1);
            const int64_t rows = map.dim(2).number();
            const int64_t columns = map.dim(3).number();
            const auto sideOr = [&](const char* name, int axis) {
              const auto given = static_cast<double>(f.integer(name));
              return given != 0 ? given : static_cast<double>(image.dim(axis).number());
            };
            const double height = sideOr("imgH", 2);
            const double width = sideOr("imgW", 3);
            const double stepH = f.real("stepH") != 0 ? f.real("stepH") : height / static_cast<double>(rows);
            const double stepW = f.real("stepW") != 0 ? f.real("stepW") : width / static_cast<double>(columns);
            const double offset = f.real("offset", 0.5);
            std::vector<Box> boxes;
            for (int64_t y = 0; y < rows; ++y) {
              for (int64_t x = 0; x < columns; ++x) {
                for (const auto& [boxWidth, boxHeight] : priorSizes(f)) {
                  Box box = around(static_cast<float>((static_cast<double>(x) + offset) * stepW / width),
                                   static_cast<float>((static_cast<double>(y) + offset) * stepH / height),
                                   static_cast<float>(boxWidth / width), static_cast<float>(boxHeight / height));
                  if (f.flag("clip")) {
                    for (float& end : box) end = std::clamp(end, 0.0F, 1.0F);
                  }
                  boxes.push_back(box);
                }
              }
            }
            const Value one = withVariances(layers, boxes, variancesOf(f));
            Sizes sizes = one.shape();
            sizes.insert(sizes.begin(), map.dim(0));
            layers.output(0, one.unsqueeze(0).expand(sizes));
          },
          3,
          [](const Fields& f) {
            const auto least = f.reals("minSize");
            const auto most = f.reals("maxSize");
            if (least.empty()) throw PluginError("field 'minSize' is missing");
            if (!most.empty() && most.size() != least.size()) {
              throw PluginError(fmt::format("maxSize has {} numbers, minSize {}; expected none or as many", most.size(),
                                            least.size()));
            }
            for (const double ratio : f.reals("aspectRatios")) {
              if (!(ratio > 0)) throw PluginError(fmt::format("an aspect ratio is {}; expected more than 0", ratio));
            }
            (void)variancesOf(f);
          }};
}

struct AnchorMap {
  int64_t height;
  int64_t width;
  std::vector<std::pair<double, double>> sizes;  // in units of the image
};

// The scales of the maps go from the smallest to the largest in equal steps. The first map has three boxes of which one
// is small; each other one has all ratios, and a square whose scale is the mean of this map's and the next one's.
std::vector<AnchorMap> anchorMaps(const Fields& f, bool rectangular) {
  const int64_t layers = f.integer("numLayers", 6);
  const double least = f.real("minSize", 0.2);
  const double most = f.real("maxSize", 0.95);
  const auto ratios = f.reals("aspectRatios", {1, 2, 0.5, 3, 1.0 / 3});
  const auto shapes = f.integers("featureMapShapes");
  const auto wanted = static_cast<size_t>(layers) * (rectangular ? 2 : 1);
  if (layers < 1 || shapes.size() != wanted) {
    throw PluginError(
        fmt::format("featureMapShapes has {} numbers for {} layers; expected {}", shapes.size(), layers, wanted));
  }
  if (ratios.size() < 3)
    throw PluginError(fmt::format("there are {} aspect ratios; expected 3 or more", ratios.size()));
  const auto scaleOf = [&](int64_t i) {
    return layers == 1 ? least : least + (most - least) * static_cast<double>(i) / static_cast<double>(layers - 1);
  };
  std::vector<AnchorMap> result;
  for (int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<size_t>(i);
    AnchorMap map{shapes[rectangular ? at * 2 : at], shapes[rectangular ? at * 2 + 1 : at], {}};
    const auto add = [&](double scale, double ratio) {
      map.sizes.emplace_back(scale * std::sqrt(ratio), scale / std::sqrt(ratio));
    };
    if (i == 0) {
      for (size_t k = 0; k < 3; ++k) add(k == 0 ? 0.1 : least, ratios[k]);
    } else {
      for (const double ratio : ratios) add(scaleOf(i), ratio);
      add(std::sqrt(scaleOf(i) * (i == layers - 1 ? 1 : scaleOf(i + 1))), 1);
    }
    result.push_back(std::move(map));
  }
  return result;
}

Spec gridAnchor(const char* name, bool rectangular) {
  Spec spec{name,
            "1",
            Interface::kV2Ext,
            false,
            {{"minSize", Type::kFLOAT32},
             {"maxSize", Type::kFLOAT32},
             {"aspectRatios", Type::kFLOAT32},
             {"featureMapShapes", Type::kINT32},
             {"variance", Type::kFLOAT32, 4},
             {"numLayers", Type::kINT32}},
            "x",
            "f",
            {},
            {}};
  spec.shapes = [rectangular](const Fields& f, const std::vector<Dims>&) {
    std::vector<Dims> result;
    for (const AnchorMap& map : anchorMaps(f, rectangular)) {
      result.push_back({2, map.height * map.width * static_cast<int64_t>(map.sizes.size()) * 4, 1});
    }
    return result;
  };
  spec.expand = [rectangular](Layers& layers) {
    int index = 0;
    for (const AnchorMap& map : anchorMaps(layers.fields(), rectangular)) {
      std::vector<Box> boxes;
      for (int64_t y = 0; y < map.height; ++y) {
        for (int64_t x = 0; x < map.width; ++x) {
          for (const auto& [width, height] : map.sizes) {
            boxes.push_back(around(static_cast<float>((static_cast<double>(x) + 0.5) / static_cast<double>(map.width)),
                                   static_cast<float>((static_cast<double>(y) + 0.5) / static_cast<double>(map.height)),
                                   static_cast<float>(width), static_cast<float>(height)));
          }
        }
      }
      layers.output(index++, withVariances(layers, boxes, variancesOf(layers.fields())));
    }
  };
  spec.check = [rectangular](const Fields& f) {
    (void)anchorMaps(f, rectangular);
    (void)variancesOf(f);
  };
  spec.outputsOf = [](const Fields& f) { return std::string(static_cast<size_t>(f.integer("numLayers", 6)), 'f'); };
  return spec;
}

enum CodeType : int64_t { kCorner, kCenterSize, kCornerSize, kTfCenter };

// loc [N, P, L, 4], priors and variances [1 or N, P, 1, 4], as xmin, ymin, xmax, ymax.
Value decode(const Value& loc, const Value& priors, const Value& variances, int64_t code, bool encoded) {
  const bool plain = encoded && code != kTfCenter;
  const auto p = columns(priors);
  auto d = columns(loc);
  if (code == kTfCenter) d = {d[1], d[0], d[3], d[2]};
  const auto v = columns(variances);
  if (!plain) {
    for (size_t i = 0; i < 4; ++i) d[i] = d[i] * v[i];
  }
  if (code == kCorner) return boxesOf({p[0] + d[0], p[1] + d[1], p[2] + d[2], p[3] + d[3]});
  const Value width = p[2] - p[0];
  const Value height = p[3] - p[1];
  if (code == kCornerSize) {
    return boxesOf({p[0] + d[0] * width, p[1] + d[1] * height, p[2] + d[2] * width, p[3] + d[3] * height});
  }
  const Value x = d[0] * width + (p[0] + p[2]) * 0.5;
  const Value y = d[1] * height + (p[1] + p[3]) * 0.5;
  const Value halfWidth = d[2].call("exp") * width * 0.5;
  const Value halfHeight = d[3].call("exp") * height * 0.5;
  return boxesOf({x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight});
}

Spec detectionOutput(bool dynamic) {
  Spec spec{dynamic ? "NMSDynamic_TRT" : "NMS_TRT",
            "1",
            dynamic ? Interface::kV2DynamicExt : Interface::kV2Ext,
            false,
            {{"shareLocation", Type::kINT32},
             {"varianceEncodedInTarget", Type::kINT32},
             {"backgroundLabelId", Type::kINT32},
             {"numClasses", Type::kINT32},
             {"topK", Type::kINT32},
             {"keepTopK", Type::kINT32},
             {"confidenceThreshold", Type::kFLOAT32},
             {"nmsThreshold", Type::kFLOAT32},
             {"inputOrder", Type::kINT32, 3},
             {"confSigmoid", Type::kINT32},
             {"isNormalized", Type::kINT32},
             {"codeType", Type::kINT32},
             {"scoreBits", Type::kINT32},
             {"isBatchAgnostic", Type::kINT32}},
            "x",
            "xf",
            {},
            {}};
  spec.shapes = [](const Fields& f, const std::vector<Dims>& in) {
    const Dim images = in.at(0).at(0);
    return std::vector<Dims>{{images, 1, f.integer("keepTopK"), 7}, {images, 1, 1, 1}};
  };
  spec.expand = [](Layers& layers) {
    const Fields& f = layers.fields();
    const auto order = f.integers("inputOrder", {0, 1, 2});
    const Value loc = layers.input(static_cast<int>(order[0]));
    const Value conf = layers.input(static_cast<int>(order[1]));
    const Value prior = layers.input(static_cast<int>(order[2]));
    const int64_t classes = f.integer("numClasses");
    const int64_t sets = f.flag("shareLocation", true) ? 1 : classes;
    const int64_t keep = f.integer("keepTopK");
    const Size images = conf.dim(0);
    const Size count = floorDiv(prior.dim(2), 4);
    const Value both = prior.reshape({prior.dim(0), Size(2), count, Size(1), Size(4)});
    const Value table = f.flag("isBatchAgnostic", true) ? both.slice(0, 0, 1) : both;
    const Value boxes =
        decode(loc.reshape({images, count, Size(sets), Size(4)}), table.slice(1, 0, 1).squeeze(1),
               table.slice(1, 1, 1).squeeze(1), f.integer("codeType"), f.flag("varianceEncodedInTarget"));
    Value scores = conf.reshape({images, count, Size(classes)});
    if (f.flag("confSigmoid")) scores = scores.call("sigmoid");
    const Kept kept = suppress(boxes, scores,
                               fmt::format("scoreThreshold={} overlapThreshold={} keep={} perClass={} background={} "
                                           "pixels={}",
                                           f.real("confidenceThreshold"), f.real("nmsThreshold"), keep,
                                           std::max<int64_t>(f.integer("topK"), 0), f.integer("backgroundLabelId"),
                                           f.flag("isNormalized", true) ? "none" : "all"));
    const Value image = layers.iota(images)
                            .cast(scores.type())
                            .reshape({images, Size(1), Size(1)})
                            .expand({images, Size(keep), Size(1)});
    const Value found = clamp(keptBoxes(boxes, kept), 0, 1);
    const Value rows =
        layers.concat({image, kept.classes.cast(scores.type()).unsqueeze(2), kept.scores.unsqueeze(2), found}, 2);
    layers.output(0, rows.unsqueeze(1));
    // Programs read the count as INT32, although the tensor is FP32.
    std::vector<float> bits;
    for (int32_t i = 0; i <= keep; ++i) bits.push_back(std::bit_cast<float>(i));
    layers.output(1,
                  layers.constant(bits, {keep + 1}).gather(kept.count, 0).reshape({images, Size(1), Size(1), Size(1)}));
  };
  spec.sampleRank = dynamic ? 0 : 3;
  spec.check = [](const Fields& f) {
    const auto order = f.integers("inputOrder", {0, 1, 2});
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != std::vector<int64_t>{0, 1, 2}) throw PluginError("inputOrder is no order of 0, 1 and 2");
    if (f.integer("keepTopK") < 1)
      throw PluginError(fmt::format("keepTopK is {}; expected 1 or more", f.integer("keepTopK")));
    if (f.integer("numClasses") < 1)
      throw PluginError(fmt::format("numClasses is {}; expected 1 or more", f.integer("numClasses")));
    const int64_t code = f.integer("codeType");
    if (code < kCorner || code > kTfCenter) throw PluginError(fmt::format("codeType is {}; expected 0 to 3", code));
  };
  return spec;
}

}  // namespace

std::vector<Spec> specs_ssd() {
  return {priorBox(), gridAnchor("GridAnchor_TRT", false), gridAnchor("GridAnchorRect_TRT", true),
          detectionOutput(false), detectionOutput(true)};
}

}  // namespace tenon::plugins

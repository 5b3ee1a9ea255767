// Suppression of overlapping boxes with outputs of a fixed size: EfficientNMS and BatchedNMS in all their forms.
#include <algorithm>
#include <cmath>

#include "common/boxes.h"
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

// Of one image no more candidates than this are looked at.
constexpr int kEfficientCandidates = 5000;

Value boxesByClass(const Value& boxes) {
  boxes.layers().check(boxes.rank() == 3 || boxes.rank() == 4,
                       "the boxes have {} dimensions; expected [N, B, 4] or [N, B, C, 4]", boxes.rank());
  return boxes.rank() == 3 ? boxes.unsqueeze(2) : boxes;
}

// Corners of boxes given by centre and size.
Value cornersOf(const Value& boxes) {
  const auto c = columns(boxes);
  return boxesOf({c[0] - c[2] * 0.5, c[1] - c[3] * 0.5, c[0] + c[2] * 0.5, c[1] + c[3] * 0.5});
}

Value ordered(const Value& boxes) {
  const auto c = columns(boxes);
  return boxesOf({c[0].with("min", c[2]), c[1].with("min", c[3]), c[0].with("max", c[2]), c[1].with("max", c[3])});
}

// Boxes that are given as differences from anchors.
Value decoded(const Value& boxes, const Value& anchors, bool centres) {
  if (!centres) return ordered(boxes) + ordered(anchors);
  const auto b = columns(boxes);
  const auto a = columns(anchors);
  return boxesOf({b[0] * a[2] + a[0], b[1] * a[3] + a[1], a[2] * b[2].call("exp"), a[3] * b[3].call("exp")});
}

double logit(double probability) {
  if (probability <= 0) return -32768;
  return probability >= 1 ? std::numeric_limits<double>::infinity() : std::log(probability / (1 - probability));
}

struct Efficient {
  double score = 0, overlap = 0;
  int64_t keep = 0, perClass = 0, background = -1;
  bool sigmoid = false, agnostic = false, centres = false, clip = false;
};

struct Found {
  Kept kept;
  Value boxes;
};

Found efficient(Layers& layers, const Efficient& options, const Size& keep) {
  Value boxes = boxesByClass(layers.input(0));
  const Value scores = layers.input(1);
  if (layers.inputCount() > 2) boxes = decoded(boxes, layers.input(2).unsqueeze(2), options.centres);
  if (options.centres) boxes = cornersOf(boxes);
  const double threshold = options.sigmoid ? logit(options.score) : options.score;
  Kept kept =
      suppress(boxes, scores,
               fmt::format("scoreThreshold={} overlapThreshold={} keep={} inAll={} keepPerClass={} background={} "
                           "agnostic={} inclusive=true inclusiveOverlap=true",
                           threshold, options.overlap, keep.text(), kEfficientCandidates, options.perClass,
                           options.background, options.agnostic));
  Value found = keptBoxes(boxes, kept);
  if (options.clip) found = clamp(found, 0, 1);
  if (options.sigmoid) {
    const Value chosen = kept.boxes.scalar("greater(x0,-1)");
    kept.scores = layers.pointwise("sigmoid(x0);select(x1,t0,0)", {kept.scores, chosen});
  }
  return {kept, found};
}

void writeFour(Layers& layers, const Found& found) {
  layers.output(0, found.kept.count.unsqueeze(1));
  layers.output(1, found.boxes);
  layers.output(2, found.kept.scores);
  layers.output(3, found.kept.classes.scalar("max(x0,0)"));
}

std::vector<Dims> fourShapes(const Dim& images, const Dim& keep) {
  return {{images, 1}, {images, keep, 4}, {images, keep}, {images, keep}};
}

void checkAtLeast(const Fields& fields, const char* name, int64_t least) {
  if (fields.has(name) && fields.integer(name) < least) {
    throw PluginError(fmt::format("{} is {}; expected {} or more", name, fields.integer(name), least));
  }
}

void checkChoice(const Fields& fields, const char* name) {
  if (fields.integer(name) != 0 && fields.integer(name) != 1) {
    throw PluginError(fmt::format("{} is {}; expected 0 or 1", name, fields.integer(name)));
  }
}

Spec efficientNms() {
  return {"EfficientNMS_TRT",
          "1",
          Interface::kV2DynamicExt,
          false,
          {{"score_threshold", Type::kFLOAT32, 1, true},
           {"iou_threshold", Type::kFLOAT32, 1, true},
           {"max_output_boxes", Type::kINT32, 1, true},
           {"background_class", Type::kINT32, 1, true},
           {"score_activation", Type::kINT32, 1, true},
           {"class_agnostic", Type::kINT32, 1, false},
           {"box_coding", Type::kINT32, 1, true}},
          "x",
          "ixxi",
          [](const Fields& f, const std::vector<Dims>& in) {
            return fourShapes(in.at(0).at(0), f.integer("max_output_boxes"));
          },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            Efficient options{f.real("score_threshold"), f.real("iou_threshold")};
            options.background = f.integer("background_class", -1);
            options.sigmoid = f.flag("score_activation");
            options.agnostic = f.flag("class_agnostic");
            options.centres = f.flag("box_coding");
            writeFour(layers, efficient(layers, options, f.integer("max_output_boxes")));
          },
          0,
          [](const Fields& f) {
            checkAtLeast(f, "max_output_boxes", 1);
            checkChoice(f, "score_activation");
            checkChoice(f, "class_agnostic");
            checkChoice(f, "box_coding");
          }};
}

// Rows (image, class, box) as ONNX NonMaxSuppression gives them, behind the last one that again, and -1 without any.
Spec efficientNmsOnnx() {
  return {"EfficientNMS_ONNX_TRT",
          "1",
          Interface::kV2DynamicExt,
          false,
          {{"score_threshold", Type::kFLOAT32},
           {"iou_threshold", Type::kFLOAT32},
           {"max_output_boxes_per_class", Type::kINT32},
           {"center_point_box", Type::kINT32}},
          "x",
          "i",
          [](const Fields& f, const std::vector<Dims>& in) {
            const Dim perClass = f.integer("max_output_boxes_per_class", 100);
            return std::vector<Dims>{{in.at(0).at(0) * perClass, 3}};
          },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            Efficient options{f.real("score_threshold", 0.5), f.real("iou_threshold", 0.5)};
            options.centres = f.flag("center_point_box");
            const Size keep(f.integer("max_output_boxes_per_class", 100));
            const Kept kept = efficient(layers, options, keep).kept;
            const Size images = kept.boxes.dim(0);
            const Size rows = images * keep;
            const Value image = layers.iota(images).unsqueeze(1).expand({images, keep});
            const Value valid = kept.boxes.scalar("greater(x0,-1);cast.i32(t0)").reshape({rows});
            // The n-th chosen row goes to place n, all others behind the last row; then the last one is repeated.
            const Value number = layers.add("cumulative{axis=0}", {valid});
            const Value total = number.reduce("max", 0, true);
            const Value parts[] = {image, kept.classes, kept.boxes};
            std::vector<Value> flat;
            for (const Value& part : parts) flat.push_back(part.reshape({rows, Size(1)}));
            const Value table = layers.concat(flat, 1);
            const Value places = layers.pointwise(
                "sub(x0,1);select(x1,t0,x2)",
                {number, valid.scalar("greater(x0,0)"), layers.iota(rows).reduce("max", 0, true).scalar("add(x0,1)")});
            const Value empty = layers.fill({rows + Size(1), Size(3)}, -1, nv::DataType::kINT32);
            const Value dense = layers.add("scatter{mode=nd}", {empty, places.unsqueeze(1), table});
            const Value last = total.scalar("sub(x0,1);max(t0,0)");
            layers.output(0, dense.gather(layers.iota(rows).with("min", last), 0));
          },
          0,
          [](const Fields& f) { checkAtLeast(f, "max_output_boxes_per_class", 1); }};
}

int64_t totalOf(const Fields& f) { return f.integer("max_total_size", 100); }

// The parameters of TensorFlow's combined suppression.
Spec efficientNmsTf(bool implicit) {
  Spec spec{implicit ? "EfficientNMS_Implicit_TF_TRT" : "EfficientNMS_Explicit_TF_TRT",
            "1",
            implicit ? Interface::kV2IOExt : Interface::kV2DynamicExt,
            false,
            {{"max_output_size_per_class", Type::kINT32},
             {"max_total_size", Type::kINT32},
             {"iou_threshold", Type::kFLOAT32},
             {"score_threshold", Type::kFLOAT32},
             {"pad_per_class", Type::kINT32},
             {"clip_boxes", Type::kINT32}},
            "x",
            "ixxi",
            {},
            {}};
  // With pad_per_class there are no more rows than all classes can fill.
  const auto isPadded = [](const Fields& f) {
    return f.flag("pad_per_class") && f.integer("max_output_size_per_class", -1) > 0;
  };
  spec.shapes = [isPadded, implicit](const Fields& f, const std::vector<Dims>& in) {
    const Dim images = in.at(0).at(0);
    Dim keep = totalOf(f);
    if (isPadded(f)) {
      const int64_t all = f.integer("max_output_size_per_class") * in.at(1).at(2).number();
      keep = std::min(totalOf(f), all);
    }
    auto shapes = fourShapes(images, keep);
    if (implicit) shapes[0] = {images};
    return shapes;
  };
  spec.expand = [isPadded, implicit](Layers& layers) {
    const Fields& f = layers.fields();
    Efficient options{f.real("score_threshold", 0.5), f.real("iou_threshold", 0.5)};
    options.perClass = std::max<int64_t>(f.integer("max_output_size_per_class", -1), 0);
    options.clip = f.flag("clip_boxes");
    int64_t keep = totalOf(f);
    if (isPadded(f)) keep = std::min(keep, options.perClass * layers.input(1).dim(2).number());
    const Found found = efficient(layers, options, keep);
    writeFour(layers, found);
    if (implicit) layers.output(0, found.kept.count);
  };
  spec.sampleRank = implicit ? 3 : 0;
  spec.check = [](const Fields& f) { checkAtLeast(f, "max_total_size", 1); };
  return spec;
}

Spec batchedNms(bool dynamic) {
  Spec spec{dynamic ? "BatchedNMSDynamic_TRT" : "BatchedNMS_TRT",
            "1",
            dynamic ? Interface::kV2DynamicExt : Interface::kV2Ext,
            false,
            {{"shareLocation", Type::kINT32},
             {"backgroundLabelId", Type::kINT32},
             {"numClasses", Type::kINT32},
             {"topK", Type::kINT32},
             {"keepTopK", Type::kINT32},
             {"scoreThreshold", Type::kFLOAT32},
             {"iouThreshold", Type::kFLOAT32},
             {"isNormalized", Type::kINT32},
             {"clipBoxes", Type::kINT32},
             {"scoreBits", Type::kINT32},
             {"caffeSemantics", Type::kINT32}},
            "x",
            "ixxx",
            {},
            {}};
  spec.shapes = [dynamic](const Fields& f, const std::vector<Dims>& in) {
    const Dim images = in.at(0).at(0);
    const Dim keep = f.integer("keepTopK");
    return std::vector<Dims>{
        dynamic ? Dims{images, 1} : Dims{images}, {images, keep, 4}, {images, keep}, {images, keep}};
  };
  spec.expand = [dynamic](Layers& layers) {
    const Fields& f = layers.fields();
    const Value boxes = boxesByClass(layers.input(0));
    Value scores = layers.input(1);
    if (scores.rank() == 4) scores = scores.squeeze(3);
    const int64_t classes = f.integer("numClasses");
    layers.check(classes <= 0 || scores.dim(2) == Size(classes) || !scores.dim(2).isNumber(),
                 "numClasses is {}; the scores have {} classes", classes, scores.dim(2).text());
    const char* const pixels = f.flag("isNormalized", true) ? "none" : f.flag("caffeSemantics", true) ? "all" : "areas";
    const Kept kept =
        suppress(boxes, scores,
                 fmt::format("scoreThreshold={} overlapThreshold={} keep={} perClass={} background={} "
                             "pixels={}",
                             f.real("scoreThreshold"), f.real("iouThreshold"), f.integer("keepTopK"),
                             std::max<int64_t>(f.integer("topK"), 0), f.integer("backgroundLabelId", -1), pixels));
    Value found = keptBoxes(boxes, kept);
    if (f.flag("clipBoxes", true)) found = clamp(found, 0, 1);
    layers.output(0, dynamic ? kept.count.unsqueeze(1) : kept.count);
    layers.output(1, found);
    layers.output(2, kept.scores);
    layers.output(3, kept.classes.cast(scores.type()));
  };
  spec.sampleRank = dynamic ? 0 : 3;
  spec.check = [](const Fields& f) { checkAtLeast(f, "keepTopK", 1); };
  return spec;
}

}  // namespace

std::vector<Spec> specs_nms() {
  return {efficientNms(),       efficientNmsOnnx(), efficientNmsTf(false),
          efficientNmsTf(true), batchedNms(false),  batchedNms(true)};
}

}  // namespace tenon::plugins

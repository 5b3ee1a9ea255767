// Plugins that a few layers are: activations, slices, tiles, resizes, normalizations of images.
#include <cmath>

#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

std::vector<Dims> asFirst(const Fields&, const std::vector<Dims>& in) { return {in.at(0)}; }

Spec clip() {
  return {"Clip_TRT",
          "1",
          Interface::kV2,
          false,
          {{"clipMin", Type::kFLOAT32, 1, true}, {"clipMax", Type::kFLOAT32, 1, true}},
          "a",
          "a",
          asFirst,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            layers.output(0, clamp(layers.input(0), f.real("clipMin"), f.real("clipMax")));
          }};
}

Spec leakyRelu() {
  return {
      "LReLU_TRT", "1", Interface::kV2, false, {{"negSlope", Type::kFLOAT32}}, "x", "x", asFirst, [](Layers& layers) {
        layers.output(0, layers.input(0).with("leaky_relu", layers.fields().real("negSlope")));
      }};
}

// Every batch element of the second input's only one, as often as the first input has batch elements.
Spec batchTile() {
  return {"BatchTilePlugin_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {},
          "x",
          "x",
          [](const Fields&, const std::vector<Dims>& in) {
            Dims result = in.at(1);
            result.at(0) = in.at(0).at(0);
            return std::vector<Dims>{result};
          },
          [](Layers& layers) {
            const Value y = layers.input(1);
            layers.check(y.dim(0) == Size(1), "input 1 has a batch of {}; expected 1", y.dim(0).text());
            Sizes sizes = y.shape();
            sizes[0] = layers.input(0).dim(0);
            layers.output(0, y.expand(sizes));
          }};
}

// The row and the column of each pixel, from -1 to 1, as two more channels.
Spec coordConv() {
  return {"CoordConvAC",
          "1",
          Interface::kV2Ext,
          false,
          {},
          "x",
          "x",
          [](const Fields&, const std::vector<Dims>& in) {
            Dims result = in.at(0);
            result.at(1) = result.at(1) + Dim(2);
            return std::vector<Dims>{result};
          },
          [](Layers& layers) {
            const Value x = layers.input(0);
            std::vector<Value> parts{x};
            for (int axis = 2; axis < 4; ++axis) {
              const int64_t count = x.dim(axis).number();
              std::vector<float> places;
              for (int64_t i = 0; i < count; ++i) {
                places.push_back(static_cast<float>(-1 + 2 * static_cast<double>(i) / static_cast<double>(count - 1)));
              }
              const Value line =
                  axis == 2 ? layers.constant(places, {1, 1, count, 1}) : layers.constant(places, {1, 1, 1, count});
              parts.push_back(line.cast(x.type()).expand({x.dim(0), Size(1), x.dim(2), x.dim(3)}));
            }
            layers.output(0, layers.concat(parts, 1));
          },
          3};
}

Spec flattenConcat() {
  return {"FlattenConcat_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"axis", Type::kINT32, 1, true}, {"ignoreBatch", Type::kINT32, 1, true}},
          "x",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) {
            Dim all(0);
            for (const Dims& dims : in) {
              Dim count(1);
              for (size_t i = 1; i < dims.size(); ++i) count = count * dims[i];
              all = all + count;
            }
            Dims result{in.at(0).at(0), 1, 1, 1};
            result.at(static_cast<size_t>(f.integer("axis"))) = all;
            return std::vector<Dims>{result};
          },
          [](Layers& layers) {
            std::vector<Value> parts;
            Size all(0);
            for (int i = 0; i < layers.inputCount(); ++i) {
              const Sizes shape = layers.input(i).shape();
              const Size count = product(Sizes(shape.begin() + 1, shape.end()));
              parts.push_back(layers.input(i).reshape({shape[0], count}));
              all = all + count;
            }
            Sizes sizes{parts[0].dim(0), Size(1), Size(1), Size(1)};
            sizes[static_cast<size_t>(layers.fields().integer("axis"))] = all;
            layers.output(0, layers.concat(parts, 1).reshape(sizes));
          },
          3,
          [](const Fields& f) {
            const int64_t axis = f.integer("axis");
            if (axis < 1 || axis > 3) throw PluginError(fmt::format("axis is {}; expected 1, 2 or 3", axis));
          }};
}

Spec resizeNearest() {
  return {"ResizeNearest_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"scale", Type::kFLOAT32, 1, true}},
          "x",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) {
            Dims result = in.at(0);
            for (size_t axis = 2; axis < 4; ++axis) {
              result.at(axis) =
                  static_cast<int64_t>(static_cast<float>(result[axis].number()) * static_cast<float>(f.real("scale")));
            }
            return std::vector<Dims>{result};
          },
          [](Layers& layers) {
            Value x = layers.input(0);
            const auto scale = static_cast<float>(layers.fields().real("scale"));
            for (int axis = 2; axis < 4; ++axis) {
              const auto count = static_cast<int64_t>(static_cast<float>(x.dim(axis).number()) * scale);
              std::vector<int32_t> from;
              for (int64_t i = 0; i < count; ++i) from.push_back(static_cast<int32_t>(static_cast<float>(i) / scale));
              x = x.gather(layers.constant(from, {count}), axis);
            }
            layers.output(0, x);
          },
          3,
          [](const Fields& f) {
            if (!(f.real("scale") > 0))
              throw PluginError(fmt::format("scale is {}; expected more than 0", f.real("scale")));
          }};
}

Spec specialSlice() {
  return {"SpecialSlice_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {},
          "x",
          "x",
          [](const Fields&, const std::vector<Dims>& in) {
            Dims result = in.at(0);
            result.back() = 4;
            return std::vector<Dims>{result};
          },
          [](Layers& layers) { layers.output(0, layers.input(0).slice(-1, 0, 4)); }};
}

Spec normalize() {
  return {"Normalize_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"weights", Type::kFLOAT32},
           {"acrossSpatial", Type::kINT32},
           {"channelShared", Type::kINT32},
           {"nbWeights", Type::kINT32},
           {"eps", Type::kFLOAT32}},
          "x",
          "x",
          asFirst,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value x = layers.input(0);
            Value sum = (x * x).reduce("sum", 1, true);
            if (f.flag("acrossSpatial")) sum = sum.reduce("sum", 2, true).reduce("sum", 3, true);
            const auto weights = f.weights("weights");
            const auto count = static_cast<int64_t>(weights.size());
            const bool shared = f.flag("channelShared");
            layers.check(shared ? count >= 1 : x.dim(1) == Size(count), "{} weights for {} channels", count,
                         x.dim(1).text());
            const Value scale = shared ? layers.constant(std::vector<float>{weights[0]}, {1, 1, 1, 1})
                                       : layers.constant(weights, {1, count, 1, 1});
            const Value rest = layers.pointwise(fmt::format("add(x1,{});sqrt(t0);div(x0,t1);mul(t2,x2)", f.real("eps")),
                                                {x, sum, scale.cast(x.type())});
            layers.output(0, rest);
          },
          3,
          [](const Fields& f) {
            if (f.weights("weights").empty()) throw PluginError("field 'weights' is missing");
          }};
}

// Darknet's order: the input is read as an image of stride times the sides and fewer channels.
Spec reorg(const char* version, Interface interface) {
  return {"Reorg_TRT",
          version,
          interface,
          false,
          {{"stride", Type::kINT32}},
          "x",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) {
            const int64_t s = f.integer("stride");
            const Dims& x = in.at(0);
            return std::vector<Dims>{{x.at(0), x.at(1) * Dim(s * s), x.at(2) / Dim(s), x.at(3) / Dim(s)}};
          },
          [](Layers& layers) {
            const Value x = layers.input(0);
            const Size s(layers.fields().integer("stride"));
            for (int axis = 1; axis < 4; ++axis) {
              const Size unit = axis == 1 ? s * s : s;
              layers.check(!x.dim(axis).isNumber() || x.dim(axis).number() % unit.number() == 0,
                           "axis {} of extent {} is no multiple of {}", axis, x.dim(axis).text(), unit.text());
            }
            const Size fewer = floorDiv(x.dim(1), s * s);
            const Value cells = x.reshape({x.dim(0), fewer, x.dim(2), s, x.dim(3), s});
            layers.output(0, cells.transpose({0, 3, 5, 1, 2, 4})
                                 .reshape({x.dim(0), x.dim(1) * s * s, floorDiv(x.dim(2), s), floorDiv(x.dim(3), s)}));
          },
          interface == Interface::kV2Ext ? 3 : 0,
          [](const Fields& f) {
            if (f.integer("stride") < 1)
              throw PluginError(fmt::format("stride is {}; expected 1 or more", f.integer("stride")));
          }};
}

// Of each of `num` boxes: x, y, w, h, objectness, classes.
Spec region() {
  return {"Region_TRT",
          "1",
          Interface::kV2Ext,
          false,
          {{"num", Type::kINT32}, {"coords", Type::kINT32}, {"classes", Type::kINT32}, {"smTree", Type::kINT32}},
          "x",
          "x",
          asFirst,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value x = layers.input(0);
            const int64_t num = f.integer("num", 5);
            const int64_t classes = f.integer("classes", 80);
            const Size each(f.integer("coords", 4) + classes + 1);
            layers.check(!x.dim(1).isNumber() || x.dim(1) == each * Size(num), "{} channels; expected {}",
                         x.dim(1).text(), (each * Size(num)).text());
            const Value boxes = x.reshape({x.dim(0), Size(num), each, x.dim(2), x.dim(3)});
            const auto part = [&](int64_t first, int64_t count) { return boxes.slice(2, first, count); };
            layers.output(0, layers
                                 .concat({part(0, 2).call("sigmoid"), part(2, 2), part(4, 1).call("sigmoid"),
                                          part(5, classes).softmax(2)},
                                         2)
                                 .reshape(x.shape()));
          },
          3,
          [](const Fields& f) {
            if (f.has("smTree") && f.integer("smTree") != 0) {
              throw PluginError(
                  "smTree: a softmax over a tree of classes is not supported; expected the classes to be flat");
            }
            if (f.integer("coords", 4) != 4)
              throw PluginError(fmt::format("coords is {}; expected 4", f.integer("coords")));
            if (f.integer("num", 5) < 1 || f.integer("classes", 80) < 1)
              throw PluginError("num and classes must be 1 or more");
          }};
}

std::vector<Spec> instanceNormalization() {
  std::vector<Spec> result;
  const std::pair<const char*, Interface> versions[] = {
      {"1", Interface::kV2DynamicExt}, {"2", Interface::kV2DynamicExt}, {"3", Interface::kV3}};
  for (const auto& [version, interface] : versions) {
    result.push_back(
        {"InstanceNormalization_TRT",
         version,
         interface,
         false,
         {{"epsilon", Type::kFLOAT32},
          {"scales", Type::kFLOAT32},
          {"bias", Type::kFLOAT32},
          {"relu", Type::kINT32},
          {"alpha", Type::kFLOAT32}},
         "x",
         "x",
         asFirst,
         [](Layers& layers) {
           const Fields& f = layers.fields();
           const Value x = layers.input(0);
           const auto scales = f.weights("scales");
           const auto bias = f.weights("bias");
           const auto count = static_cast<int64_t>(scales.size());
           layers.check(
               bias.size() == scales.size() && x.rank() >= 3 && (!x.dim(1).isNumber() || x.dim(1) == Size(count)),
               "{} scales and {} biases for an input with {} dimensions and {} channels", count, bias.size(), x.rank(),
               x.rank() > 1 ? x.dim(1).text() : "no");
           std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
           dims[1] = count;
           std::vector<int> axes;
           for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
           Value y = layers.add(
               fmt::format("normalization{{axes=[{}] epsilon={}}}", fmt::join(axes, ","), f.real("epsilon", 1e-5)),
               {x, layers.constant(scales, dims).cast(x.type()), layers.constant(bias, dims).cast(x.type())});
           if (f.flag("relu")) y = y.with("leaky_relu", f.real("alpha"));
           layers.output(0, y);
         },
         0,
         [](const Fields& f) {
           if (f.weights("scales").empty()) throw PluginError("field 'scales' is missing");
         }});
  }
  return result;
}

Spec groupNormalization() {
  return {"GroupNormalizationPlugin",
          "1",
          Interface::kV2DynamicExt,
          true,
          {{"eps", Type::kFLOAT32}, {"num_groups", Type::kINT32}},
          "x",
          "x",
          asFirst,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value x = layers.input(0);
            layers.check(x.rank() >= 3, "the input has {} dimensions; expected 3 or more", x.rank());
            Sizes perChannel(static_cast<size_t>(x.rank()), Size(1));
            perChannel[1] = x.dim(1);
            const int64_t groups = f.integer("num_groups", 1);
            std::vector<int> axes;  // of the operator, for which one group is none: then the channels are an axis
            for (int i = groups == 1 ? 1 : 2; i < x.rank(); ++i) axes.push_back(i);
            layers.output(0, layers.add(fmt::format("normalization{{axes=[{}] epsilon={} groups={}}}",
                                                    fmt::join(axes, ","), f.real("eps", 1e-5), groups),
                                        {x, layers.input(1).reshape(perChannel), layers.input(2).reshape(perChannel)}));
          }};
}

// Its creator cannot make one; NVIDIA's reads only its own serialized form.
Spec split() {
  return {"Split",
          "1",
          Interface::kV2DynamicExt,
          false,
          {},
          "a",
          "a",
          asFirst,
          [](Layers&) {},
          0,
          [](const Fields&) {
            throw PluginError("the creator reads old engines only, and these are not supported; use ISliceLayer");
          }};
}

}  // namespace

std::vector<Spec> specs_plain() {
  std::vector<Spec> all{clip(),
                        leakyRelu(),
                        batchTile(),
                        coordConv(),
                        flattenConcat(),
                        resizeNearest(),
                        specialSlice(),
                        normalize(),
                        reorg("1", Interface::kV2Ext),
                        reorg("2", Interface::kV2DynamicExt),
                        region(),
                        groupNormalization(),
                        split()};
  for (const Spec& spec : instanceNormalization()) all.push_back(spec);
  return all;
}

}  // namespace tenon::plugins

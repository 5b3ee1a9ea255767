// Convolution and attention at moved places.
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

std::vector<Spec> convolution() {
  std::vector<Spec> result;
  for (const bool isNew : {false, true}) {
    result.push_back(
        {"ModulatedDeformConv2d",
         isNew ? "2" : "1",
         isNew ? Interface::kV3 : Interface::kV2DynamicExt,
         false,
         {{"stride", Type::kINT32, 2, true},
          {"padding", Type::kINT32, 2, true},
          {"dilation", Type::kINT32, 2, true},
          {"group", Type::kINT32, 1, true},
          {"deformable_group", Type::kINT32, 1, true}},
         "x",
         "x",
         [](const Fields&, const std::vector<Dims>& in) {
           return std::vector<Dims>{{in.at(0).at(0), in.at(3).at(0), in.at(1).at(2), in.at(1).at(3)}};
         },
         [](Layers& layers) {
           const Fields& f = layers.fields();
           const Value x = layers.input(0);
           const Value offset = layers.input(1);
           const Value weight = layers.input(3);
           const Size group(f.integer("group"));
           const auto pair = [&](const char* name) {
             const auto list = f.integers(name);
             return fmt::format("[{},{}]", list.at(0), list.at(1));
           };
           const Value columns =
               layers.add(fmt::format("deformable_columns{{kernel=[{},{}] strides={} padding={} dilations={} groups={} "
                                      "hasMask=true}}",
                                      weight.dim(2).number(), weight.dim(3).number(), pair("stride"), pair("padding"),
                                      pair("dilation"), f.integer("deformable_group")),
                          {x, offset, layers.input(2)});
           const Size each = floorDiv(columns.dim(1), group);
           const Size filters = floorDiv(weight.dim(0), group);
           layers.check(!each.isNumber() || each == product({weight.dim(1), weight.dim(2), weight.dim(3)}),
                        "the weight is {} for an input {} in {} groups", text(weight.shape()), text(x.shape()),
                        group.text());
           Value y = weight.reshape({Size(1), group, filters, each})
                         .matmul(columns.reshape({x.dim(0), group, each, columns.dim(2)}))
                         .reshape({x.dim(0), weight.dim(0), offset.dim(2), offset.dim(3)});
           if (layers.inputCount() > 4) y = y + layers.input(4).reshape({Size(1), weight.dim(0), Size(1), Size(1)});
           layers.output(0, y);
         },
         0,
         [](const Fields& f) {
           for (const char* name : {"stride", "padding", "dilation"}) {
             if (f.integers(name).size() != 2) throw PluginError(fmt::format("{}: expected 2 numbers", name));
           }
           if (f.integer("group") < 1 || f.integer("deformable_group") < 1) {
             throw PluginError("group and deformable_group must be 1 or more");
           }
         }});
  }
  return result;
}

std::vector<Spec> attention() {
  std::vector<Spec> result;
  for (const bool isNew : {false, true}) {
    result.push_back({"MultiscaleDeformableAttnPlugin_TRT",
                      isNew ? "2" : "1",
                      isNew ? Interface::kV3 : Interface::kV2DynamicExt,
                      false,
                      {},
                      "xnnxx",
                      "x",
                      [](const Fields&, const std::vector<Dims>& in) {
                        const Dims& value = in.at(0);
                        return std::vector<Dims>{{value.at(0), in.at(3).at(1), value.at(2), value.at(3)}};
                      },
                      [](Layers& layers) {
                        std::vector<Value> inputs;
                        for (int i = 0; i < 5; ++i) inputs.push_back(layers.input(i));
                        layers.output(0, layers.add("deformable_attention", inputs));
                      }});
  }
  return result;
}

}  // namespace

std::vector<Spec> specs_deformable() {
  std::vector<Spec> all = convolution();
  for (const Spec& spec : attention()) all.push_back(spec);
  return all;
}

}  // namespace tenon::plugins

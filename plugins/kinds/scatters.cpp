// Scatter operators of ONNX.
#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

std::vector<Dims> asFirst(const Fields&, const std::vector<Dims>& in) { return {in.at(0)}; }

std::string reductionOf(const Fields& f) {
  const std::string name = f.text("reduction", "none");
  if (name == "add") return "sum";
  if (name == "mul") return "prod";
  if (name == "max" || name == "min") return name;
  throw PluginError(
      fmt::format("reduction is '{}'; expected add, mul, max or min (without one, use IScatterLayer)", name));
}

Spec elements(const char* version, Interface interface) {
  return {"ScatterElements",
          version,
          interface,
          false,
          {{"reduction", Type::kUNKNOWN, 0}, {"axis", Type::kUNKNOWN, 0}},
          "ana",
          "a",
          asFirst,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            layers.output(0,
                          layers.add(fmt::format("scatter_reduce{{op={} axis={}}}", reductionOf(f), f.integer("axis")),
                                     {layers.input(0), layers.input(1), layers.input(2)}));
          },
          0,
          [](const Fields& f) { (void)reductionOf(f); }};
}

Spec nd() {
  return {"ScatterND", "1", Interface::kV2DynamicExt, false, {}, "ana", "a", asFirst, [](Layers& layers) {
            layers.output(0, layers.add("scatter{mode=nd}", {layers.input(0), layers.input(1), layers.input(2)}));
          }};
}

}  // namespace

std::vector<Spec> specs_scatters() {
  return {elements("1", Interface::kV2DynamicExt), elements("2", Interface::kV3), nd()};
}

}  // namespace tenon::plugins

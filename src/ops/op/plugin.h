// A layer of the user's own code. Passes know nothing of it: it is not folded, not merged, not changed.
#pragma once

#include <memory>

#include "ops/operator.h"
#include "ops/plugin_object.h"

namespace tenon::ops {

// Any inputs to any outputs. The shapes of the results are the plugin's answer when the layer was lowered, as
// expressions over the symbols of the network, so that nothing below asks the plugin for them again. Types are the
// ones that the layer was lowered for, or all of its f32 ones replaced by one of `halves`.
// Extents of outputs that depend on a number which the plugin computes are here as large as they can be. The elements
// stand in the front of that memory; who reads the number takes them.
// What computes it is the plugin alone: there is no reference.
struct Plugin {
  static constexpr std::string_view kName = "plugin";
  std::string layer;          // of the network
  int64_t index = 0;          // of the layer in the network: two layers are never the same
  std::string interfaceName;  // IPluginV3, IPluginV2DynamicExt, ...
  std::string type;
  std::string version;
  std::string space;
  std::string timing;  // the plugin's part of the key of timing caches; none: its times are not kept
  std::vector<DataType> inputTypes;
  std::vector<int64_t> inputRanks;
  std::vector<Extent> inputExtents;  // of all inputs, one after the other
  std::vector<DataType> outputTypes;
  std::vector<int64_t> outputRanks;
  std::vector<Extent> outputExtents;
  std::vector<DataType> halves;  // in which the plugin takes and gives what is f32 here
  std::vector<int64_t> aliases;  // per output, the input whose memory it shall have, -1 for none; empty: none at all
  std::vector<Extent> leastExtents;  // of all outputs where the numbers that the plugin computes are 0; empty: none are
  std::vector<Extent> likelyExtents;  // where they are what the plugin expects

  static constexpr auto fields = std::tuple{field("layer", &Plugin::layer),
                                            field("index", &Plugin::index),
                                            field("interface", &Plugin::interfaceName),
                                            field("type", &Plugin::type),
                                            field("version", &Plugin::version),
                                            field("namespace", &Plugin::space),
                                            field("timing", &Plugin::timing),
                                            field("input_types", &Plugin::inputTypes),
                                            field("input_ranks", &Plugin::inputRanks),
                                            field("input_extents", &Plugin::inputExtents),
                                            field("output_types", &Plugin::outputTypes),
                                            field("output_ranks", &Plugin::outputRanks),
                                            field("output_extents", &Plugin::outputExtents),
                                            field("halves", &Plugin::halves),
                                            field("aliases", &Plugin::aliases),
                                            field("least_extents", &Plugin::leastExtents),
                                            field("likely_extents", &Plugin::likelyExtents)};

  // While the network is built; null for an operator that was read from text.
  std::shared_ptr<PluginObject> object;

  // Whether an extent, of those of all outputs, depends on a number that the plugin computes.
  bool isComputed(size_t extent) const {
    return !leastExtents.empty() && leastExtents[extent] != outputExtents[extent];
  }
  bool isComputed(size_t output, size_t axis) const;
  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops

// Shapes and types of a plugin's results, as it gave them when its layer was lowered.
#include "ops/op/plugin.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::ops {
namespace {

// Shapes from their ranks and the extents of all of them in a row.
std::vector<Shape> shapesOf(const InferContext& context, const std::vector<int64_t>& ranks,
                            const std::vector<Extent>& extents, std::string_view what) {
  std::vector<Shape> shapes;
  size_t at = 0;
  for (const int64_t rank : ranks) {
    context.check(rank >= 0 && rank <= kMaxRank && static_cast<size_t>(rank) <= extents.size() - at,
                  "{} {} of the plugin has rank {}; expected at most {}, and {} extents are left", what, shapes.size(),
                  rank, kMaxRank, extents.size() - at);
    const auto first = extents.begin() + static_cast<std::ptrdiff_t>(at);
    shapes.emplace_back(first, first + rank);
    at += static_cast<size_t>(rank);
  }
  context.check(at == extents.size(), "the plugin has {} extents of {}s; its ranks make {}", extents.size(), what, at);
  return shapes;
}

// Whether each f32 of `types` is `half` in the inputs, and nothing else differs.
bool isHalfOf(const InferContext& context, const std::vector<DataType>& types, DataType half) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (context.input(i).dtype != (types[i] == DataType::kF32 ? half : types[i])) return false;
  }
  return true;
}

}  // namespace

bool Plugin::isComputed(size_t output, size_t axis) const {
  size_t at = axis;
  for (size_t i = 0; i < output; ++i) at += static_cast<size_t>(outputRanks[i]);
  return isComputed(at);
}

Facts Plugin::facts() const {
  Facts facts;
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (aliases[i] >= 0) facts.aliases.push_back({static_cast<int>(i), static_cast<int>(aliases[i]), false});
  }
  facts.deterministic = false;  // the code is not ours to judge: it runs as often as the network says, once
  return facts;
}

void Plugin::infer(InferContext& context) const {
  context.check(context.inputCount() == inputTypes.size() && inputRanks.size() == inputTypes.size(),
                "plugin '{}' takes {} inputs, got {}", type, inputTypes.size(), context.inputCount());
  context.check(outputRanks.size() == outputTypes.size(), "plugin '{}' has {} types and {} shapes of outputs", type,
                outputTypes.size(), outputRanks.size());
  const auto isPlace = [&](int64_t input) { return input >= -1 && input < static_cast<int64_t>(inputTypes.size()); };
  context.check((aliases.empty() || aliases.size() == outputTypes.size()) && std::ranges::all_of(aliases, isPlace),
                "plugin '{}' has {} aliases for {} outputs and {} inputs", type, aliases.size(), outputTypes.size(),
                inputTypes.size());
  const auto inputs = shapesOf(context, inputRanks, inputExtents, "input");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& got = context.input(i).shape;
    context.check(got.size() == inputs[i].size(), "input {} of plugin '{}' has {} dimensions, expected {}", i, type,
                  got.size(), inputs[i].size());
    for (size_t axis = 0; axis < got.size(); ++axis)
      (void)context.merge(got[axis], inputs[i][axis], "extents of a plugin's input");
  }
  DataType floating = DataType::kF32;
  if (!isHalfOf(context, inputTypes, floating)) {
    const auto found =
        std::find_if(halves.begin(), halves.end(), [&](DataType half) { return isHalfOf(context, inputTypes, half); });
    context.check(found != halves.end(), "the inputs of plugin '{}' have other types than when it was asked", type);
    floating = *found;
  }
  const auto outputs = shapesOf(context, outputRanks, outputExtents, "output");
  for (const auto* extents : {&leastExtents, &likelyExtents}) {
    context.check(leastExtents.empty() ? extents->empty() : extents->size() == outputExtents.size(),
                  "plugin '{}' has {} extents of outputs that it computes, expected {}", type, extents->size(),
                  leastExtents.empty() ? 0 : outputExtents.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    context.output(outputTypes[i] == DataType::kF32 ? floating : outputTypes[i], outputs[i]);
}

void Plugin::evaluate(const EvalContext&) const {
  throw Unsupported("layer '{}': plugin '{}' has no reference; only its own code computes it", layer, type);
}

OperatorInfo operatorInfo_plugin() { return describe<Plugin>(); }

}  // namespace tenon::ops

// A plugin layer as one node of the graph.
#include <algorithm>
#include <functional>

#include "api/network/lower_context.h"
#include "api/network/network.h"
#include "api/network/plugin_layer.h"
#include "api/plugin/adapters/expansion.h"
#include "api/plugin/adapters/format_search.h"
#include "api/plugin/adapters/live_plugin.h"
#include "ops/op/slice.h"

namespace tenon::api {
namespace {

std::vector<nv::DataType> toApi(const std::vector<DataType>& types) {
  std::vector<nv::DataType> result;
  for (const DataType type : types) result.push_back(api::toApi(type));
  return result;
}

bool isWide(DataType type) { return type == DataType::kF32 || type == DataType::kF16 || type == DataType::kBF16; }

std::vector<DataType> replaced(std::vector<DataType> types, DataType by) {
  for (DataType& type : types) {
    if (isWide(type)) type = by;
  }
  return types;
}

// Questions about one layer.
class Lowering {
 public:
  Lowering(PluginAdapter& plugin, const std::vector<DataType>& types, std::vector<Shape> inputs,
           std::vector<Shape> values)
      : plugin_(plugin), inputs_(std::move(inputs)) {
    plugin.prepare(toApi(types), inputs_);
    auto shapes = plugin.outputShapes(inputs_, values);
    outputs_ = std::move(shapes.outputs);
    sizes_ = std::move(shapes.sizes);
  }

  const std::vector<PluginSize>& sizes() const noexcept { return sizes_; }
  // Shapes of the outputs where the numbers that the plugin computes are what `value` says.
  template <typename Value>
  std::vector<Shape> outputs(Value&& value) const {
    std::map<std::string, Extent, std::less<>> values;
    for (const auto& size : sizes_) values.emplace(size.symbol, value(size));
    auto shapes = outputs_;
    for (auto& shape : shapes) {
      for (Extent& extent : shape) extent = extent.substitute(values);
    }
    return shapes;
  }
  // As large as they can be.
  std::vector<Shape> outputs() const {
    return outputs([](const PluginSize& size) { return size.upper; });
  }

  std::vector<DataType> outputTypes(const std::vector<DataType>& inputs) const {
    std::vector<DataType> result;
    for (const auto type : plugin_.outputTypes(toApi(inputs))) result.push_back(fromApi(type));
    return result;
  }

  // Whether the plugin takes operands of these types in some formats.
  bool takes(const std::vector<DataType>& inputs) const {
    PluginDescs operands;
    std::vector<Shape> shapes = inputs_;
    const auto outputs = this->outputs();
    shapes.insert(shapes.end(), outputs.begin(), outputs.end());
    auto types = inputs;
    for (const DataType type : outputTypes(inputs)) types.push_back(type);
    for (size_t i = 0; i < types.size(); ++i) {
      const auto dims = api::toApi(shapes[i]);
      operands.push_back({describe(types[i], Layout::kLinear, dims), dims, dims, dims});
    }
    return !findCombinations(plugin_, operands, shapes, static_cast<int>(inputs.size()), 1).found.empty();
  }

 private:
  PluginAdapter& plugin_;
  const std::vector<Shape> inputs_;
  std::vector<Shape> outputs_;
  std::vector<PluginSize> sizes_;
};

// Per output, the input whose memory it shares; empty where none does.
std::vector<int64_t> aliasesOf(PluginAdapter& plugin, const std::vector<Shape>& inputs, const ops::Plugin& op,
                               const std::vector<Shape>& outputs) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t input = plugin.aliasedInput(static_cast<int>(i));
    const auto& id = plugin.identity();
    checkUser(input >= -1 && input < static_cast<int64_t>(inputs.size()),
              "{}: getAliasedInput({}) returned {}; expected -1 to {}", id.text(), i, input,
              static_cast<int64_t>(inputs.size()) - 1);
    if (input >= 0) {
      checkUser(std::find(result.begin(), result.end(), input) == result.end(),
                "{}: getAliasedInput({}) returned {}, whose memory another output has", id.text(), i, input);
      const auto at = static_cast<size_t>(input);
      checkUser(
          inputs[at] == outputs[i] && op.inputTypes[at] == op.outputTypes[i],
          "{}: output {} is {} {} and would share the memory of input {}, which is {} {}; expected the same shape "
          "and type",
          id.text(), i, name(op.outputTypes[i]), text(outputs[i]), input, name(op.inputTypes[at]), text(inputs[at]));
    }
    result.push_back(input);
  }
  const bool isNone = std::all_of(result.begin(), result.end(), [](int64_t input) { return input < 0; });
  return isNone ? std::vector<int64_t>{} : result;
}

// The types that a weakly typed network gives the plugin: its own, else with all floating ones alike. What it takes in
// no type stays; the build lists what it refused.
std::vector<DataType> chooseTypes(const Lowering& lowering, const std::vector<DataType>& types) {
  if (!std::any_of(types.begin(), types.end(), isWide) || lowering.takes(types)) return types;
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    auto other = replaced(types, type);
    if (other != types && lowering.takes(other)) return other;
  }
  return types;
}

// The half types in which the plugin computes the same with every f32 operand replaced.
std::vector<DataType> halvesOf(const Lowering& lowering, const std::vector<DataType>& inputs,
                               const std::vector<DataType>& outputs) {
  std::vector<DataType> result;
  const auto inHalf = [](std::vector<DataType> types, DataType half) {
    std::replace(types.begin(), types.end(), DataType::kF32, half);
    return types;
  };
  for (const DataType half : {DataType::kF16, DataType::kBF16}) {
    const auto other = inHalf(inputs, half);
    if (other == inputs || !lowering.takes(other)) continue;
    if (lowering.outputTypes(other) == inHalf(outputs, half)) result.push_back(half);
  }
  return result;
}

// The elements in the front of a value's memory, as a tensor of that shape.
graph::ValueId front(LowerContext& context, graph::ValueId value, const Shape& shape) {
  ops::Slice slice;
  slice.start = {0};
  slice.size = {product(shape)};
  slice.stride = {1};
  const auto flat = context.reshape(value, {product(context.shape(value))});
  return context.reshape(context.add(std::move(slice), {flat}), shape);
}

void checkSizes(const PluginAdapter& plugin, const ops::Plugin& op, const std::vector<PluginSize>& sizes) {
  for (const auto& size : sizes) {
    const DataType type = op.outputTypes[static_cast<size_t>(size.output)];
    checkUser(type == DataType::kI32 || type == DataType::kI64,
              "{}: output {} is declared a size tensor and has the type {}; expected i32 or i64",
              plugin.identity().text(), size.output, name(type));
  }
}

int64_t indexOf(const LayerBase& layer) {
  const auto& layers = layer.network().layers();
  const auto found =
      std::find_if(layers.begin(), layers.end(), [&](const auto& other) { return other.get() == &layer; });
  return found - layers.begin();
}

void putShapes(const std::vector<Shape>& shapes, std::vector<int64_t>& ranks, std::vector<Extent>& extents) {
  for (const auto& shape : shapes) {
    ranks.push_back(static_cast<int64_t>(shape.size()));
    extents.insert(extents.end(), shape.begin(), shape.end());
  }
}

}  // namespace

std::vector<graph::ValueId> lowerPlugin(const LayerBase& layer, LowerContext& context,
                                        const std::shared_ptr<SharedPlugin>& plugin, int inputs) {
  const std::lock_guard lock(plugin->mutex);
  PluginAdapter& adapter = *plugin->adapter;
  if (const auto* expansion = expansionOf(adapter)) {
    return writeExpansion(*expansion, adapter, context, adapter.outputCount());
  }
  std::vector<graph::ValueId> operands;
  std::vector<Shape> shapes, values;
  std::vector<PluginSize> sizes;
  std::function<std::vector<Shape>(const std::vector<Extent>&)> shapesFor;  // of the outputs, for these sizes
  ops::Plugin op;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    if (i < static_cast<size_t>(inputs)) {
      operands.push_back(context.input(i));
      shapes.push_back(context.shape(operands.back()));
      op.inputTypes.push_back(context.type(operands.back()).dtype);
    } else {
      values.push_back(context.contents(i, "shape input"));
      context.check(values.back().size() <= kMaxRank, "the shape input {} has {} elements; expected at most {}", i,
                    values.back().size(), kMaxRank);
    }
  }
  try {
    const Lowering lowering(adapter, op.inputTypes, shapes, values);
    if (!context.stronglyTyped()) {
      op.inputTypes = chooseTypes(lowering, op.inputTypes);
      for (size_t i = 0; i < operands.size(); ++i) operands[i] = context.cast(operands[i], op.inputTypes[i]);
    }
    op.outputTypes = lowering.outputTypes(op.inputTypes);
    if (!context.stronglyTyped()) op.halves = halvesOf(lowering, op.inputTypes, op.outputTypes);
    const auto most = lowering.outputs();
    op.aliases = aliasesOf(adapter, shapes, op, most);
    putShapes(shapes, op.inputRanks, op.inputExtents);
    putShapes(most, op.outputRanks, op.outputExtents);
    sizes = lowering.sizes();
    if (!sizes.empty()) {
      checkSizes(adapter, op, sizes);
      std::vector<int64_t> ranks;
      putShapes(lowering.outputs([](const PluginSize&) { return Extent(0); }), ranks, op.leastExtents);
      putShapes(lowering.outputs([](const PluginSize& size) { return size.opt; }), ranks, op.likelyExtents);
    }
    shapesFor = [lowering](const std::vector<Extent>& numbers) {
      size_t next = 0;
      return lowering.outputs([&](const PluginSize&) { return numbers[next++]; });
    };
    const auto& identity = adapter.identity();
    op.interfaceName = identity.interfaceName;
    op.type = identity.type;
    op.version = identity.version;
    op.space = identity.space;
    op.timing = adapter.timingId();
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  } catch (const Unsupported& error) {
    throw Unsupported("{}: {}", layer.name(), error.what());
  }
  op.layer = layer.name();
  op.index = indexOf(layer);
  op.object = LivePlugin::make(plugin, op);
  auto results = context.addMany(std::move(op), std::move(operands));
  std::vector<Extent> numbers;
  for (const auto& size : sizes)
    numbers.push_back(context.size(results[static_cast<size_t>(size.output)], size.opt, size.upper));
  const auto real = shapesFor(numbers);
  for (size_t i = 0; i < real.size(); ++i) {
    if (real[i] != context.shape(results[i])) results[i] = front(context, results[i], real[i]);
  }
  return results;
}

}  // namespace tenon::api

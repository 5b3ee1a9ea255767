// Runs a graph by the operators' references: the oracle.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "graph/phases.h"
#include "ops/check.h"
#include "ops/shape_binder.h"

namespace tenon::graph {

SymbolValues bindSymbols(const Graph& graph, std::span<const TensorView> inputs) {
  SymbolValues values;
  for (const auto& [symbol, source] : graph.symbols()) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (graph.value(graph.inputs()[i]).name != source.input) continue;
      const int64_t value = source.kind == SymbolSource::Kind::kInputExtent ? inputs[i].dims[source.index]
                                                                            : inputs[i].loadInt(source.index);
      const auto [place, fresh] = values.emplace(symbol, value);
      checkUser(fresh || place->second == value, "dimension '{}' is both {} and {} (axis {} of input '{}')", symbol,
                place->second, value, source.index, source.input);
    }
  }
  // An extent of an input that is a plain symbol binds it even where no source was declared.
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto& shape = graph.value(graph.inputs()[i]).type.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      std::set<std::string> symbols;
      shape[axis].collectSymbols(symbols);
      if (symbols.size() == 1 && shape[axis] == Extent::symbol(*symbols.begin())) {
        values.emplace(*symbols.begin(), inputs[i].dims[static_cast<int>(axis)]);
      }
    }
  }
  ops::ShapeBinder(graph.shapes()).bindKnown(values);
  return values;
}

void bindSize(const Graph& graph, const Node& node, const TensorView& number, SymbolValues& symbols) {
  const auto& size = *node.op.as<ops::Size>();
  const int64_t value = number.loadInt(0);
  ops::Size::check(value, size.symbol, size.upper, symbols, node.name);
  symbols.insert_or_assign(size.symbol, value);
  ops::ShapeBinder(graph.shapes()).bindKnown(symbols);
}

namespace {

std::vector<NodeId> orderOf(const Graph& graph) {
  const auto phases = phasesOf(graph);
  auto order = graph.order();
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return phases.ofNode[a] < phases.ofNode[b]; });
  return order;
}

}  // namespace

std::vector<HostTensor> evaluate(const Graph& graph, std::span<const TensorView> inputs) {
  checkUser(inputs.size() == graph.inputs().size(), "graph '{}' has {} inputs, got {}", graph.name(),
            graph.inputs().size(), inputs.size());
  SymbolValues symbols = bindSymbols(graph, inputs);
  std::vector<HostTensor> owned(graph.valueCount());
  std::vector<TensorView> views(graph.valueCount());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& value = graph.value(graph.inputs()[i]);
    const Dims expected = evaluate(value.type.shape, symbols);
    checkUser(expected == inputs[i].dims && value.type.dtype == inputs[i].dtype, "input '{}' must be {} {}, got {} {}",
              value.name, name(value.type.dtype), expected.text(), name(inputs[i].dtype), inputs[i].dims.text());
    views[graph.inputs()[i]] = inputs[i];
  }
  for (ValueId id = 0; id < graph.valueCount(); ++id) {
    if (graph.value(id).constant != nullptr) views[id] = graph.value(id).constant->view();
  }
  for (const NodeId id : orderOf(graph)) {
    const auto& node = graph.node(id);
    std::vector<TensorView> in;
    std::vector<TensorView> out;
    for (const ValueId input : node.inputs) in.push_back(views[input]);
    for (const ValueId output : node.outputs) {
      const auto& type = graph.value(output).type;
      owned[output] = HostTensor(type.dtype, evaluate(type.shape, symbols));
      views[output] = owned[output].view();
      out.push_back(views[output]);
    }
    ops::evaluateWhatIsThere(node.op, {in, out, &symbols});
    if (node.op.as<ops::Size>() != nullptr) bindSize(graph, node, out[0], symbols);
  }
  std::vector<HostTensor> results;
  for (const ValueId id : graph.outputs()) {
    HostTensor copy(views[id].dtype, views[id].dims);
    std::copy_n(static_cast<const char*>(views[id].data), views[id].bytes(), static_cast<char*>(copy.view().data));
    results.push_back(std::move(copy));
  }
  return results;
}

}  // namespace tenon::graph

// Elements of shape tensors: followed by the algebra of extents as far as that goes, else symbols that the graph's
// shape program computes. A cut is made as early as possible on the way, so that the algebra goes on behind it.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "graph/graph.h"
#include "ops/infer_util.h"
#include "ops/op/gather.h"
#include "ops/op/shape.h"
#include "ops/shape_binder.h"

namespace tenon::graph {

class ShapeFollower {
 public:
  explicit ShapeFollower(Graph& graph) : graph_(graph) {}

  void follow(ValueId target) {
    std::vector<ValueId> open{target};
    std::vector<ValueId> marked;
    std::set<ValueId> seen;
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (graph_.value(id).type.contents || !seen.insert(id).second) continue;
      marked.push_back(id);
      for (const ValueId input : worthFollowing(id)) open.push_back(input);
    }
    sortByPlace(marked);
    for (const ValueId id : marked) settle(id);
  }

 private:
  static bool mayHaveSymbols(const ops::TensorType& type) {
    return !isFloating(type.dtype) && ops::followsContents(type.shape);
  }

  const Node* producer(ValueId id) const {
    const NodeId node = graph_.value(id).producer;
    return node == kNone ? nullptr : &graph_.node(node);
  }

  void sortByPlace(std::vector<ValueId>& values) const {
    std::sort(values.begin(), values.end(), [&](ValueId a, ValueId b) {
      const NodeId x = graph_.value(a).producer;
      const NodeId y = graph_.value(b).producer;
      if (x == y || x == kNone || y == kNone) return x == y ? a < b : x == kNone;
      return graph_.isBefore(x, y);
    });
  }

  static bool known(const ops::TensorType& type) { return type.contents.has_value(); }

  // The inputs without contents that let the operator know its own if they had them; none where that would not help.
  std::vector<ValueId> worthFollowing(ValueId id) const {
    const Node* node = producer(id);
    if (node == nullptr) return {};
    auto types = graph_.inputTypes(node->inputs);
    std::vector<ValueId> unknown;
    for (size_t i = 0; i < types.size(); ++i) {
      if (known(types[i]) || !mayHaveSymbols(types[i])) continue;
      unknown.push_back(node->inputs[i]);
      const int64_t count = types[i].shape.empty() ? 1 : types[i].shape[0].constant();
      types[i].contents.emplace();
      for (int64_t k = 0; k < count; ++k)
        types[i].contents->push_back(Extent::symbol(fmt::format("{}#{}[{}]", node->name, i, k)));
    }
    if (unknown.empty()) return {};
    const auto results = inferFollowed(node->op, node->name, types);
    const bool helps = known(results.at(static_cast<size_t>(graph_.value(id).producerOutput)));
    return helps ? unknown : std::vector<ValueId>{};
  }

  // All that the value needs has been settled.
  void settle(ValueId id) {
    const Node* node = producer(id);
    if (node != nullptr) {
      auto types = inferFollowed(node->op, node->name, graph_.inputTypes(node->inputs));
      auto& type = types.at(static_cast<size_t>(graph_.value(id).producerOutput));
      if (known(type)) {
        graph_.value(id).type.contents = std::move(type.contents);
        return;
      }
    }
    auto moved = throughMovement(id);
    if (!moved.empty()) {
      graph_.value(id).type.contents = std::move(moved);
      return;
    }
    cut(id);
  }

  // Elements that come from other lists by movement alone, through tensors of any rank: the lists' own. So an element
  // that is known stays known beside those that are not. None where something else takes part, or where the value is
  // no list.
  std::vector<Extent> throughMovement(ValueId target) {
    if (!isMovement(producer(target)) || !mayHaveSymbols(graph_.value(target).type)) return {};
    std::vector<ValueId> moved{target};
    std::vector<ValueId> lists;
    std::set<ValueId> seen{target};
    for (size_t i = 0; i < moved.size(); ++i) {
      for (const ValueId input : producer(moved[i])->inputs) {
        if (!seen.insert(input).second) continue;
        const auto& type = graph_.value(input).type;
        if (known(type) || (mayHaveSymbols(type) && producer(input) != nullptr)) {
          lists.push_back(input);
        } else if (isMovement(producer(input))) {
          moved.push_back(input);
        } else {
          return {};
        }
      }
    }
    sortByPlace(moved);
    std::vector<Extent> elements;
    for (const ValueId list : lists) follow(list);
    // The operators' references move the numbers of the elements; 0 is what a slice fills in.
    ShapeProgram program;
    std::map<ValueId, int32_t> places;
    int32_t count = 0;
    for (const ValueId list : lists) {
      ShapeStep step;
      step.layer = graph_.value(list).name;
      step.dims = evaluate(graph_.value(list).type.shape, {});
      for (const auto& element : *graph_.value(list).type.contents) {
        elements.push_back(element);
        step.extents.emplace_back(static_cast<int64_t>(elements.size()));
      }
      program.steps.push_back(std::move(step));
      places.emplace(list, count++);
    }
    append(moved, program, places, count);
    std::vector<Extent> result;
    for (const int64_t number : elementsOf(program, places.at(target), target)) {
      if (number == 0) return {};
      result.push_back(elements.at(static_cast<size_t>(number - 1)));
    }
    return result;
  }

  bool isMovement(const Node* node) const {
    return node != nullptr && node->op.facts().movement && node->outputs.size() == 1 && !hasSymbols(node->op) &&
           ops::ShapeBinder::accepts(node->op) && node->op.as<ops::Gather>() == nullptr;
  }

  void cut(ValueId id) {
    const auto& type = graph_.value(id).type;
    checkUser(mayHaveSymbols(type), "tensor '{}' is {} {}; expected integers of at most {} elements in one dimension",
              graph_.value(id).name, name(type.dtype), text(type.shape), ops::kMaxContents);
    const auto needed = slice(id);
    auto contents = constants(id, needed);
    if (contents.empty()) contents = symbols(id, needed);
    graph_.value(id).type.contents = std::move(contents);
  }

  // Written down in a program, not computed there.
  bool isLeaf(ValueId id) const {
    const auto& value = graph_.value(id);
    const bool hasElements = value.type.contents && !isFloating(value.type.dtype);
    const Node* node = producer(id);
    return value.constant != nullptr || hasElements || (node != nullptr && node->op.as<ops::ShapeOf>() != nullptr);
  }

  // What has to be computed for the value, itself included, in order.
  std::vector<ValueId> slice(ValueId target) const {
    std::vector<ValueId> open{target};
    std::vector<ValueId> result;
    std::set<ValueId> seen;
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      result.push_back(id);
      if (graph_.shapeValues_.contains(id)) continue;
      const auto& value = graph_.value(id);
      if (isLeaf(id)) {
        checkUser(value.constant == nullptr || value.constant->count() <= ops::kMaxShapeValueElements,
                  "it depends on the constant '{}' of {} elements, at most {} can be read", value.name,
                  product(value.type.shape).text(), ops::kMaxShapeValueElements);
        continue;
      }
      const Node* node = producer(id);
      checkUser(node != nullptr, "it depends on the values of tensor '{}' ({} {}), which are on the device", value.name,
                name(value.type.dtype), text(value.type.shape));
      checkUser(ops::ShapeBinder::accepts(node->op), "it depends on what '{}' ({}) computes, which runs on the device",
                node->name, node->op.name());
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
    sortByPlace(result);
    return result;
  }

  ShapeStep written(ValueId id) const {
    const auto& value = graph_.value(id);
    ShapeStep step;
    step.layer = producer(id) != nullptr ? producer(id)->name : value.name;
    step.dtype = value.type.dtype;
    if (value.constant == nullptr) {
      step.extents = value.type.contents ? *value.type.contents : graph_.value(producer(id)->inputs.at(0)).type.shape;
      step.dims = evaluate(value.type.shape, {});
      return step;
    }
    const auto view = value.constant->view();
    step.dims = view.dims;
    for (int64_t i = 0; i < view.count(); ++i) {
      if (isFloating(view.dtype)) {
        step.numbers.push_back(view.loadDouble(i));
      } else {
        step.extents.emplace_back(view.loadInt(i));
      }
    }
    return step;
  }

  // Adds what the program does not compute yet. `places` are the values by index of the program.
  void append(const std::vector<ValueId>& needed, ShapeProgram& program, std::map<ValueId, int32_t>& places,
              int32_t& count) const {
    for (const ValueId id : needed) {
      if (places.contains(id)) continue;
      if (isLeaf(id)) {
        program.steps.push_back(written(id));
        places.emplace(id, count++);
        continue;
      }
      const Node& node = *producer(id);
      ShapeStep step;
      step.layer = node.name;
      step.op = node.op.text();
      for (const ValueId input : node.inputs) step.inputs.push_back(places.at(input));
      step.outputs = static_cast<int32_t>(node.outputs.size());
      program.steps.push_back(std::move(step));
      for (const ValueId output : node.outputs) places.emplace(output, count++);
    }
  }

  static int32_t valueCount(const ShapeProgram& program) {
    int32_t count = 0;
    for (const auto& step : program.steps) count += step.outputs;
    return count;
  }

  // The elements as numbers where no symbol takes part.
  std::vector<Extent> constants(ValueId target, const std::vector<ValueId>& needed) const {
    ShapeProgram program;
    std::map<ValueId, int32_t> places;
    int32_t count = 0;
    for (const ValueId id : needed) {
      if (graph_.shapeValues_.contains(id) && !isLeaf(id)) return {};
      if (isLeaf(id) && !isConstant(written(id).extents)) return {};
      if (!isLeaf(id) && hasSymbols(producer(id)->op)) return {};
    }
    append(needed, program, places, count);
    const auto numbers = elementsOf(program, places.at(target), target);
    return {numbers.begin(), numbers.end()};
  }

  // What a program without symbols computes for a list.
  std::vector<int64_t> elementsOf(ShapeProgram& program, int32_t place, ValueId list) const {
    const auto& shape = graph_.value(list).type.shape;
    const int64_t count = shape.empty() ? 1 : shape[0].constant();
    for (int64_t i = 0; i < count; ++i) program.symbols.push_back({std::to_string(i), place, static_cast<int32_t>(i)});
    SymbolValues values;
    ops::ShapeBinder(program).bind(values);
    std::vector<int64_t> result;
    for (const auto& symbol : program.symbols) result.push_back(values.at(symbol.name));
    return result;
  }

  static bool hasSymbols(const ops::Operator& op) {
    try {
      return op.bind({}).text() != op.text();
    } catch (const Error&) {
      return true;
    }
  }

  std::vector<Extent> symbols(ValueId target, const std::vector<ValueId>& needed) {
    auto& program = graph_.shapes_;
    int32_t count = valueCount(program);
    append(needed, program, graph_.shapeValues_, count);
    const auto& shape = graph_.value(target).type.shape;
    const int64_t elements = shape.empty() ? 1 : shape[0].constant();
    const auto base = freeName(producer(target) != nullptr ? producer(target)->name : graph_.value(target).name);
    std::vector<Extent> result;
    for (int64_t i = 0; i < elements; ++i) {
      program.symbols.push_back(
          {fmt::format("{}[{}]", base, i), graph_.shapeValues_.at(target), static_cast<int32_t>(i)});
      result.push_back(Extent::symbol(program.symbols.back().name));
    }
    return result;
  }

  // A name whose elements are no symbols yet. Symbols that end in ] may be negative, others count as extents.
  std::string freeName(const std::string& wanted) const {
    std::set<std::string> taken;
    for (const auto& [symbol, source] : graph_.symbols_) taken.insert(symbol);
    for (const auto& symbol : graph_.shapes_.symbols) taken.insert(symbol.name);
    for (const ValueId input : graph_.inputs_) {
      for (const auto& extent : graph_.value(input).type.shape) extent.collectSymbols(taken);
      if (!graph_.value(input).type.contents) continue;
      for (const auto& extent : *graph_.value(input).type.contents) extent.collectSymbols(taken);
    }
    std::string name = wanted;
    std::replace(name.begin(), name.end(), '\'', '_');
    const std::string stem = name;
    for (int suffix = 1; taken.contains(name + "[0]"); ++suffix) name = fmt::format("{}_{}", stem, suffix);
    return name;
  }

  Graph& graph_;
};

const std::vector<Extent>& Graph::shapeElements(ValueId id) {
  const auto& type = values_.at(id).type;
  checkUser(!isFloating(type.dtype), "tensor '{}' has type {}, expected integers; cast it", values_[id].name,
            tenon::name(type.dtype));
  if (!type.contents) ShapeFollower(*this).follow(id);
  return *values_[id].type.contents;
}

}  // namespace tenon::graph

// Elements of shape tensors: followed by the algebra of extents as far as that goes, else symbols that the graph's
// shape program computes, or sizes where only the device can. A cut is made as early as possible on the way, so that
// the algebra goes on behind it.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/number_range.h"
#include "graph/region.h"
#include "graph/symbol_names.h"
#include "ops/infer_util.h"
#include "ops/op/gather.h"
#include "ops/op/pointwise.h"
#include "ops/op/shape.h"
#include "ops/op/size.h"
#include "ops/op/slice.h"
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

  // What the shape program computes is computed by the graph's own nodes, and read there.
  void replaceProgram() {
    std::map<int32_t, ValueId> values;
    for (const auto& [id, place] : graph_.shapeValues_) values.emplace(place, id);
    const auto symbols = graph_.shapes_.symbols;
    for (const auto& symbol : symbols) {
      ValueId list = values.at(symbol.value);
      const auto range = numberRange(graph_, list);
      const auto type = graph_.value(list).type.dtype;
      if (type != DataType::kI32 && type != DataType::kI64)
        list = graph_.add(ops::Pointwise{ops::ScalarExpr::castTo(DataType::kI64)}, symbol.name, {list});
      addSize(list, symbol.element, symbol.name, range);
    }
    graph_.shapes_ = {};
    graph_.shapeValues_.clear();
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
      // A flag that is an input is no number; what is made of it is.
      if (types[i].dtype == DataType::kBool && producer(node->inputs[i]) == nullptr) return {};
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
    std::vector<Extent> contents;
    if (needed) contents = constants(id, *needed);
    if (contents.empty()) contents = needed ? symbols(id, *needed) : sizes(id);
    graph_.value(id).type.contents = std::move(contents);
  }

  // Written down in a program, not computed there.
  bool isLeaf(ValueId id) const {
    const auto& value = graph_.value(id);
    const bool hasElements = value.type.contents && !isFloating(value.type.dtype);
    const Node* node = producer(id);
    return value.constant != nullptr || hasElements || (node != nullptr && node->op.as<ops::ShapeOf>() != nullptr);
  }

  // What has to be computed for the value, itself included, in order; nothing where that is not for the host.
  std::optional<std::vector<ValueId>> slice(ValueId target) const {
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
        if (value.constant != nullptr && value.constant->count() > ops::kMaxShapeValueElements) return std::nullopt;
        continue;
      }
      const Node* node = producer(id);
      if (node == nullptr || !ops::ShapeBinder::accepts(node->op)) return std::nullopt;
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
    const auto base =
        freeSymbolName(graph_, producer(target) != nullptr ? producer(target)->name : graph_.value(target).name);
    std::vector<Extent> result;
    for (int64_t i = 0; i < elements; ++i) {
      program.symbols.push_back(
          {fmt::format("{}[{}]", base, i), graph_.shapeValues_.at(target), static_cast<int32_t>(i)});
      result.push_back(Extent::symbol(program.symbols.back().name));
    }
    return result;
  }

  // The device computes the elements; each is read, and is a size from then on.
  std::vector<Extent> sizes(ValueId target) {
    for (const auto& use : graph_.uses(target)) {
      if (const auto* known = graph_.node(use.node).op.as<ops::Size>()) return {Extent::symbol(known->symbol)};
    }
    const auto type = graph_.value(target).type;
    const int64_t count = type.shape.empty() ? 1 : type.shape[0].constant();
    constexpr int64_t kMostSizes = 64;
    checkUser(count <= kMostSizes,
              "tensor '{}' of {} elements is computed by the device, from where at most {} can become extents",
              graph_.value(target).name, count, kMostSizes);
    const Node* from = producer(target);  // none: an input, of the network or of a body
    checkUser(from != nullptr || type.dtype == DataType::kI32 || type.dtype == DataType::kI64,
              "it is the input '{}' ({} {}) itself; inputs that are read as shapes are INT32 or INT64",
              graph_.value(target).name, name(type.dtype), text(type.shape));
    const std::string layer = from != nullptr ? from->name : graph_.value(target).name;
    const std::vector<std::string> origins = from != nullptr ? from->origins : std::vector<std::string>{};
    const auto range = numberRange(graph_, target);
    // Symbols that end in ] may be negative, others count as extents.
    const bool isExtent = range.low && range.low->isConstant() && range.low->constant() >= 0;
    ValueId list = target;
    if (type.dtype != DataType::kI32 && type.dtype != DataType::kI64)
      list = graph_.add(ops::Pointwise{ops::ScalarExpr::castTo(DataType::kI64)}, layer, {list}, origins);
    const auto stem = freeSymbolName(graph_, layer + ".value");
    std::vector<Extent> result;
    for (int64_t i = 0; i < count; ++i) {
      const auto symbol = isExtent ? fmt::format("{}[{}].size", stem, i) : fmt::format("{}[{}]", stem, i);
      addSize(list, i, symbol, range);
      result.push_back(Extent::symbol(symbol));
    }
    return result;
  }

  // An element of a list of i32 or i64.
  void addSize(ValueId list, int64_t element, std::string symbol, const NumberRange& range) {
    const Node* from = producer(list);
    const std::string name = from != nullptr ? from->name : graph_.value(list).name;
    const std::vector<std::string> origins = from != nullptr ? from->origins : std::vector<std::string>{};
    ValueId number = list;
    if (graph_.value(list).type.rank() == 1)
      number = graph_.add(ops::Slice{{element}, {1}, {1}}, name, {list}, origins);
    auto size = sizeWithin(range);
    size.symbol = std::move(symbol);
    graph_.addNode(std::move(size), name, {number}, origins);
  }

  // Memory is planned for the known bound, else for a guess.
  static ops::Size sizeWithin(NumberRange range) {
    constexpr int64_t kLikely = 64;
    constexpr int64_t kFar = 1 << 16;  // a bound that would plan too much memory
    if (range.high && range.high->isConstant() && range.high->constant() > kFar) range.high.reset();
    ops::Size size;
    size.upper = range.high.value_or(ops::Size::kNoBound);
    size.opt = range.high ? ceilDiv(*range.high, 2) : max(range.low.value_or(0), kLikely);
    return size;
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

void replaceShapeProgram(Graph& graph) { ShapeFollower(graph).replaceProgram(); }

}  // namespace tenon::graph

// The intermediate representation: values, nodes in topological order, constants, symbols; edited by patches only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout.h"
#include "core/shape_program.h"
#include "graph/constant.h"
#include "graph/node_order.h"
#include "ops/operator.h"

namespace tenon::graph {

using ValueId = uint32_t;
constexpr uint32_t kNone = UINT32_MAX;

// What the user or a pass demands of a value; carried through every patch.
struct Constraints {
  std::optional<DataType> dtype;  // required storage type
  std::vector<Layout> layouts;    // allowed memory layouts of an input or output; none: any
  bool hostShape = false;         // a shape tensor: lives in host memory
  bool debug = false;             // marked by the user: stays materialized
  std::optional<std::pair<double, double>> dynamicRange;
  bool operator==(const Constraints&) const = default;

  // The layout that an input or output gets: row-major where that is allowed, else the first.
  Layout layout() const {
    const bool mayBeLinear =
        layouts.empty() || std::find(layouts.begin(), layouts.end(), Layout::kLinear) != layouts.end();
    return mayBeLinear ? Layout::kLinear : layouts.front();
  }
};

struct Value {
  std::string name;  // unique in the graph; names of network inputs and outputs are the user's
  ops::TensorType type;
  NodeId producer = kNone;  // kNone for inputs and constants
  int producerOutput = 0;
  ConstantPtr constant;  // set for constants
  bool isInput = false;
  Constraints constraints;
};

struct Node {
  ops::Operator op;
  std::string name;                  // as shown by profiler and inspector
  std::vector<std::string> origins;  // names of the network layers it computes, in order
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::string device;  // backend that must run it; empty: any
};

// Where a symbol's value comes from at run time.
struct SymbolSource {
  enum class Kind : uint8_t { kInputExtent, kInputContents };
  Kind kind = Kind::kInputExtent;
  std::string input;  // name of the network input
  int index = 0;      // axis, or element of the shape tensor
};

struct Use {
  NodeId node = kNone;
  int input = 0;
};

class Patch;

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}

  // Construction. Names that are taken get a suffix. Throws UserError when shape inference refuses.
  ValueId addInput(std::string_view name, ops::TensorType type);
  ValueId addConstant(ConstantPtr constant, std::string_view name = {});
  NodeId addNode(ops::Operator op, std::string_view name, std::vector<ValueId> inputs,
                 std::vector<std::string> origins = {}, std::vector<std::string> outputNames = {});
  // addNode for operators with one output.
  ValueId add(ops::Operator op, std::string_view name, std::vector<ValueId> inputs,
              std::vector<std::string> origins = {});
  void addOutput(ValueId value, std::string_view name = {});  // name for the user; default: the value's
  // Another value becomes the output and takes the name and constraints of the old one.
  void replaceOutput(ValueId old, ValueId replacement);
  void addSymbol(std::string name, SymbolSource source);  // the first source of a name counts, later ones are checks
  void renameValue(ValueId value, std::string_view name);
  void reorder(std::vector<NodeId> order);  // the live nodes in another topological order
  // The elements of a small integer tensor as extents, known from now on as the contents of its type. Those that the
  // algebra of extents cannot follow become symbols of the shape program, which keeps what computes them: no node has
  // to stay for their sake. UserError when they depend on what only the device knows.
  const std::vector<Extent>& shapeElements(ValueId value);
  const ShapeProgram& shapes() const noexcept { return shapes_; }
  void setShapes(ShapeProgram shapes) { shapes_ = std::move(shapes); }  // of a graph without one

  const std::string& name() const noexcept { return name_; }
  const std::vector<NodeId>& order() const noexcept { return order_.nodes(); }  // live nodes, topological
  bool contains(NodeId id) const noexcept { return order_.contains(id); }       // false: removed
  bool isBefore(NodeId a, NodeId b) const { return order_.isBefore(a, b); }     // of live nodes
  const Node& node(NodeId id) const { return nodes_.at(id); }
  Node& node(NodeId id) { return nodes_.at(id); }  // name, origins, device may be set; edges change by Patch only
  const Value& value(ValueId id) const { return values_.at(id); }
  Value& value(ValueId id) { return values_.at(id); }  // constraints may be set
  size_t valueCount() const noexcept { return values_.size(); }
  size_t nodeCount() const noexcept { return nodes_.size(); }  // ids ever given, removed ones too
  const std::vector<ValueId>& inputs() const noexcept { return inputs_; }
  const std::vector<ValueId>& outputs() const noexcept { return outputs_; }
  const std::string& outputName(size_t i) const { return outputNames_.at(i); }
  bool isOutput(ValueId id) const { return isOutput_.at(id); }
  // Kept with every edit, those of a patch that is not committed yet included; in order of nodes. An edit ends a
  // reference.
  const std::vector<Use>& uses(ValueId id) const { return uses_.at(id); }
  const std::vector<std::vector<Use>>& allUses() const noexcept { return uses_; }  // indexed by value
  const std::multimap<std::string, SymbolSource>& symbols() const noexcept { return symbols_; }
  std::optional<ValueId> findValue(std::string_view name) const;

  // Types of a node's inputs, as infer() wants them.
  std::vector<ops::TensorType> inputTypes(const std::vector<ValueId>& inputs) const;

 private:
  friend class Patch;
  friend class ShapeFollower;
  friend int removeDeadNodes(Graph& graph);
  ValueId addValue(Value value);
  void takeOutput(ValueId old, ValueId replacement);
  std::string uniqueName(std::string_view wanted);
  void addUse(Use use);
  void removeUse(Use use);
  void setInput(Use use, ValueId value);
  void moveBefore(NodeId place, NodeId id);
  // Of the given nodes those without a use, then those whose only users they were, and so on; side effects stay.
  // Returns how many went.
  int removeUnused(std::vector<NodeId> candidates);
  std::string name_;
  // By id, in deques: a reference to a node or value stays good while others are added.
  std::deque<Node> nodes_;  // removed nodes stay as empty slots, out of order_
  std::deque<Value> values_;
  NodeOrder order_;
  std::vector<std::vector<Use>> uses_;  // by value
  std::vector<bool> isOutput_;          // by value
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> outputNames_;  // beside outputs_
  std::map<std::string, ValueId, std::less<>> names_;
  std::map<std::string, int, std::less<>> suffixes_;  // the last one given to a name that was taken
  std::multimap<std::string, SymbolSource> symbols_;
  ShapeProgram shapes_;
  std::map<ValueId, int32_t> shapeValues_;  // values that the shape program computes
};

// One edit: new nodes, values that take the place of others, nodes that go. Nothing changes before commit(), which
// checks that each replacement has the type and shape of what it replaces, carries names of network outputs, origins,
// and constraints over, removes the nodes that are then unused (side effects stay) and keeps the order topological. It
// looks at what the edit touches, not at the whole graph.
class Patch {
 public:
  explicit Patch(Graph& graph) : graph_(graph) {}

  ValueId addConstant(ConstantPtr constant, std::string_view name = {});
  // Adds a node with one output. Its origins are those of `from` together.
  ValueId add(ops::Operator op, std::string_view name, std::vector<ValueId> inputs, std::span<const NodeId> from);
  NodeId addNode(ops::Operator op, std::string_view name, std::vector<ValueId> inputs, std::span<const NodeId> from);
  void replace(ValueId old, ValueId replacement);
  // Replaces one use only.
  void replaceUse(Use use, ValueId replacement);
  // Throws InternalError when a replacement does not fit (the graph then keeps its edges) or makes a cycle.
  void commit();
  void discard();  // the nodes that were added go again

 private:
  void checkReplacements();
  std::vector<std::pair<Use, ValueId>> redirections() const;
  void moveOutputs();
  void placeInputs(NodeId root, std::span<const Use> inputs);
  Graph& graph_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
  std::vector<std::pair<Use, ValueId>> useReplacements_;
  std::vector<NodeId> added_;
};

// Throws InternalError with the node and the reason when the graph is not sound: order, producers, types as inferred,
// unique names, outputs present.
void verify(const Graph& graph);

// Removes nodes whose results nobody uses; returns how many.
int removeDeadNodes(Graph& graph);

// Text form, which parse() reads back: tests, dumps and reproducers use it. Constants of up to `maxElements` elements
// are written out, larger ones as their hash, which parse() turns into random values of that seed.
std::string text(const Graph& graph, int64_t maxElements = 16);
Graph parse(std::string_view text);  // throws UserError with line and column

// 64 bits over operators, edges, types and constants' bytes; names do not count.
uint64_t hash(const Graph& graph);

// What an operator gives for inputs of these types. Contents that have become long expressions are no longer followed:
// whoever asks for such elements gets symbols of the shape program.
std::vector<ops::TensorType> inferFollowed(const ops::Operator& op, std::string_view node,
                                           std::vector<ops::TensorType> inputs);

// The text form of a graph's shape program, a line per step and symbol, and back.
std::string shapeText(const ShapeProgram& program);
void parseShapeStep(TextReader& in, ShapeProgram& program);    // behind the word "shape"
void parseShapeSymbol(TextReader& in, ShapeProgram& program);  // behind the word "size"

// All outputs by the operators' references on host memory, for the given inputs (in order of graph.inputs()); symbols
// are bound from the inputs' extents. The oracle of tests and the constant folder.
std::vector<HostTensor> evaluate(const Graph& graph, std::span<const TensorView> inputs);

// Values of the graph's symbols for concrete inputs, but for those that a size computed by the graph leads to;
// UserError when two sources of a symbol disagree.
SymbolValues bindSymbols(const Graph& graph, std::span<const TensorView> inputs);

}  // namespace tenon::graph

// What a layer sees when it is lowered: its input values, their types, and ways to emit nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/network/layer.h"
#include "graph/graph.h"
#include "ops/op/pointwise.h"

namespace tenon::api {

class LowerContext {
 public:
  // inputs: one per input of the layer, graph::kNone where it is absent.
  LowerContext(const LayerBase& layer, graph::Graph& graph, std::vector<graph::ValueId> inputs)
      : layer_(layer), graph_(graph), inputs_(std::move(inputs)) {}

  size_t inputCount() const noexcept { return inputs_.size(); }
  bool has(size_t index) const noexcept { return index < inputs_.size() && inputs_[index] != graph::kNone; }
  graph::ValueId input(size_t index) const;  // UserError when it is absent
  const std::vector<graph::ValueId>& inputs() const noexcept { return inputs_; }
  const ops::TensorType& type(graph::ValueId value) const { return graph_.value(value).type; }
  const Shape& shape(graph::ValueId value) const { return type(value).shape; }
  int rank(graph::ValueId value) const { return type(value).rank(); }
  // Elements of a shape input; UserError naming `role` when they depend on what only the device knows.
  const std::vector<Extent>& contents(size_t index, std::string_view role) const;
  // Elements of a shape that the layer computes itself.
  const std::vector<Extent>& elements(graph::ValueId value) { return graph_.shapeElements(value); }

  graph::ValueId add(ops::Operator op, std::vector<graph::ValueId> inputs);
  std::vector<graph::ValueId> addMany(ops::Operator op, std::vector<graph::ValueId> inputs);
  // A number that the device computes, 0 to `upper`, as an extent; `opt` is what kernels behind it are chosen for.
  Extent size(graph::ValueId number, const Extent& opt, const Extent& upper);
  // The node of type T that reads a value already, or kNone.
  template <typename T>
  graph::NodeId readerOf(graph::ValueId value) const {
    for (const auto& use : graph_.uses(value)) {
      if (graph_.node(use.node).op.template as<T>() != nullptr) return use.node;
    }
    return graph::kNone;
  }
  const graph::Node& node(graph::NodeId id) const { return graph_.node(id); }
  const graph::ConstantPtr& constantOf(graph::ValueId value) const { return graph_.value(value).constant; }

  graph::ValueId constant(graph::ConstantPtr constant) { return graph_.addConstant(std::move(constant)); }
  graph::ValueId cast(graph::ValueId value, DataType type);   // the value itself when it has the type
  graph::ValueId reshape(graph::ValueId value, Shape shape);  // likewise
  graph::ValueId pointwise(ops::ScalarOp op, std::vector<graph::ValueId> inputs);

  // Weights of the caller as a tensor of `type` (none: their own) and the given extents; they are converted when first
  // read. `role` ends the name by which they can be refitted.
  graph::ValueId weights(const nv::Weights& weights, const Dims& dims, const char* role,
                         std::optional<DataType> type = {});
  // In a weakly typed network: floating values of different types all become f32.
  void unify(std::vector<graph::ValueId*> values);
  bool stronglyTyped() const noexcept;

  // UserError "<layer>: <message>".
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw UserError("{}: {}", layer_.name(), fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) fail(format, std::forward<Args>(args)...);
  }
  // Axis of a mask that must have exactly one bit, below `rank`.
  int singleAxis(uint32_t mask, int rank, std::string_view what) const;
  std::vector<int64_t> axes(uint32_t mask, int rank, std::string_view what) const;

 private:
  const LayerBase& layer_;
  graph::Graph& graph_;
  std::vector<graph::ValueId> inputs_;
};

inline bool isEmpty(const nv::Weights& weights) noexcept { return weights.count == 0; }

}  // namespace tenon::api

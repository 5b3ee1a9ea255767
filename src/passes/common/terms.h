// Scalar computations as terms, whichever pointwise nodes they are spread over: what recognisers of longer patterns
// match.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/scalar.h"

namespace tenon::passes {

// A value of the graph, one instruction of the pointwise node that computes a value, or a literal.
struct Term {
  enum class Kind : uint8_t { kValue, kInstruction, kLiteral };
  Kind kind = Kind::kValue;
  graph::ValueId value = graph::kNone;  // of kInstruction: the node's output
  int instruction = 0;
  double literal = 0;
  bool operator==(const Term&) const = default;
};

class Terms {
 public:
  explicit Terms(const graph::Graph& graph) : graph_(graph) {}

  Term of(graph::ValueId value)
      const;  // looks into the pointwise node that computes it; constants of one element are literals
  std::optional<ops::ScalarOp> op(const Term& term) const;  // nothing for values and literals
  Term operand(const Term& term, int i) const;
  // The value of the graph that a term is: itself, or the last instruction's; nothing for literals and steps inside a
  // node.
  std::optional<graph::ValueId> value(const Term& term) const;

  bool is(const Term& term, ops::ScalarOp wanted) const { return op(term) == wanted; }
  // The operands of a sum or product; nothing for other operators.
  std::optional<std::pair<Term, Term>> pair(const Term& term, ops::ScalarOp wanted) const;
  // The literal among the two operands of a sum or product, and the other operand.
  std::optional<std::pair<Term, double>> withLiteral(const Term& term, ops::ScalarOp wanted) const;
  // `term` squared: term * term or term ^ 2.
  std::optional<Term> square(const Term& term) const;

  // The nodes from the sources (not included) to a value, in order of the graph: the origins of what replaces them.
  // Every path from the value must end at a source, a constant or an input.
  static std::vector<graph::NodeId> nodesBetween(const graph::Graph& graph, graph::ValueId last,
                                                 const std::vector<graph::ValueId>& sources);

 private:
  const ops::ScalarExpr& expr(const Term& term) const;
  const graph::Graph& graph_;
};

}  // namespace tenon::passes

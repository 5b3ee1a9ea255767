// One step of training for each tensor of a list: the domain ai.onnx.preview.training.
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_optimizers {
namespace {

// The inputs behind rate and step: `kinds` lists of equal length.
size_t tensorsOf(const OnnxNode& node, size_t kinds) {
  const size_t lists = node.inputCount() < 2 ? 0 : node.inputCount() - 2;
  if (lists == 0 || lists % kinds != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("{} inputs; expected the rate, the step and {} for each tensor", node.inputCount(), kinds));
  }
  return lists / kinds;
}

// Rate, and the number of the step as a real.
Term rateOf(const OnnxNode& node) { return node.term(0); }
Term stepOf(const OnnxNode& node) { return node.term(1).cast(node.dataType(0)); }

double attribute(const OnnxNode& node, const char* name, float fallback) {
  return static_cast<double>(node.real(name, fallback));
}

// A number that has no default.
double required(const OnnxNode& node, const char* name) {
  if (!node.has(name)) {
    fail(FaultKind::kInvalidNode, fmt::format("the attribute {} is missing", name));
  }
  return attribute(node, name, 0);
}

// The gradient with that of the regularization norm_coefficient / 2 * |x|^2.
Term regularized(const Term& x, const Term& gradient, double coefficient) {
  return coefficient == 0 ? gradient : x * coefficient + gradient;
}

// h' = h + g^2; x' = x - rate / (1 + step * decay_factor) * g / (sqrt(h') + epsilon)
ParsedValues importAdagrad(OnnxNode& node) {
  const size_t count = tensorsOf(node, 3);
  const Term rate = rateOf(node) / (stepOf(node) * attribute(node, "decay_factor", 0) + 1.0);
  ParsedValues updated;
  ParsedValues squares;
  for (size_t i = 2; i < 2 + count; ++i) {
    const Term x = node.term(i);
    const Term g = regularized(x, node.term(i + count), attribute(node, "norm_coefficient", 0));
    const Term h = node.term(i + 2 * count) + g * g;
    updated.push_back(x - rate * g / (sqrtOf(h) + attribute(node, "epsilon", 1e-6f)));
    squares.push_back(h);
  }
  updated.insert(updated.end(), squares.begin(), squares.end());
  return updated;
}

// v' = alpha v + (1 - alpha) g; h' = beta h + (1 - beta) g^2; x' = x - rate * v' / (sqrt(h') + epsilon), where the rate
// makes up for averages that began at zero.
ParsedValues importAdam(OnnxNode& node) {
  const size_t count = tensorsOf(node, 4);
  const double alpha = attribute(node, "alpha", 0.9f);
  const double beta = attribute(node, "beta", 0.999f);
  const Term step = stepOf(node);
  const Term corrected =
      rateOf(node) * sqrtOf(1.0 - step.number(beta).power(step)) / (1.0 - step.number(alpha).power(step));
  const Term rate = where(step > 0.0, corrected, rateOf(node));
  const double kept = 1 - attribute(node, "norm_coefficient_post", 0);
  ParsedValues updated;
  ParsedValues averages;
  ParsedValues squares;
  for (size_t i = 2; i < 2 + count; ++i) {
    const Term x = node.term(i);
    const Term g = regularized(x, node.term(i + count), attribute(node, "norm_coefficient", 0));
    const Term v = node.term(i + 2 * count) * alpha + g * (1 - alpha);
    const Term h = node.term(i + 3 * count) * beta + g * g * (1 - beta);
    const Term next = x - rate * v / (sqrtOf(h) + attribute(node, "epsilon", 1e-6f));
    updated.push_back(kept == 1 ? next : next * kept);
    averages.push_back(v);
    squares.push_back(h);
  }
  updated.insert(updated.end(), averages.begin(), averages.end());
  updated.insert(updated.end(), squares.begin(), squares.end());
  return updated;
}

// v' = alpha v + beta g (beta counts from the second step on); x' = x - rate * v', or x - rate * (g + alpha v').
ParsedValues importMomentum(OnnxNode& node) {
  const size_t count = tensorsOf(node, 3);
  const double alpha = required(node, "alpha");
  const Term step = stepOf(node);
  const Term beta = where(step > 0.0, step.number(required(node, "beta")), step.number(1));
  const bool isNesterov = node.choice("mode", "", {"standard", "nesterov"}) == "nesterov";
  const double coefficient = required(node, "norm_coefficient");
  ParsedValues updated;
  ParsedValues momenta;
  for (size_t i = 2; i < 2 + count; ++i) {
    const Term x = node.term(i);
    const Term g = regularized(x, node.term(i + count), coefficient);
    const Term v = node.term(i + 2 * count) * alpha + beta * g;
    updated.push_back(x - rateOf(node) * (isNesterov ? g + v * alpha : v));
    momenta.push_back(v);
  }
  updated.insert(updated.end(), momenta.begin(), momenta.end());
  return updated;
}

constexpr const char* kDomain = "ai.onnx.preview.training";

const OperatorImporter kRows[] = {
    {"Adagrad", 1, kNewestOpset, importAdagrad, "addElementWise, addUnary", kDomain},
    {"Adam", 1, kNewestOpset, importAdam, "addElementWise, addUnary, addSelect", kDomain},
    {"Momentum", 1, kNewestOpset, importMomentum, "addElementWise, addSelect", kDomain},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_optimizers

// Losses: the negative logarithm of what a model says of the right class.
#include <optional>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_loss {
namespace {

using nvinfer1::ReduceOperation;

// scores[n, index[n, 0, d..], d..]
Term elementsOf(const Term& scores, const Term& index) {
  NetworkWriter& writer = scores.writer();
  auto* made =
      writer.network().addGatherV2(writer.tensor(scores), writer.tensor(index), nvinfer1::GatherMode::kELEMENT);
  auto& layer = writer.added(made, "addGatherV2");
  layer.setGatherAxis(1);
  return {writer, writer.output(layer)};
}

// scores: logarithms of probabilities [N, C, d..]; target [N, d..]; weights of classes [C] or none.
Term negativeLogLikelihood(OnnxNode& node, const Term& scores, const Term& target, const std::optional<Term>& weights) {
  NetworkWriter& writer = node.writer();
  const int64_t rank = scores.rank();
  if (rank < 2 || target.rank() != rank - 1) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the scores have shape {} and the target {}; expected [N, C, ...] and [N, ...]",
                     toString(scores.shape()), toString(target.shape())));
  }
  // Without weights every class counts 1; what is ignored counts nothing, whatever class it names.
  const Term zero = scores.number(0);
  Term classes = target;
  std::optional<Term> ignored;
  if (node.has("ignore_index")) {
    ignored = equal(target, integers(writer, target.type(), {}, {node.integer("ignore_index", 0)}));
    classes = where(*ignored, target.number(0), target);
  }
  const auto counted = [&](const Term& x) { return ignored ? where(*ignored, zero, x) : x; };
  const Term weight = counted(weights ? weights->gather(classes, 0) : scores.number(1));
  const Term loss = counted((zero - elementsOf(scores, classes.unsqueeze({1})).squeeze({1})) * weight);
  const std::string reduction = node.choice("reduction", "mean", {"none", "sum", "mean"});
  if (reduction == "none") {
    return loss;
  }
  std::vector<int64_t> all;
  for (int64_t i = 0; i < rank - 1; ++i) {
    all.push_back(i);
  }
  const Term sum = loss.sum(all, false);
  if (reduction == "sum") {
    return sum;
  }
  if (!weights && !node.has("ignore_index")) {
    return loss.reduce(ReduceOperation::kAVG, all, false);
  }
  return sum / weight.sum(all, false);
}

std::optional<Term> weightsOf(const OnnxNode& node) {
  return node.hasInput(2) ? std::optional<Term>(node.term(2)) : std::nullopt;
}

ParsedValues importNllLoss(OnnxNode& node) {
  return {negativeLogLikelihood(node, node.term(0), node.term(1), weightsOf(node))};
}

// x - m - log(sum(exp(x - m))) over the classes.
Term logSoftmax(const Term& x) {
  const Term shifted = x - x.reduce(ReduceOperation::kMAX, {1}, true);
  return shifted - logOf(expOf(shifted).sum({1}, true));
}

ParsedValues importSoftmaxCrossEntropy(OnnxNode& node) {
  const Term logarithms = logSoftmax(node.term(0));
  return {negativeLogLikelihood(node, logarithms, node.term(1), weightsOf(node)), logarithms};
}

const OperatorImporter kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, kNewestOpset, importNllLoss,
     "addGatherV2 kELEMENT, addSelect, addReduce, addElementWise"},
    {"SoftmaxCrossEntropyLoss", 12, kNewestOpset, importSoftmaxCrossEntropy,
     "addGatherV2 kELEMENT, addSelect, addReduce, addUnary, addElementWise"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_loss

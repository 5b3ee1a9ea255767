// Transforms of scores, and classes from them.
#include "post_transform.h"

namespace tenon::parsers::onnx {

using nvinfer1::ActivationType;
using nvinfer1::ReduceOperation;

Term postTransformed(const Term& scores, const std::string& name) {
  if (name == "NONE") {
    return scores;
  }
  if (name == "LOGISTIC") {
    return scores.activation(ActivationType::kSIGMOID);
  }
  if (name == "SOFTMAX") {
    return scores.softmax(1);
  }
  if (name == "SOFTMAX_ZERO") {  // what is zero stays so
    const Term shifted = expOf(scores - scores.reduce(ReduceOperation::kMAX, {1}, true));
    const Term kept = where(equal(scores, scores.number(0)), scores.number(0), shifted);
    return kept / kept.sum({1}, true).atLeast(scores.number(1e-30));
  }
  fail(FaultKind::kUnsupportedAttribute,
       fmt::format("post_transform = '{}'; expected NONE, SOFTMAX, LOGISTIC or SOFTMAX_ZERO", name));
}

Term featureRows(const OnnxNode& node) {
  const Term x = node.term(0).cast(DataType::kFLOAT);
  if (x.rank() < 1 || x.rank() > 2) {
    fail(FaultKind::kInvalidNode, fmt::format("input of rank {}; expected rows of features", x.rank()));
  }
  return x.rank() == 1 ? x.unsqueeze({0}) : x;
}

Classified classifiedByOne(const Term& score, double threshold, Complement complement, const std::string& transform) {
  const Term classes = (score > threshold).cast(DataType::kINT64).squeeze({1});
  const Term negative = score.number(0) - score;
  if (transform == "LOGISTIC") {
    return {classes, postTransformed(concat({negative, score}, 1), transform)};
  }
  postTransformed(score, transform);  // which refuses what there is not; two scores of one number are as they are
  return {classes, concat({complement == Complement::kOneMinus ? 1.0 - score : negative, score}, 1)};
}

Classified classifiedByMost(const Term& scores, const std::string& transform) {
  NetworkWriter& writer = scores.writer();
  auto* made = writer.network().addTopK(writer.tensor(scores), nvinfer1::TopKOperation::kMAX, 1, 1u << 1);
  auto& layer = writer.added(made, "addTopK");
  const Term best = Term(writer, writer.output(layer, 1)).squeeze({1}).cast(DataType::kINT64);
  return {best, postTransformed(scores, transform)};
}

std::vector<int64_t> classLabels(const OnnxNode& node, const char* name) {
  if (!node.texts("classlabels_strings").empty()) {
    fail(FaultKind::kUnsupportedAttribute,
         "classlabels_strings is set: classes with texts for names. Export with numbers for classes");
  }
  const std::vector<int64_t> labels = node.integers(name);
  if (labels.size() < 2) {
    fail(FaultKind::kInvalidNode, fmt::format("{} has {} numbers; expected 2 or more", name, labels.size()));
  }
  return labels;
}

ParsedValues labelled(const OnnxNode& node, const Classified& classified, const std::vector<int64_t>& labels) {
  const Term table = integers(node.writer(), DataType::kINT64, {static_cast<int64_t>(labels.size())}, labels);
  return {table.gather(classified.classes, 0), classified.scores};
}

}  // namespace tenon::parsers::onnx

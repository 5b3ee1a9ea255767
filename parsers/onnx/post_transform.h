// Ends of the regressors and classifiers of the domain ai.onnx.ml.
#pragma once

#include <string>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

// Scores [rows, targets] after the transform of that name; fails where there is none.
Term postTransformed(const Term& scores, const std::string& name);

// Rows of features in FLOAT; a list counts as one row.
Term featureRows(const OnnxNode& node);

// The class of each row and its scores [rows, 2], where one score decides between two classes: the second where it is
// above the threshold.
struct Classified {
  Term classes;
  Term scores;
};
enum class Complement { kOneMinus, kNegative };  // the score of the first class
Classified classifiedByOne(const Term& score, double threshold, Complement complement, const std::string& transform);
// Of two classes or more, by the greatest score.
Classified classifiedByMost(const Term& scores, const std::string& transform);

// The outputs of a classifier: labels by the numbers in the attribute, and scores.
ParsedValues labelled(const OnnxNode& node, const Classified& classified, const std::vector<int64_t>& labels);
// These numbers; fails where the labels are texts, or fewer than two.
std::vector<int64_t> classLabels(const OnnxNode& node, const char* name);

}  // namespace tenon::parsers::onnx

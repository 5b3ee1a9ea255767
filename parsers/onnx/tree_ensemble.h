// Ensembles of decision trees as tables of nodes, read from the attributes of their operators (domain ai.onnx.ml).
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "onnx_node.h"

namespace tenon::parsers::onnx::trees {

enum Mode : int64_t { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kMember };
enum Aggregate : int64_t { kAverage, kSum, kMinimum, kMaximum };

// One entry for each node of all trees. Leaves stand last and lead to themselves.
struct Nodes {
  std::vector<int64_t> feature;
  std::vector<int64_t> mode;
  std::vector<double> split;
  std::vector<std::vector<double>> members;  // of kMember
  std::vector<int64_t> whenTrue;
  std::vector<int64_t> whenFalse;
  std::vector<int64_t> missingIsTrue;  // what NaN decides

  size_t count() const { return feature.size(); }
};

struct Ensemble {
  Nodes nodes;
  int64_t inner = 0;  // nodes that are not leaves
  std::vector<int64_t> roots;
  int64_t targets = 1;
  std::vector<std::tuple<int64_t, int64_t, double>> votes;  // leaf (from 0), target, weight
  std::vector<double> base;                                 // for each target, or none
  int64_t aggregate = kSum;
  std::string transform;
};

Ensemble readEnsemble(const OnnxNode& node);                     // TreeEnsemble
Ensemble readRegressor(const OnnxNode& node);                    // TreeEnsembleRegressor
Ensemble readClassifier(const OnnxNode& node, int64_t classes);  // TreeEnsembleClassifier

void checkRange(const char* what, const std::vector<int64_t>& list, int64_t end);

}  // namespace tenon::parsers::onnx::trees

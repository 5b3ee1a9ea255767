// Tables of nodes from attributes.
#include "tree_ensemble.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace tenon::parsers::onnx::trees {
namespace {

// The real numbers of an attribute, as a list or as a tensor (also under the name with "_as_tensor").
std::vector<double> numbersOf(const OnnxNode& node, const std::string& name) {
  for (const std::string& form : {name, name + "_as_tensor"}) {
    const auto* attribute = node.find(form);
    if (attribute != nullptr && attribute->has_t()) {
      return toReals(node.loader().load(attribute->t(), ""));
    }
  }
  const std::vector<float> list = node.reals(name.c_str());
  return {list.begin(), list.end()};
}

void checkCount(const char* what, size_t got, size_t expected) {
  if (got != expected) {
    fail(FaultKind::kInvalidNode, fmt::format("{} has {} entries; expected {}", what, got, expected));
  }
}

// `count` leaves behind the nodes that are there.
void appendLeaves(Ensemble& ensemble, int64_t count) {
  Nodes& nodes = ensemble.nodes;
  ensemble.inner = static_cast<int64_t>(nodes.count());
  for (int64_t i = ensemble.inner; i < ensemble.inner + count; ++i) {
    nodes.feature.push_back(0);
    nodes.mode.push_back(kLessOrEqual);
    nodes.split.push_back(0);
    nodes.members.emplace_back();
    nodes.whenTrue.push_back(i);
    nodes.whenFalse.push_back(i);
    nodes.missingIsTrue.push_back(0);
  }
}

// Sets of values, each ended by NaN, for the nodes that ask for membership, in their order.
void readMembers(const OnnxNode& node, Nodes& nodes) {
  std::vector<double> values = numbersOf(node, "membership_values");
  auto next = values.begin();
  for (size_t i = 0; i < nodes.count(); ++i) {
    if (nodes.mode[i] != kMember) {
      continue;
    }
    const auto end = std::find_if(next, values.end(), [](double value) { return value != value; });
    if (end == values.end()) {
      fail(FaultKind::kInvalidNode, fmt::format("membership_values ends before the set of node {}", i));
    }
    nodes.members[i].assign(next, end);
    next = end + 1;
  }
}

int64_t placeIn(const std::vector<std::string>& names, const std::string& name, const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("{} = '{}'; expected {}", what, name, fmt::join(names, ", ")));
  }
  return found - names.begin();
}

}  // namespace

void checkRange(const char* what, const std::vector<int64_t>& list, int64_t end) {
  for (const int64_t number : list) {
    if (number < 0 || number >= end) {
      fail(FaultKind::kInvalidNode, fmt::format("{} has {}; expected 0 to {}", what, number, end - 1));
    }
  }
}

// TreeEnsemble: nodes and leaves are counted apart, and flags say which of both a branch leads to.
Ensemble readEnsemble(const OnnxNode& node) {
  Ensemble ensemble;
  Nodes& nodes = ensemble.nodes;
  nodes.feature = node.integers("nodes_featureids");
  const size_t count = nodes.count();
  for (const double mode : numbersOf(node, "nodes_modes")) {
    nodes.mode.push_back(static_cast<int64_t>(mode));
  }
  checkCount("nodes_modes", nodes.mode.size(), count);
  checkRange("nodes_modes", nodes.mode, kMember + 1);
  nodes.split = numbersOf(node, "nodes_splits");
  checkCount("nodes_splits", nodes.split.size(), count);
  nodes.members.resize(count);
  nodes.missingIsTrue = node.integers("nodes_missing_value_tracks_true");
  nodes.missingIsTrue.resize(count, 0);
  readMembers(node, nodes);
  const std::vector<int64_t> targets = node.integers("leaf_targetids");
  const std::vector<double> weights = numbersOf(node, "leaf_weights");
  checkCount("leaf_weights", weights.size(), targets.size());
  const auto branch = [&](const char* ids, const char* flags) {
    std::vector<int64_t> places = node.integers(ids);
    const std::vector<int64_t> isLeaf = node.integers(flags);
    checkCount(ids, places.size(), count);
    checkCount(flags, isLeaf.size(), count);
    for (size_t i = 0; i < count; ++i) {
      const size_t end = isLeaf[i] != 0 ? targets.size() : count;
      checkRange(ids, {places[i]}, static_cast<int64_t>(end));
      places[i] += isLeaf[i] != 0 ? static_cast<int64_t>(count) : 0;
    }
    return places;
  };
  nodes.whenTrue = branch("nodes_truenodeids", "nodes_trueleafs");
  nodes.whenFalse = branch("nodes_falsenodeids", "nodes_falseleafs");
  appendLeaves(ensemble, static_cast<int64_t>(targets.size()));
  ensemble.roots = node.integers("tree_roots");
  checkRange("tree_roots", ensemble.roots, ensemble.inner);
  ensemble.targets = node.integer("n_targets", 1);
  checkRange("leaf_targetids", targets, ensemble.targets);
  for (size_t i = 0; i < targets.size(); ++i) {
    ensemble.votes.emplace_back(static_cast<int64_t>(i), targets[i], weights[i]);
  }
  ensemble.aggregate = node.integer("aggregate_function", kSum);
  checkRange("aggregate_function", {ensemble.aggregate}, kMaximum + 1);
  const int64_t transform = node.integer("post_transform", 0);
  const char* const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  checkRange("post_transform", {transform}, 5);
  ensemble.transform = names[transform];
  return ensemble;
}

namespace {

// Regressors and classifiers: nodes go by the numbers of tree and node, leaves are nodes of the mode LEAF, with any
// number of votes each. `voters` is the beginning of the names of the attributes that hold these.
Ensemble readLabelled(const OnnxNode& node, const std::string& voters, int64_t targetCount) {
  const std::vector<std::string> names{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  const std::vector<std::string> modes = node.texts("nodes_modes");
  const std::vector<int64_t> trees = node.integers("nodes_treeids");
  const std::vector<int64_t> ids = node.integers("nodes_nodeids");
  const std::vector<int64_t> whenTrue = node.integers("nodes_truenodeids");
  const std::vector<int64_t> whenFalse = node.integers("nodes_falsenodeids");
  const std::vector<int64_t> features = node.integers("nodes_featureids");
  const std::vector<double> values = numbersOf(node, "nodes_values");
  std::vector<int64_t> missing = node.integers("nodes_missing_value_tracks_true");
  const size_t count = modes.size();
  missing.resize(count, 0);
  const std::pair<const char*, size_t> lists[] = {
      {"nodes_treeids", trees.size()},        {"nodes_nodeids", ids.size()},
      {"nodes_truenodeids", whenTrue.size()}, {"nodes_falsenodeids", whenFalse.size()},
      {"nodes_featureids", features.size()},  {"nodes_values", values.size()}};
  for (const auto& [name, size] : lists) {
    checkCount(name, size, count);
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  int64_t last = 0;
  for (const bool leaves : {false, true}) {
    for (size_t i = 0; i < count; ++i) {
      if ((modes[i] == "LEAF") == leaves && !places.emplace(std::pair(trees[i], ids[i]), last++).second) {
        fail(FaultKind::kInvalidNode, fmt::format("node {} of tree {} is there twice", ids[i], trees[i]));
      }
    }
  }
  const auto placeOf = [&](int64_t tree, int64_t id) {
    const auto found = places.find({tree, id});
    if (found == places.end()) {
      fail(FaultKind::kInvalidNode, fmt::format("tree {} has no node {}", tree, id));
    }
    return found->second;
  };
  Ensemble ensemble;
  Nodes& nodes = ensemble.nodes;
  std::set<int64_t> begun;
  for (size_t i = 0; i < count; ++i) {
    if (begun.insert(trees[i]).second) {
      ensemble.roots.push_back(placeOf(trees[i], ids[i]));  // the first of its tree
    }
    if (modes[i] == "LEAF") {
      continue;
    }
    nodes.feature.push_back(features[i]);
    nodes.mode.push_back(placeIn(names, modes[i], "nodes_modes"));
    nodes.split.push_back(values[i]);
    nodes.members.emplace_back();
    nodes.whenTrue.push_back(placeOf(trees[i], whenTrue[i]));
    nodes.whenFalse.push_back(placeOf(trees[i], whenFalse[i]));
    nodes.missingIsTrue.push_back(missing[i]);
  }
  appendLeaves(ensemble, last - static_cast<int64_t>(nodes.count()));
  const std::vector<int64_t> voteTrees = node.integers((voters + "_treeids").c_str());
  const std::vector<int64_t> voteNodes = node.integers((voters + "_nodeids").c_str());
  const std::vector<int64_t> targets = node.integers((voters + "_ids").c_str());
  const std::vector<double> weights = numbersOf(node, voters + "_weights");
  checkCount((voters + "_nodeids").c_str(), voteNodes.size(), voteTrees.size());
  checkCount((voters + "_ids").c_str(), targets.size(), voteTrees.size());
  checkCount((voters + "_weights").c_str(), weights.size(), voteTrees.size());
  ensemble.targets = targetCount;
  checkRange((voters + "_ids").c_str(), targets, ensemble.targets);
  for (size_t i = 0; i < targets.size(); ++i) {
    const int64_t leaf = placeOf(voteTrees[i], voteNodes[i]) - ensemble.inner;
    if (leaf < 0) {
      fail(FaultKind::kInvalidNode, fmt::format("node {} of tree {} votes but is no leaf", voteNodes[i], voteTrees[i]));
    }
    ensemble.votes.emplace_back(leaf, targets[i], weights[i]);
  }
  ensemble.base = numbersOf(node, "base_values");
  if (voters == "class" && ensemble.base.size() == 1) {
    ensemble.base.resize(static_cast<size_t>(ensemble.targets), 0);  // that of the one score
  }
  if (!ensemble.base.empty()) {
    checkCount("base_values", ensemble.base.size(), static_cast<size_t>(ensemble.targets));
  }
  ensemble.aggregate =
      placeIn({"AVERAGE", "SUM", "MIN", "MAX"}, node.text("aggregate_function", "SUM"), "aggregate_function");
  ensemble.transform = node.text("post_transform", "NONE");
  return ensemble;
}

}  // namespace

Ensemble readRegressor(const OnnxNode& node) { return readLabelled(node, "target", node.integer("n_targets", 1)); }

Ensemble readClassifier(const OnnxNode& node, int64_t classes) { return readLabelled(node, "class", classes); }

}  // namespace tenon::parsers::onnx::trees

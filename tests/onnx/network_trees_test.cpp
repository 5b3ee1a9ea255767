// Tree ensembles against a walk down each tree.
#include <cmath>
#include <functional>
#include <limits>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int64_t kFeatures = 4;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void setTensor(pb::NodeProto& node, const std::string& name, const std::vector<float>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(4);
  attribute->mutable_t()->set_data_type(1);
  attribute->mutable_t()->add_dims(static_cast<int64_t>(values.size()));
  attribute->mutable_t()->set_raw_data(values.data(), values.size() * sizeof(float));
}

void setBytes(pb::NodeProto& node, const std::string& name, const Ints& values) {
  setTensor(node, name, {});
  auto* tensor = node.mutable_attribute(node.attribute_size() - 1)->mutable_t();
  tensor->set_data_type(2);
  tensor->set_dims(0, static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int32_data(static_cast<int32_t>(value));
  tensor->clear_raw_data();
}

void setTexts(pb::NodeProto& node, const std::string& name, const std::vector<std::string>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(8);
  for (const std::string& value : values) attribute->add_strings(value);
}

struct Forest {
  Ints features, modes, trueIds, falseIds, trueLeaves, falseLeaves, missing, roots, targets;
  Reals splits, weights;
  std::vector<Reals> members;

  // A random tree; the place of its root, or of its leaf.
  std::pair<int64_t, bool> grow(std::mt19937& random, int depth) {
    if (depth == 0 || (depth < 4 && random() % 4 == 0)) {
      targets.push_back(static_cast<int64_t>(random() % 3));
      weights.push_back(static_cast<float>(random() % 100) / 10 - 5);
      return {static_cast<int64_t>(targets.size()) - 1, true};
    }
    const size_t at = features.size();
    features.push_back(static_cast<int64_t>(random() % kFeatures));
    modes.push_back(static_cast<int64_t>(random() % 7));
    splits.push_back(static_cast<float>(random() % 5) - 2);
    missing.push_back(static_cast<int64_t>(random() % 2));
    members.push_back({static_cast<float>(random() % 5) - 2});
    if (random() % 2 == 0) members.back().push_back(1);
    for (Ints* list : {&trueIds, &falseIds, &trueLeaves, &falseLeaves}) list->push_back(0);
    for (const bool branch : {true, false}) {
      const auto [place, isLeaf] = grow(random, depth - 1);
      (branch ? trueIds : falseIds)[at] = place;
      (branch ? trueLeaves : falseLeaves)[at] = isLeaf ? 1 : 0;
    }
    return {static_cast<int64_t>(at), false};
  }

  bool holds(size_t at, float x) const {
    if (std::isnan(x) && missing[at] != 0) return true;
    const float split = splits[at];
    switch (modes[at]) {
      case 0: return x <= split;
      case 1: return x < split;
      case 2: return x >= split;
      case 3: return x > split;
      case 4: return x == split;
      case 5: return x != split;
      default: break;
    }
    bool isMember = false;
    for (const float member : members[at]) isMember = isMember || x == member;
    return isMember;
  }

  size_t leafOf(int64_t root, const float* row) const {
    auto at = static_cast<size_t>(root);
    while (true) {
      const bool taken = holds(at, row[features[at]]);
      const auto next = static_cast<size_t>((taken ? trueIds : falseIds)[at]);
      if ((taken ? trueLeaves : falseLeaves)[at] != 0) return next;
      at = next;
    }
  }
};

Forest forestOf(unsigned seed) {
  std::mt19937 random(seed);
  Forest forest;
  for (int tree = 0; tree < 5; ++tree) forest.roots.push_back(forest.grow(random, 5).first);
  return forest;
}

// Few different numbers, so that splits are met, and some that are missing.
Reals rowsOf(size_t count) {
  std::mt19937 random(5);
  Reals rows(count * kFeatures);
  for (float& value : rows) value = random() % 7 == 0 ? kNan : static_cast<float>(random() % 9) / 2 - 2;
  return rows;
}

pb::NodeProto& ensembleNode(ModelMaker& maker, const Forest& forest) {
  auto& node = maker.node("TreeEnsemble", {"x"}, {"y"}, "forest");
  node.set_domain("ai.onnx.ml");
  ModelMaker::set(node, "nodes_featureids", forest.features);
  setBytes(node, "nodes_modes", forest.modes);
  setTensor(node, "nodes_splits", forest.splits);
  ModelMaker::set(node, "nodes_truenodeids", forest.trueIds);
  ModelMaker::set(node, "nodes_falsenodeids", forest.falseIds);
  ModelMaker::set(node, "nodes_trueleafs", forest.trueLeaves);
  ModelMaker::set(node, "nodes_falseleafs", forest.falseLeaves);
  ModelMaker::set(node, "nodes_missing_value_tracks_true", forest.missing);
  ModelMaker::set(node, "leaf_targetids", forest.targets);
  setTensor(node, "leaf_weights", forest.weights);
  ModelMaker::set(node, "tree_roots", forest.roots);
  ModelMaker::set(node, "n_targets", int64_t{3});
  Reals members;
  for (size_t i = 0; i < forest.modes.size(); ++i) {
    if (forest.modes[i] != 6) continue;
    members.insert(members.end(), forest.members[i].begin(), forest.members[i].end());
    members.push_back(kNan);
  }
  if (!members.empty()) setTensor(node, "membership_values", members);
  return node;
}

ModelMaker ensembleModel(const Forest& forest, int64_t rows) {
  ModelMaker maker;
  maker.input("x", {rows, kFeatures});
  ensembleNode(maker, forest);
  maker.output("y");
  return maker;
}

TEST(Trees, EnsemblesOfEveryModeAndAggregate) {
  constexpr size_t kRows = 67;
  const Reals x = rowsOf(kRows);
  const double most = static_cast<double>(std::numeric_limits<float>::max());
  for (unsigned seed = 1; seed < 5; ++seed) {
    const Forest forest = forestOf(seed);
    const auto aggregate = static_cast<int64_t>(seed - 1);  // average, sum, minimum, maximum
    ModelMaker maker = ensembleModel(forest, kRows);
    ModelMaker::set(*maker.graph().mutable_node(0), "aggregate_function", aggregate);
    std::vector<double> expected(kRows * 3, aggregate == 2 ? most : aggregate == 3 ? -most : 0.0);
    for (size_t row = 0; row < kRows; ++row) {
      for (const int64_t root : forest.roots) {
        const size_t leaf = forest.leafOf(root, x.data() + row * kFeatures);
        double& y = expected[row * 3 + static_cast<size_t>(forest.targets[leaf])];
        const auto weight = static_cast<double>(forest.weights[leaf]);
        y = aggregate == 2 ? std::min(y, weight) : aggregate == 3 ? std::max(y, weight) : y + weight;
      }
    }
    if (aggregate == 0)
      for (double& y : expected) y /= static_cast<double>(forest.roots.size());
    const auto y = runModel(maker, {x});
    ASSERT_EQ(y.size(), 1U) << "seed " << seed;
    expectNear(y[0], expected);
  }
}

TEST(Trees, ScoresAreTransformed) {
  const Forest forest = forestOf(2);
  const Reals x = rowsOf(11);
  const auto plain = runModel(ensembleModel(forest, 11), {x}).at(0);
  for (int64_t transform = 1; transform < 4; ++transform) {
    ModelMaker maker = ensembleModel(forest, 11);
    ModelMaker::set(*maker.graph().mutable_node(0), "post_transform", transform);
    std::vector<double> expected;
    for (size_t row = 0; row < 11; ++row) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k) {
        const double score = static_cast<double>(plain[row * 3 + k]);
        expected.push_back(transform == 2                 ? 1 / (1 + std::exp(-score))
                           : transform == 3 && score == 0 ? 0
                                                          : std::exp(score));
        sum += expected.back();
      }
      for (size_t k = 0; transform != 2 && k < 3; ++k) expected[row * 3 + k] /= sum == 0 ? 1 : sum;
    }
    expectNear(runModel(maker, {x}).at(0), expected);
  }
}

// Two trees; a leaf of the first has two votes, the second is a leaf alone.
TEST(Trees, RegressorsHaveVotesByTreeAndNode) {
  ModelMaker maker;
  maker.input("x", {3, kFeatures});
  auto& node = maker.node("TreeEnsembleRegressor", {"x"}, {"y"}, "regressor");
  node.set_domain("ai.onnx.ml");
  ModelMaker::set(node, "nodes_treeids", Ints{0, 0, 0, 1});
  ModelMaker::set(node, "nodes_nodeids", Ints{0, 1, 2, 0});
  setTexts(node, "nodes_modes", {"BRANCH_LT", "LEAF", "LEAF", "LEAF"});
  ModelMaker::set(node, "nodes_featureids", Ints{2, 0, 0, 0});
  ModelMaker::set(node, "nodes_truenodeids", Ints{1, 0, 0, 0});
  ModelMaker::set(node, "nodes_falsenodeids", Ints{2, 0, 0, 0});
  setTensor(node, "nodes_values_as_tensor", {1.5F, 0, 0, 0});
  ModelMaker::set(node, "target_treeids", Ints{0, 0, 0, 1});
  ModelMaker::set(node, "target_nodeids", Ints{1, 1, 2, 0});
  ModelMaker::set(node, "target_ids", Ints{0, 1, 1, 0});
  setTensor(node, "target_weights_as_tensor", {10, 20, 30, 100});
  setTensor(node, "base_values_as_tensor", {0.25F, 0.5F});
  ModelMaker::set(node, "n_targets", int64_t{2});
  maker.output("y");
  const auto y = runModel(maker, {{0, 0, 1, 0, 0, 0, 1.5F, 0, 0, 0, 2, 0}});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_EQ(y[0], (Reals{110.25F, 20.5F, 100.25F, 30.5F, 100.25F, 30.5F}));

  for (const auto& [mode, message] : {std::pair{"BRANCH_MEMBER", "nodes_modes = 'BRANCH_MEMBER'; expected BRANCH_LEQ"},
                                      std::pair{"LEAF", "node 1 of tree 0 is there twice"}}) {
    ModelMaker wrong = maker;
    auto& attribute = *wrong.graph().mutable_node(0)->mutable_attribute(2);
    attribute.set_strings(0, mode);
    if (std::string(mode) == "LEAF") wrong.graph().mutable_node(0)->mutable_attribute(1)->set_ints(2, 1);
    EXPECT_NE(refusal(wrong).find(message), std::string::npos) << refusal(wrong);
  }
}

TEST(Trees, RefusalsNameTheAttribute) {
  const Forest forest = forestOf(3);
  const auto changed = [&](const std::function<void(Forest&)>& change) {
    Forest wrong = forest;
    change(wrong);
    return refusal(ensembleModel(wrong, 3));
  };
  const auto expectSaid = [](const std::string& text, const std::string& message) {
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expectSaid(changed([](Forest& f) { f.modes.pop_back(); }), "nodes_modes has");
  expectSaid(changed([](Forest& f) { f.modes[0] = 9; }), "nodes_modes has 9; expected 0 to 6");
  expectSaid(changed([](Forest& f) { f.splits.pop_back(); }), "nodes_splits has");
  expectSaid(changed([](Forest& f) { f.features[0] = kFeatures; }), "nodes_featureids has 4; expected 0 to 3");
  expectSaid(changed([](Forest& f) { f.trueIds[0] = -1; }), "nodes_truenodeids has -1; expected 0 to");
  expectSaid(changed([](Forest& f) { f.targets[0] = 3; }), "leaf_targetids has 3; expected 0 to 2");
  expectSaid(changed([](Forest& f) { f.weights.pop_back(); }), "leaf_weights has");
  expectSaid(changed([](Forest& f) { f.roots[0] = 1 << 20; }), "tree_roots has 1048576");
  expectSaid(changed([](Forest& f) { f.roots.clear(); }), "the ensemble has no trees");
  expectSaid(changed([](Forest& f) {
               f.trueIds[0] = 0;
               f.trueLeaves[0] = 0;
             }),
             "a tree has more than 256 levels, or a node that leads back to itself");
  ModelMaker open = ensembleModel(forest, 3);
  auto& node = *open.graph().mutable_node(0);
  node.mutable_attribute(node.attribute_size() - 1)->mutable_t()->clear_raw_data();
  node.mutable_attribute(node.attribute_size() - 1)->mutable_t()->set_dims(0, 0);
  expectSaid(refusal(open), "membership_values ends before the set of node");
  ModelMaker probit = ensembleModel(forest, 3);
  ModelMaker::set(*probit.graph().mutable_node(0), "post_transform", int64_t{4});
  expectSaid(refusal(probit), "post_transform = 'PROBIT'; expected NONE, SOFTMAX, LOGISTIC or SOFTMAX_ZERO");
}

}  // namespace
}  // namespace tenon::parsers::onnx

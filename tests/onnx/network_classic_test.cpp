// Operators of ai.onnx.ml that prepare features, and linear models and trees that classify, against their formulas.
#include <cmath>
#include <limits>

#include "refusals.h"

namespace tenon::parsers::onnx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr const char* kDomain = "ai.onnx.ml";

void setReals(pb::NodeProto& node, const std::string& name, const Reals& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(6);
  for (const float value : values) attribute->add_floats(value);
}

void setTexts(pb::NodeProto& node, const std::string& name, const std::vector<std::string>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(8);
  for (const std::string& value : values) attribute->add_strings(value);
}

// One node of an input x; of a classifier, y are the labels as FLOAT and p the scores.
struct OneNode {
  ModelMaker maker;
  pb::NodeProto* node;

  OneNode(const std::string& type, const Ints& shape, int32_t dataType = 1, bool classifies = false) {
    maker.input("x", shape, dataType);
    if (!classifies) {
      node = &maker.node(type, {"x"}, {"y"}, "node");
      maker.output("y");
    } else {
      node = &maker.node(type, {"x"}, {"label", "p"}, "node");
      ModelMaker::set(maker.node("Cast", {"label"}, {"y"}), "to", int64_t{1});
      maker.output("y");
      maker.output("p");
      node = maker.graph().mutable_node(0);
    }
    node->set_domain(kDomain);
  }
};

TEST(Classic, FeaturesAreScaledAndNormalized) {
  const Reals x{1, -3, 2, 0, 0, 0, -1, -2, -4};
  OneNode scaler("Scaler", {3, 3});
  setReals(*scaler.node, "offset", {1, 2, 3});
  setReals(*scaler.node, "scale", {0.5F, 2, -1});
  expectNear(runModel(scaler.maker, {x}).at(0), {0, -10, 1, -0.5, -4, 3, -1, -8, 7});

  const std::vector<std::vector<double>> norms{{2, 1, -1}, {6, 1, 7}, {std::sqrt(14.0), 1, std::sqrt(21.0)}};
  const char* const kinds[] = {"MAX", "L1", "L2"};
  for (size_t kind = 0; kind < 3; ++kind) {
    OneNode normalizer("Normalizer", {3, 3});
    ModelMaker::set(*normalizer.node, "norm", std::string(kinds[kind]));
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(static_cast<double>(x[i]) / norms[kind][i / 3]);
    expectNear(runModel(normalizer.maker, {x}).at(0), expected);
  }
}

TEST(Classic, MissingValuesAreReplaced) {
  OneNode missing("Imputer", {2, 3});
  setReals(*missing.node, "imputed_value_floats", {5, 6, 7});
  ModelMaker::set(*missing.node, "replaced_value_float", kNan);
  expectNear(runModel(missing.maker, {{1, kNan, 3, kNan, 2, kNan}}).at(0), {1, 6, 3, 5, 2, 7});

  OneNode number("Imputer", {1, 3});
  setReals(*number.node, "imputed_value_floats", {9});
  ModelMaker::set(*number.node, "replaced_value_float", 2.0F);
  expectNear(runModel(number.maker, {{1, 2, 3}}).at(0), {1, 9, 3});
}

TEST(Classic, CategoriesBecomeColumnsAndNumbers) {
  OneNode oneHot("OneHotEncoder", {2, 2});
  ModelMaker::set(*oneHot.node, "cats_int64s", Ints{4, 2, 9});
  expectNear(runModel(oneHot.maker, {{2, 9, 7, 4}}).at(0), {0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0});

  OneNode encoder("LabelEncoder", {5});
  setReals(*encoder.node, "keys_floats", {1.5F, 2, 1.5F});
  setReals(*encoder.node, "values_floats", {10, 20, 30});
  ModelMaker::set(*encoder.node, "default_float", -1.0F);
  expectNear(runModel(encoder.maker, {{2, 1.5F, 3, kNan, 2}}).at(0), {20, 10, -1, -1, 20});

  OneNode whole("LabelEncoder", {3}, 6);
  ModelMaker::set(*whole.node, "keys_int64s", Ints{7, 8});
  ModelMaker::set(*whole.node, "values_int64s", Ints{1, 0});
  *whole.node->mutable_output(0) = "z";
  ModelMaker::set(whole.maker.node("Cast", {"z"}, {"y"}), "to", int64_t{1});
  const int32_t elements[] = {8, 5, 7};
  Reals bits(3);
  std::memcpy(bits.data(), elements, sizeof(elements));
  expectNear(runModel(whole.maker, {bits}).at(0), {0, -1, 1});
}

TEST(Classic, FeaturesOfSeveralInputsAreJoined) {
  ModelMaker maker;
  maker.input("a", {2, 3});
  maker.input("b", {2, 1});
  auto& node = maker.node("FeatureVectorizer", {"a", "b"}, {"y"}, "node");
  node.set_domain(kDomain);
  ModelMaker::set(node, "inputdimensions", Ints{2, 2});
  maker.output("y");
  expectNear(runModel(maker, {{1, 2, 3, 4, 5, 6}, {7, 8}}).at(0), {1, 2, 7, 0, 4, 5, 8, 0});
}

TEST(Classic, LinearModels) {
  const Reals x = randomReals(5 * 3, 3);
  const Reals coefficients = randomReals(4 * 3, 4);
  const Reals intercepts = randomReals(4, 5);
  std::vector<double> scores;
  for (size_t row = 0; row < 5; ++row) {
    for (size_t target = 0; target < 4; ++target) {
      double sum = intercepts[target];
      for (size_t k = 0; k < 3; ++k) sum += static_cast<double>(x[row * 3 + k] * coefficients[target * 3 + k]);
      scores.push_back(sum);
    }
  }
  OneNode regressor("LinearRegressor", {5, 3});
  setReals(*regressor.node, "coefficients", coefficients);
  setReals(*regressor.node, "intercepts", intercepts);
  ModelMaker::set(*regressor.node, "targets", int64_t{4});
  expectNear(runModel(regressor.maker, {x}).at(0), scores);

  OneNode classifier("LinearClassifier", {5, 3}, 1, true);
  setReals(*classifier.node, "coefficients", coefficients);
  setReals(*classifier.node, "intercepts", intercepts);
  ModelMaker::set(*classifier.node, "classlabels_ints", Ints{3, 1, 8, 5});
  ModelMaker::set(*classifier.node, "post_transform", std::string("LOGISTIC"));
  const int64_t labels[] = {3, 1, 8, 5};
  std::vector<double> expected;
  for (size_t row = 0; row < 5; ++row) {
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(row) * 4;
    expected.push_back(static_cast<double>(labels[std::max_element(begin, begin + 4) - begin]));
  }
  const auto got = runModel(classifier.maker, {x});
  ASSERT_EQ(got.size(), 2U);
  expectNear(got[0], expected);
  for (double& score : scores) score = 1 / (1 + std::exp(-score));
  expectNear(got[1], scores);
}

// Scores of -2, 0 and 0.5: shares of one, or through the logistic function.
TEST(Classic, OneScoreDecidesBetweenTwoClasses) {
  for (const bool isLogistic : {false, true}) {
    OneNode classifier("LinearClassifier", {3, 1}, 1, true);
    setReals(*classifier.node, "coefficients", {1});
    setReals(*classifier.node, "intercepts", {0});
    ModelMaker::set(*classifier.node, "classlabels_ints", Ints{7, 9});
    ModelMaker::set(*classifier.node, "post_transform", std::string(isLogistic ? "LOGISTIC" : "NONE"));
    const auto got = runModel(classifier.maker, {{-2, 0, 0.5F}});
    ASSERT_EQ(got.size(), 2U);
    expectNear(got[0], {7, 7, 9});
    const auto logistic = [](double score) { return 1 / (1 + std::exp(-score)); };
    expectNear(got[1], isLogistic
                           ? std::vector<double>{logistic(2), logistic(-2), 0.5, 0.5, logistic(-0.5), logistic(0.5)}
                           : std::vector<double>{3, -2, 1, 0, 0.5, 0.5});
  }
}

// One comparison of the first feature with 0, and what its two leaves give to which classes.
OneNode stump(const Ints& nodes, const Ints& classes, const Reals& weights, const Ints& labels) {
  OneNode tree("TreeEnsembleClassifier", {2, 1}, 1, true);
  ModelMaker::set(*tree.node, "nodes_treeids", Ints{0, 0, 0});
  ModelMaker::set(*tree.node, "nodes_nodeids", Ints{0, 1, 2});
  ModelMaker::set(*tree.node, "nodes_featureids", Ints{0, 0, 0});
  setReals(*tree.node, "nodes_values", {0, 0, 0});
  setTexts(*tree.node, "nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"});
  ModelMaker::set(*tree.node, "nodes_truenodeids", Ints{1, 0, 0});
  ModelMaker::set(*tree.node, "nodes_falsenodeids", Ints{2, 0, 0});
  ModelMaker::set(*tree.node, "class_treeids", Ints(nodes.size(), 0));
  ModelMaker::set(*tree.node, "class_nodeids", nodes);
  ModelMaker::set(*tree.node, "class_ids", classes);
  setReals(*tree.node, "class_weights", weights);
  ModelMaker::set(*tree.node, "classlabels_int64s", labels);
  return tree;
}

TEST(Classic, TreesClassify) {
  struct Case {
    OneNode tree;
    std::vector<double> labels, scores;
  };
  const Case cases[] = {
      {stump({1, 1, 2, 2}, {0, 1, 0, 1}, {0.7F, 0.3F, 0.2F, 0.8F}, {7, 9, 5}), {7, 9}, {0.7, 0.3, 0, 0.2, 0.8, 0}},
      {stump({1, 2}, {0, 0}, {0.3F, 0.8F}, {7, 9}), {7, 9}, {0.7, 0.3, 0.2, 0.8}},       // shares
      {stump({1, 2}, {0, 0}, {-0.3F, 0.2F}, {7, 9}), {7, 9}, {0.3, -0.3, -0.2, 0.2}},    // above or below zero
      {stump({1, 2}, {1, 1}, {0.3F, 0.8F}, {7, 9}), {7, 9}, {0, 0.3, 0, 0.8}},           // votes for the second class
      {stump({1, 1, 2, 2}, {0, 1, 0, 1}, {1, 0, 0, 1}, {0, 1}), {0, 1}, {1, 0, 0, 1}}};  // votes for both
  for (const Case& each : cases) {
    const auto got = runModel(each.tree.maker, {{-1, 1}});
    ASSERT_EQ(got.size(), 2U);
    expectNear(got[0], each.labels);
    expectNear(got[1], each.scores);
  }
  OneNode shifted = stump({1, 2}, {0, 0}, {-0.3F, 0.2F}, {7, 9});
  setReals(*shifted.node, "base_values", {0.4F});
  ModelMaker::set(*shifted.node, "post_transform", std::string("LOGISTIC"));
  const auto got = runModel(shifted.maker, {{-1, 1}});
  ASSERT_EQ(got.size(), 2U);
  expectNear(got[0], {9, 9});
  expectNear({got[1][1], got[1][3]}, {1 / (1 + std::exp(-0.1)), 1 / (1 + std::exp(-0.6))});
}

TEST(Classic, RefusalsNameTheAttribute) {
  const auto expectSaid = [](const OneNode& model, const std::string& message) {
    const std::string text = refusal(model.maker);
    EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
  };
  OneNode scaler("Scaler", {2, 3});
  setReals(*scaler.node, "offset", {1, 2});
  setReals(*scaler.node, "scale", {1});
  expectSaid(scaler, "offset has 2 numbers for 3 features; expected 1 or as many");
  expectSaid(OneNode("OneHotEncoder", {2, 3}),
             "cats_int64s is empty; expected the categories as numbers, not as texts");
  expectSaid(OneNode("LabelEncoder", {2}), "0 keys and 0 values that are numbers; expected as many of both");
  OneNode unequal("LabelEncoder", {2});
  setReals(*unequal.node, "keys_floats", {kNan});
  setReals(*unequal.node, "values_floats", {1});
  expectSaid(unequal, "keys_floats has NaN, which is equal to no element; expected numbers");
  expectSaid(OneNode("FeatureVectorizer", {2, 3}), "inputdimensions has 0 numbers for 1 inputs; expected as many");
  OneNode empty("FeatureVectorizer", {2, 3});
  ModelMaker::set(*empty.node, "inputdimensions", Ints{0});
  expectSaid(empty, "input 0 has shape [2,3] and is to have 0 features; expected rows, and 1 feature or more");
  OneNode linear("LinearRegressor", {2, 3});
  setReals(*linear.node, "coefficients", {1, 2});
  expectSaid(linear, "2 coefficients and 0 intercepts for 3 features and 1 targets; expected 3 and 1");
  expectSaid(OneNode("LinearRegressor", {2, 3, 4}), "input of rank 3; expected rows of features");
  OneNode texts("LinearClassifier", {2, 3}, 1, true);
  setTexts(*texts.node, "classlabels_strings", {"cat", "dog"});
  expectSaid(texts, "classlabels_strings is set: classes with texts for names. Export with numbers for classes");
  expectSaid(OneNode("LinearClassifier", {2, 3}, 1, true), "classlabels_ints has 0 numbers; expected 2 or more");
  OneNode probit = stump({1, 2}, {0, 0}, {1, 1}, {0, 1});
  ModelMaker::set(*probit.node, "post_transform", std::string("PROBIT"));
  expectSaid(probit, "post_transform = 'PROBIT'; expected NONE, SOFTMAX, LOGISTIC or SOFTMAX_ZERO");
  expectSaid(stump({1, 2}, {0, 2}, {1, 1}, {0, 1}), "class_ids has 2; expected 0 to 1");
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Ensembles of decision trees (domain ai.onnx.ml): all trees of all rows go down one level at a time, by tables of
// nodes.
#include <algorithm>
#include <limits>
#include <set>

#include "common/fold.h"
#include "operator_table.h"
#include "post_transform.h"
#include "tree_ensemble.h"

namespace tenon::parsers::onnx::ops_trees {
namespace {

using nvinfer1::ReduceOperation;
using namespace trees;

// How many comparisons lead from the roots to the farthest leaf.
int64_t depthOf(const Ensemble& ensemble) {
  constexpr int64_t kMostLevels = 256;
  std::set<int64_t> level(ensemble.roots.begin(), ensemble.roots.end());
  for (int64_t depth = 0; depth <= kMostLevels; ++depth) {
    std::set<int64_t> next;
    for (const int64_t at : level) {
      if (at < ensemble.inner) {
        next.insert(ensemble.nodes.whenTrue[static_cast<size_t>(at)]);
        next.insert(ensemble.nodes.whenFalse[static_cast<size_t>(at)]);
      }
    }
    if (next.empty()) {
      return depth;
    }
    level = std::move(next);
  }
  fail(FaultKind::kUnsupportedShape,
       fmt::format("a tree has more than {} levels, or a node that leads back to itself", kMostLevels));
}

// One step from nodes to their branches.
class Descent {
 public:
  Descent(const Term& x, const Ensemble& ensemble)
      : x_(x),
        feature_(table(ensemble.nodes.feature)),
        mode_(table(ensemble.nodes.mode)),
        split_(reals(x.writer(), x.type(), {static_cast<int64_t>(ensemble.nodes.count())}, ensemble.nodes.split)),
        members_(sets(ensemble.nodes.members)),
        whenTrue_(table(ensemble.nodes.whenTrue)),
        whenFalse_(table(ensemble.nodes.whenFalse)),
        missingIsTrue_(table(ensemble.nodes.missingIsTrue)) {
    for (size_t i = 0; i < static_cast<size_t>(ensemble.inner); ++i) {
      used_.insert(ensemble.nodes.mode[i]);
      tracksMissing_ = tracksMissing_ || ensemble.nodes.missingIsTrue[i] != 0;
    }
  }

  // state [rows, trees]: places in the tables.
  Term next(const Term& state) const {
    const Term value = featuresAt(feature_.gather(state, 0));
    std::optional<Term> holds;
    for (const int64_t mode : used_) {
      Term found = compared(mode, value, state);
      if (used_.size() > 1) {
        const Term own = mode_.gather(state, 0);
        found = both(found, equal(own, own.number(static_cast<double>(mode))));
      }
      holds = holds ? either(*holds, found) : found;
    }
    if (tracksMissing_) {
      const Term isMissing = value.unary(nvinfer1::UnaryOperation::kISNAN);
      holds = either(*holds, both(isMissing, missingIsTrue_.gather(state, 0) > 0.0));
    }
    return where(*holds, whenTrue_.gather(state, 0), whenFalse_.gather(state, 0));
  }

 private:
  Term table(const std::vector<int64_t>& numbers) const {
    return integers(x_.writer(), DataType::kINT64, {static_cast<int64_t>(numbers.size())}, numbers);
  }

  // Filled with NaN, which is equal to nothing.
  Term sets(const std::vector<std::vector<double>>& members) const {
    size_t most = 1;
    for (const auto& set : members) {
      most = std::max(most, set.size());
    }
    if (static_cast<int64_t>(members.size() * most) > kMovementLimit) {
      fail(FaultKind::kUnsupportedShape, fmt::format("sets of {} members for {} nodes; expected {} numbers at most",
                                                     most, members.size(), kMovementLimit));
    }
    std::vector<double> numbers;
    for (const auto& set : members) {
      numbers.insert(numbers.end(), set.begin(), set.end());
      numbers.resize(numbers.size() + most - set.size(), std::numeric_limits<double>::quiet_NaN());
    }
    return reals(x_.writer(), x_.type(), {static_cast<int64_t>(members.size()), static_cast<int64_t>(most)}, numbers);
  }

  Term featuresAt(const Term& columns) const {
    NetworkWriter& writer = x_.writer();
    auto* made =
        writer.network().addGatherV2(writer.tensor(x_), writer.tensor(columns), nvinfer1::GatherMode::kELEMENT);
    auto& layer = writer.added(made, "addGatherV2");
    layer.setGatherAxis(1);
    return {writer, writer.output(layer)};
  }

  Term compared(int64_t mode, const Term& value, const Term& state) const {
    if (mode == kMember) {
      return equal(value.unsqueeze({2}), members_.gather(state, 0)).cast(DataType::kINT32).sum({2}, false) > 0.0;
    }
    const Term split = split_.gather(state, 0);
    switch (mode) {  // NaN fulfils none but kNotEqual
      case kLessOrEqual: return either(value < split, equal(value, split));
      case kLess: return value < split;
      case kGreaterOrEqual: return either(value > split, equal(value, split));
      case kGreater: return value > split;
      case kEqual: return equal(value, split);
      default: return negation(equal(value, split));
    }
  }

  Term x_;
  Term feature_;
  Term mode_;
  Term split_;
  Term members_;
  Term whenTrue_;
  Term whenFalse_;
  Term missingIsTrue_;
  std::set<int64_t> used_;  // modes
  bool tracksMissing_ = false;
};

// What the leaves [rows, trees] say for each target: [rows, targets].
Term aggregated(const Ensemble& ensemble, const Term& leaves, DataType type) {
  NetworkWriter& writer = leaves.writer();
  const auto count = static_cast<int64_t>(ensemble.nodes.count()) - ensemble.inner;
  if (ensemble.targets < 1 || ensemble.targets > kMovementLimit / std::max<int64_t>(count, 1)) {
    fail(FaultKind::kUnsupportedShape, fmt::format("{} leaves vote for {} targets; expected 1 target or more, and {} "
                                                   "numbers at most",
                                                   count, ensemble.targets, kMovementLimit));
  }
  const double most = type == DataType::kHALF ? 65504.0 : static_cast<double>(std::numeric_limits<float>::max());
  const bool adds = ensemble.aggregate == kAverage || ensemble.aggregate == kSum;
  const double none = adds ? 0 : ensemble.aggregate == kMinimum ? most : -most;
  std::vector<double> table(static_cast<size_t>(count * ensemble.targets), none);
  for (const auto& [leaf, target, weight] : ensemble.votes) {
    double& vote = table[static_cast<size_t>(leaf * ensemble.targets + target)];
    vote = adds ? vote + weight : weight;
  }
  const Term votes = reals(writer, type, {count, ensemble.targets}, table).gather(leaves, 0);
  Term y = votes.reduce(adds                             ? ReduceOperation::kSUM
                        : ensemble.aggregate == kMinimum ? ReduceOperation::kMIN
                                                         : ReduceOperation::kMAX,
                        {1}, false);
  if (ensemble.aggregate == kAverage) {
    y = y / static_cast<double>(ensemble.roots.size());
  }
  return ensemble.base.empty() ? y : y + reals(writer, type, {1, ensemble.targets}, ensemble.base);
}

Term scoresOf(const Term& x, const Ensemble& ensemble) {
  if (x.rank() != 2) {
    fail(FaultKind::kInvalidNode, fmt::format("input of rank {}; expected rows of features", x.rank()));
  }
  checkRange("nodes_featureids", ensemble.nodes.feature, x.fixedDim(1, "the number of features"));
  if (ensemble.roots.empty()) {
    fail(FaultKind::kInvalidNode, "the ensemble has no trees");
  }
  const auto trees = static_cast<int64_t>(ensemble.roots.size());
  Term state =
      integers(x.writer(), DataType::kINT64, {1, trees}, ensemble.roots).expand({x.dim(0), ParsedExtent::of(trees)});
  const Descent descent(x, ensemble);
  for (int64_t level = depthOf(ensemble); level > 0; --level) {
    state = descent.next(state);
  }
  return aggregated(ensemble, state - static_cast<double>(ensemble.inner), x.type());
}

Term evaluated(const Term& x, const Ensemble& ensemble) {
  return postTransformed(scoresOf(x, ensemble), ensemble.transform);
}

ParsedValues importTreeEnsemble(OnnxNode& node) { return {evaluated(node.term(0), readEnsemble(node))}; }

ParsedValues importTreeRegressor(OnnxNode& node) {
  return {evaluated(node.term(0).cast(DataType::kFLOAT), readRegressor(node))};
}

// Two classes whose leaves all vote for one of them, as gradient boosting has it: one score decides, which is a share
// where no vote is negative, else above or below zero.
ParsedValues importTreeClassifier(OnnxNode& node) {
  const std::vector<int64_t> labels = classLabels(node, "classlabels_int64s");
  const Ensemble ensemble = readClassifier(node, static_cast<int64_t>(labels.size()));
  const Term scores = scoresOf(featureRows(node), ensemble);
  const auto votesFor = [&](int64_t target) {
    return std::any_of(ensemble.votes.begin(), ensemble.votes.end(),
                       [&](const auto& vote) { return std::get<1>(vote) == target; });
  };
  if (labels.size() > 2 || (votesFor(0) && votesFor(1))) {
    return labelled(node, classifiedByMost(scores, ensemble.transform), labels);
  }
  const bool isShare = std::none_of(ensemble.votes.begin(), ensemble.votes.end(),
                                    [](const auto& vote) { return std::get<2>(vote) < 0; });
  const double threshold = isShare ? 0.5 : 0.0;
  if (!votesFor(1)) {
    const Complement complement = isShare ? Complement::kOneMinus : Complement::kNegative;
    return labelled(node, classifiedByOne(scores.slice(1, 0, 1), threshold, complement, ensemble.transform), labels);
  }
  const Term classes = (scores.slice(1, 1, 1) > threshold).cast(DataType::kINT64).squeeze({1});
  return labelled(node, {classes, postTransformed(scores, ensemble.transform)}, labels);
}

constexpr const char* kDomain = "ai.onnx.ml";
constexpr const char* kHow = "addGather, addGatherV2, addElementWise, addSelect for each level; addReduce";

const OperatorImporter kRows[] = {
    {"TreeEnsemble", 1, kNewestOpset, importTreeEnsemble, kHow, kDomain},
    {"TreeEnsembleRegressor", 1, kNewestOpset, importTreeRegressor, kHow, kDomain},
    {"TreeEnsembleClassifier", 1, kNewestOpset, importTreeClassifier,
     "as TreeEnsembleRegressor, addTopK; classes are numbers", kDomain},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_trees

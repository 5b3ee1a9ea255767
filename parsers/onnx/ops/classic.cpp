// Operators of the domain ai.onnx.ml that are arithmetic on tensors: what prepares features, and linear models.
#include <algorithm>
#include <cmath>

#include "operator_table.h"
#include "post_transform.h"

namespace tenon::parsers::onnx::ops_classic {
namespace {

using nvinfer1::ReduceOperation;

// 1 above the threshold, else 0.
ParsedValues importBinarizer(OnnxNode& node) {
  const Term x = node.term(0);
  return {(x > static_cast<double>(node.real("threshold", 0.0f))).cast(x.type())};
}

// Elements of the last axis. A list counts as one row.
ParsedValues importFeatureExtractor(OnnxNode& node) {
  const Term x = node.term(0);
  const Term places = node.term(1);
  if (x.rank() < 1) {
    fail(FaultKind::kUnsupportedShape, "the data has no dimensions; expected at least one");
  }
  const Term flat = places.reshape({ParsedExtent::of(-1)});
  const Term rows = x.rank() == 1 ? x.unsqueeze({0}) : x;
  return {rows.gather(flat, rows.rank() - 1)};
}

// One number, or one for each feature.
Term perFeature(const OnnxNode& node, const Term& x, const char* name, const std::vector<double>& numbers) {
  const int64_t features = x.fixedDim(-1, "the number of features");
  if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != features) {
    fail(FaultKind::kInvalidNode,
         fmt::format("{} has {} numbers for {} features; expected 1 or as many", name, numbers.size(), features));
  }
  return reals(node.writer(), x.type(), {static_cast<int64_t>(numbers.size())}, numbers);
}

std::vector<double> widened(const std::vector<float>& list) { return {list.begin(), list.end()}; }

ParsedValues importScaler(OnnxNode& node) {
  const Term x = node.term(0).cast(DataType::kFLOAT);
  const Term offset = perFeature(node, x, "offset", widened(node.reals("offset")));
  return {(x - offset) * perFeature(node, x, "scale", widened(node.reals("scale")))};
}

// Rows whose norm is 0 stay as they are.
ParsedValues importNormalizer(OnnxNode& node) {
  const std::string kind = node.choice("norm", "MAX", {"MAX", "L1", "L2"});
  const Term x = node.term(0).cast(DataType::kFLOAT);
  const std::vector<int64_t> axis{x.rank() == 1 ? 0 : 1};
  Term norm = x;
  if (kind == "MAX") {
    norm = x.reduce(ReduceOperation::kMAX, axis, true);
  } else {
    norm = kind == "L1" ? absOf(x).sum(axis, true) : sqrtOf((x * x).sum(axis, true));
  }
  return {x / where(equal(norm, norm.number(0)), norm.number(1), norm)};
}

// Other values in place of one, which may be NaN.
ParsedValues importImputer(OnnxNode& node) {
  const Term x = node.term(0);
  if (x.type() == DataType::kINT64 || x.type() == DataType::kINT32) {
    const std::vector<int64_t> given = node.integers("imputed_value_int64s");
    const Term values = perFeature(node, x, "imputed_value_int64s", {given.begin(), given.end()});
    return {where(equal(x, x.number(static_cast<double>(node.integer("replaced_value_int64", 0)))), values, x)};
  }
  const Term values = perFeature(node, x, "imputed_value_floats", widened(node.reals("imputed_value_floats")));
  const double replaced = node.real("replaced_value_float", 0.0f);
  const Term isReplaced =
      std::isnan(replaced) ? x.unary(nvinfer1::UnaryOperation::kISNAN) : equal(x, x.number(replaced));
  return {where(isReplaced, values, x)};
}

// Each input cut or filled up to its number of features, one behind the other.
ParsedValues importFeatureVectorizer(OnnxNode& node) {
  const std::vector<int64_t> sizes = node.integers("inputdimensions");
  if (sizes.size() != node.inputCount()) {
    fail(FaultKind::kInvalidNode, fmt::format("inputdimensions has {} numbers for {} inputs; expected as many",
                                              sizes.size(), node.inputCount()));
  }
  std::vector<Term> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Term x = node.term(i).cast(DataType::kFLOAT);
    x = x.rank() == 1 ? x.unsqueeze({0}) : x;
    const int64_t features = x.fixedDim(-1, "the number of features");
    if (x.rank() != 2 || sizes[i] < 1) {
      fail(FaultKind::kInvalidNode, fmt::format("input {} has shape {} and is to have {} features; expected rows, and "
                                                "1 feature or more",
                                                i, toString(x.shape()), sizes[i]));
    }
    x = features > sizes[i] ? x.slice(1, 0, sizes[i]) : x.pad(1, 0, std::max<int64_t>(0, sizes[i] - features));
    parts.push_back(x);
  }
  return {concat(parts, 1)};
}

// A last axis with 1 at the place of the element's category; none where it is no category.
ParsedValues importOneHotEncoder(OnnxNode& node) {
  const std::vector<int64_t> categories = node.integers("cats_int64s");
  if (categories.empty()) {
    fail(FaultKind::kUnsupportedAttribute, "cats_int64s is empty; expected the categories as numbers, not as texts");
  }
  const Term x = node.term(0).cast(DataType::kINT64);
  const Term table = integers(node.writer(), DataType::kINT64, {static_cast<int64_t>(categories.size())}, categories);
  return {equal(x.unsqueeze({x.rank()}), table).cast(DataType::kFLOAT)};
}

// Numbers for numbers, by a table.
ParsedValues importLabelEncoder(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const std::vector<int64_t> wholeKeys = node.integers("keys_int64s");
  const std::vector<float> keys = node.reals("keys_floats");
  const std::vector<int64_t> wholeValues = node.integers("values_int64s");
  const std::vector<float> values = node.reals("values_floats");
  const size_t count = std::max(wholeKeys.size(), keys.size());
  if (count == 0 || count != std::max(wholeValues.size(), values.size())) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("{} keys and {} values that are numbers; expected as many of both in keys_int64s or keys_floats "
                     "and values_int64s or values_floats: texts are not supported",
                     count, std::max(wholeValues.size(), values.size())));
  }
  if (std::any_of(keys.begin(), keys.end(), [](float key) { return std::isnan(key); })) {
    fail(FaultKind::kUnsupportedAttribute, "keys_floats has NaN, which is equal to no element; expected numbers");
  }
  const auto extent = static_cast<int64_t>(count);
  const Term x = node.term(0).cast(keys.empty() ? DataType::kINT64 : DataType::kFLOAT);
  const Term table = keys.empty() ? integers(writer, DataType::kINT64, {extent}, wholeKeys)
                                  : reals(writer, DataType::kFLOAT, {extent}, widened(keys));
  // The place of the first key that is equal.
  const Term places = iota(writer, ParsedExtent::of(extent), DataType::kINT32);
  const Term found = where(equal(x.unsqueeze({x.rank()}), table), places, places.number(static_cast<double>(count)));
  const Term place = found.reduce(ReduceOperation::kMIN, {x.rank()}, false);
  // Behind the values stands what other elements become.
  if (values.empty()) {
    std::vector<int64_t> all = wholeValues;
    all.push_back(node.integer("default_int64", -1));
    return {integers(writer, DataType::kINT64, {extent + 1}, all).gather(place, 0)};
  }
  std::vector<double> all = widened(values);
  all.push_back(node.real("default_float", -0.0f));
  return {reals(writer, DataType::kFLOAT, {extent + 1}, all).gather(place, 0)};
}

// Rows times coefficients, one row of them for each target.
Term linear(const OnnxNode& node, int64_t targets) {
  const Term x = featureRows(node);
  const int64_t features = x.fixedDim(1, "the number of features");
  const std::vector<double> coefficients = widened(node.reals("coefficients"));
  const std::vector<double> intercepts = widened(node.reals("intercepts"));
  if (static_cast<int64_t>(coefficients.size()) != targets * features ||
      (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != targets)) {
    fail(FaultKind::kInvalidNode,
         fmt::format("{} coefficients and {} intercepts for {} features and {} targets; "
                     "expected {} and {}",
                     coefficients.size(), intercepts.size(), features, targets, targets * features, targets));
  }
  const Term y = x.multiply(reals(node.writer(), DataType::kFLOAT, {targets, features}, coefficients), false, true);
  return intercepts.empty() ? y : y + reals(node.writer(), DataType::kFLOAT, {targets}, intercepts);
}

ParsedValues importLinearRegressor(OnnxNode& node) {
  return {postTransformed(linear(node, node.integer("targets", 1)), node.text("post_transform", "NONE"))};
}

// Where two classes share one row of coefficients, the second is meant by a score above 0.
ParsedValues importLinearClassifier(OnnxNode& node) {
  const std::vector<int64_t> labels = classLabels(node, "classlabels_ints");
  const std::string transform = node.text("post_transform", "NONE");
  const auto classes = static_cast<int64_t>(labels.size());
  const int64_t features = node.term(0).fixedDim(-1, "the number of features");
  if (classes == 2 && static_cast<int64_t>(node.reals("coefficients").size()) == features) {
    return labelled(node, classifiedByOne(linear(node, 1), 0, Complement::kOneMinus, transform), labels);
  }
  return labelled(node, classifiedByMost(linear(node, classes), transform), labels);
}

constexpr const char* kDomain = "ai.onnx.ml";

const OperatorImporter kRows[] = {
    {"Binarizer", 1, kNewestOpset, importBinarizer, "addElementWise kGREATER, addCast", kDomain},
    {"ArrayFeatureExtractor", 1, kNewestOpset, importFeatureExtractor, "addGather", kDomain},
    {"Scaler", 1, kNewestOpset, importScaler, "addElementWise", kDomain},
    {"Normalizer", 1, kNewestOpset, importNormalizer, "addReduce, addElementWise, addSelect", kDomain},
    {"Imputer", 1, kNewestOpset, importImputer, "addSelect", kDomain},
    {"FeatureVectorizer", 1, kNewestOpset, importFeatureVectorizer, "addSlice, addConcatenation", kDomain},
    {"OneHotEncoder", 1, kNewestOpset, importOneHotEncoder, "addElementWise kEQUAL, addCast; categories are numbers",
     kDomain},
    {"LabelEncoder", 1, kNewestOpset, importLabelEncoder, "addElementWise, addReduce, addGather; numbers for numbers",
     kDomain},
    {"LinearRegressor", 1, kNewestOpset, importLinearRegressor, "addMatrixMultiply, addElementWise", kDomain},
    {"LinearClassifier", 1, kNewestOpset, importLinearClassifier,
     "addMatrixMultiply, addElementWise, addTopK, addGather; classes are numbers", kDomain},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_classic

// Normalizations.
#include "common/batch_normalization.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_normalization {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

// A per-channel vector [C] as [1, C, 1, ...].
ParsedValue perChannel(NetworkWriter& writer, const ParsedValue& vector, int64_t rank) {
  std::vector<int64_t> axes{0};
  for (int64_t i = 2; i < rank; ++i) {
    axes.push_back(i);
  }
  return writer.unsqueeze(vector, axes);
}

// training_mode: mean and variance are those of the batch, and move the running ones.
ParsedValues normalizeByBatch(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term x = node.term(0);
  std::vector<int64_t> axes{0};
  for (int64_t i = 2; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const Term mean = x.reduce(ReduceOperation::kAVG, axes, true);
  const Term centered = x - mean;
  const Term variance = (centered * centered).reduce(ReduceOperation::kAVG, axes, true);
  const auto channels = [&](size_t index) { return Term(writer, perChannel(writer, node.input(index), x.rank())); };
  const Term result =
      centered / sqrtOf(variance + static_cast<double>(node.real("epsilon", 1e-5f))) * channels(1) + channels(2);
  const double momentum = node.real("momentum", 0.9f);
  const auto moved = [&](size_t index, const Term& now) {
    return node.term(index) * momentum + now.reshape(node.term(index).dims()) * (1 - momentum);
  };
  return {result, moved(3, mean), moved(4, variance)};
}

// y = scale * (x - mean) / sqrt(variance + epsilon) + bias = x * factor + shift
ParsedValues importBatchNormalization(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (node.opset() >= 14 && node.integer("training_mode", 0) != 0) {
    return normalizeByBatch(node);
  }
  if (node.usesOutput(1)) {
    fail(FaultKind::kUnsupportedNode, "outputs for training are used; export the model for inference");
  }
  const DataType type = node.dataType(0);
  const int64_t rank = node.rank(0);
  if (node.integer("spatial", 1) == 0 && rank > 2) {  // up to opset 8
    fail(FaultKind::kUnsupportedAttribute,
         "spatial = 0 asks for statistics of each element; expected 1, those of channels");
  }
  const double epsilon = node.real("epsilon", 1e-5f);
  bool fixed = true;
  for (size_t i = 1; i <= 4; ++i) {
    fixed = fixed && node.input(i).isConstant();
  }
  if (!fixed) {
    const ParsedValue variance =
        writer.binary(node.input(4), writer.scalar(node.dataType(4), epsilon), ElementWiseOperation::kSUM);
    const ParsedValue factor =
        writer.binary(node.input(1), writer.unary(variance, UnaryOperation::kSQRT), ElementWiseOperation::kDIV);
    const ParsedValue shift = writer.binary(
        node.input(2), writer.binary(node.input(3), factor, ElementWiseOperation::kPROD), ElementWiseOperation::kSUB);
    const ParsedValue scaled =
        writer.binary(node.input(0), perChannel(writer, factor, rank), ElementWiseOperation::kPROD);
    return {writer.binary(scaled, perChannel(writer, shift, rank), ElementWiseOperation::kSUM)};
  }
  const FoldedNormalization folded = foldBatchNormalization(
      writer.store(), node.input(1).constant(), node.input(2).constant(), node.input(3).constant(),
      node.input(4).constant(), epsilon, type, node.qualified(node.proto().output(0)));
  const int64_t channels = rank > 1 ? node.shape(0)[1] : 1;
  if (channels >= 0 && folded.factor->count() != channels) {
    fail(FaultKind::kInvalidNode,
         fmt::format("scale has {} elements for {} channels", folded.factor->count(), channels));
  }
  if (rank < 4 || channels < 0) {  // addScaleNd asks for rank 4 or more and a number of channels that is known
    const ParsedValue scaled =
        writer.binary(node.input(0), perChannel(writer, *folded.factor, rank), ElementWiseOperation::kPROD);
    return {writer.binary(scaled, perChannel(writer, *folded.shift, rank), ElementWiseOperation::kSUM)};
  }
  auto* made = writer.network().addScaleNd(node.tensor(0), nvinfer1::ScaleMode::kCHANNEL, folded.shift->weights(),
                                           folded.factor->weights(), nvinfer1::Weights{type, nullptr, 0}, 1);
  auto& layer = writer.added(made, "addScaleNd");
  writer.nameWeights(*folded.factor);
  writer.nameWeights(*folded.shift);
  return {writer.output(layer)};
}

ParsedValue normalize(OnnxNode& node, const ParsedValue& scale, const ParsedValue& bias, uint32_t axes, float epsilon,
                      int64_t groups) {
  NetworkWriter& writer = node.writer();
  auto& layer =
      writer.added(writer.network().addNormalization(node.tensor(0), writer.tensor(scale), writer.tensor(bias), axes),
                   "addNormalization");
  layer.setEpsilon(epsilon);
  layer.setNbGroups(groups);
  return writer.output(layer);
}

uint32_t axesFrom(int64_t first, int64_t rank) {
  return ((1u << static_cast<uint32_t>(rank)) - 1u) & ~((1u << static_cast<uint32_t>(first)) - 1u);
}

ParsedValues importInstanceNormalization(OnnxNode& node) {
  const int64_t rank = node.rank(0);
  NetworkWriter& writer = node.writer();
  return {normalize(node, perChannel(writer, node.input(1), rank), perChannel(writer, node.input(2), rank),
                    axesFrom(2, rank), node.real("epsilon", 1e-5f), 1)};
}

ParsedValues importLayerNormalization(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t rank = node.rank(0);
  const int32_t axis = node.axis(-1, rank);
  const ParsedValue scale = writer.alignRank(node.input(1), rank);
  const ParsedValue bias =
      node.hasInput(2) ? writer.alignRank(node.input(2), rank)
                       : writer.unary(writer.binary(scale, scale, ElementWiseOperation::kSUB), UnaryOperation::kABS);
  const float epsilon = node.real("epsilon", 1e-5f);
  ParsedValues results{normalize(node, scale, bias, axesFrom(axis, rank), epsilon, 1), {}, {}};
  if (node.usesOutput(1) || node.usesOutput(2)) {  // in FLOAT, unless stash_type says otherwise
    const auto type = toDataType(static_cast<int32_t>(node.integer("stash_type", 1)));
    if (!type || !isFloating(*type)) {
      fail(FaultKind::kUnsupportedAttribute,
           fmt::format("stash_type = {}; expected 1, 10 or 16", node.integer("stash_type", 1)));
    }
    std::vector<int64_t> axes;
    for (int64_t i = axis; i < rank; ++i) {
      axes.push_back(i);
    }
    const Term x = node.term(0).cast(*type);
    const Term mean = x.reduce(ReduceOperation::kAVG, axes, true);
    const Term centered = x - mean;
    const Term variance = (centered * centered).reduce(ReduceOperation::kAVG, axes, true);
    results[1] = mean;
    results[2] = mean.number(1) / sqrtOf(variance + static_cast<double>(epsilon));
  }
  return results;
}

// Opset 18: scale and bias for each group; from 21: for each channel, applied after the normalization.
ParsedValues importGroupNormalization(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t rank = node.rank(0);
  const int64_t groups = node.integer("num_groups", 0);
  if (groups < 1) {
    fail(FaultKind::kInvalidNode, fmt::format("num_groups = {}; expected 1 or more", groups));
  }
  const DataType type = node.dataType(0);
  const float epsilon = node.real("epsilon", 1e-5f);
  const bool perGroup = node.opset() < 21;
  const ParsedValue scale =
      perChannel(writer, perGroup ? node.input(1) : ParsedValue(writer.store().uniform(type, {groups}, 1)), rank);
  const ParsedValue bias =
      perChannel(writer, perGroup ? node.input(2) : ParsedValue(writer.store().uniform(type, {groups}, 0)), rank);
  const int firstAxis = groups == 1 ? 1 : 2;  // the layer counts one group as none: then the channels are an axis
  const ParsedValue result = normalize(node, scale, bias, axesFrom(firstAxis, rank), epsilon, groups);
  if (perGroup) {
    return {result};
  }
  const ParsedValue scaled =
      writer.binary(result, perChannel(writer, node.input(1), rank), ElementWiseOperation::kPROD);
  return {writer.binary(scaled, perChannel(writer, node.input(2), rank), ElementWiseOperation::kSUM)};
}

// x / sqrt(mean(x^2) + epsilon) * scale
ParsedValues importRmsNormalization(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t rank = node.rank(0);
  const uint32_t axes = axesFrom(node.axis(-1, rank), rank);
  const ParsedValue square = writer.binary(node.input(0), node.input(0), ElementWiseOperation::kPROD);
  const ParsedValue mean = writer.reduce(square, ReduceOperation::kAVG, axes, true);
  const ParsedValue shifted =
      writer.binary(mean, writer.scalar(node.dataType(0), node.real("epsilon", 1e-5f)), ElementWiseOperation::kSUM);
  const ParsedValue root = writer.unary(shifted, UnaryOperation::kSQRT);
  return {writer.binary(writer.binary(node.input(0), root, ElementWiseOperation::kDIV), node.input(1),
                        ElementWiseOperation::kPROD)};
}

// (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9)
ParsedValues importMeanVarianceNormalization(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  std::vector<int64_t> list = node.integers("axes");
  if (!node.has("axes")) {
    list = {0, 2, 3};
  }
  uint32_t axes = 0;
  for (const int64_t axis : list) {
    axes |= 1u << static_cast<uint32_t>(normalizeAxis(axis, node.rank(0)));
  }
  const ParsedValue x = node.term(0).widened().value();
  const ParsedValue mean = writer.reduce(x, ReduceOperation::kAVG, axes, true);
  const ParsedValue centered = writer.binary(x, mean, ElementWiseOperation::kSUB);
  const ParsedValue square = writer.binary(centered, centered, ElementWiseOperation::kPROD);
  const ParsedValue deviation =
      writer.unary(writer.reduce(square, ReduceOperation::kAVG, axes, true), UnaryOperation::kSQRT);
  const ParsedValue divisor =
      writer.binary(deviation, writer.scalar(writer.typeOf(x), 1e-9), ElementWiseOperation::kSUM);
  return {writer.cast(writer.binary(centered, divisor, ElementWiseOperation::kDIV), node.dataType(0))};
}

ParsedValues importLpNormalization(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const uint32_t axes = 1u << static_cast<uint32_t>(node.axis(-1, node.rank(0)));
  const int64_t power = node.integer("p", 2);
  if (power != 1 && power != 2) {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("p = {}; expected 1 or 2", power));
  }
  const Term x = node.term(0).widened();
  const ParsedValue raised = power == 1 ? writer.unary(x.value(), UnaryOperation::kABS) : (x * x).value();
  const ParsedValue sum = writer.reduce(raised, ReduceOperation::kSUM, axes, true);
  const ParsedValue norm = power == 1 ? sum : writer.unary(sum, UnaryOperation::kSQRT);
  // What has no length stays zero.
  const Term length(writer, norm);
  return {(x / where(equal(length, length.number(0)), length.number(1), length)).cast(node.dataType(0))};
}

ParsedValues importLrn(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t size = node.integer("size", 0);
  if (size < 1) {
    fail(FaultKind::kInvalidNode, fmt::format("size = {}; expected 1 or more", size));
  }
  auto* made = writer.network().addLRN(node.tensor(0), size, node.real("alpha", 0.0001f), node.real("beta", 0.75f),
                                       node.real("bias", 1.0f));
  return {writer.output(writer.added(made, "addLRN"))};
}

const OperatorImporter kRows[] = {
    {"BatchNormalization", 1, kNewestOpset, importBatchNormalization,
     "addScaleNd kCHANNEL; rank below 4, or parameters or channels known only at run time: addElementWise"},
    {"InstanceNormalization", 1, kNewestOpset, importInstanceNormalization, "addNormalization"},
    {"LayerNormalization", 17, kNewestOpset, importLayerNormalization,
     "addNormalization; Mean and InvStdDev by addReduce"},
    {"GroupNormalization", 18, kNewestOpset, importGroupNormalization,
     "addNormalization; from opset 21 addElementWise for the channels' scale and bias"},
    {"RMSNormalization", 23, kNewestOpset, importRmsNormalization, "addReduce, addUnary, addElementWise"},
    {"MeanVarianceNormalization", 9, kNewestOpset, importMeanVarianceNormalization,
     "addReduce, addUnary, addElementWise"},
    {"LpNormalization", 1, kNewestOpset, importLpNormalization, "addReduce, addUnary, addElementWise; p 1 or 2"},
    {"LRN", 1, kNewestOpset, importLrn, "addLRN"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_normalization

// Normalizations.
#include "batch_normalization.h"
#include "operator_table.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

// A per-channel vector [C] as [1, C, 1, ...].
Value perChannel(Emitter& emit, const Value& vector, int64_t rank) {
  std::vector<int64_t> axes{0};
  for (int64_t i = 2; i < rank; ++i) {
    axes.push_back(i);
  }
  return emit.unsqueeze(vector, axes);
}

// y = scale * (x - mean) / sqrt(variance + epsilon) + bias = x * factor + shift
Values importBatchNormalization(Node& node) {
  Emitter& emit = node.emit();
  if (node.integer("training_mode", 0) != 0 || node.usesOutput(1)) {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "training_mode is on; export the model for inference");
  }
  const DataType type = node.dataType(0);
  const int64_t rank = node.rank(0);
  if (node.integer("spatial", 1) == 0 && rank > 2) {  // up to opset 8
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
         "spatial = 0 asks for statistics of each element; expected 1, those of channels");
  }
  const double epsilon = node.real("epsilon", 1e-5f);
  bool fixed = true;
  for (size_t i = 1; i <= 4; ++i) {
    fixed = fixed && node.input(i).isConstant();
  }
  if (!fixed) {
    const Value variance =
        emit.binary(node.input(4), emit.scalar(node.dataType(4), epsilon), ElementWiseOperation::kSUM);
    const Value factor =
        emit.binary(node.input(1), emit.unary(variance, UnaryOperation::kSQRT), ElementWiseOperation::kDIV);
    const Value shift = emit.binary(node.input(2), emit.binary(node.input(3), factor, ElementWiseOperation::kPROD),
                                    ElementWiseOperation::kSUB);
    const Value scaled = emit.binary(node.input(0), perChannel(emit, factor, rank), ElementWiseOperation::kPROD);
    return {emit.binary(scaled, perChannel(emit, shift, rank), ElementWiseOperation::kSUM)};
  }
  const FoldedNormalization folded =
      foldBatchNormalization(emit.store(), node.input(1).constant(), node.input(2).constant(), node.input(3).constant(),
                             node.input(4).constant(), epsilon, type, node.qualified(node.proto().output(0)));
  const int64_t channels = rank > 1 ? node.shape(0)[1] : 1;
  if (channels >= 0 && folded.factor->count() != channels) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("scale has {} elements for {} channels", folded.factor->count(), channels));
  }
  if (rank < 4) {  // addScaleNd asks for rank 4 or more
    const Value scaled =
        emit.binary(node.input(0), perChannel(emit, *folded.factor, rank), ElementWiseOperation::kPROD);
    return {emit.binary(scaled, perChannel(emit, *folded.shift, rank), ElementWiseOperation::kSUM)};
  }
  auto* made = emit.network().addScaleNd(node.tensor(0), nvinfer1::ScaleMode::kCHANNEL, folded.shift->weights(),
                                         folded.factor->weights(), nvinfer1::Weights{type, nullptr, 0}, 1);
  auto& layer = emit.added(made, "addScaleNd");
  emit.nameWeights(*folded.factor);
  emit.nameWeights(*folded.shift);
  return {emit.output(layer)};
}

Value normalize(Node& node, const Value& scale, const Value& bias, uint32_t axes, float epsilon, int64_t groups) {
  Emitter& emit = node.emit();
  auto& layer = emit.added(emit.network().addNormalization(node.tensor(0), emit.tensor(scale), emit.tensor(bias), axes),
                           "addNormalization");
  layer.setEpsilon(epsilon);
  layer.setNbGroups(groups);
  return emit.output(layer);
}

uint32_t axesFrom(int64_t first, int64_t rank) {
  return ((1u << static_cast<uint32_t>(rank)) - 1u) & ~((1u << static_cast<uint32_t>(first)) - 1u);
}

Values importInstanceNormalization(Node& node) {
  const int64_t rank = node.rank(0);
  Emitter& emit = node.emit();
  return {normalize(node, perChannel(emit, node.input(1), rank), perChannel(emit, node.input(2), rank),
                    axesFrom(2, rank), node.real("epsilon", 1e-5f), 1)};
}

Values importLayerNormalization(Node& node) {
  Emitter& emit = node.emit();
  if (node.usesOutput(1) || node.usesOutput(2)) {
    fail(ErrorCode::kUNSUPPORTED_NODE,
         "the outputs Mean and InvStdDev have no counterpart in the API; remove their uses");
  }
  const int64_t rank = node.rank(0);
  const int32_t axis = node.axis(-1, rank);
  const Value scale = emit.alignRank(node.input(1), rank);
  const Value bias = node.hasInput(2)
                         ? emit.alignRank(node.input(2), rank)
                         : emit.unary(emit.binary(scale, scale, ElementWiseOperation::kSUB), UnaryOperation::kABS);
  return {normalize(node, scale, bias, axesFrom(axis, rank), node.real("epsilon", 1e-5f), 1)};
}

// Opset 18: scale and bias for each group; from 21: for each channel, applied after the normalization.
Values importGroupNormalization(Node& node) {
  Emitter& emit = node.emit();
  const int64_t rank = node.rank(0);
  const int64_t groups = node.integer("num_groups", 0);
  if (groups < 1) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("num_groups = {}; expected 1 or more", groups));
  }
  const DataType type = node.dataType(0);
  const float epsilon = node.real("epsilon", 1e-5f);
  const bool perGroup = node.opset() < 21;
  const Value scale = perChannel(emit, perGroup ? node.input(1) : Value(emit.store().uniform(type, {groups}, 1)), rank);
  const Value bias = perChannel(emit, perGroup ? node.input(2) : Value(emit.store().uniform(type, {groups}, 0)), rank);
  const Value result = normalize(node, scale, bias, axesFrom(2, rank), epsilon, groups);
  if (perGroup) {
    return {result};
  }
  const Value scaled = emit.binary(result, perChannel(emit, node.input(1), rank), ElementWiseOperation::kPROD);
  return {emit.binary(scaled, perChannel(emit, node.input(2), rank), ElementWiseOperation::kSUM)};
}

// x / sqrt(mean(x^2) + epsilon) * scale
Values importRmsNormalization(Node& node) {
  Emitter& emit = node.emit();
  const int64_t rank = node.rank(0);
  const uint32_t axes = axesFrom(node.axis(-1, rank), rank);
  const Value square = emit.binary(node.input(0), node.input(0), ElementWiseOperation::kPROD);
  const Value mean = emit.reduce(square, ReduceOperation::kAVG, axes, true);
  const Value shifted =
      emit.binary(mean, emit.scalar(node.dataType(0), node.real("epsilon", 1e-5f)), ElementWiseOperation::kSUM);
  const Value root = emit.unary(shifted, UnaryOperation::kSQRT);
  return {emit.binary(emit.binary(node.input(0), root, ElementWiseOperation::kDIV), node.input(1),
                      ElementWiseOperation::kPROD)};
}

// (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9)
Values importMeanVarianceNormalization(Node& node) {
  Emitter& emit = node.emit();
  std::vector<int64_t> list = node.integers("axes");
  if (!node.has("axes")) {
    list = {0, 2, 3};
  }
  uint32_t axes = 0;
  for (const int64_t axis : list) {
    axes |= 1u << static_cast<uint32_t>(normalizeAxis(axis, node.rank(0)));
  }
  const Value mean = emit.reduce(node.input(0), ReduceOperation::kAVG, axes, true);
  const Value centered = emit.binary(node.input(0), mean, ElementWiseOperation::kSUB);
  const Value square = emit.binary(centered, centered, ElementWiseOperation::kPROD);
  const Value deviation = emit.unary(emit.reduce(square, ReduceOperation::kAVG, axes, true), UnaryOperation::kSQRT);
  const Value divisor = emit.binary(deviation, emit.scalar(node.dataType(0), 1e-9), ElementWiseOperation::kSUM);
  return {emit.binary(centered, divisor, ElementWiseOperation::kDIV)};
}

Values importLpNormalization(Node& node) {
  Emitter& emit = node.emit();
  const uint32_t axes = 1u << static_cast<uint32_t>(node.axis(-1, node.rank(0)));
  const int64_t power = node.integer("p", 2);
  if (power != 1 && power != 2) {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("p = {}; expected 1 or 2", power));
  }
  const Value raised = power == 1 ? emit.unary(node.input(0), UnaryOperation::kABS)
                                  : emit.binary(node.input(0), node.input(0), ElementWiseOperation::kPROD);
  const Value sum = emit.reduce(raised, ReduceOperation::kSUM, axes, true);
  const Value norm = power == 1 ? sum : emit.unary(sum, UnaryOperation::kSQRT);
  return {emit.binary(node.input(0), norm, ElementWiseOperation::kDIV)};
}

Values importLrn(Node& node) {
  Emitter& emit = node.emit();
  const int64_t size = node.integer("size", 0);
  if (size < 1) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("size = {}; expected 1 or more", size));
  }
  auto* made = emit.network().addLRN(node.tensor(0), size, node.real("alpha", 0.0001f), node.real("beta", 0.75f),
                                     node.real("bias", 1.0f));
  return {emit.output(emit.added(made, "addLRN"))};
}

const OperatorImporter kRows[] = {
    {"BatchNormalization", 1, kNewestOpset, importBatchNormalization,
     "addScaleNd kCHANNEL; rank below 4 or parameters computed at run time: addElementWise"},
    {"InstanceNormalization", 1, kNewestOpset, importInstanceNormalization, "addNormalization"},
    {"LayerNormalization", 17, kNewestOpset, importLayerNormalization, "addNormalization; first output only"},
    {"GroupNormalization", 18, kNewestOpset, importGroupNormalization,
     "addNormalization; from opset 21 addElementWise for the channels' scale and bias"},
    {"RMSNormalization", 23, kNewestOpset, importRmsNormalization, "addReduce, addUnary, addElementWise"},
    {"MeanVarianceNormalization", 9, kNewestOpset, importMeanVarianceNormalization,
     "addReduce, addUnary, addElementWise"},
    {"LpNormalization", 1, kNewestOpset, importLpNormalization, "addReduce, addUnary, addElementWise; p 1 or 2"},
    {"LRN", 1, kNewestOpset, importLrn, "addLRN"},
};

}  // namespace

namespace ops_normalization {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_normalization
}  // namespace tenon::onnxparser

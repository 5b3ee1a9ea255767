// Operators of the domain com.microsoft that graph optimizers leave in models: fused products, activations, norms.
#include "fused_activation.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_microsoft {
namespace {

using nvinfer1::ActivationType;

constexpr const char* kDomain = "com.microsoft";

std::optional<Term> optionalTerm(const OnnxNode& node, size_t index) {
  return node.hasInput(index) ? std::optional<Term>(node.term(index)) : std::nullopt;
}

// The first axis behind the other batches: a matrix for each of its places.
Term batchesTurned(const Term& x) {
  std::vector<int32_t> order;
  for (int32_t i = 1; i < static_cast<int32_t>(x.rank()) - 1; ++i) {
    order.push_back(i);
  }
  order.push_back(0);
  order.push_back(static_cast<int32_t>(x.rank()) - 1);
  return x.transpose(order);
}

ParsedValues importFusedMatMul(OnnxNode& node) {
  const auto operand = [&](size_t index, const char* turned, int64_t missingAxis) {
    const Term x = node.rank(index) == 1 ? node.term(index).unsqueeze({missingAxis}) : node.term(index);
    return node.rank(index) > 2 && node.integer(turned, 0) != 0 ? batchesTurned(x) : x;
  };
  const Term a = operand(0, "transBatchA", 0);
  const Term b = operand(1, "transBatchB", 1);
  const bool turnsA = node.rank(0) > 1 && node.integer("transA", 0) != 0;
  const bool turnsB = node.rank(1) > 1 && node.integer("transB", 0) != 0;
  Term result = a.multiply(b, turnsA, turnsB);
  const float alpha = node.real("alpha", 1.0f);
  result = alpha == 1.0f ? result : result * alpha;
  std::vector<int64_t> dropped;
  if (node.rank(0) == 1) {
    dropped.push_back(result.rank() - 2);
  }
  if (node.rank(1) == 1) {
    dropped.push_back(result.rank() - 1);
  }
  return {dropped.empty() ? result : result.squeeze(dropped)};
}

ParsedValues importFusedGemm(OnnxNode& node) {
  Term result = node.term(0).multiply(node.term(1), node.integer("transA", 0) != 0, node.integer("transB", 0) != 0) *
                node.real("alpha", 1.0f);
  if (const auto c = optionalTerm(node, 2)) {
    result = result + *c * node.real("beta", 1.0f);
  }
  return {activated(node, result, node.text("activation", ""))};
}

// The distance of each row of one matrix from each row of the other.
ParsedValues importDistances(OnnxNode& node) {
  const std::string metric = node.choice("metric", "sqeuclidean", {"euclidean", "sqeuclidean"});
  const Term apart = node.term(0).unsqueeze({1}) - node.term(1).unsqueeze({0});
  const Term squares = (apart * apart).sum({2}, false);
  return {metric == "euclidean" ? sqrtOf(squares) : squares};
}

template <ActivationType kType>
ParsedValues importBiasedActivation(OnnxNode& node) {
  const Term x = node.hasInput(1) ? node.term(0) + node.term(1) : node.term(0);
  return {x.activation(kType)};
}

ParsedValues importQuickGelu(OnnxNode& node) {
  const Term x = node.term(0);
  return {x * (x * node.real("alpha", 1.702f)).activation(ActivationType::kSIGMOID)};
}

Term aligned(const Term& vector, int64_t rank) { return {vector.writer(), vector.writer().alignRank(vector, rank)}; }

Term layerNorm(const Term& x, const Term& scale, const std::optional<Term>& bias, float epsilon) {
  NetworkWriter& writer = x.writer();
  const Term zero = bias ? *bias : scale.number(0).expand({scale.dim(0)});
  auto* made = writer.network().addNormalization(writer.tensor(x), writer.tensor(aligned(scale, x.rank())),
                                                 writer.tensor(aligned(zero, x.rank())),
                                                 1u << static_cast<uint32_t>(x.rank() - 1));
  auto& layer = writer.added(made, "addNormalization");
  layer.setEpsilon(epsilon);
  return {writer, writer.output(layer)};
}

Term rmsNorm(const Term& x, const Term& scale, float epsilon) {
  const Term mean = (x * x).reduce(nvinfer1::ReduceOperation::kAVG, {-1}, true);
  return x / sqrtOf(mean + epsilon) * scale;
}

void refuseStatistics(const OnnxNode& node) {
  if (node.usesOutput(1) || node.usesOutput(2)) {
    fail(FaultKind::kUnsupportedNode, "the outputs of mean and deviation have no counterpart; remove their uses");
  }
}

// input, skip, gamma, beta, bias; the last output is the sum that is normalized
ParsedValues importSkipLayerNorm(OnnxNode& node) {
  refuseStatistics(node);
  Term sum = node.term(0) + node.term(1);
  if (const auto bias = optionalTerm(node, 4)) {
    sum = sum + *bias;
  }
  return {layerNorm(sum, node.term(2), optionalTerm(node, 3), node.real("epsilon", 1e-12f)), {}, {}, sum};
}

ParsedValues importSkipRmsNorm(OnnxNode& node) {
  refuseStatistics(node);
  Term sum = node.term(0) + node.term(1);
  if (const auto bias = optionalTerm(node, 3)) {
    sum = sum + *bias;
  }
  return {rmsNorm(sum, node.term(2), node.real("epsilon", 1e-12f)), {}, {}, sum};
}

ParsedValues importRmsNorm(OnnxNode& node) {
  refuseStatistics(node);
  const int64_t axis = node.axis(-1, node.rank(0));
  if (axis != node.rank(0) - 1) {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("axis = {}; expected the last one", node.integer("axis", -1)));
  }
  return {rmsNorm(node.term(0), node.term(1), node.real("epsilon", 1e-5f))};
}

// input_ids, segment_ids, word, position, segment embeddings, gamma, beta, mask, position_ids
ParsedValues importEmbedLayerNorm(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term ids = node.term(0);
  Term sum = node.term(2).gather(ids, 0);
  const Term places = node.hasInput(8) ? node.term(8) : iota(writer, ids.dim(1), DataType::kINT32).unsqueeze({0});
  sum = sum + node.term(3).gather(places, 0);
  if (node.hasInput(1) && node.hasInput(4)) {
    sum = sum + node.term(4).gather(node.term(1), 0);
  }
  const Term result = layerNorm(sum, node.term(5), node.term(6), node.real("epsilon", 1e-12f));
  ParsedValues outputs{result, {}, sum};
  if (node.usesOutput(1)) {
    const Term mask = node.hasInput(7) ? node.term(7).cast(DataType::kINT32) : ids.cast(DataType::kINT32) * 0.0;
    outputs[1] = mask.sum({1}, false);
  }
  return outputs;
}

ParsedValues importBiasAdd(OnnxNode& node) { return {node.term(0) + node.term(1) + node.term(2)}; }

// x[..., :half] * gelu(x[..., half:]) of x + bias
ParsedValues importBiasSplitGelu(OnnxNode& node) {
  const Term x = node.term(0) + node.term(1);
  const int64_t columns = x.fixedDim(-1, "the last extent");
  const Term gate = x.slice(x.rank() - 1, columns / 2, columns / 2).activation(ActivationType::kGELU_ERF);
  return {x.slice(x.rank() - 1, 0, columns / 2) * gate};
}

// [N, H, W, C] or [N, C, H, W], normalized in groups of channels; gamma and beta for each channel.
ParsedValues importGroupNorm(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  Term x = node.term(0);
  if (x.rank() != 4) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input {}; expected rank 4", toString(x.shape())));
  }
  const bool channelsLast = node.integer("channels_last", 1) != 0;
  x = channelsLast ? x.transpose({0, 3, 1, 2}) : x;
  const int64_t groups = node.integer("groups", 0);
  if (groups < 1) {
    fail(FaultKind::kInvalidNode, fmt::format("groups = {}; expected 1 or more", groups));
  }
  const auto uniform = [&](double number) {
    return ParsedValue(writer.store().uniform(x.type(), {1, groups, 1, 1}, number));
  };
  auto* made =
      writer.network().addNormalization(writer.tensor(x), writer.tensor(uniform(1)), writer.tensor(uniform(0)), 0xC);
  auto& layer = writer.added(made, "addNormalization");
  layer.setEpsilon(node.real("epsilon", 1e-5f));
  layer.setNbGroups(groups);
  Term result = Term(writer, writer.output(layer)) * node.term(1).cast(x.type()).unsqueeze({0, 2, 3}) +
                node.term(2).cast(x.type()).unsqueeze({0, 2, 3});
  if (node.integer("activation", 0) != 0) {
    result = result * result.activation(ActivationType::kSIGMOID);
  }
  return {channelsLast ? result.transpose({0, 2, 3, 1}) : result};
}

ParsedValues importExpandDims(OnnxNode& node) {
  const std::vector<int64_t> axis = toInts(node.constant(1, "axis"));
  return {node.writer().unsqueeze(node.input(0), axis)};
}

const OperatorImporter kRows[] = {
    {"FusedMatMul", 1, kNewestOpset, importFusedMatMul, "addMatrixMultiply, addElementWise", kDomain},
    {"TransposeMatMul", 1, kNewestOpset, importFusedMatMul, "as FusedMatMul", kDomain},
    {"FusedGemm", 1, kNewestOpset, importFusedGemm, "addMatrixMultiply, addElementWise, addActivation", kDomain},
    {"Gelu", 1, kNewestOpset, importBiasedActivation<ActivationType::kGELU_ERF>, "addActivation kGELU_ERF", kDomain},
    {"BiasGelu", 1, kNewestOpset, importBiasedActivation<ActivationType::kGELU_ERF>,
     "addElementWise, addActivation kGELU_ERF", kDomain},
    {"FastGelu", 1, kNewestOpset, importBiasedActivation<ActivationType::kGELU_TANH>,
     "addElementWise, addActivation kGELU_TANH", kDomain},
    {"QuickGelu", 1, kNewestOpset, importQuickGelu, "addActivation kSIGMOID, addElementWise", kDomain},
    {"BiasAdd", 1, kNewestOpset, importBiasAdd, "addElementWise", kDomain},
    {"BiasSplitGelu", 1, kNewestOpset, importBiasSplitGelu, "addSlice, addActivation kGELU_ERF, addElementWise",
     kDomain},
    {"SkipLayerNormalization", 1, kNewestOpset, importSkipLayerNorm, "addElementWise, addNormalization", kDomain},
    {"SkipSimplifiedLayerNormalization", 1, kNewestOpset, importSkipRmsNorm, "addReduce, addUnary, addElementWise",
     kDomain},
    {"SimplifiedLayerNormalization", 1, kNewestOpset, importRmsNorm, "addReduce, addUnary, addElementWise; last axis"},
    {"EmbedLayerNormalization", 1, kNewestOpset, importEmbedLayerNorm, "addGather, addElementWise, addNormalization",
     kDomain},
    {"GroupNorm", 1, kNewestOpset, importGroupNorm, "addNormalization, addElementWise", kDomain},
    {"CDist", 1, kNewestOpset, importDistances, "addElementWise, addReduce, addUnary", kDomain},
    {"ExpandDims", 1, kNewestOpset, importExpandDims, "addShuffle; axis constant", kDomain},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_microsoft

// Attention and RotaryEmbedding of the standard domain, and what newer language models use beside them.
#include "attention_core.h"

#include <cmath>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_attention {
namespace {

constexpr int64_t kMostSteps = 512;

Term operand(OnnxNode& node, size_t index, const char* headsAttribute) {
  const Term term = node.term(index);
  if (term.rank() == 4) {
    return term;
  }
  if (!node.has(headsAttribute)) {
    fail(FaultKind::kInvalidNode, fmt::format("input {} has rank {}, but {} is not given; expected rank 4, or rank 3 "
                                              "with {}",
                                              index, term.rank(), headsAttribute, headsAttribute));
  }
  return splitHeads(term, node.integer(headsAttribute, 0));
}

// Shorter masks leave the keys behind their end out.
Term padMask(const Term& mask, const ParsedExtent& keys, double fill) {
  const ParsedExtent last = mask.dim(-1);
  if (!keys.known() || !last.known() || last.value >= keys.value || last.value == 1) {
    return mask;
  }
  return mask.pad(mask.rank() - 1, 0, keys.value - last.value, fill);
}

// Distance of each key from the last one that its row may see without a window: key - (row + offset).
Term distances(NetworkWriter& writer, const AttentionCore& core, const std::optional<Term>& offset) {
  const Term rows = iota(writer, core.query.dim(2), DataType::kINT32).unsqueeze({1});
  const Term keys = iota(writer, core.key.dim(2), DataType::kINT32).unsqueeze({0});
  const Term plain = keys - rows;
  return offset ? plain - *offset : plain;
}

void readMasks(OnnxNode& node, AttentionCore& core, const std::optional<ParsedExtent>& past) {
  NetworkWriter& writer = node.writer();
  const ParsedExtent keys = core.key.dim(2);
  if (node.hasInput(3)) {
    const Term mask = node.term(3);
    if (mask.type() == DataType::kBOOL) {
      core.allowed.push_back(padMask(mask.cast(DataType::kINT32), keys, 0).cast(DataType::kBOOL));
    } else {
      core.bias = padMask(mask, keys, -INFINITY);
    }
  }
  std::optional<Term> offset;
  if (past) {
    offset = Term(writer, writer.cast(writer.fromExtents({*past}, true), DataType::kINT32));
  }
  if (node.hasInput(6)) {  // valid keys of each row of the batch
    const Term valid = node.term(6).cast(DataType::kINT32).unsqueeze({1, 2, 3});
    core.allowed.push_back(iota(writer, keys, DataType::kINT32) < valid);
    offset = valid - Term(writer, writer.cast(writer.fromExtents({core.query.dim(2)}, true), DataType::kINT32));
  }
  const bool causal = node.integer("is_causal", 0) != 0;
  const int64_t left = node.integer("left_window_size", -1);
  const int64_t right = node.integer("right_window_size", -1);
  if (causal || left >= 0 || right >= 0) {
    const Term distance = distances(writer, core, offset);
    if (causal) {
      core.allowed.push_back(distance < 1.0);
    }
    if (right >= 0) {
      core.allowed.push_back(distance < static_cast<double>(right + 1));
    }
    if (left >= 0) {
      core.allowed.push_back(distance > static_cast<double>(-left - 1));
    }
  }
}

ParsedValues importAttention(OnnxNode& node) {
  AttentionCore core{operand(node, 0, "q_num_heads"), operand(node, 1, "kv_num_heads"),
                     operand(node, 2, "kv_num_heads")};
  const bool packed = node.rank(0) == 3;
  std::optional<ParsedExtent> past;
  if (node.hasInput(4) != node.hasInput(5)) {
    fail(FaultKind::kInvalidNode, "one of past_key and past_value is given; expected both or none");
  }
  if (node.hasInput(4)) {
    past = node.term(4).dim(2);
    core.key = concat({node.term(4), core.key}, 2);
    core.value = concat({node.term(5), core.value}, 2);
  }
  const int64_t width = core.query.fixedDim(3, "the size of a head");
  core.scale = node.real("scale", static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))));
  core.softcap = node.real("softcap", 0.0f);
  if (node.has("softmax_precision")) {
    core.softmaxType = toDataType(static_cast<int32_t>(node.integer("softmax_precision", 1)));
    if (!core.softmaxType || !isFloating(*core.softmaxType)) {
      fail(FaultKind::kUnsupportedAttribute,
           fmt::format("softmax_precision = {}; expected 1, 10, 11 or 16", node.integer("softmax_precision", 0)));
    }
  }
  readMasks(node, core, past);
  const AttentionCore::Result result = core.run();
  ParsedValues outputs{packed ? joinHeads(result.output) : result.output, core.key, core.value};
  const int64_t mode = node.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("qk_matmul_output_mode = {}; expected 0 to 3", mode));
  }
  const Term* scores[] = {&result.raw, &result.capped, &result.biased, &result.weights};
  outputs.push_back(*scores[mode]);
  return outputs;
}

ParsedValues importRotaryEmbedding(OnnxNode& node) {
  Term x = node.term(0);
  const bool packed = x.rank() == 3;
  if (packed) {
    const int64_t heads = node.integer("num_heads", 0);
    const ParsedExtents in = x.dims();
    const int64_t columns = x.fixedDim(2, "the hidden size");
    if (heads < 1 || columns % heads != 0) {
      fail(FaultKind::kInvalidNode,
           fmt::format("num_heads = {} for a hidden size of {}; expected a divisor", heads, columns));
    }
    x = x.reshape({in[0], in[1], ParsedExtent::of(heads), ParsedExtent::of(columns / heads)});
  }
  Term cosines = node.term(1);
  Term sines = node.term(2);
  if (node.hasInput(3)) {
    cosines = cosines.gather(node.term(3), 0);
    sines = sines.gather(node.term(3), 0);
  }
  const int64_t part = node.integer("rotary_embedding_dim", 0);
  if (part != 0 && cosines.shape().back() != part / 2) {
    fail(FaultKind::kInvalidNode, fmt::format("rotary_embedding_dim = {}, but the caches have {} columns; expected {}",
                                              part, cosines.shape().back(), part / 2));
  }
  const int64_t headAxis = packed ? 2 : 1;
  const Term turned =
      rotate(x, cosines.unsqueeze({headAxis}), sines.unsqueeze({headAxis}), node.integer("interleaved", 0) != 0);
  return {packed ? turned.reshape(node.term(0).dims()) : turned};
}

// past_cache with `update` from write_indices[batch] on, along the axis.
ParsedValues importTensorScatter(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term cache = node.term(0);
  const Term update = node.term(1);
  const int32_t axis = node.axis(-2, cache.rank());
  if (axis == 0) {
    fail(FaultKind::kInvalidNode, "axis = 0 is the batch; expected another axis");
  }
  const bool circular = node.choice("mode", "linear", {"linear", "circular"}) == "circular";
  std::vector<int64_t> others;
  for (int64_t i = 0; i < cache.rank(); ++i) {
    if (i != axis) {
      others.push_back(i);
    }
  }
  Term rows = iota(writer, update.dim(axis), DataType::kINT64).unsqueeze(others);
  if (node.hasInput(2)) {
    std::vector<int64_t> behind;
    for (int64_t i = 1; i < cache.rank(); ++i) {
      behind.push_back(i);
    }
    rows = rows + node.term(2).cast(DataType::kINT64).unsqueeze(behind);
  }
  if (circular) {
    const Term length(writer, writer.fromExtents({cache.dim(axis)}, true));
    rows = rows - rows.floorDivide(length) * length;
  }
  auto* made = writer.network().addScatter(writer.tensor(cache), writer.tensor(rows.expand(update.dims())),
                                           writer.tensor(update), nvinfer1::ScatterMode::kELEMENT);
  auto& layer = writer.added(made, "addScatter");
  layer.setAxis(axis);
  return {writer.output(layer)};
}

ParsedValues importSwiGlu(OnnxNode& node) {
  const Term gate = node.term(0);
  const Term scaled = gate * node.real("alpha", 1.0f);
  return {gate * scaled.activation(nvinfer1::ActivationType::kSIGMOID) * node.term(1)};
}

// out[t] = sum over i of weight[i] * x[t - k + 1 + i] + bias; what is before the first element is the state.
ParsedValues importCausalConv(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term x = node.term(0);
  const Term weight = node.term(1);
  const int64_t taps = weight.fixedDim(2, "the kernel size");
  const Term before =
      node.hasInput(3)
          ? node.term(3)
          : Term(writer, writer.scalar(x.type(), 0, 3)).expand({x.dim(0), x.dim(1), ParsedExtent::of(taps - 1)});
  const Term all = taps > 1 ? concat({before, x}, 2) : x;
  std::optional<Term> sum;
  for (int64_t i = 0; i < taps; ++i) {
    const Term part = all.slice(2, ParsedExtent::of(i), x.dim(2)) *
                      weight.slice(2, i, 1).reshape({ParsedExtent::of(1), weight.dim(0), ParsedExtent::of(1)});
    sum = sum ? *sum + part : part;
  }
  Term result = *sum;
  if (node.hasInput(2)) {
    result = result + node.term(2).unsqueeze({0, 2});
  }
  if (node.choice("activation", "none", {"none", "silu", "swish"}) != "none") {
    result = result * result.activation(nvinfer1::ActivationType::kSIGMOID);
  }
  const Term state = taps > 1 ? all.slice(2, x.dim(2), ParsedExtent::of(taps - 1)) : before;
  return {result, state};
}

// The recurrence of the operator's definition, a step after the other. All heads at once: states [B, G, K, V].
ParsedValues importLinearAttention(OnnxNode& node) {
  const int64_t heads = node.integer("q_num_heads", 0);
  const int64_t keyHeads = node.integer("kv_num_heads", 0);
  // States are sums of many steps: they are added up in single precision, whatever their type.
  constexpr DataType kCompute = DataType::kFLOAT;
  const DataType stateType = node.hasInput(3) ? node.dataType(3) : node.dataType(0);
  const Term q = splitHeads(node.term(0), heads).cast(kCompute);
  const Term k = splitHeads(node.term(1), keyHeads).cast(kCompute);
  const Term v = splitHeads(node.term(2), keyHeads).cast(kCompute);
  if (heads % keyHeads != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("q_num_heads = {} is not a multiple of kv_num_heads = {}", heads, keyHeads));
  }
  const std::string rule = node.choice("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  const int64_t steps = q.fixedDim(2, "the sequence length");
  if (steps < 1 || steps > kMostSteps) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("the sequence has {} steps; expected 1 to {}, since each step becomes layers of its own", steps,
                     kMostSteps));
  }
  const int64_t width = k.fixedDim(3, "the size of a key");
  const float given = node.real("scale", 0.0f);
  const double scale = given != 0 ? given : 1.0 / std::sqrt(static_cast<double>(width));
  // exp(g) as [B, G, T, K or 1], the update rate as [B, G or 1, T, 1]
  std::optional<Term> decay;
  std::optional<Term> rate;
  if (gated) {
    decay = expOf(splitHeads(node.term(4), keyHeads).cast(kCompute));
  }
  if (delta) {
    const Term packed = node.term(5);
    rate = splitHeads(packed, packed.fixedDim(2, "the columns of beta")).cast(kCompute);
  }
  std::optional<Term> state;
  if (node.hasInput(3)) {
    state = node.term(3).cast(kCompute);
  }
  std::vector<Term> rows;
  for (int64_t t = 0; t < steps; ++t) {
    const Term key = k.at(2, t).unsqueeze({3});    // [B, G, K, 1]
    const Term value = v.at(2, t).unsqueeze({2});  // [B, G, 1, V]
    if (state && gated) {
      state = *state * decay->at(2, t).unsqueeze({3});
    }
    Term update = value;
    if (delta) {
      if (state) {
        update = value - key.multiply(*state, true, false);
      }
      update = update * rate->at(2, t).unsqueeze({3});
    }
    const Term outer = key * update;
    state = state ? *state + outer : outer;
    const Term row = q.slice(2, t, 1) * scale;  // [B, H, 1, K]
    rows.push_back(row.multiply(repeatHeads(*state, heads / keyHeads)));
  }
  return {joinHeads(concat(rows, 2)).cast(node.dataType(0)), state->cast(stateType)};
}

const OperatorImporter kRows[] = {
    {"Attention", 23, kNewestOpset, importAttention,
     "addMatrixMultiply, addElementWise, addSelect, addSoftMax; head sizes and numbers static"},
    {"RotaryEmbedding", 23, kNewestOpset, importRotaryEmbedding, "addElementWise, addConcatenation, addGather"},
    {"TensorScatter", 24, kNewestOpset, importTensorScatter, "addScatter kELEMENT"},
    {"SwiGLU", 28, kNewestOpset, importSwiGlu, "addActivation kSIGMOID, addElementWise"},
    {"CausalConvWithState", 27, kNewestOpset, importCausalConv, "addConcatenation, addElementWise for each tap"},
    {"LinearAttention", 27, kNewestOpset, importLinearAttention,
     "addMatrixMultiply, addElementWise for each step; static sequence length of 512 at most"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_attention

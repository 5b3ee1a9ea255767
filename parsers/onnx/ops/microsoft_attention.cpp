// Attention and rotary embeddings of the domain com.microsoft.
#include <cmath>

#include "attention_core.h"
#include "operator_table.h"
#include "quantization.h"

namespace tenon::parsers::onnx::ops_microsoft_attention {
namespace {

constexpr const char* kDomain = "com.microsoft";

void refuseAttribute(const OnnxNode& node, const char* name) {
  if (node.integer(name, 0) != 0) {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("{} = {}; expected 0", name, node.integer(name, 0)));
  }
}

void refuseInput(const OnnxNode& node, size_t index, const char* what) {
  if (node.hasInput(index)) {
    fail(FaultKind::kUnsupportedInput, fmt::format("input {} ({}) is given, which is not supported", index, what));
  }
}

int64_t headsOf(const OnnxNode& node, const char* name = "num_heads") {
  const int64_t heads = node.integer(name, 0);
  if (heads < 1) {
    fail(FaultKind::kInvalidNode, fmt::format("{} = {}; expected 1 or more", name, heads));
  }
  return heads;
}

double scaleOf(const OnnxNode& node, int64_t width) {
  const float given = node.real("scale", 0.0f);
  return given != 0.0f ? given : 1.0 / std::sqrt(static_cast<double>(width));
}

// Key - row, less the keys before the rows: 0 and below is what a row may see.
Term distances(const AttentionCore& core, const std::optional<ParsedExtent>& past) {
  NetworkWriter& writer = core.query.writer();
  const Term rows = iota(writer, core.query.dim(2), DataType::kINT32).unsqueeze({1});
  const Term plain = iota(writer, core.key.dim(2), DataType::kINT32).unsqueeze({0}) - rows;
  return past ? plain - Term(writer, writer.cast(writer.fromExtents({*past}, true), DataType::kINT32)) : plain;
}

// Masks of integers: [batch] lengths, [2 * batch] ends and begins, [batch, keys], [batch, rows, keys] or
// [batch, 1, rows, keys] of 0 and 1.
Term readMask(const OnnxNode& node, size_t index, const AttentionCore& core) {
  const Term mask = node.term(index).cast(DataType::kINT32);
  const int64_t rank = mask.rank();
  if (rank == 1) {
    const ParsedExtent batch = core.query.dim(0);
    const Term keys = iota(core.query.writer(), core.key.dim(2), DataType::kINT32);
    if (batch.known() && batch.value > 0 && mask.dim(0).is(2 * batch.value)) {
      const Term begins = mask.slice(0, batch.value, batch.value).unsqueeze({1, 2, 3});
      return both(keys < mask.slice(0, 0, batch.value).unsqueeze({1, 2, 3}), negation(keys < begins));
    }
    if (!(mask.dim(0) == core.query.dim(0)) && !(mask.dim(0).known() && !core.query.dim(0).known())) {
      fail(FaultKind::kUnsupportedShape,
           fmt::format(
               "the mask has shape {}; expected one length for each row of the batch (where the batch is static, "
               "or an end and then a begin), or a mask of the keys",
               toString(mask.shape())));
    }
    return keys < mask.unsqueeze({1, 2, 3});
  }
  const Term inside = mask > 0.0;
  return rank == 2 ? inside.unsqueeze({1, 2}) : rank == 3 ? inside.unsqueeze({1}) : inside;
}

// What masks leave out is not left out but made unlikely: a value is added to its scores.
void addFilter(const OnnxNode& node, AttentionCore& core, const Term& allowed) {
  const Term zero = core.query.number(0);
  const Term filter = where(allowed, zero, core.query.number(node.real("mask_filter_value", -10000.0f)));
  core.bias = core.bias ? *core.bias + filter : filter;
}

// [batch, rows, columns] in three parts with the given widths.
struct Parts {
  Term query;
  Term key;
  Term value;
};

Parts splitColumns(const Term& all, int64_t query, int64_t key, int64_t value) {
  return {all.slice(2, 0, query), all.slice(2, query, key), all.slice(2, query + key, value)};
}

// `packed` is the product of input and weights: [batch, rows, query + key + value columns]. past [2, batch, heads, ..].
ParsedValues attend(OnnxNode& node, const Term& packed, size_t maskInput, size_t pastInput, size_t biasInput) {
  refuseAttribute(node, "do_rotary");
  refuseAttribute(node, "past_present_share_buffer");
  const int64_t heads = headsOf(node);
  const int64_t columns = packed.fixedDim(2, "the columns of the weights");
  std::vector<int64_t> sizes = node.integers("qkv_hidden_sizes");
  if (sizes.empty()) {
    sizes.assign(3, columns / 3);
  }
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != columns || sizes[0] != sizes[1]) {
    fail(FaultKind::kInvalidNode, fmt::format("qkv_hidden_sizes = {} for {} columns; expected three sizes that add up "
                                              "to them, the first two equal",
                                              toString(sizes), columns));
  }
  const Parts parts = splitColumns(packed, sizes[0], sizes[1], sizes[2]);
  AttentionCore core{splitHeads(parts.query, heads), splitHeads(parts.key, heads), splitHeads(parts.value, heads)};
  std::optional<ParsedExtent> past;
  if (node.hasInput(pastInput)) {
    past = node.term(pastInput).dim(3);
    core.key = concat({node.term(pastInput).at(0, 0), core.key}, 2);
    core.value = concat({node.term(pastInput).at(0, 1), core.value}, 2);
  }
  core.scale = scaleOf(node, core.query.fixedDim(3, "the size of a head"));
  if (node.hasInput(biasInput)) {
    core.bias = node.term(biasInput);
  }
  if (node.hasInput(maskInput)) {
    addFilter(node, core, readMask(node, maskInput, core));
  }
  if (node.integer("unidirectional", 0) != 0) {
    core.allowed.push_back(distances(core, past) < 1.0);
  }
  ParsedValues outputs{joinHeads(core.run().output)};
  if (node.usesOutput(1)) {
    outputs.push_back(concat({core.key.unsqueeze({0}), core.value.unsqueeze({0})}, 0));
  }
  return outputs;
}

// input [batch, rows, hidden], weights, bias, mask_index, past, attention_bias
ParsedValues importAttention(OnnxNode& node) {
  refuseInput(node, 6, "past_sequence_length");
  Term packed = node.term(0).multiply(node.term(1));
  if (node.hasInput(2)) {
    packed = packed + node.term(2);
  }
  return attend(node, packed, 3, 4, 5);
}

// input, weights, bias, input_scale, weight_scale, mask_index, input_zero, weight_zero, past
ParsedValues importQAttention(OnnxNode& node) {
  // One value, or one for each column.
  const auto parameter = [&](size_t index) {
    const Term value = node.term(index);
    return value.rank() == 0 || value.dim(0).is(1) ? value.reshape({}) : value;
  };
  const auto zero = [&](size_t index) {
    return node.hasInput(index) ? std::optional<Term>(parameter(index)) : std::nullopt;
  };
  const Term packed =
      quantizedProduct(node.term(0), zero(6), node.term(1), zero(7), {parameter(3) * parameter(4), std::nullopt}) +
      node.term(2);
  return attend(node, packed, 5, 8, SIZE_MAX);
}

// Operands of MultiHeadAttention in all of their forms as [batch, heads, rows, width].
Parts readHeads(const OnnxNode& node, int64_t heads) {
  const Term query = node.term(0);
  const auto turned = [](const Term& x, int64_t at) { return x.at(3, at).transpose({0, 2, 1, 3}); };
  if (query.rank() == 5) {  // [batch, rows, heads, 3, width]
    return {turned(query, 0), turned(query, 1), turned(query, 2)};
  }
  const auto bias = [&](const Term& x, int64_t begin) {
    return node.hasInput(3) ? x + node.term(3).slice(0, begin, x.fixedDim(2, "the hidden size")) : x;
  };
  const int64_t columns = query.fixedDim(2, "the hidden size");
  const Term q = splitHeads(bias(query, 0), heads);
  if (node.hasInput(1) && node.rank(1) == 5) {  // [batch, rows, heads, 2, width]
    return {q, turned(node.term(1), 0), turned(node.term(1), 1)};
  }
  const Term k = node.term(1);
  const Term v = node.term(2);
  if (k.rank() == 4) {
    return {q, k, v};
  }
  return {q, splitHeads(bias(k, columns), heads), splitHeads(bias(v, 2 * columns), heads)};
}

// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value
ParsedValues importMultiHeadAttention(OnnxNode& node) {
  refuseInput(node, 8, "past_sequence_length");
  refuseInput(node, 9, "cache_indirection");
  const int64_t heads = headsOf(node);
  const Parts parts = readHeads(node, heads);
  AttentionCore core{parts.query, parts.key, parts.value};
  std::optional<ParsedExtent> past;
  if (node.hasInput(6) && node.hasInput(7)) {
    past = node.term(6).dim(2);
    core.key = concat({node.term(6), core.key}, 2);
    core.value = concat({node.term(7), core.value}, 2);
  }
  core.scale = scaleOf(node, core.query.fixedDim(3, "the size of a head"));
  if (node.hasInput(5)) {
    core.bias = node.term(5);
  }
  if (node.hasInput(4)) {
    addFilter(node, core, readMask(node, 4, core));
  }
  if (node.integer("unidirectional", 0) != 0) {
    core.allowed.push_back(distances(core, past) < 1.0);
  }
  return {joinHeads(core.run().output), core.key, core.value};
}

// cosines or sines [positions, pairs] of rows from `first` on: [1, rows, 1, pairs]
Term cacheRows(const Term& cache, const Term& places) { return cache.gather(places, 0).unsqueeze({2}); }

// query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache, position_ids,
// attention_bias; the lengths are those of past and rows together, and the past has no padding.
ParsedValues importGroupQueryAttention(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t heads = headsOf(node);
  const int64_t keyHeads = headsOf(node, "kv_num_heads");
  Term query = node.term(0);
  std::optional<Parts> parts;
  if (!node.hasInput(1)) {  // all in one
    const int64_t width = query.fixedDim(2, "the hidden size") / (heads + 2 * keyHeads);
    parts = splitColumns(query, heads * width, keyHeads * width, keyHeads * width);
  } else {
    parts = Parts{query, node.term(1), node.term(2)};
  }
  Term q = splitHeads(parts->query, heads);
  Term k = splitHeads(parts->key, keyHeads);
  const Term v = splitHeads(parts->value, keyHeads);
  const bool hasPast = node.hasInput(3) && node.hasInput(4);
  const ParsedExtent past = hasPast ? node.term(3).dim(2) : ParsedExtent::of(0);
  if (node.integer("do_rotary", 0) != 0) {
    const Term begin(writer, writer.fromExtents({past}, true));
    const Term places =
        node.hasInput(9) ? node.term(9) : (iota(writer, q.dim(2), DataType::kINT64) + begin).unsqueeze({0});
    const Term cosines = cacheRows(node.term(7), places);
    const Term sines = cacheRows(node.term(8), places);
    const bool interleaved = node.integer("rotary_interleaved", 0) != 0;
    const auto turned = [&](const Term& x) {
      return rotate(x.transpose({0, 2, 1, 3}), cosines, sines, interleaved).transpose({0, 2, 1, 3});
    };
    q = turned(q);
    k = turned(k);
  }
  AttentionCore core{q, hasPast ? concat({node.term(3), k}, 2) : k, hasPast ? concat({node.term(4), v}, 2) : v};
  core.scale = scaleOf(node, q.fixedDim(3, "the size of a head"));
  core.softcap = node.real("softcap", 0.0f);
  if (node.hasInput(11)) {  // a score for each head
    core.sink =
        node.term(11).reshape({ParsedExtent::of(1), ParsedExtent::of(heads), ParsedExtent::of(1), ParsedExtent::of(1)});
  } else if (node.integer("smooth_softmax", 0) == 1) {
    core.sink = q.number(0).unsqueeze({0, 1, 2, 3});
  }
  if (node.hasInput(10)) {
    core.bias = node.term(10);
  }
  const Term distance = distances(core, hasPast ? std::optional<ParsedExtent>(past) : std::nullopt);
  core.allowed.push_back(distance < 1.0);
  const int64_t window = node.integer("local_window_size", -1);
  if (window > 0) {
    core.allowed.push_back(distance > static_cast<double>(-window));
  }
  // seqlens_k: the last valid key of each row of the batch
  const Term valid = node.term(5).cast(DataType::kINT32);
  core.allowed.push_back(
      iota(writer, core.key.dim(2), DataType::kINT32) <
      (valid + 1.0).reshape({core.query.dim(0), ParsedExtent::of(1), ParsedExtent::of(1), ParsedExtent::of(1)}));
  return {joinHeads(core.run().output), core.key, core.value};
}

// x [batch, rows, hidden] or [batch, heads, rows, width], position_ids [1] (of the first row) or [batch, rows], caches
ParsedValues importRotaryEmbedding(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  refuseAttribute(node, "is_packed_batching");
  Term x = node.term(0);
  const bool packed = x.rank() == 3;
  if (packed) {
    int64_t heads = node.integer("num_heads", 0);
    const int64_t columns = x.fixedDim(2, "the hidden size");
    if (heads == 0) {
      heads = columns / (2 * node.term(2).fixedDim(1, "the width of the cosine cache"));
    }
    x = splitHeads(x, heads);
  }
  x = x.transpose({0, 2, 1, 3});
  const Term ids = node.term(1);
  const Term places = ids.rank() == 2 ? ids : (iota(writer, x.dim(1), ids.type()) + ids).unsqueeze({0});
  const Term turned =
      rotate(x, cacheRows(node.term(2), places), cacheRows(node.term(3), places), node.integer("interleaved", 0) != 0);
  return {packed ? turned.reshape(node.term(0).dims()) : turned.transpose({0, 2, 1, 3})};
}

const OperatorImporter kRows[] = {
    {"Attention", 1, kNewestOpset, importAttention,
     "addMatrixMultiply, addElementWise, addSelect, addSoftMax; no rotary, no shared buffers", kDomain},
    {"QAttention", 1, kNewestOpset, importQAttention, "as Attention, on the product of whole numbers in FLOAT",
     kDomain},
    {"MultiHeadAttention", 1, kNewestOpset, importMultiHeadAttention,
     "addMatrixMultiply, addElementWise, addSelect, addSoftMax", kDomain},
    {"GroupQueryAttention", 1, kNewestOpset, importGroupQueryAttention,
     "addMatrixMultiply, addElementWise, addSelect, addSoftMax; the past without padding", kDomain},
    {"RotaryEmbedding", 1, kNewestOpset, importRotaryEmbedding, "addGather, addElementWise, addConcatenation", kDomain},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_microsoft_attention

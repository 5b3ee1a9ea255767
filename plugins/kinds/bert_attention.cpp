// Attention of BERT from packed queries, keys and values.
#include <cmath>
#include <optional>

#include "common/bert.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

void checkHeads(const Fields& f) {
  const int64_t heads = f.integer("num_heads");
  if (heads < 1 || f.integer("hidden_size") < 1 || f.integer("hidden_size") % heads != 0) {
    throw PluginError(
        fmt::format("hidden_size is {} and num_heads {}; expected a multiple", f.integer("hidden_size"), heads));
  }
}

// qkv [S, B, heads, 3, size]: softmax(q k' / sqrt(size)) v, [S, B, heads, size], without the keys that are hidden.
Value attended(const Value& qkv, const std::optional<Value>& hidden) {
  const Value packed = qkv.transpose({3, 1, 2, 0, 4});
  const auto part = [&](int64_t i) { return packed.slice(0, i, 1).squeeze(0); };  // [B, heads, S, size]
  const auto size = static_cast<double>(qkv.dim(4).number());
  Value scores = part(0).matmul(part(1), false, true) * (1 / std::sqrt(size));
  if (hidden) scores = qkv.layers().pointwise("select(x0,-inf,x1)", {*hidden, scores});
  return scores.softmax(3).matmul(part(2)).transpose({2, 0, 1, 3});
}

// Of one row of all sequences, which keys are of another one than the query: [1, 1, S, S].
Value ofOtherSequences(const Value& offsets, const Size& rows) {
  const Value own = sequenceOf(offsets, rows);
  return offsets.layers().pointwise("equal(x0,x1);not(t0)", {own.reshape({Size(1), Size(1), rows, Size(1)}),
                                                             own.reshape({Size(1), Size(1), Size(1), rows})});
}

Spec attention(const char* version, Interface interface, bool canVary) {
  Spec spec{"CustomQKVToContextPluginDynamic",
            version,
            interface,
            true,
            {{"type_id", Type::kINT32, 1, true},
             {"hidden_size", Type::kINT32, 1, true},
             {"num_heads", Type::kINT32, 1, true},
             {"has_mask", Type::kINT32, 1, true},
             {"dq_probs", Type::kFLOAT32}},
            "xi",
            "x",
            {},
            {}};
  if (canVary) {
    spec.fields.push_back({"var_seqlen", Type::kINT32});
    spec.fields.push_back({"use_int8_scale_max", Type::kINT32});
  }
  spec.inputs = canVary ? "xaii" : "xi";
  spec.shapes = [](const Fields& f, const std::vector<Dims>& in) {
    Dims result = in.at(0);
    result.at(result.size() - 3) = f.integer("hidden_size");
    return std::vector<Dims>{result};
  };
  spec.expand = [canVary](Layers& layers) {
    const Fields& f = layers.fields();
    const Value given = layers.input(0);
    const bool varies = canVary && f.flag("var_seqlen");
    layers.check(given.rank() == (varies ? 4 : 5), "the input has {} dimensions; expected {}", given.rank(),
                 varies ? "[S, 3 * E, 1, 1]" : "[S, B, 3 * E, 1, 1]");
    const Size heads(f.integer("num_heads"));
    const int64_t width = f.integer("hidden_size") / f.integer("num_heads");
    const Size rows = given.dim(0);
    const Size batch = varies ? Size(1) : given.dim(1);
    layers.check(!given.dim(-3).isNumber() || given.dim(-3) == Size(f.integer("hidden_size") * 3),
                 "the input has {} columns; expected 3 times hidden_size {}", given.dim(-3).text(),
                 f.integer("hidden_size"));
    const int mask = f.flag("has_mask") ? 1 : 0;
    std::optional<Value> hidden;
    if (varies) {
      hidden = ofOtherSequences(layers.input(1 + mask), rows);
    } else if (mask == 1) {
      const Value ends = layers.input(1);
      layers.check(ends.rank() == 2 && ends.dim(1) == Size(1) && ends.type() == nv::DataType::kINT32,
                   "the mask has the shape {}; expected [B, 1] of INT32, how many tokens of each sequence count, as "
                   "CustomEmbLayerNormPluginDynamic gives it",
                   text(ends.shape()));
      hidden = layers.pointwise("less(x0,x1);not(t0)", {layers.iota(rows).reshape({Size(1), Size(1), Size(1), rows}),
                                                        ends.reshape({batch, Size(1), Size(1), Size(1)})});
    }
    const Value context = attended(given.reshape({rows, batch, heads, Size(3), Size(width)}), hidden);
    Sizes shape = given.shape();
    shape[shape.size() - 3] = Size(f.integer("hidden_size"));
    layers.output(0, context.reshape(shape));
  };
  spec.check = [](const Fields& f) {
    checkTypeIdOrInt8(f);
    checkHeads(f);
  };
  return spec;
}

// qkv [1, 3 * E, S, 1] with the columns of the other versions, offsets [B + 1], and a tensor as long as the longest
// sequence. INT8 has explicit scales: what one step is worth. The products are in floating point, and probabilities
// are not rounded to steps of dq_probs.
Spec attentionInterleaved(const char* version, Interface interface) {
  Spec spec{"CustomQKVToContextPluginDynamic",
            version,
            interface,
            true,
            {{"hidden_size", Type::kINT32, 1, true},
             {"num_heads", Type::kINT32, 1, true},
             {"dq_probs", Type::kFLOAT32},
             {"use_int8_scale_max", Type::kINT32},
             {"use_explicit_int8", Type::kINT32},
             {"input_qkv_scale", Type::kFLOAT32},
             {"output_ctx_scale", Type::kFLOAT32}},
            "qii",
            "a",
            {},
            {}};
  spec.shapes = [](const Fields& f, const std::vector<Dims>& in) {
    Dims result = in.at(0);
    result.at(1) = f.integer("hidden_size");
    return std::vector<Dims>{result};
  };
  spec.expand = [](Layers& layers) {
    const Fields& f = layers.fields();
    const Value given = layers.input(0);
    const int64_t hiddenSize = f.integer("hidden_size");
    layers.check(given.rank() == 4 && (!given.dim(1).isNumber() || given.dim(1) == Size(3 * hiddenSize)),
                 "the input has the shape {}; expected [1, {}, S, 1]", text(given.shape()), 3 * hiddenSize);
    const bool isInt8 = given.type() == nv::DataType::kINT8;
    const double in = f.real("input_qkv_scale", 0), out = f.real("output_ctx_scale", 0);
    layers.check(!isInt8 || (f.flag("use_explicit_int8") && in > 0 && out > 0),
                 "INT8 operands need use_explicit_int8 with input_qkv_scale and output_ctx_scale, which are {} and {}; "
                 "expected numbers above 0",
                 in, out);
    const Size heads(f.integer("num_heads")), rows = given.dim(2), width(hiddenSize / f.integer("num_heads"));
    const Value qkv = (isInt8 ? given.cast(nv::DataType::kFLOAT) * in : given).transpose({2, 0, 1, 3});
    const Value context =
        attended(qkv.reshape({rows, Size(1), heads, Size(3), width}), ofOtherSequences(layers.input(1), rows))
            .reshape({rows, Size(1), Size(hiddenSize), Size(1)})
            .transpose({1, 2, 0, 3});
    layers.output(0, isInt8 ? clamp((context / out).call("round"), -128, 127).cast(nv::DataType::kINT8) : context);
  };
  spec.check = checkHeads;
  return spec;
}

}  // namespace

std::vector<Spec> specs_bert_attention() {
  constexpr auto kOld = Interface::kV2DynamicExt;
  constexpr auto kNew = Interface::kV3;
  return {attention("1", kOld, false), attention("2", kOld, true), attentionInterleaved("3", kOld),
          attention("4", kNew, false), attention("5", kNew, true), attentionInterleaved("6", kNew)};
}

}  // namespace tenon::plugins

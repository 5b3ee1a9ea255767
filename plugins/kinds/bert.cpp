// Layers of BERT: embeddings, residual normalization, attention, GELU, products; and DeBERTa's attention scores.
#include <cmath>
#include <optional>

#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

std::vector<Dims> asFirst(const Fields&, const std::vector<Dims>& in) { return {in.at(0)}; }

// The types that the plugins know by number.
enum TypeId : int64_t { kFloat, kHalf, kInt8 };

void checkTypeId(const Fields& f) {
  const int64_t type = f.integer("type_id");
  if (type == kInt8) throw PluginError("type_id is 2 (INT8); these plugins compute in FP32 and FP16 (0 and 1)");
  if (type != kFloat && type != kHalf) throw PluginError(fmt::format("type_id is {}; expected 0 or 1", type));
}

[[noreturn]] void refuseInt8(const Fields&) {
  throw PluginError(
      "this version works on INT8 in the format kCHW32 only, which is not supported; use a version in FP32 or "
      "FP16, or IQuantizeLayer around it");
}

constexpr const char* kEpsilon = "1e-05";

// Normalizes the axis whose length the scale has.
Value normalized(const Value& x, int axis, const std::vector<float>& scale, const std::vector<float>& bias) {
  Layers& layers = x.layers();
  const auto count = static_cast<int64_t>(scale.size());
  layers.check(bias.size() == scale.size() && (!x.dim(axis).isNumber() || x.dim(axis) == Size(count)),
               "gamma has {} numbers and beta {}; expected {}", scale.size(), bias.size(), x.dim(axis).text());
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[static_cast<size_t>(axis)] = count;
  return layers.add(fmt::format("normalization{{axes=[{}] epsilon={}}}", axis, kEpsilon),
                    {x, layers.constant(scale, dims).cast(x.type()), layers.constant(bias, dims).cast(x.type())});
}

Spec skipLayerNorm(const char* version, Interface interface, bool padded) {
  Spec spec{"CustomSkipLayerNormPluginDynamic",
            version,
            interface,
            true,
            {},
            "x",
            "x",
            asFirst,
            [](Layers& layers) {
              const Fields& f = layers.fields();
              const Value x = layers.input(0);
              layers.check(x.rank() == 5 || x.rank() == 4,
                           "the input has {} dimensions; expected [S, B, E, 1, 1] or [S, E, 1, 1]", x.rank());
              const int axis = x.rank() - 3;
              Value sum = x + layers.input(1);
              const auto bias = f.weights("bias");
              if (!bias.empty()) {
                std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
                dims[static_cast<size_t>(axis)] = static_cast<int64_t>(bias.size());
                sum = sum + layers.constant(bias, dims).cast(x.type());
              }
              layers.output(0, normalized(sum, axis, f.weights("gamma"), f.weights("beta")));
            },
            0,
            checkTypeId};
  const auto field = [](const char* name, bool required) { return FieldSpec{name, Type::kUNKNOWN, 0, required}; };
  if (padded && interface != Interface::kV3) {
    spec.fields = {field("ld", true), field("type_id", true), field("beta", true), field("gamma", true),
                   field("bias", false)};
  } else if (padded) {
    spec.fields = {field("type_id", true), field("ld", true), field("beta", true), field("gamma", true),
                   field("bias", false)};
  } else {
    spec.fields = {field("type_id", true), field("beta", true), field("gamma", true), field("bias", false)};
  }
  return spec;
}

// On INT8 alone; `outputs`: those of Megatron's form have the residual as well.
Spec skipLayerNormInt8(const char* version, Interface interface, const char* outputs) {
  return {"CustomSkipLayerNormPluginDynamic",
          version,
          interface,
          true,
          {{"beta", Type::kUNKNOWN, 0, true}, {"gamma", Type::kUNKNOWN, 0, true}},
          "a",
          outputs,
          asFirst,
          [](Layers&) {},
          0,
          [](const Fields& f) { refuseInt8(f); }};
}

constexpr const char* kBeta = "bert_embeddings_layernorm_beta";
constexpr const char* kGamma = "bert_embeddings_layernorm_gamma";
constexpr const char* kWords = "bert_embeddings_word_embeddings";
constexpr const char* kTypes = "bert_embeddings_token_type_embeddings";
constexpr const char* kPositions = "bert_embeddings_position_embeddings";

Value table(Layers& layers, const char* name, int64_t width) {
  const auto values = layers.fields().weights(name);
  layers.check(!values.empty() && static_cast<int64_t>(values.size()) % width == 0,
               "{} has {} numbers; expected rows of {}", name, values.size(), width);
  return layers.constant(values, {static_cast<int64_t>(values.size()) / width, width});
}

nv::DataType embeddingType(const Fields& f) {
  return f.flag("output_fp16") ? nv::DataType::kHALF : nv::DataType::kFLOAT;
}

// The number of the sequence that each of `count` tokens is in; offsets [B + 1] are where they begin and end.
Value sequenceOf(const Value& offsets, const Size& count) {
  Layers& layers = offsets.layers();
  const Value ends = offsets.slice(0, 1, offsets.dim(0) - Size(1)).unsqueeze(1);
  const Value token = layers.iota(count).unsqueeze(0);
  return layers.pointwise("less(x0,x1);not(t0);cast.i32(t1)", {token, ends}).reduce("sum", 0);
}

Spec embedding(const char* version, Interface interface, bool padded, bool megatron, bool typedFields) {
  Spec spec{"CustomEmbLayerNormPluginDynamic", version, interface, true, {}, "i", "xi", {}, {}};
  const auto weights = [&](const char* name, bool known) {
    return FieldSpec{name, known ? Type::kFLOAT32 : Type::kUNKNOWN, known ? 1 : 0, true};
  };
  const FieldSpec half{"output_fp16", typedFields ? Type::kINT32 : Type::kUNKNOWN, typedFields ? 1 : 0, false};
  if (typedFields) {
    spec.fields = {half,
                   weights(kBeta, true),
                   weights(kGamma, true),
                   weights(kWords, false),
                   weights(kTypes, false),
                   weights(kPositions, false)};
  } else {
    spec.fields = {weights(kBeta, false),  weights(kGamma, false),     weights(kWords, false),
                   weights(kTypes, false), weights(kPositions, false), half};
  }
  if (padded) {
    spec.fields.push_back({"full_mask", Type::kUNKNOWN, 0, false});
    spec.fields.push_back({"mha_type_id", Type::kUNKNOWN, 0, false});
  }
  spec.outputsOf = [padded, megatron](const Fields& f) {
    const char type = f.flag("output_fp16") ? 'h' : 'f';
    return std::string{type, padded ? 'i' : megatron ? type : 'h'};
  };
  spec.shapes = [padded, megatron](const Fields& f, const std::vector<Dims>& in) {
    const Dim width = static_cast<int64_t>(f.weights(kGamma).size());
    if (padded) return std::vector<Dims>{{in.at(0).at(0), in.at(0).at(1), width, 1, 1}, {in.at(0).at(1), 1}};
    const Dims rows{in.at(0).at(0), width, 1, 1};
    return std::vector<Dims>{rows, megatron ? rows : Dims{}};
  };
  spec.expand = [padded, megatron](Layers& layers) {
    const Fields& f = layers.fields();
    const auto gamma = f.weights(kGamma);
    const auto width = static_cast<int64_t>(gamma.size());
    const Value words = layers.input(0);
    const Value types = layers.input(1);
    const Value positions = table(layers, kPositions, width);
    Value sum = table(layers, kWords, width).gather(words, 0) + table(layers, kTypes, width).gather(types, 0);
    Sizes shape = sum.shape();
    if (padded) {
      sum = sum + positions.slice(0, 0, words.dim(0)).unsqueeze(1);
    } else {
      const Value offsets = layers.input(2);
      const Value first = offsets.gather(sequenceOf(offsets, words.dim(0)), 0);
      sum = sum + positions.gather(layers.pointwise("sub(x0,x1)", {layers.iota(words.dim(0)), first}), 0);
    }
    const nv::DataType type = embeddingType(f);
    shape.emplace_back(1);
    shape.emplace_back(1);
    layers.output(0, normalized(sum, sum.rank() - 1, gamma, f.weights(kBeta)).cast(type).reshape(shape));
    if (padded) {
      // Of each sequence the first place that the mask leaves out, or its length.
      const Value mask = layers.input(2);
      const Value end = mask.reduce("sum", 0).scalar("mul(x0,0)").unsqueeze(0);
      const Value place = layers.iota(words.dim(0)).unsqueeze(1);
      const Value count = layers.iota(words.dim(0)).reduce("max", 0).scalar("add(x0,1)").reshape({Size(1), Size(1)});
      layers.output(1, layers.pointwise("equal(x0,0);select(t0,x1,x2);add(t1,x3)", {mask, place, count, end})
                           .reduce("min", 0)
                           .unsqueeze(1));
    } else {
      layers.output(1, megatron ? sum.cast(type).reshape(shape) : layers.fill({}, 0, nv::DataType::kHALF));
    }
  };
  return spec;
}

// qkv [rows.., heads, 3, size]: softmax(q k' / sqrt(size)) v with one sequence per batch element.
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
    const Value packed = given.reshape({rows, batch, heads, Size(3), Size(width)}).transpose({3, 1, 2, 0, 4});
    const auto part = [&](int64_t i) { return packed.slice(0, i, 1).squeeze(0); };  // [B, heads, S, size]
    Value scores = part(0).matmul(part(1), false, true) * (1 / std::sqrt(static_cast<double>(width)));
    const int mask = f.flag("has_mask") ? 1 : 0;
    std::optional<Value> hidden;
    if (varies) {
      const Value own = sequenceOf(layers.input(1 + mask), rows);
      hidden = layers.pointwise("equal(x0,x1);not(t0)", {own.reshape({Size(1), Size(1), rows, Size(1)}),
                                                         own.reshape({Size(1), Size(1), Size(1), rows})});
    } else if (mask == 1) {
      const Value ends = layers.input(1);
      layers.check(ends.rank() == 2 && ends.dim(1) == Size(1) && ends.type() == nv::DataType::kINT32,
                   "the mask has the shape {}; expected [B, 1] of INT32, how many tokens of each sequence count, as "
                   "CustomEmbLayerNormPluginDynamic gives it",
                   text(ends.shape()));
      hidden = layers.pointwise("less(x0,x1);not(t0)", {layers.iota(rows).reshape({Size(1), Size(1), Size(1), rows}),
                                                        ends.reshape({batch, Size(1), Size(1), Size(1)})});
    }
    if (hidden) scores = layers.pointwise("select(x0,-inf,x1)", {*hidden, scores});
    const Value context = scores.softmax(3).matmul(part(2)).transpose({2, 0, 1, 3});
    Sizes shape = given.shape();
    shape[shape.size() - 3] = Size(f.integer("hidden_size"));
    layers.output(0, context.reshape(shape));
  };
  spec.check = [](const Fields& f) {
    checkTypeId(f);
    const int64_t heads = f.integer("num_heads");
    if (heads < 1 || f.integer("hidden_size") < 1 || f.integer("hidden_size") % heads != 0) {
      throw PluginError(
          fmt::format("hidden_size is {} and num_heads {}; expected a multiple", f.integer("hidden_size"), heads));
    }
  };
  return spec;
}

Spec attentionInt8(const char* version, Interface interface) {
  return {"CustomQKVToContextPluginDynamic",
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
          "a",
          "a",
          asFirst,
          [](Layers&) {},
          0,
          [](const Fields& f) { refuseInt8(f); }};
}

Spec gelu() {
  return {"CustomGeluPluginDynamic",
          "1",
          Interface::kV2DynamicExt,
          true,
          {{"type_id", Type::kINT32, 1, true}, {"bias", Type::kFLOAT32}},
          "x",
          "x",
          asFirst,
          [](Layers& layers) {
            Value x = layers.input(0);
            const auto bias = layers.fields().weights("bias");
            if (!bias.empty()) {
              const int axis = x.rank() == 5 ? 2 : x.rank() - 1;
              layers.check(x.dim(axis) == Size(static_cast<int64_t>(bias.size())) || !x.dim(axis).isNumber(),
                           "the bias has {} numbers; expected {}", bias.size(), x.dim(axis).text());
              std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
              dims[static_cast<size_t>(axis)] = static_cast<int64_t>(bias.size());
              x = x + layers.constant(bias, dims).cast(x.type());
            }
            layers.output(0, x.call("gelu_tanh"));
          },
          0,
          checkTypeId};
}

Spec fullyConnected() {
  return {"CustomFCPluginDynamic",
          "1",
          Interface::kV2DynamicExt,
          true,
          {{"out_dims", Type::kINT32, 1, true}, {"type_id", Type::kINT32, 1, true}, {"W", Type::kFLOAT32, 1, true}},
          "x",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) {
            Dims result = in.at(0);
            result.at(2) = f.integer("out_dims");
            return std::vector<Dims>{result};
          },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value x = layers.input(0);
            layers.check(x.rank() == 5, "the input has {} dimensions; expected [S, B, K, 1, 1]", x.rank());
            const int64_t columns = f.integer("out_dims");
            const auto weights = f.weights("W");
            const auto rows = static_cast<int64_t>(weights.size()) / columns;
            layers.check(rows * columns == static_cast<int64_t>(weights.size()) &&
                             (!x.dim(2).isNumber() || x.dim(2) == Size(rows)),
                         "W has {} numbers; expected {} x {}", weights.size(), x.dim(2).text(), columns);
            const Value product = x.reshape({x.dim(0), x.dim(1), Size(rows)})
                                      .matmul(layers.constant(weights, {1, rows, columns}).cast(x.type()));
            layers.output(0, product.reshape({x.dim(0), x.dim(1), Size(columns), Size(1), Size(1)}));
          },
          0,
          [](const Fields& f) {
            checkTypeId(f);
            if (f.integer("out_dims") < 1) throw PluginError("out_dims must be 1 or more");
          }};
}

// The column of the relative position that a row and a column are apart: as it is up to half the span, then by
// logarithms.
std::vector<int32_t> relativePositions(int64_t count, int64_t span) {
  const int64_t middle = span / 2;
  const float start = std::log(static_cast<float>(middle));
  const float step =
      static_cast<float>(middle - 1) / (std::log(static_cast<float>(2 * span - 1)) - start) * (1 - 1e-7F);
  std::vector<int32_t> result;
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t column = 0; column < count; ++column) {
      const int64_t apart = row - column;
      int64_t bucket = apart;
      if (std::abs(apart) > middle) {
        const auto far = static_cast<float>(std::abs(apart));
        bucket = static_cast<int64_t>(std::ceil((std::log(far) - start) * step)) + middle;
        if (apart < 0) bucket = -bucket;
      }
      result.push_back(static_cast<int32_t>(std::clamp<int64_t>(bucket + span, 0, 2 * span - 1)));
    }
  }
  return result;
}

Spec disentangled(const char* version, Interface interface) {
  return {"DisentangledAttention_TRT",
          version,
          interface,
          true,
          {{"span", Type::kINT32}, {"factor", Type::kFLOAT32}},
          "x",
          "x",
          asFirst,
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const Value content = layers.input(0);
            const int64_t count = content.dim(1).number();
            const int64_t span = f.integer("span");
            const auto positions = relativePositions(count, span);
            std::vector<int32_t> transposed(positions.size());
            for (int64_t i = 0; i < count * count; ++i) {
              transposed[static_cast<size_t>(i)] = positions[static_cast<size_t>(i % count * count + i / count)];
            }
            const auto picked = [&](int input, const std::vector<int32_t>& columns) {
              const Value from = layers.input(input);
              layers.check(from.dim(2) == Size(2 * span), "input {} has {} columns; expected twice the span {}", input,
                           from.dim(2).text(), span);
              return from.gatherElements(
                  layers.constant(columns, {1, count, count}).expand({content.dim(0), Size(count), Size(count)}), 2);
            };
            layers.output(
                0, (content + picked(1, positions) + picked(2, transposed).transpose({0, 2, 1})) * f.real("factor", 1));
          },
          0,
          [](const Fields& f) {
            if (f.integer("span") < 4)
              throw PluginError(fmt::format("span is {}; expected 4 or more", f.integer("span")));
          }};
}

}  // namespace

std::vector<Spec> specs_bert() {
  constexpr auto kOld = Interface::kV2DynamicExt;
  constexpr auto kNew = Interface::kV3;
  return {embedding("1", kOld, true, false, false),
          embedding("2", kOld, false, false, false),
          embedding("3", kOld, false, true, false),
          embedding("4", kNew, false, false, true),
          embedding("5", kNew, false, true, true),
          embedding("6", kNew, true, false, false),
          skipLayerNorm("1", kOld, true),
          skipLayerNorm("2", kOld, false),
          skipLayerNormInt8("3", kOld, "a"),
          skipLayerNormInt8("4", kOld, "aa"),
          skipLayerNorm("5", kNew, true),
          skipLayerNorm("6", kNew, false),
          skipLayerNormInt8("7", kNew, "a"),
          skipLayerNormInt8("8", kNew, "aa"),
          attention("1", kOld, false),
          attention("2", kOld, true),
          attentionInt8("3", kOld),
          attention("4", kNew, false),
          attention("5", kNew, true),
          attentionInt8("6", kNew),
          gelu(),
          fullyConnected(),
          disentangled("1", kOld),
          disentangled("2", kNew)};
}

}  // namespace tenon::plugins

// Layers of BERT: embeddings, residual normalization, GELU, products; and DeBERTa's attention scores.
#include <cmath>

#include "common/bert.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

std::vector<Dims> asFirst(const Fields&, const std::vector<Dims>& in) { return {in.at(0)}; }

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
            checkTypeIdOrInt8};
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

// x [1, E, S, 1], the sum of all sequences; Megatron's form gives what it normalizes, too. Made for INT8 with scales
// that the builder knows; here in floating point, as all quantized tensors without explicit scales are.
Spec skipLayerNormInterleaved(const char* version, Interface interface, bool megatron) {
  return {
      "CustomSkipLayerNormPluginDynamic",
      version,
      interface,
      true,
      {{"beta", Type::kUNKNOWN, 0, true}, {"gamma", Type::kUNKNOWN, 0, true}},
      "x",
      megatron ? "xx" : "x",
      [megatron](const Fields&, const std::vector<Dims>& in) { return std::vector<Dims>(megatron ? 2 : 1, in.at(0)); },
      [megatron](Layers& layers) {
        const Fields& f = layers.fields();
        const Value x = layers.input(0);
        layers.check(x.rank() == 4, "the input has {} dimensions; expected [1, E, S, 1]", x.rank());
        const Value sum = x + layers.input(1);
        layers.output(0, normalized(sum, 1, f.weights("gamma"), f.weights("beta")));
        if (megatron) layers.output(1, sum);
      }};
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
          skipLayerNormInterleaved("3", kOld, false),
          skipLayerNormInterleaved("4", kOld, true),
          skipLayerNorm("5", kNew, true),
          skipLayerNorm("6", kNew, false),
          skipLayerNormInterleaved("7", kNew, false),
          skipLayerNormInterleaved("8", kNew, true),
          gelu(),
          fullyConnected(),
          disentangled("1", kOld),
          disentangled("2", kNew)};
}

}  // namespace tenon::plugins

// Layers of BERT and DeBERTa.
#include <algorithm>

#include "support.h"

namespace tenon::test {
namespace {

constexpr int64_t kRows = 5, kBatch = 2, kWidth = 8;

std::vector<float> floats(Random& random, int64_t count) {
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(random.real(-1, 1)));
  return result;
}

// Every row of `width` numbers normalized.
std::vector<double> layerNorm(const std::vector<double>& x, const std::vector<float>& gamma,
                              const std::vector<float>& beta) {
  const size_t width = gamma.size();
  std::vector<double> result(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      result[row + i] = (x[row + i] - mean) / std::sqrt(variance + 1e-5) * gamma[i] + beta[i];
  }
  return result;
}

TEST(BertPlugins, SkipLayerNorm) {
  Random random(61);
  const auto gamma = floats(random, kWidth), beta = floats(random, kWidth), bias = floats(random, kWidth);
  for (const auto& [version, padded] : {std::pair{"1", true}, {"2", false}, {"5", true}, {"6", false}}) {
    for (const bool withBias : {false, true}) {
      const std::vector<int64_t> dims =
          padded ? std::vector<int64_t>{kRows, kBatch, kWidth, 1, 1} : std::vector<int64_t>{kRows, kWidth, 1, 1};
      const Array x = random.array(dims), skip = random.array(dims);
      std::vector<double> sum;
      for (size_t i = 0; i < x.values.size(); ++i)
        sum.push_back(x.values[i] + skip.values[i] + (withBias ? bias[i % kWidth] : 0));
      FieldList fields;
      fields.ints("type_id", {0}).ints("ld", {kWidth}).reals("gamma", gamma).reals("beta", beta);
      if (withBias) fields.reals("bias", bias);
      const auto got = runAllWays("CustomSkipLayerNormPluginDynamic", version, fields, {x, skip}, Extents::kDynamic);
      expectNear(got.at(0), dims, layerNorm(sum, gamma, beta), 1e-4, version);
    }
  }
}

// [1, E, S, 1] from rows of E.
Array interleaved(const std::vector<double>& rows, int64_t width, nv::DataType type = nv::DataType::kFLOAT) {
  const auto count = static_cast<int64_t>(rows.size()) / width;
  Array result{{1, width, count, 1}, {}, type};
  for (int64_t column = 0; column < width; ++column) {
    for (int64_t row = 0; row < count; ++row) result.values.push_back(rows[static_cast<size_t>(row * width + column)]);
  }
  return result;
}

TEST(BertPlugins, SkipLayerNormInterleaved) {
  Random random(71);
  const auto gamma = floats(random, kWidth), beta = floats(random, kWidth);
  const Array x = random.array({kRows, kWidth}), skip = random.array({kRows, kWidth});
  std::vector<double> sum;
  for (size_t i = 0; i < x.values.size(); ++i) sum.push_back(x.values[i] + skip.values[i]);
  const auto wanted = interleaved(layerNorm(sum, gamma, beta), kWidth);
  for (const auto& [version, megatron] : {std::pair{"3", false}, {"4", true}, {"7", false}, {"8", true}}) {
    const auto got =
        runAllWays("CustomSkipLayerNormPluginDynamic", version, FieldList().reals("gamma", gamma).reals("beta", beta),
                   {interleaved(x.values, kWidth), interleaved(skip.values, kWidth)});
    ASSERT_EQ(got.size(), megatron ? 2 : 1) << version;
    expectNear(got[0], wanted.dims, wanted.values, 1e-4, version);
    if (megatron) expectNear(got[1], wanted.dims, interleaved(sum, kWidth).values, 1e-6, version);
  }
}

TEST(BertPlugins, Embedding) {
  Random random(62);
  const auto gamma = floats(random, kWidth), beta = floats(random, kWidth);
  const auto words = floats(random, 11 * kWidth), types = floats(random, 2 * kWidth),
             positions = floats(random, 16 * kWidth);
  const auto fields = [&] {
    FieldList list;
    list.reals("bert_embeddings_layernorm_beta", beta).reals("bert_embeddings_layernorm_gamma", gamma);
    list.reals("bert_embeddings_word_embeddings", words).reals("bert_embeddings_token_type_embeddings", types);
    list.reals("bert_embeddings_position_embeddings", positions).ints("output_fp16", {0});
    return list;
  };
  const auto sums = [&](const Array& word, const Array& type, const std::function<int64_t(int64_t)>& place) {
    std::vector<double> result;
    for (int64_t t = 0; t < word.count(); ++t) {
      for (int64_t i = 0; i < kWidth; ++i) {
        const auto row = [&](const std::vector<float>& table, double number) {
          return static_cast<double>(table[static_cast<size_t>(static_cast<int64_t>(number) * kWidth + i)]);
        };
        result.push_back(row(words, word.values[static_cast<size_t>(t)]) +
                         row(types, type.values[static_cast<size_t>(t)]) +
                         row(positions, static_cast<double>(place(t))));
      }
    }
    return result;
  };
  for (const char* version : {"1", "6"}) {
    const Array word = random.wholes({kRows, kBatch}, 0, 10), type = random.wholes({kRows, kBatch}, 0, 1);
    const Array mask{{kRows, kBatch}, {1, 1, 1, 1, 1, 1, 0, 1, 0, 1}, nv::DataType::kINT32};
    const auto got =
        runAllWays("CustomEmbLayerNormPluginDynamic", version, fields(), {word, type, mask}, Extents::kDynamic);
    ASSERT_EQ(got.size(), 2U);
    expectNear(got[0], {kRows, kBatch, kWidth, 1, 1},
               layerNorm(sums(word, type, [](int64_t t) { return t / kBatch; }), gamma, beta), 1e-4, version);
    expectNear(got[1], {kBatch, 1}, {3, 5}, 0, "mask");
  }
  for (const char* version : {"2", "3", "4", "5"}) {
    const Array word = random.wholes({7}, 0, 10), type = random.wholes({7}, 0, 1);
    const Array offsets{{4}, {0, 3, 3, 7}, nv::DataType::kINT32}, longest{{4}, {0, 0, 0, 0}, nv::DataType::kINT32};
    const auto sum = sums(word, type, [](int64_t t) { return t < 3 ? t : t - 3; });
    const auto got = runAllWays("CustomEmbLayerNormPluginDynamic", version, fields(), {word, type, offsets, longest});
    ASSERT_EQ(got.size(), 2U);
    expectNear(got[0], {7, kWidth, 1, 1}, layerNorm(sum, gamma, beta), 1e-4, version);
    if (version[0] == '3' || version[0] == '5') expectNear(got[1], {7, kWidth, 1, 1}, sum, 1e-5, version);
  }
}

// softmax(q k' / sqrt(size)) v of one head, where `sees` lets a row look at a key.
std::vector<double> attended(const std::vector<std::vector<double>>& q, const std::vector<std::vector<double>>& k,
                             const std::vector<std::vector<double>>& v, size_t row,
                             const std::function<bool(size_t, size_t)>& sees) {
  std::vector<double> result(v[0].size());
  double total = 0;
  for (size_t key = 0; key < k.size(); ++key) {
    if (!sees(row, key)) continue;
    double score = 0;
    for (size_t i = 0; i < q[row].size(); ++i) score += q[row][i] * k[key][i];
    const double weight = std::exp(score / std::sqrt(static_cast<double>(q[row].size())));
    total += weight;
    for (size_t i = 0; i < result.size(); ++i) result[i] += weight * v[key][i];
  }
  for (double& x : result) x /= total;
  return result;
}

std::vector<double> allAttended(const Array& qkv, int64_t rows, int64_t batch,
                                const std::function<bool(int64_t, size_t, size_t)>& sees) {
  const int64_t heads = 2, size = kWidth / heads;
  std::vector<double> result(static_cast<size_t>(rows * batch * kWidth));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<std::vector<double>> parts[3];
      for (int64_t part = 0; part < 3; ++part) {
        for (int64_t s = 0; s < rows; ++s) {
          auto& row = parts[part].emplace_back();
          for (int64_t i = 0; i < size; ++i)
            row.push_back(qkv.values[static_cast<size_t>((s * batch + b) * 3 * kWidth + (h * 3 + part) * size + i)]);
        }
      }
      for (int64_t s = 0; s < rows; ++s) {
        const auto out = attended(parts[0], parts[1], parts[2], static_cast<size_t>(s),
                                  [&](size_t a, size_t k) { return sees(b, a, k); });
        for (int64_t i = 0; i < size; ++i)
          result[static_cast<size_t>((s * batch + b) * kWidth + h * size + i)] = out[static_cast<size_t>(i)];
      }
    }
  }
  return result;
}

TEST(BertPlugins, Attention) {
  Random random(63);
  const auto fields = [](bool mask, bool varies) {
    FieldList list;
    list.ints("type_id", {0})
        .ints("hidden_size", {kWidth})
        .ints("num_heads", {2})
        .ints("has_mask", {mask})
        .ints("var_seqlen", {varies});
    return list;
  };
  const Array qkv = random.array({kRows, kBatch, 3 * kWidth, 1, 1}, -2, 2);
  const Array ends{{kBatch, 1}, {3, 5}, nv::DataType::kINT32};
  for (const char* version : {"1", "2", "4", "5"}) {
    auto got = runAllWays("CustomQKVToContextPluginDynamic", version, fields(false, false), {qkv}, Extents::kDynamic);
    expectNear(got.at(0), {kRows, kBatch, kWidth, 1, 1},
               allAttended(qkv, kRows, kBatch, [](int64_t, size_t, size_t) { return true; }), 1e-4, version);
    got = runAllWays("CustomQKVToContextPluginDynamic", version, fields(true, false), {qkv, ends});
    const auto sees = [&](int64_t b, size_t, size_t key) {
      return static_cast<double>(key) < ends.values[static_cast<size_t>(b)];
    };
    expectNear(got.at(0), {kRows, kBatch, kWidth, 1, 1}, allAttended(qkv, kRows, kBatch, sees), 1e-4, version);
  }
  const Array row = random.array({7, 3 * kWidth, 1, 1}, -2, 2);
  const Array mask = random.wholes({1}, 0, 0), offsets{{4}, {0, 3, 3, 7}, nv::DataType::kINT32},
              longest = random.wholes({4}, 0, 0);
  for (const char* version : {"2", "5"}) {
    const auto sees = [](int64_t, size_t a, size_t key) { return (a < 3) == (key < 3); };
    auto got =
        runAllWays("CustomQKVToContextPluginDynamic", version, fields(true, true), {row, mask, offsets, longest});
    expectNear(got.at(0), {7, kWidth, 1, 1}, allAttended(row, 7, 1, sees), 1e-4, version);
  }
}

TEST(BertPlugins, AttentionInterleaved) {
  Random random(72);
  const Array offsets{{4}, {0, 3, 3, 7}, nv::DataType::kINT32}, longest = random.wholes({4}, 0, 0);
  const auto sees = [](int64_t, size_t a, size_t key) { return (a < 3) == (key < 3); };
  const double in = 1.0 / 32, out = 1.0 / 64;
  const auto fields = [&](bool isExplicit) {
    FieldList list;
    list.ints("hidden_size", {kWidth}).ints("num_heads", {2}).ints("use_explicit_int8", {isExplicit});
    list.reals("input_qkv_scale", {static_cast<float>(in)}).reals("output_ctx_scale", {static_cast<float>(out)});
    return list;
  };
  Array row = random.array({7, 3 * kWidth}, -2, 2);
  for (const char* version : {"3", "6"}) {
    const auto wanted = interleaved(allAttended(row, 7, 1, sees), kWidth);
    const auto got = runAllWays("CustomQKVToContextPluginDynamic", version, fields(false),
                                {interleaved(row.values, 3 * kWidth), offsets, longest});
    expectNear(got.at(0), wanted.dims, wanted.values, 1e-4, version);
  }
  const Array bytes = random.wholes({7, 3 * kWidth}, -100, 100, nv::DataType::kINT8);
  for (size_t i = 0; i < row.values.size(); ++i) row.values[i] = bytes.values[i] * in;
  const auto wanted = interleaved(allAttended(row, 7, 1, sees), kWidth);
  const Arrays operands{interleaved(bytes.values, 3 * kWidth, nv::DataType::kINT8), offsets, longest};
  for (const char* version : {"3", "6"}) {
    const auto got = runAllWays("CustomQKVToContextPluginDynamic", version, fields(true), operands);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].type, nv::DataType::kINT8);
    ASSERT_EQ(got[0].dims, wanted.dims);
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      const double steps = std::clamp(wanted.values[i] / out, -128.0, 127.0);
      ASSERT_NEAR(got[0].values[i], steps, 0.5001) << version << ", element " << i;
    }
    auto list = fields(false);
    Plugin plugin = make("CustomQKVToContextPluginDynamic", version, list);
    EXPECT_TRUE(runInNetwork(plugin, operands).empty());
    EXPECT_NE(log().take().find("INT8 operands need use_explicit_int8"), std::string::npos);
  }
}

TEST(BertPlugins, GeluAndProducts) {
  Random random(64);
  const Array x = random.array({kRows, kBatch, kWidth}, -3, 3);
  const auto bias = floats(random, kWidth);
  for (const bool withBias : {false, true}) {
    std::vector<double> expected;
    for (size_t i = 0; i < x.values.size(); ++i) {
      const double v = x.values[i] + (withBias ? bias[i % kWidth] : 0);
      expected.push_back(0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    }
    FieldList fields;
    fields.ints("type_id", {0});
    if (withBias) fields.reals("bias", bias);
    expectNear(runAllWays("CustomGeluPluginDynamic", "1", fields, {x}, Extents::kDynamic).at(0), x.dims, expected, 1e-5,
               "gelu");
  }
  const Array tall{{kRows, kBatch, kWidth, 1, 1}, x.values};
  const auto weights = floats(random, kWidth * 3);
  std::vector<double> expected;
  for (int64_t i = 0; i < kRows * kBatch * 3; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < kWidth; ++k)
      sum += x.values[static_cast<size_t>(i / 3 * kWidth + k)] * weights[static_cast<size_t>(k * 3 + i % 3)];
    expected.push_back(sum);
  }
  FieldList fields;
  fields.ints("out_dims", {3}).ints("type_id", {0}).reals("W", weights);
  expectNear(runAllWays("CustomFCPluginDynamic", "1", fields, {tall}, Extents::kDynamic).at(0),
             {kRows, kBatch, 3, 1, 1}, expected, 1e-5, "products");
}

TEST(BertPlugins, DisentangledAttention) {
  Random random(65);
  const int64_t count = 40, span = 8;
  const Array content = random.array({2, count, count}), toPlace = random.array({2, count, 2 * span}),
              fromPlace = random.array({2, count, 2 * span});
  const auto column = [&](int64_t apart) {
    const int64_t middle = span / 2;
    double bucket = static_cast<double>(apart);
    if (std::abs(apart) > middle) {
      const double step =
          (middle - 1) / (std::log(2.0 * span - 1) - std::log(static_cast<double>(middle))) * (1 - 1e-7);
      bucket =
          std::ceil((std::log(static_cast<double>(std::abs(apart))) - std::log(static_cast<double>(middle))) * step) +
          middle;
      if (apart < 0) bucket = -bucket;
    }
    return std::clamp<int64_t>(static_cast<int64_t>(bucket) + span, 0, 2 * span - 1);
  };
  std::vector<double> expected;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        expected.push_back(
            (content.at({n, i, j}) + toPlace.at({n, i, column(i - j)}) + fromPlace.at({n, j, column(i - j)})) * 0.125);
      }
    }
  }
  for (const char* version : {"1", "2"}) {
    const auto got =
        runAllWays("DisentangledAttention_TRT", version, FieldList().ints("span", {span}).reals("factor", {0.125F}),
                   {content, toPlace, fromPlace}, Extents::kDynamic);
    expectNear(got.at(0), {2, count, count}, expected, 1e-5, version);
  }
}

}  // namespace
}  // namespace tenon::test

// Fused operators of com.microsoft, against the operators that they stand for and against formulas.
#include <cmath>

#include "refusals.h"

namespace tenon::parsers::onnx {
namespace {

constexpr const char* kDomain = "com.microsoft";

// With and without a sum before the activation: the same as Conv, Add and LeakyRelu.
TEST(Fused, Convolutions) {
  const Reals x = randomReals(1 * 3 * 6 * 6, 1);
  const Reals sum = randomReals(1 * 4 * 6 * 6, 2);
  for (const bool adds : {false, true}) {
    std::vector<Reals> results;
    for (const bool isFused : {false, true}) {
      ModelMaker maker;
      maker.input("x", {1, 3, 6, 6});
      maker.input("z", {1, 4, 6, 6});
      maker.floats("w", {4, 3, 3, 3}, randomReals(4 * 3 * 9, 3));
      maker.floats("b", {4}, {0.1F, 0.2F, 0.3F, 0.4F});
      auto& conv = maker.node(isFused ? "FusedConv" : "Conv", {"x", "w", "b"}, {isFused ? "y" : "c"});
      ModelMaker::set(conv, "pads", Ints{1, 1, 1, 1});
      if (isFused) {
        conv.set_domain(kDomain);
        if (adds) conv.add_input("z");
        ModelMaker::set(conv, "activation", std::string("LeakyRelu"));
        auto* parameters = conv.add_attribute();
        parameters->set_name("activation_params");
        parameters->set_type(6);
        parameters->add_floats(0.25F);
      } else {
        if (adds) maker.node("Add", {"c", "z"}, {"s"});
        ModelMaker::set(maker.node("LeakyRelu", {adds ? "s" : "c"}, {"y"}), "alpha", 0.25F);
      }
      maker.output("y");
      results.push_back(runModel(maker, {x, sum}).at(0));
    }
    expectNear(results[1], {results[0].begin(), results[0].end()}, 1e-5);
  }
}

// a [rows, batch, K] and b [K, batch, columns]: the first axis of each stands behind the batches.
TEST(Fused, ProductsWithBatchesTurned) {
  constexpr size_t kRows = 3, kBatch = 2, kInner = 5, kColumns = 4;
  const Reals a = randomReals(kRows * kBatch * kInner, 1);
  const Reals b = randomReals(kInner * kBatch * kColumns, 2);
  ModelMaker maker;
  auto& product = node(maker, "FusedMatMul", {{kRows, kBatch, kInner}, {kInner, kBatch, kColumns}}, kDomain);
  ModelMaker::set(product, "transBatchA", int64_t{1});
  ModelMaker::set(product, "transBatchB", int64_t{1});
  ModelMaker::set(product, "alpha", 0.5F);
  std::vector<double> expected;
  for (size_t n = 0; n < kBatch; ++n) {
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < kColumns; ++j) {
        double sum = 0;
        for (size_t k = 0; k < kInner; ++k)
          sum += static_cast<double>(a[(i * kBatch + n) * kInner + k] * b[(k * kBatch + n) * kColumns + j]);
        expected.push_back(sum / 2);
      }
    }
  }
  expectNear(runModel(maker, {a, b}).at(0), expected);
}

// Rows 2 and 0 of a table of 4 or 8 bits in blocks of 4, with the zero point of the middle or with given ones.
TEST(Fused, RowsOfPackedTables) {
  constexpr int64_t kRows = 3, kColumns = 8, kBlock = 4;
  for (const int64_t bits : {4, 8}) {
    for (const bool givesZeros : {false, true}) {
      const auto element = [&](int64_t row, int64_t column) { return (row * 37 + column * 11 + 5) % (1 << bits); };
      const auto zero = [&](int64_t row, int64_t block) {
        return givesZeros ? (row * 3 + block * 7) % (1 << bits) : int64_t{1} << (bits - 1);
      };
      std::string table;
      std::string zeros;
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t column = 0; column < kColumns; column += 8 / bits)
          table.push_back(static_cast<char>(element(row, column) + (bits == 4 ? element(row, column + 1) * 16 : 0)));
        for (int64_t block = 0; block < 2; block += 8 / bits)
          zeros.push_back(static_cast<char>(zero(row, block) + (bits == 4 ? zero(row, block + 1) * 16 : 0)));
      }
      const Reals scales = randomReals(kRows * 2, 6);
      ModelMaker maker;
      maker.initializer("table", {kRows, kColumns * bits / 8}, 2).set_raw_data(table);
      maker.initializer("zeros", {kRows, 2 * bits / 8}, 2).set_raw_data(zeros);
      maker.floats("scales", {kRows, 2}, scales);
      maker.input("unused", {1});
      maker.ints("rows", {2}, {2, 0});
      auto& gather = maker.node("GatherBlockQuantized", {"table", "rows", "scales"}, {"g"});
      gather.set_domain(kDomain);
      if (givesZeros) gather.add_input("zeros");
      ModelMaker::set(gather, "bits", bits);
      ModelMaker::set(gather, "block_size", kBlock);
      maker.node("Add", {"g", "unused"}, {"y"});
      maker.output("y");
      std::vector<double> expected;
      for (const int64_t row : {2, 0}) {
        for (int64_t column = 0; column < kColumns; ++column) {
          const int64_t block = column / kBlock;
          expected.push_back(static_cast<double>(element(row, column) - zero(row, block)) *
                             static_cast<double>(scales[static_cast<size_t>(row * 2 + block)]));
        }
      }
      expectNear(runModel(maker, {{0}}).at(0), expected);
    }
  }
  const auto refused = [](const char* message, int64_t scales, const char* attribute, int64_t value) {
    expectRefused(message, [&](ModelMaker& maker) {
      maker.initializer("table", {2, 4}, 2).set_raw_data(std::string(8, '\x12'));
      maker.floats("scales", {2, scales}, Reals(static_cast<size_t>(2 * scales), 1));
      maker.input("rows", {1}, 7);
      auto& gather = maker.node("GatherBlockQuantized", {"table", "rows", "scales"}, {"y"});
      gather.set_domain(kDomain);
      ModelMaker::set(gather, attribute, value);
      maker.output("y");
    });
  };
  refused("3 scales of blocks of 4 for 8 columns; expected whole blocks", 3, "block_size", 4);
  refused("bits = 4, block_size = 128, gather_axis = 1, quantize_axis = 1; expected bytes", 1, "gather_axis", 1);
}

// One head of width 1 whose query is 1: keys are scores, and a further score takes part in the sum of the softmax.
TEST(Fused, GroupedQueriesWithASink) {
  const Reals past{0.5F, -1};
  const Reals values{2, 3};
  for (const bool givesSink : {false, true}) {
    const double sink = givesSink ? 0.75 : 0;
    ModelMaker maker;
    for (const char* name : {"q", "k", "v"}) maker.input(name, {1, 1, 1});
    maker.input("pk", {1, 1, 2, 1});
    maker.input("pv", {1, 1, 2, 1});
    maker.initializer("last", {1}, 6).add_int32_data(2);
    maker.initializer("total", {}, 6).add_int32_data(3);
    maker.floats("sink", {1}, {static_cast<float>(sink)});
    auto& attention =
        maker.node("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "total"}, {"y", "pk2", "pv2"});
    attention.set_domain(kDomain);
    ModelMaker::set(attention, "num_heads", int64_t{1});
    ModelMaker::set(attention, "kv_num_heads", int64_t{1});
    ModelMaker::set(attention, "scale", 1.0F);
    if (givesSink) {
      for (int i = 0; i < 4; ++i) attention.add_input("");
      attention.add_input("sink");
    } else {
      ModelMaker::set(attention, "smooth_softmax", int64_t{1});
    }
    maker.output("y");
    const double e[] = {std::exp(0.5), std::exp(-1.0), std::exp(0.25)};
    const double expected = (e[0] * 2 + e[1] * 3 + e[2] * 4) / (e[0] + e[1] + e[2] + std::exp(sink));
    expectNear(runModel(maker, {{1}, {0.25F}, {4}, past, values}).at(0), {expected});
  }
}

// Keys 1 and 2 of the first row, key 0 of the second: as a mask of keys says it.
TEST(Fused, MasksOfEndsAndBegins) {
  std::vector<Reals> results;
  for (const bool asMask : {false, true}) {
    ModelMaker maker;
    maker.input("x", {2, 4, 2});
    maker.floats("w", {2, 6}, randomReals(12, 4));
    maker.floats("b", {6}, randomReals(6, 5));
    auto& mask = maker.initializer("m", asMask ? Ints{2, 4} : Ints{4}, 6);
    for (const int value : asMask ? std::vector<int>{0, 1, 1, 0, 1, 0, 0, 0} : std::vector<int>{3, 1, 1, 0})
      mask.add_int32_data(value);
    auto& attention = maker.node("Attention", {"x", "w", "b", "m"}, {"y"});
    attention.set_domain(kDomain);
    ModelMaker::set(attention, "num_heads", int64_t{1});
    maker.output("y");
    results.push_back(runModel(maker, {randomReals(16, 7)}).at(0));
  }
  expectNear(results[0], {results[1].begin(), results[1].end()}, 1e-6);
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Operators that are written as formulas of layers, against their definitions.
#include <cmath>
#include <string_view>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int32_t kInt64 = 7;

TEST(Scatter, AddsUpdatesThatMeet) {
  const Reals x = randomReals(10, 1), updates = randomReals(6, 2);
  ModelMaker maker(18);
  maker.input("x", {2, 5});
  maker.input("u", {2, 3});
  maker.ints("i", {2, 3}, {0, 4, 0, -1, 2, 2});
  ModelMaker::set(maker.node("ScatterElements", {"x", "i", "u"}, {"y"}), "axis", int64_t{1});
  ModelMaker::set(*maker.graph().mutable_node(0), "reduction", std::string("add"));
  maker.output("y");
  std::vector<double> expected(x.begin(), x.end());
  const size_t places[] = {0, 4, 0, 9, 7, 7};
  for (size_t i = 0; i < 6; ++i) expected[places[i]] += updates[i];
  expectNear(runModel(maker, {x, updates}).at(0), expected);
}

// A sum of truth values is whether one is true, a product whether all are.
TEST(Scatter, CombinesTruthValues) {
  const Reals x{0, 1, 0, 1, 1, 0}, updates{1, 0, 0, 0, 1, 1, 0, 1};
  for (const char* reduction : {"add", "mul", "max", "min"}) {
    ModelMaker maker(18);
    maker.input("x", {6});
    maker.input("u", {8});
    maker.ints("i", {8}, {0, 0, 1, 2, 3, -1, -2, 2});
    ModelMaker::set(maker.node("Cast", {"x"}, {"a"}), "to", int64_t{9});
    ModelMaker::set(maker.node("Cast", {"u"}, {"b"}), "to", int64_t{9});
    ModelMaker::set(maker.node("ScatterElements", {"a", "i", "b"}, {"c"}), "reduction", std::string(reduction));
    ModelMaker::set(maker.node("Cast", {"c"}, {"y"}), "to", int64_t{1});
    maker.output("y");
    const bool isAny = std::string_view(reduction) == "add" || std::string_view(reduction) == "max";
    const std::vector<double> expected =
        isAny ? std::vector<double>{1, 1, 1, 1, 1, 1} : std::vector<double>{0, 0, 0, 1, 0, 0};
    expectNear(runModel(maker, {x, updates}).at(0), expected);
  }
}

// Elimination with pivots and exchanged rows.
double determinantOf(std::vector<double> m) {
  const auto n = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(m.size()))));
  double determinant = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t r = k; r < n; ++r) pivot = std::fabs(m[r * n + k]) > std::fabs(m[pivot * n + k]) ? r : pivot;
    for (size_t c = 0; c < n && pivot != k; ++c) std::swap(m[k * n + c], m[pivot * n + c]);
    determinant *= (pivot != k ? -1 : 1) * m[k * n + k];
    for (size_t r = k + 1; r < n && m[k * n + k] != 0; ++r) {
      const double factor = m[r * n + k] / m[k * n + k];
      for (size_t c = k; c < n; ++c) m[r * n + c] -= factor * m[k * n + c];
    }
  }
  return determinant;
}

// Of more than six rows in a loop: many matrices, one, and such of which a column is zero.
TEST(Matrices, LargeDeterminants) {
  for (const size_t n : {7, 9, 20}) {
    for (const size_t count : {1, 6}) {
      Reals x = randomReals(count * n * n, static_cast<unsigned>(n));
      for (size_t r = 0; r < n && count > 1; ++r) x[r * n + 2] = 0;
      ModelMaker maker(17);
      const auto rows = static_cast<int64_t>(n);
      maker.input("x", count > 1 ? Ints{2, static_cast<int64_t>(count) / 2, rows, rows} : Ints{rows, rows});
      maker.node("Det", {"x"}, {"d"});
      maker.output("d");
      std::vector<double> expected;
      for (size_t i = 0; i < count; ++i) expected.push_back(determinantOf({&x[i * n * n], &x[i * n * n] + n * n}));
      const auto got = runModel(maker, {x}).at(0);
      ASSERT_EQ(got.size(), count);
      for (size_t i = 0; i < count; ++i) EXPECT_NEAR(got[i], expected[i], 2e-5 * std::fabs(expected[i])) << n;
    }
  }
}

TEST(Matrices, DeterminantsOfNothingAreOne) {
  ModelMaker maker(17);
  maker.input("x", {3, 0, 0});
  maker.node("Det", {"x"}, {"d"});
  maker.output("d");
  expectNear(runModel(maker, {{}}).at(0), {1, 1, 1});
}

TEST(Matrices, DeterminantsAndRunningProducts) {
  const Reals x = randomReals(16, 6);
  ModelMaker maker(26);
  maker.input("x", {4, 4});
  maker.ints("axis", {}, {1});
  maker.node("Det", {"x"}, {"d"});
  ModelMaker::set(maker.node("CumProd", {"x", "axis"}, {"p"}), "exclusive", int64_t{1});
  maker.output("d");
  maker.output("p");
  const auto outputs = runModel(maker, {x});
  // The importer expands cofactors.
  expectNear(outputs.at(0), {determinantOf({x.begin(), x.end()})});
  std::vector<double> products;
  for (size_t i = 0; i < 16; ++i) products.push_back(i % 4 == 0 ? 1 : products[i - 1] * x[i - 1]);
  expectNear(outputs.at(1), products);
}

// a [2, 5] times a matrix [3, 5] of 4-bit numbers in blocks of 4, the low half of a byte first.
TEST(Packed, MatricesOfFourBits) {
  const Reals a = randomReals(10, 8), scales = randomReals(6, 9);
  std::string bytes;
  std::mt19937 random(5);
  for (int i = 0; i < 3 * 2 * 2; ++i) bytes.push_back(static_cast<char>(random() & 0xFF));
  ModelMaker maker(17);
  maker.proto().add_opset_import()->set_domain("com.microsoft");
  maker.proto().mutable_opset_import(1)->set_version(1);
  maker.input("a", {2, 5});
  maker.initializer("b", {3, 2, 2}, 2).set_raw_data(bytes);
  maker.floats("s", {6}, scales);
  auto& node = maker.node("MatMulNBits", {"a", "b", "s"}, {"y"});
  node.set_domain("com.microsoft");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, int>>{{"K", 5}, {"N", 3}, {"bits", 4}, {"block_size", 4}}) {
    ModelMaker::set(node, name, int64_t{value});
  }
  maker.output("y");
  std::vector<double> expected;
  for (size_t row = 0; row < 2; ++row) {
    for (size_t n = 0; n < 3; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 5; ++k) {
        const auto byte = static_cast<unsigned char>(bytes[n * 4 + k / 2]);
        sum += a[row * 5 + k] * (static_cast<double>(k % 2 == 0 ? byte & 15 : byte >> 4) - 8) * scales[n * 2 + k / 4];
      }
      expected.push_back(sum);
    }
  }
  expectNear(runModel(maker, {a}).at(0), expected);
}

// Distances of the rows of a [2, 3] from those of b [4, 3].
TEST(Formulas, DistancesOfRows) {
  const Reals a = randomReals(6, 1), b = randomReals(12, 2);
  for (const bool root : {false, true}) {
    ModelMaker maker(17);
    maker.proto().add_opset_import()->set_domain("com.microsoft");
    maker.proto().mutable_opset_import(1)->set_version(1);
    maker.input("a", {2, 3});
    maker.floats("b", {4, 3}, b);
    auto& node = maker.node("CDist", {"a", "b"}, {"y"});
    node.set_domain("com.microsoft");
    if (root) ModelMaker::set(node, "metric", "euclidean");
    maker.output("y");
    std::vector<double> expected;
    for (size_t i = 0; i < 8; ++i) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k) sum += std::pow(double{a[i / 4 * 3 + k]} - b[i % 4 * 3 + k], 2);
      expected.push_back(root ? std::sqrt(sum) : sum);
    }
    expectNear(runModel(maker, {a}).at(0), expected, 1e-5);
  }
}

// Two lists of bytes with steps of their own, chosen between and rounded to the steps of the result.

TEST(Formulas, OperatorsOfBothDomains) {
  const Reals x = randomReals(2 * 3 * 4 * 5, 7);
  const auto resultIn = [&](const char* domain, const std::string& type) {
    ModelMaker maker(17);
    maker.proto().add_opset_import()->set_domain("com.microsoft");
    maker.proto().mutable_opset_import(1)->set_version(1);
    maker.input("x", {2, 3, 4, 5});
    maker.ints("pads", {8}, {0, 0, 1, 2, 0, 0, 0, 1});
    maker.floats("fill", {}, {3.5F});
    maker.ints("k", {}, {1});
    maker.ints("places", {2, 3}, {0, 2, 1, 1, 0, 3});
    maker.floats("grid", {2, 2, 3, 2}, randomReals(24, 8));
    const std::vector<std::string> more = type == "Pad"        ? std::vector<std::string>{"pads", "fill"}
                                          : type == "Trilu"    ? std::vector<std::string>{"k"}
                                          : type == "GatherND" ? std::vector<std::string>{"places"}
                                                               : std::vector<std::string>{"grid"};
    std::vector<std::string> inputs{"x"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    maker.node(type, inputs, {"y"}).set_domain(domain);
    maker.output("y");
    return runModel(maker, {x}).at(0);
  };
  for (const char* type : {"Pad", "Trilu", "GatherND", "GridSample"}) {
    SCOPED_TRACE(type);
    const auto result = resultIn("com.microsoft", type);
    EXPECT_FALSE(result.empty());
    EXPECT_EQ(result, resultIn("", type));
  }
}

TEST(LayerNormalization, GivesMeanAndInverseDeviation) {
  ModelMaker maker(17);
  maker.input("x", {2, 3, 4});
  maker.floats("scale", {3, 4}, Reals(12, 1.0f));
  ModelMaker::set(maker.node("LayerNormalization", {"x", "scale"}, {"y", "mean", "inverse"}), "axis", int64_t{1});
  maker.output("y");
  maker.output("mean");
  maker.output("inverse");
  const Reals x = randomReals(24, 9);
  const auto outputs = runModel(maker, {x});
  std::vector<double> y, means, inverses;
  for (size_t row = 0; row < 2; ++row) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < 12; ++i) mean += x[row * 12 + i] / 12.0;
    for (size_t i = 0; i < 12; ++i) square += (x[row * 12 + i] - mean) * (x[row * 12 + i] - mean) / 12.0;
    means.push_back(mean);
    inverses.push_back(1 / std::sqrt(square + 1e-5));
    for (size_t i = 0; i < 12; ++i) y.push_back((x[row * 12 + i] - mean) * inverses.back());
  }
  expectNear(outputs.at(0), y);
  expectNear(outputs.at(1), means);
  expectNear(outputs.at(2), inverses);
}

// A body of one node, added to what is carried: x * 1 + x * 1 + ... by the trip count.
TEST(Control, LoopsWithAConstantCountAreRepeated) {
  ModelMaker maker(17);
  maker.input("x", {3});
  maker.ints("count", {}, {4});
  maker.floats("zero", {3}, {0, 0, 0});
  auto& node = maker.node("Loop", {"count", "", "zero"}, {"sum", "all"}, "loop");
  auto* attribute = node.add_attribute();
  attribute->set_name("body");
  attribute->set_type(5);
  auto* body = attribute->mutable_g();
  for (const char* name : {"i", "on", "carried"}) body->add_input()->set_name(name);
  const auto add = [&](const std::string& type, const std::vector<std::string>& in, const std::string& out) {
    auto* one = body->add_node();
    one->set_op_type(type);
    for (const auto& name : in) one->add_input(name);
    one->add_output(out);
  };
  add("Identity", {"on"}, "again");
  add("Add", {"carried", "x"}, "next");  // x is a name of the graph outside
  add("Identity", {"next"}, "copy");
  for (const char* name : {"again", "next", "copy"}) body->add_output()->set_name(name);
  maker.output("sum");
  maker.output("all");
  const Reals x = randomReals(3, 4);
  const auto outputs = runModel(maker, {x});
  std::vector<double> sum, all;
  for (const float value : x) sum.push_back(4.0 * value);
  for (int i = 1; i <= 4; ++i) {
    for (const float value : x) all.push_back(i * value);
  }
  expectNear(outputs.at(0), sum);
  expectNear(outputs.at(1), all);
}

TEST(Sparse, InitializersAreWrittenOut) {
  const auto model = [](const std::vector<int64_t>& places, const Ints& shape) {
    ModelMaker maker(17);
    maker.input("x", {2, 3});
    auto* sparse = maker.graph().add_sparse_initializer();
    sparse->mutable_values()->set_name("s");
    sparse->mutable_values()->set_data_type(1);
    sparse->mutable_values()->add_dims(2);
    const float values[] = {5, -7};
    sparse->mutable_values()->set_raw_data(values, 8);
    sparse->mutable_indices()->set_data_type(kInt64);
    for (const int64_t extent : shape) sparse->mutable_indices()->add_dims(extent);
    sparse->mutable_indices()->set_raw_data(places.data(), places.size() * sizeof(int64_t));
    sparse->add_dims(2);
    sparse->add_dims(3);
    maker.node("Add", {"x", "s"}, {"y"});
    maker.output("y");
    return maker;
  };
  const Reals x(6, 0.5f);
  expectNear(runModel(model({1, 5}, {2}), {x}).at(0), {0.5, 5.5, 0.5, 0.5, 0.5, -6.5});
  expectNear(runModel(model({0, 2, 1, 0}, {2, 2}), {x}).at(0), {0.5, 0.5, 5.5, -6.5, 0.5, 0.5});
  EXPECT_NE(refusal(model({1, 6}, {2})).find("index 6; expected 0 to 5"), std::string::npos);
  EXPECT_NE(refusal(model({1, 2, 3}, {3})).find("sparse tensor 's'"), std::string::npos);
}

// Ones and pairs of a pool, skips between the items of a pair, places of the output that no n-gram has.
TEST(TfIdfVectorizer, CountsAndWeights) {
  const auto model = [](const char* mode, bool weighted, const Ints& starts = {0, 2}) {
    ModelMaker maker(17);
    maker.input("x", {2, 6});
    ModelMaker::set(maker.node("Cast", {"x"}, {"items"}), "to", int64_t{6});
    auto& node = maker.node("TfIdfVectorizer", {"items"}, {"y"});
    ModelMaker::set(node, "mode", std::string(mode));
    ModelMaker::set(node, "min_gram_length", int64_t{1});
    ModelMaker::set(node, "max_gram_length", int64_t{2});
    ModelMaker::set(node, "max_skip_count", int64_t{1});
    ModelMaker::set(node, "ngram_counts", starts);
    ModelMaker::set(node, "ngram_indexes", Ints{4, 0, 2});
    ModelMaker::set(node, "pool_int64s", Ints{7, 3, 3, 7});
    if (weighted) {
      auto* attribute = node.add_attribute();
      attribute->set_name("weights");
      attribute->set_type(6);
      for (const float weight : {0.5F, 2.0F, -1.0F}) attribute->add_floats(weight);
    }
    maker.output("y");
    return maker;
  };
  const Reals x{3, 7, 7, 3, 1, 7, 1, 1, 1, 1, 1, 3};
  // Sevens at 4, threes at 0, pairs (3, 7) with nothing or one item between at 2: places 0-1, 0-2 and 3-5.
  expectNear(runModel(model("TF", true), {x}).at(0), {2, 0, 3, 0, 3, 1, 0, 0, 0, 0});
  expectNear(runModel(model("IDF", true), {x}).at(0), {2, 0, -1, 0, 0.5, 2, 0, 0, 0, 0});
  expectNear(runModel(model("TFIDF", true), {x}).at(0), {4, 0, -3, 0, 1.5, 2, 0, 0, 0, 0});
  expectNear(runModel(model("IDF", false), {x}).at(0), {1, 0, 1, 0, 1, 1, 0, 0, 0, 0});
  const auto said = refusal(model("TF", false, {3, 2}));
  EXPECT_NE(said.find("ngram_counts has 2 behind 3"), std::string::npos) << said;
}

}  // namespace
}  // namespace tenon::parsers::onnx

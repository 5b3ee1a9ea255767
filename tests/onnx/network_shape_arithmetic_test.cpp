// Slice sizes computed from a shape, as exporters write them: parsed, built and run at several shapes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "network_bench.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int32_t kFloat = 1;
constexpr int32_t kInt64 = 7;
constexpr int64_t kMost = 40;

// y = x[0 : rows], where `rows` is computed by steps from n, the first extent of x.
struct Chain {
  const char* name;
  std::function<void(ModelMaker&)> steps;  // from "n" to "rows", lists of one element
  std::function<int64_t(int64_t)> rows;    // what they compute
};

void cast(ModelMaker& maker, const std::string& from, const std::string& to, int64_t type) {
  ModelMaker::set(maker.node("Cast", {from}, {to}), "to", type);
}

const Chain kChains[] = {
    {"negated division of integers truncates",
     [](ModelMaker& m) {
       m.ints("step", {1}, {3});
       m.node("Neg", {"n"}, {"a"});
       m.node("Div", {"a", "step"}, {"b"});
       m.node("Neg", {"b"}, {"rows"});
     },
     [](int64_t n) { return -(-n / 3); }},
    {"ceiling by a negated floor, in floating point",
     [](ModelMaker& m) {
       m.floats("step", {}, {3});
       cast(m, "n", "f", kFloat);
       m.node("Neg", {"f"}, {"a"});
       m.node("Div", {"a", "step"}, {"b"});
       m.node("Floor", {"b"}, {"c"});
       m.node("Neg", {"c"}, {"d"});
       cast(m, "d", "rows", kInt64);
     },
     [](int64_t n) { return static_cast<int64_t>(-std::floor(static_cast<float>(-n) / 3.0F)); }},
    {"ceiling of a division by 2.5",
     [](ModelMaker& m) {
       m.floats("step", {1}, {2.5F});
       cast(m, "n", "f", kFloat);
       m.node("Div", {"f", "step"}, {"b"});
       m.node("Ceil", {"b"}, {"c"});
       cast(m, "c", "rows", kInt64);
     },
     [](int64_t n) { return static_cast<int64_t>(std::ceil(static_cast<float>(n) / 2.5F)); }},
    {"half of it, cut off by the cast",
     [](ModelMaker& m) {
       m.floats("half", {}, {0.5F});
       cast(m, "n", "f", kFloat);
       m.node("Mul", {"f", "half"}, {"b"});
       cast(m, "b", "rows", kInt64);
     },
     [](int64_t n) { return n / 2; }},
    {"division by a negative number",
     [](ModelMaker& m) {
       m.ints("step", {1}, {-4});
       m.node("Div", {"n", "step"}, {"a"});
       m.node("Neg", {"a"}, {"rows"});
     },
     [](int64_t n) { return -(n / -4); }},
    {"absolute value of a difference",
     [](ModelMaker& m) {
       m.ints("seven", {1}, {7});
       m.node("Sub", {"n", "seven"}, {"a"});
       m.node("Abs", {"a"}, {"rows"});
     },
     [](int64_t n) { return std::abs(n - 7); }},
    {"truncated division of what may be negative",
     [](ModelMaker& m) {
       m.ints("ten", {1}, {10});
       m.ints("three", {1}, {3});
       m.node("Sub", {"n", "ten"}, {"a"});
       m.node("Div", {"a", "three"}, {"b"});
       m.node("Add", {"b", "three"}, {"rows"});
     },
     [](int64_t n) { return (n - 10) / 3 + 3; }},
    {"remainder with the sign of the divisor",
     [](ModelMaker& m) {
       m.ints("ten", {1}, {10});
       m.ints("three", {1}, {3});
       m.node("Sub", {"n", "ten"}, {"a"});
       m.node("Mod", {"a", "three"}, {"rows"});
     },
     [](int64_t n) { return ((n - 10) % 3 + 3) % 3; }},
    {"product of a one-hot row of two dimensions",
     [](ModelMaker& m) {
       m.ints("one", {1}, {1});
       m.ints("place", {1}, {2});
       m.ints("depth", {}, {4});
       ModelMaker::set(m.node("Concat", {"one", "n"}, {"values"}), "axis", int64_t{0});
       m.node("OneHot", {"place", "depth", "values"}, {"row"});
       ModelMaker::set(m.node("ReduceProd", {"row"}, {"product"}), "keepdims", int64_t{0});
       m.ints("list", {1}, {1});
       m.node("Reshape", {"product", "list"}, {"rows"});
     },
     [](int64_t n) { return n; }},
    {"greatest of three lengths",
     [](ModelMaker& m) {
       m.ints("five", {1}, {5});
       m.ints("one", {1}, {1});
       m.node("Mul", {"n", "n"}, {"square"});
       m.node("Sub", {"square", "five"}, {"a"});
       ModelMaker::set(m.node("Concat", {"five", "n", "a"}, {"all"}), "axis", int64_t{0});
       m.node("TopK", {"all", "one"}, {"rows", "places"});
     },
     [](int64_t n) {
       return std::max<int64_t>({5, n, n * n - 5});
     }},
};

std::string modelOf(const Chain& chain) {
  ModelMaker maker;
  maker.input("x", {-2, 3});
  maker.ints("zero", {1}, {0});
  maker.node("Shape", {"x"}, {"shape"});
  maker.node("Gather", {"shape", "zero"}, {"n"});
  chain.steps(maker);
  maker.node("Slice", {"x", "zero", "rows", "zero"}, {"y"});
  maker.output("y");
  return maker.bytes();
}

TEST(ShapeArithmetic, SlicesAreAsLongAsTheModelComputes) {
  for (const auto& chain : kChains) {
    SCOPED_TRACE(chain.name);
    NetworkBench bench;
    const auto bytes = modelOf(chain);
    ASSERT_TRUE(bench.parser->parse(bytes.data(), bytes.size(), nullptr)) << bench.errors() << bench.logger.text;
    const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
    config->setBuilderOptimizationLevel(0);
    auto* profile = bench.builder->createOptimizationProfile();
    profile->setDimensions("x", nvinfer1::OptProfileSelector::kMIN, nvinfer1::Dims2{1, 3});
    profile->setDimensions("x", nvinfer1::OptProfileSelector::kOPT, nvinfer1::Dims2{20, 3});
    profile->setDimensions("x", nvinfer1::OptProfileSelector::kMAX, nvinfer1::Dims2{kMost, 3});
    config->addOptimizationProfile(profile);
    const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
    ASSERT_NE(plan, nullptr) << bench.logger.text;
    const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(bench.logger));
    const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr) << bench.logger.text;
    const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
    std::vector<float> x(kMost * 3);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    for (int64_t n = 1; n <= kMost; ++n) {
      const int64_t rows = chain.rows(n);
      const int64_t kept =
          std::min(n, rows < 0 ? std::max<int64_t>(rows + n, 0) : rows);  // ends may be negative or too large
      ASSERT_TRUE(context->setInputShape("x", nvinfer1::Dims2{n, 3}));
      EXPECT_EQ(toDimensions(context->getTensorShape("y")), (Dimensions{kept, 3})) << "n " << n << " rows " << rows;
      std::vector<float> y(kMost * 3 + 1, -99);
      void* bindings[] = {x.data(), y.data()};
      ASSERT_TRUE(context->executeV2(bindings)) << bench.logger.text;
      EXPECT_TRUE(std::equal(x.begin(), x.begin() + kept * 3, y.begin())) << "n " << n;
      EXPECT_EQ(y[static_cast<size_t>(kept * 3)], -99) << "n " << n;
    }
  }
}

TEST(ShapeArithmetic, ADivisionByZeroNamesWhatIsDivided) {
  const Chain chain{"",
                    [](ModelMaker& m) {
                      m.ints("none", {1}, {0});
                      m.node("Div", {"n", "none"}, {"rows"}, "the division");
                    },
                    nullptr};
  NetworkBench bench;
  const auto bytes = modelOf(chain);
  const bool parsed = bench.parser->parse(bytes.data(), bytes.size(), nullptr);
  const auto said = bench.errors() + bench.logger.text;
  EXPECT_FALSE(parsed && bench.builder->buildSerializedNetwork(*bench.network,
                                                               *std::unique_ptr<nvinfer1::IBuilderConfig>(
                                                                   bench.builder->createBuilderConfig())) != nullptr);
  EXPECT_NE(said.find("divides N by 0; the divisor must not be zero"), std::string::npos) << said;
}

}  // namespace
}  // namespace tenon::parsers::onnx

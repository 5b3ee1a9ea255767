// Operators whose outputs have as many elements as the data say, from the model's bytes to numbers and shapes.
#include <algorithm>
#include <cmath>
#include <map>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

class Output final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    memory_.resize(static_cast<size_t>(size));
    return memory_.data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape = toDimensions(dims); }

  template <typename T>
  std::vector<T> values() const {
    const auto* const first = reinterpret_cast<const T*>(memory_.data());
    return {first, first + elementCount(shape)};
  }
  Dimensions shape;

 private:
  std::vector<char> memory_;
};

// An engine of the model, run once on each set of inputs; outputs by their order.
class Runner {
 public:
  explicit Runner(const ModelMaker& maker) {
    EXPECT_TRUE(bench_.parse(maker)) << bench_.errors() << bench_.logger.text;
    const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench_.builder->createBuilderConfig());
    config->setBuilderOptimizationLevel(0);
    const std::unique_ptr<nvinfer1::IHostMemory> plan(bench_.builder->buildSerializedNetwork(*bench_.network, *config));
    EXPECT_NE(plan, nullptr) << bench_.logger.text;
    if (plan == nullptr) return;
    runtime_.reset(nvinfer1::createInferRuntime(bench_.logger));
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
    context_.reset(engine_->createExecutionContext());
  }

  std::vector<Output> run(const std::vector<void*>& inputs) {
    if (context_ == nullptr) return std::vector<Output>(8);
    std::vector<Output> outputs(static_cast<size_t>(engine_->getNbIOTensors()) - inputs.size());
    std::vector<void*> bindings = inputs;
    bindings.resize(inputs.size() + outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      context_->setOutputAllocator(engine_->getIOTensorName(static_cast<int32_t>(inputs.size() + i)), &outputs[i]);
    EXPECT_TRUE(context_->executeV2(bindings.data())) << bench_.logger.text;
    return outputs;
  }

 private:
  NetworkBench bench_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

TEST(NonZero, GivesCoordinates) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.node("NonZero", {"x"}, {"y"});
  maker.output("y", {}, 7);
  Runner runner(maker);
  Reals x{0, 1, 0, 2, 0, 3};
  const auto some = runner.run({x.data()});
  EXPECT_EQ(some[0].shape, (Dimensions{2, 3}));
  EXPECT_EQ(some[0].values<int64_t>(), (Ints{0, 1, 1, 1, 0, 2}));
  std::fill(x.begin(), x.end(), 0.F);
  EXPECT_EQ(runner.run({x.data()})[0].shape, (Dimensions{2, 0}));
}

TEST(NonZero, OfConstantsFolds) {
  ModelMaker maker;
  maker.input("x", {4});
  maker.floats("mask", {2, 2}, {0, 1, 1, 0});
  maker.node("NonZero", {"mask"}, {"places"});
  maker.node("Gather", {"x", "places"}, {"y"});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_EQ(bench.outputShape(), (Dimensions{2, 2}));
  EXPECT_EQ(runModel(maker, {{5, 6, 7, 8}})[0], (Reals{5, 6, 6, 5}));
}

TEST(Compress, KeepsWhereAConditionIsComputed) {
  for (const bool flat : {false, true}) {
    ModelMaker maker;
    maker.input("x", {3, 4});
    maker.input("keep", {flat ? 12 : 4});
    auto& cast = maker.node("Cast", {"keep"}, {"condition"});
    ModelMaker::set(cast, "to", int64_t{9});
    auto& node = maker.node("Compress", {"x", "condition"}, {"y"});
    if (!flat) ModelMaker::set(node, "axis", int64_t{-1});
    maker.output("y");
    Runner runner(maker);
    Reals x(12);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    Reals keep(flat ? 12 : 4, 0);
    keep[1] = keep[3] = 1;
    const auto y = runner.run({x.data(), keep.data()});
    EXPECT_EQ(y[0].shape, flat ? (Dimensions{2}) : (Dimensions{3, 2}));
    EXPECT_EQ(y[0].values<float>(), flat ? (Reals{1, 3}) : (Reals{1, 3, 5, 7, 9, 11}));
  }
}

TEST(Compress, KeepsWhereAConstantConditionHolds) {
  ModelMaker maker;
  maker.input("x", {3, 2});
  maker.initializer("condition", {2}, 9).set_raw_data("\0\1", 2);
  auto& node = maker.node("Compress", {"x", "condition"}, {"y"});
  ModelMaker::set(node, "axis", int64_t{0});
  maker.output("y");
  EXPECT_EQ(runModel(maker, {{1, 2, 3, 4, 5, 6}})[0], (Reals{3, 4}));
}

TEST(Unique, SortedAndAsTheyAppear) {
  for (const int64_t sorted : {1, 0}) {
    ModelMaker maker;
    maker.input("x", {2, 4});
    auto& node = maker.node("Unique", {"x"}, {"y", "first", "inverse", "counts"});
    ModelMaker::set(node, "sorted", sorted);
    maker.output("y");
    for (const char* name : {"first", "inverse", "counts"}) maker.output(name, {}, 7);
    Runner runner(maker);
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
      Reals x(8);
      for (auto& value : x) value = static_cast<float>(random() % (round == 0 ? 1 : 6)) - 2;
      std::map<float, Ints> places;
      for (size_t i = 0; i < x.size(); ++i) places[x[i]].push_back(static_cast<int64_t>(i));
      std::vector<std::pair<float, Ints>> groups(places.begin(), places.end());
      if (sorted == 0)
        std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      Reals y;
      Ints first, inverse(8), counts;
      for (size_t g = 0; g < groups.size(); ++g) {
        y.push_back(groups[g].first);
        first.push_back(groups[g].second[0]);
        counts.push_back(static_cast<int64_t>(groups[g].second.size()));
        for (const int64_t place : groups[g].second) inverse[static_cast<size_t>(place)] = static_cast<int64_t>(g);
      }
      const auto got = runner.run({x.data()});
      EXPECT_EQ(got[0].values<float>(), y);
      EXPECT_EQ(got[1].values<int64_t>(), first);
      EXPECT_EQ(got[2].values<int64_t>(), inverse);
      EXPECT_EQ(got[3].values<int64_t>(), counts);
    }
  }
}

TEST(Unique, OfNothing) {
  for (const int64_t sorted : {1, 0}) {
    ModelMaker maker;
    maker.input("x", {0});
    ModelMaker::set(maker.node("Unique", {"x"}, {"y", "first", "inverse", "counts"}), "sorted", sorted);
    maker.output("y");
    for (const char* name : {"first", "inverse", "counts"}) maker.output(name, {}, 7);
    float none = 0;
    for (const auto& output : Runner(maker).run({&none})) EXPECT_EQ(output.shape, Dimensions{0});
  }
}

// Slices [2, 2] of the middle axis of [2, 7, 2]: lexicographic order, the first of equal ones.
TEST(Unique, SlicesAlongAnAxis) {
  constexpr size_t kCount = 7;
  for (const int64_t sorted : {1, 0}) {
    ModelMaker maker;
    maker.input("x", {2, kCount, 2});
    auto& node = maker.node("Unique", {"x"}, {"y", "first", "inverse", "counts"});
    ModelMaker::set(node, "axis", int64_t{-2});
    ModelMaker::set(node, "sorted", sorted);
    maker.output("y");
    for (const char* name : {"first", "inverse", "counts"}) maker.output(name, {}, 7);
    Runner runner(maker);
    std::mt19937 random(4);
    for (int round = 0; round < 20; ++round) {
      Reals x(2 * kCount * 2);
      for (auto& value : x) value = static_cast<float>(random() % (round == 0 ? 1 : 2));
      std::map<Reals, Ints> places;
      for (size_t i = 0; i < kCount; ++i) {
        const size_t second = kCount * 2 + i * 2;
        places[{x[i * 2], x[i * 2 + 1], x[second], x[second + 1]}].push_back(static_cast<int64_t>(i));
      }
      std::vector<std::pair<Reals, Ints>> groups(places.begin(), places.end());
      if (sorted == 0)
        std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      Reals y(groups.size() * 4);
      Ints first, inverse(kCount), counts;
      for (size_t g = 0; g < groups.size(); ++g) {
        for (size_t k = 0; k < 4; ++k) y[(k / 2 * groups.size() + g) * 2 + k % 2] = groups[g].first[k];
        first.push_back(groups[g].second[0]);
        counts.push_back(static_cast<int64_t>(groups[g].second.size()));
        for (const int64_t place : groups[g].second) inverse[static_cast<size_t>(place)] = static_cast<int64_t>(g);
      }
      const auto got = runner.run({x.data()});
      EXPECT_EQ(got[0].values<float>(), y);
      EXPECT_EQ(got[0].shape, (Dimensions{2, static_cast<int64_t>(groups.size()), 2}));
      EXPECT_EQ(got[1].values<int64_t>(), first);
      EXPECT_EQ(got[2].values<int64_t>(), inverse);
      EXPECT_EQ(got[3].values<int64_t>(), counts);
    }
  }
}

// More columns than are sorted by layers of their own; only the last two of them differ.
TEST(Unique, SlicesOfManyElements) {
  constexpr size_t kCount = 5, kWidth = 600;
  ModelMaker maker;
  maker.input("x", {kCount, kWidth});
  ModelMaker::set(maker.node("Unique", {"x"}, {"", "", "inverse"}), "axis", int64_t{0});
  maker.output("inverse", {}, 7);
  Reals x(kCount * kWidth, 1);
  for (const auto& [row, column, value] : {std::tuple(0, 599, 2.F), {1, 598, 3.F}, {2, 598, -1.F}, {4, 599, 2.F}})
    x[static_cast<size_t>(row) * kWidth + static_cast<size_t>(column)] = value;
  EXPECT_EQ(Runner(maker).run({x.data()})[0].values<int64_t>(), (Ints{2, 3, 0, 1, 2}));
}

// Two batch items and two classes: ONNX has the rows by batch item, class and descending score.
TEST(NonMaxSuppression, HasOneClassBehindTheOther) {
  ModelMaker maker;
  maker.input("boxes", {2, 3, 4});
  maker.input("scores", {2, 2, 3});
  maker.ints("most", {1}, {INT64_MAX});
  maker.floats("overlap", {1}, {0.5F});
  maker.floats("score", {1}, {0.1F});
  maker.node("NonMaxSuppression", {"boxes", "scores", "most", "overlap", "score"}, {"y"});
  maker.output("y", {}, 7);
  Runner runner(maker);
  Reals boxes{0, 0, 2, 2, 0, 0, 2, 1.9F, 5, 5, 6, 6, 0, 0, 2, 2, 0, 0, 2, 1.9F, 5, 5, 6, 6};
  Reals scores{0.5F, 0.6F, 0.9F, 0.8F, 0.2F, 0.3F, 0.1F, 0.2F, 0.05F, 0.4F, 0.4F, 0.95F};
  const auto y = runner.run({boxes.data(), scores.data()});
  EXPECT_EQ(y[0].values<int64_t>(), (Ints{0, 0, 2, 0, 0, 1, 0, 1, 0, 0, 1, 2, 1, 0, 1, 1, 1, 2, 1, 1, 0}));
  EXPECT_EQ(y[0].shape, (Dimensions{7, 3}));
}

TEST(NonMaxSuppression, WithoutTheirInputsNoneOrAll) {
  for (const bool limited : {true, false}) {
    ModelMaker maker;
    maker.input("boxes", {1, 3, 4});
    maker.input("scores", {1, 1, 3});
    maker.ints("most", {}, {2});
    auto& node = maker.node(
        "NonMaxSuppression",
        limited ? std::vector<std::string>{"boxes", "scores", "most"} : std::vector<std::string>{"boxes", "scores"},
        {"y"});
    ModelMaker::set(node, "center_point_box", int64_t{1});
    maker.output("y", {}, 7);
    Runner runner(maker);
    Reals boxes{0, 0, 2, 2, 10, 0, 2, 2, 20, 0, 2, 2};
    Reals scores{-3, -1, -2};
    const auto y = runner.run({boxes.data(), scores.data()});
    EXPECT_EQ(y[0].values<int64_t>(), limited ? (Ints{0, 0, 1, 0, 0, 2}) : Ints{});
  }
}

// A shape that follows from more sizes than all corners of them can be looked at: all may be 0.
TEST(NonZero, ManySizesMayAllBeSmall) {
  constexpr int64_t kParts = 14;
  ModelMaker maker;
  maker.input("x", {2 * kParts});
  maker.ints("sizes", {kParts}, std::vector<int64_t>(kParts, 2));
  std::vector<std::string> parts, places;
  for (int64_t i = 0; i < kParts; ++i) {
    parts.push_back("part" + std::to_string(i));
    places.push_back("places" + std::to_string(i));
  }
  maker.node("Split", {"x", "sizes"}, parts);
  for (size_t i = 0; i < parts.size(); ++i) maker.node("NonZero", {parts[i]}, {places[i]});
  ModelMaker::set(maker.node("Concat", places, {"all"}), "axis", int64_t{1});
  maker.node("Shape", {"all"}, {"shape"});
  maker.node("ReduceProd", {"shape"}, {"count"});
  maker.ints("zero", {1}, {0});
  maker.ints("flat", {1}, {1});
  maker.node("Reshape", {"count", "flat"}, {"end"});
  maker.node("Slice", {"x", "zero", "end", "zero"}, {"y"});
  maker.output("y");
  Runner runner(maker);
  for (const size_t ones : {0, 1, 13, 28}) {
    Reals x(2 * kParts);
    std::fill_n(x.begin(), ones, 1.F);
    EXPECT_EQ(runner.run({x.data()})[0].shape, (Dimensions{static_cast<int64_t>(ones)}));
  }
}

// As exporters write the suppression of boxes that may be none: nothing for nothing, else what is found.
TEST(NonMaxSuppression, InTheBranchOfAnIf) {
  ModelMaker maker;
  ModelMaker nothing;
  ModelMaker found;
  nothing.ints("none", {0}, {});
  nothing.node("Identity", {"none"}, {"r"});
  nothing.output("r", {0}, 7);
  found.ints("first", {1}, {0});
  found.ints("third", {}, {2});
  found.floats("overlap", {1}, {0.5F});
  found.ints("most", {1}, {100});
  found.node("Unsqueeze", {"kept", "first"}, {"boxes"});
  found.ints("both", {2}, {0, 1});
  found.node("Unsqueeze", {"areas", "both"}, {"scores"});
  found.node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}, {"rows"});
  ModelMaker::set(found.node("Gather", {"rows", "third"}, {"r2"}), "axis", int64_t{1});
  found.output("r2", {-2}, 7);
  maker.input("all", {5, 4});
  maker.input("wanted", {5}, 9);
  ModelMaker::set(maker.node("Compress", {"all", "wanted"}, {"kept"}), "axis", int64_t{0});
  auto& areas = maker.node("ReduceMax", {"kept"}, {"areas"});
  ModelMaker::set(areas, "axes", std::vector<int64_t>{1});
  ModelMaker::set(areas, "keepdims", int64_t{0});
  maker.node("Shape", {"kept"}, {"shape"});
  ModelMaker::set(maker.node("ReduceProd", {"shape"}, {"elements"}), "keepdims", int64_t{0});
  maker.ints("zero", {}, {0});
  maker.node("Equal", {"elements", "zero"}, {"isEmpty"});
  auto& node = maker.node("If", {"isEmpty"}, {"y"}, "choice");
  setGraph(node, "then_branch", nothing);
  setGraph(node, "else_branch", found);
  maker.output("y", {}, 7);
  Runner runner(maker);
  Reals boxes{0, 0, 2, 2, 0, 0, 2, 1.9F, 5, 5, 6, 6, 5, 5, 7, 7, 8, 8, 9, 9};
  const auto run = [&](std::vector<uint8_t> wanted) {
    auto result = runner.run({boxes.data(), wanted.data()});
    return result[0].values<int64_t>();
  };
  EXPECT_EQ(run({1, 1, 1, 0, 1}), (Ints{3, 2, 0}));
  EXPECT_EQ(run({0, 0, 0, 0, 0}), Ints{});
  EXPECT_EQ(run({0, 0, 0, 1, 0}), (Ints{0}));
}

// A scale that does not give a whole extent stays what it is where places are computed from it.
TEST(ComputedScales, OfAResize) {
  for (const bool named : {false, true}) {  // all axes, or those that the node names, in its order
    ModelMaker maker(18);
    maker.input("x", {1, 1, 5, 7});
    maker.input("s", {named ? 2 : 4});
    auto& node = maker.node("Resize", {"x", "", "s"}, {"y"});
    ModelMaker::set(node, "mode", std::string("linear"));
    if (named) ModelMaker::set(node, "axes", Ints{3, 2});
    maker.output("y");
    Reals x = randomReals(5 * 7, 2);
    Reals scales = named ? Reals{0.6f, 1.7f} : Reals{1, 1, 1.7f, 0.6f};
    const auto y = Runner(maker).run({x.data(), scales.data()});
    const auto at = [](int64_t o, float scale, int64_t extent) {  // the place before, and how far behind it
      const float place =
          std::clamp((static_cast<float>(o) + 0.5f) / scale - 0.5f, 0.f, static_cast<float>(extent - 1));
      const auto before = static_cast<int64_t>(place);
      return std::pair(std::min(before, extent - 2), place - static_cast<float>(std::min(before, extent - 2)));
    };
    std::vector<double> expected;
    for (int64_t row = 0; row < 8; ++row) {
      for (int64_t column = 0; column < 4; ++column) {
        const auto [r, below] = at(row, 1.7f, 5);
        const auto [c, right] = at(column, 0.6f, 7);
        const auto value = [&](int64_t i, int64_t j) { return double{x[static_cast<size_t>(i * 7 + j)]}; };
        expected.push_back((1 - below) * ((1 - right) * value(r, c) + right * value(r, c + 1)) +
                           below * ((1 - right) * value(r + 1, c) + right * value(r + 1, c + 1)));
      }
    }
    ASSERT_EQ(y[0].shape, (Dimensions{1, 1, 8, 4}));
    expectNear(y[0].values<float>(), expected, 1e-5);
  }
}

// By way of FLOAT, whose results are cut off.
TEST(Resize, InterpolatesIntegers) {
  Reals x = randomReals(2 * 5 * 7, 3, -99, 99);
  for (float& value : x) value = std::trunc(value);
  const auto resized = [&](const std::string& mode, int64_t type) {
    ModelMaker maker(17);
    maker.input("x", {1, 2, 5, 7});
    maker.floats("scales", {4}, {1, 1, 2, 1.5f});
    ModelMaker::set(maker.node("Cast", {"x"}, {"w"}), "to", type);
    ModelMaker::set(maker.node("Resize", {"w", "", "scales"}, {"v"}), "mode", mode);
    ModelMaker::set(maker.node("Cast", {"v"}, {"y"}), "to", int64_t{1});
    maker.output("y");
    return runModel(maker, {x}).at(0);
  };
  constexpr int64_t kFloat = 1, kInt32 = 6, kInt64 = 7;
  for (const std::string mode : {"linear", "cubic"}) {
    Reals expected = resized(mode, kFloat);
    for (float& value : expected) value = std::trunc(value);
    EXPECT_EQ(resized(mode, kInt32), expected) << mode;
    EXPECT_EQ(resized(mode, kInt64), expected) << mode;
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx

// Algorithm selectors: what they are asked, what their answers change, which answers end a build.
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "fixture.h"

namespace {

using Answer = std::function<int32_t(const nv::IAlgorithmContext&, const nv::IAlgorithm* const*, int32_t, int32_t*)>;

int64_t tacticOf(const nv::IAlgorithm& algorithm) { return algorithm.getAlgorithmVariant().getTactic(); }

class Selector final : public nv::IAlgorithmSelector {
 public:
  int32_t selectAlgorithms(const nv::IAlgorithmContext& context, const nv::IAlgorithm* const* choices, int32_t count,
                           int32_t* selection) noexcept override {
    ++asked[context.getName()];
    for (int32_t i = 0; i < count; ++i) offered[context.getName()].insert(tacticOf(*choices[i]));
    return answer(context, choices, count, selection);
  }
  void reportAlgorithms(const nv::IAlgorithmContext* const* contexts, const nv::IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    ++reports;
    for (int32_t i = 0; i < count; ++i) taken[contexts[i]->getName()] = tacticOf(*choices[i]);
  }

  Answer answer = [](const auto&, auto, int32_t, int32_t*) { return 0; };
  std::map<std::string, int> asked;
  std::map<std::string, std::set<int64_t>> offered;
  std::map<std::string, int64_t> taken;
  int reports = 0;
};

Answer only(const std::function<int32_t(int32_t count)>& which) {
  return [which](const auto&, auto, int32_t count, int32_t* selection) {
    selection[0] = which(count);
    return 1;
  };
}

class AlgorithmSelectors : public ObjectTest {
 protected:
  void SetUp() override {
    ObjectTest::SetUp();
    config->setBuilderOptimizationLevel(3);
    config->setAlgorithmSelector(&selector);
  }
  // softmax(a b) c, all [64,64]
  void products() {
    constexpr auto kPlain = nv::MatrixOperation::kNONE;
    auto* first = network->addMatrixMultiply(input("a", {64, 64}), kPlain, input("b", {64, 64}), kPlain);
    auto* soft = network->addSoftMax(*first->getOutput(0));
    auto* second = network->addMatrixMultiply(*soft->getOutput(0), kPlain, input("c", {64, 64}), kPlain);
    first->setName("first");
    soft->setName("softmax");
    second->setName("second");
    output(second->getOutput(0), "y");
  }
  std::string build() {
    const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    return plan == nullptr ? std::string() : std::string(static_cast<const char*>(plan->data()), plan->size());
  }
  // Builds with an answer that ends the build.
  void expectRefusal(const Answer& answer, const std::string& part) {
    selector.answer = answer;
    EXPECT_EQ(build(), "");
    expectError(part);
  }

  Selector selector;
};

TEST_F(AlgorithmSelectors, AreAskedAboutEachLayerAndHearWhatIsTaken) {
  products();
  std::set<std::string> wrong;
  selector.answer = [&](const nv::IAlgorithmContext& context, const nv::IAlgorithm* const* choices, int32_t count,
                        int32_t* selection) {
    const auto check = [&](bool holds, const char* what) {
      if (!holds) wrong.insert(fmt::format("{}: {}", context.getName(), what));
    };
    const bool product = std::string(context.getName()) != "softmax";
    check(context.getNbInputs() == (product ? 2 : 1) && context.getNbOutputs() == 1, "operands");
    check(context.getDimensions(context.getNbInputs() + 1, nv::OptProfileSelector::kOPT).nbDims == -1, "no operand");
    check(count > 0 && (!product || count > 1), "choices");
    int timed = 0;  // what is a last resort is not measured where anything else works
    for (int32_t i = 0; i < count; ++i) {
      selection[i] = count - 1 - i;  // in any order
      timed += choices[i]->getTimingMSec() > 0 ? 1 : 0;
      check(choices[i]->getAlgorithmIOInfoByIndex(-1) == nullptr, "information before the first");
      check(choices[i]->getAlgorithmIOInfoByIndex(context.getNbInputs() + 1) == nullptr, "information behind the last");
      for (int32_t k = 0; k <= context.getNbInputs(); ++k) {
        const auto* info = choices[i]->getAlgorithmIOInfoByIndex(k);
        check(info != nullptr && info->getDataType() == nv::DataType::kFLOAT, "type");
        check(extents(info->getStrides()) == std::vector<int64_t>{64, 1}, "strides");
        check(info->getVectorizedDim() == -1 && info->getComponentsPerElement() == 1, "vectors");
        check(extents(context.getDimensions(k, nv::OptProfileSelector::kMIN)) == std::vector<int64_t>{64, 64},
              "extents");
      }
    }
    check(!product || timed > 1, "times");
    return count;
  };
  EXPECT_NE(build(), "");
  EXPECT_EQ(wrong, std::set<std::string>{});
  EXPECT_EQ(selector.asked, (std::map<std::string, int>{{"first", 1}, {"softmax", 1}, {"second", 1}}));
  EXPECT_EQ(selector.reports, 1);
  for (const auto& [name, tactics] : selector.offered) {
    ASSERT_TRUE(selector.taken.contains(name)) << name;
    EXPECT_TRUE(tactics.contains(selector.taken.at(name))) << name;
  }
}

TEST_F(AlgorithmSelectors, ChooseAndRepeatABuildToTheBit) {
  products();
  selector.answer = only([](int32_t count) { return count - 1; });
  const auto last = build();
  const auto record = selector.taken;
  ASSERT_EQ(record.size(), 3U);
  selector.answer = only([](int32_t) { return 0; });
  const auto first = build();
  EXPECT_NE(first, last);
  for (const auto* name : {"first", "second"}) EXPECT_NE(selector.taken.at(name), record.at(name));
  const auto firsts = selector.taken;
  selector.answer = [&](const nv::IAlgorithmContext& context, const nv::IAlgorithm* const* choices, int32_t count,
                        int32_t* selection) {
    for (int32_t i = 0; i < count; ++i) {
      if (tacticOf(*choices[i]) == record.at(context.getName())) selection[0] = i;
    }
    return 1;
  };
  EXPECT_EQ(build(), last);
  EXPECT_EQ(selector.taken, record);
}

TEST_F(AlgorithmSelectors, NoneMeansAnyUnlessThatIsRejected) {
  products();
  EXPECT_NE(build(), "");
  EXPECT_EQ(selector.reports, 1);
  config->setFlag(nv::BuilderFlag::kREJECT_EMPTY_ALGORITHMS);
  log.warnings.clear();
  expectRefusal(selector.answer, "kREJECT_EMPTY_ALGORITHMS is set");
  EXPECT_EQ(log.warnings, std::vector<std::string>{});
  EXPECT_EQ(selector.reports, 1);
  selector.answer = only([](int32_t) { return 0; });
  EXPECT_NE(build(), "");
}

TEST_F(AlgorithmSelectors, WrongAnswersAreNamed) {
  products();
  expectRefusal([](const auto&, auto, int32_t, int32_t*) { return -1; },
                "returned -1 for layer 'first'; expected 0 to");
  expectRefusal([](const auto&, auto, int32_t count, int32_t*) { return count + 1; }, "the number of choices");
  expectRefusal(only([](int32_t count) { return count; }), "selected index");
  expectRefusal(only([](int32_t) { return -1; }), "selected index -1 for layer 'first'; expected 0 to");
}

TEST_F(AlgorithmSelectors, SeeTheShapesOfEachProfile) {
  auto* layer = network->addSoftMax(input("x", {-1, 5}));
  layer->setName("rows");
  output(layer->getOutput(0), "y");
  for (const int64_t rows : {1, 7}) {
    auto* profile = builder->createOptimizationProfile();
    ASSERT_TRUE(profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({rows, 5})));
    ASSERT_TRUE(profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({rows + 1, 5})));
    ASSERT_TRUE(profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({rows + 2, 5})));
    ASSERT_EQ(config->addOptimizationProfile(profile), rows == 1 ? 0 : 1);
  }
  std::vector<int64_t> seen;
  selector.answer = [&](const nv::IAlgorithmContext& context, auto, int32_t, int32_t*) {
    for (const auto select : {nv::OptProfileSelector::kMIN, nv::OptProfileSelector::kOPT, nv::OptProfileSelector::kMAX})
      seen.push_back(context.getDimensions(1, select).d[0]);
    return 0;
  };
  EXPECT_NE(build(), "");
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3, 7, 8, 9}));
  EXPECT_EQ(selector.reports, 2);
}

TEST_F(AlgorithmSelectors, SeeLayoutsThatHaveVectors) {
  constexpr int64_t kChannels = 32;
  static const std::vector<float> kKernel(kChannels * kChannels * 9, 0.01F);
  auto* layer = network->addConvolutionNd(input("x", {1, kChannels, 12, 12}), kChannels, dims({3, 3}),
                                          {nv::DataType::kFLOAT, kKernel.data(), kChannels * kChannels * 9}, {});
  layer->setName("window");
  output(layer->getOutput(0), "y");
  std::set<std::vector<int64_t>> forms;  // vectors' axis, their length, the stride along the rows
  selector.answer = [&](const auto&, const nv::IAlgorithm* const* choices, int32_t count, int32_t*) {
    for (int32_t i = 0; i < count; ++i) {
      const auto* info = choices[i]->getAlgorithmIOInfoByIndex(0);
      forms.insert({info->getVectorizedDim(), info->getComponentsPerElement(), info->getStrides().d[3]});
    }
    return 0;
  };
  EXPECT_NE(build(), "");
  EXPECT_TRUE(forms.contains({-1, 1, 1})) << "row-major";
  EXPECT_TRUE(forms.contains({-1, 1, kChannels})) << "channels-last";
}

}  // namespace

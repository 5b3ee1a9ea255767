// Values of TENON_* variables that are none of those they may be: a message with both, and the work goes on or is
// refused.
#include <optional>

#include "fixture.h"

namespace {

class KeptWarnings final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity == Severity::kWARNING) warnings.emplace_back(message);
    if (severity < Severity::kWARNING) errors.emplace_back(message);
  }
  std::vector<std::string> warnings;
  std::vector<std::string> errors;
};

class Variables : public testing::Test {
 protected:
  // A variable with a value, for as long as the object lives.
  struct Set {
    Set(const char* itsName, const char* value) : name(itsName) {
      const char* const old = std::getenv(name);
      before = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
      setenv(name, value, 1);
    }
    ~Set() { before ? setenv(name, before->c_str(), 1) : unsetenv(name); }
    const char* name;
    std::optional<std::string> before;
  };
  // Makes a builder and builds y = -|x|.
  std::unique_ptr<nv::IHostMemory> build() {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log));
    if (builder == nullptr) return nullptr;
    const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
    config->setBuilderOptimizationLevel(0);
    auto* abs = network->addUnary(*network->addInput("x", nv::DataType::kFLOAT, dims({2})), nv::UnaryOperation::kABS);
    network->markOutput(*network->addUnary(*abs->getOutput(0), nv::UnaryOperation::kNEG)->getOutput(0));
    return std::unique_ptr<nv::IHostMemory>(builder->buildSerializedNetwork(*network, *config));
  }
  KeptWarnings log;
};

TEST_F(Variables, AreIgnoredWithOneWarning) {
  const Set threads("TENON_THREADS", "all");
  const Set check("TENON_SELF_CHECK", "yes");
  for (int i = 0; i < 2; ++i) EXPECT_NE(build(), nullptr);
  ASSERT_EQ(log.warnings.size(), 2U);
  EXPECT_EQ(log.warnings[0], "TENON_SELF_CHECK is 'yes', expected 0 or 1; it is ignored");
  EXPECT_EQ(log.warnings[1], "TENON_THREADS is 'all', expected a whole number from 1 to 4095; it is ignored");
  EXPECT_TRUE(log.errors.empty());
}

TEST_F(Variables, ThatNamePassesAreComparedWithThem) {
  const Set disable(
      "TENON_DISABLE",
      "fuse_pointwise,fuse_pointwize,,share_memory,join_branches,join_cast,join_excitation,join_normalization,join_projection");
  EXPECT_NE(build(), nullptr);
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_EQ(log.warnings[0].find(
                "TENON_DISABLE names 'fuse_pointwize', which is not a pass and is ignored; expected names of "),
            0U);
  for (const char* name : {"fuse_pointwise", "share_memory", "join_excitation"})
    EXPECT_NE(log.warnings[0].find(name), std::string::npos) << name;
}

TEST_F(Variables, ThatNameADeviceOrAFolderAreRefused) {
  const auto plan = build();
  ASSERT_NE(plan, nullptr);
  {
    const Set folder("TENON_DUMP", "/dev/null/folder");
    EXPECT_EQ(build(), nullptr);
    ASSERT_EQ(log.errors.size(), 1U);
    EXPECT_NE(log.errors[0].find("TENON_DUMP is '/dev/null/folder'"), std::string::npos) << log.errors[0];
    EXPECT_NE(log.errors[0].find("expected a folder with room"), std::string::npos);
  }
  log.errors.clear();
  const Set device("TENON_DEVICE", "gpu");
  EXPECT_EQ(build(), nullptr);
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log));
  EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
  ASSERT_EQ(log.errors.size(), 2U);
  for (const auto& error : log.errors) {
    EXPECT_NE(error.find("TENON_DEVICE is 'gpu'"), std::string::npos) << error;
    EXPECT_NE(error.find("expected one of cpu"), std::string::npos) << error;
  }
}

}  // namespace

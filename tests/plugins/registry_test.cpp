// SPDX-License-Identifier: Apache-2.0
// Every function of IPluginRegistry, of the process, a builder and a runtime.
#include <algorithm>

#include "v3.h"

namespace tenon::test {
namespace {

class OldCreator final : public nv::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "RegistryTest"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const nv::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  nv::IPluginV2* createPlugin(const char*, const nv::PluginFieldCollection*) noexcept override { return nullptr; }
  nv::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override { return nullptr; }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  std::string space_;
};

class OddCreator final : public nv::IPluginCreatorInterface {
 public:
  nv::InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN CREATOR_ODD", 1, 0}; }
};

class KeptErrors final : public nv::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(texts.size()); }
  nv::ErrorCode getErrorCode(int32_t) const noexcept override { return nv::ErrorCode::kINVALID_ARGUMENT; }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override { return texts[static_cast<size_t>(i)].c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { texts.clear(); }
  bool reportError(nv::ErrorCode, ErrorDesc text) noexcept override {
    texts.emplace_back(text);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::vector<std::string> texts;
  RefCount references = 0;
};

class RegistryOf : public testing::TestWithParam<const char*> {
 protected:
  RegistryOf() : builder_(nv::createInferBuilder(log())), runtime_(nv::createInferRuntime(log())) {}
  void TearDown() override { EXPECT_EQ(log().take(), ""); }
  nv::IPluginRegistry& registry() {
    const std::string whose = GetParam();
    if (whose == "process") return *getPluginRegistry();
    return whose == "builder" ? builder_->getPluginRegistry() : runtime_->getPluginRegistry();
  }
  static void expectSaid(const char* part) {
    const auto said = log().take();
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
  }
  bool lists(nv::IPluginCreatorInterface& creator, bool recursive = false) {
    int32_t count = -1;
    auto* const* list = recursive ? registry().getAllCreatorsRecursive(&count) : registry().getAllCreators(&count);
    return count > 0 && std::find(list, list + count, &creator) != list + count;
  }
  bool listsOld(nv::IPluginCreator& creator) {
    int32_t count = -1;
    auto* const* list = registry().getPluginCreatorList(&count);
    return count > 0 && std::find(list, list + count, &creator) != list + count;
  }

 private:
  const std::unique_ptr<nv::IBuilder> builder_;
  const std::unique_ptr<nv::IRuntime> runtime_;
};

TEST_P(RegistryOf, CreatorsAreFoundByNameVersionAndNamespace) {
  OldCreator creator, twin;
  ASSERT_TRUE(registry().registerCreator(creator, "mine"));  // of the two functions the one for older creators
  EXPECT_STREQ(creator.getPluginNamespace(), "mine");
  EXPECT_EQ(registry().getCreator("RegistryTest", "3", "mine"), &creator);
  EXPECT_EQ(registry().getPluginCreator("RegistryTest", "3", "mine"), &creator);
  for (const auto& [name, version, space] :
       {std::tuple{"RegistryTest", "3", ""}, {"RegistryTest", "4", "mine"}, {"Registry", "3", "mine"}})
    EXPECT_EQ(registry().getCreator(name, version, space), nullptr) << name << version << space;
  EXPECT_TRUE(lists(creator) && lists(creator, true) && listsOld(creator));
  EXPECT_FALSE(registry().registerCreator(static_cast<nv::IPluginCreatorInterface&>(twin), "mine"));
  expectSaid("a creator of plugin 'RegistryTest' version '3' in namespace 'mine' is registered already");
  EXPECT_TRUE(registry().registerCreator(twin, "other"));
  EXPECT_EQ(registry().getCreator("RegistryTest", "3", "other"), &twin);
  EXPECT_TRUE(registry().deregisterCreator(static_cast<const nv::IPluginCreatorInterface&>(twin)));
  EXPECT_TRUE(registry().deregisterCreator(static_cast<const nv::IPluginCreator&>(creator)));
  EXPECT_FALSE(registry().deregisterCreator(creator));
  EXPECT_FALSE(lists(creator) || lists(creator, true) || listsOld(creator));
}

TEST_P(RegistryOf, WhatItCannotKnowIsRefused) {
  OddCreator odd;
  EXPECT_FALSE(registry().registerCreator(odd, ""));
  expectSaid("a creator of the kind 'PLUGIN CREATOR_ODD' cannot be registered");
  EXPECT_EQ(registry().getCreator(nullptr, "1", ""), nullptr);
  expectSaid("the name or the version is null");
  EXPECT_EQ(registry().loadLibrary(nullptr), nullptr);
  expectSaid("the path of the plugin library is empty");
  EXPECT_EQ(registry().loadLibrary("/nowhere/libplugins.so"), nullptr);
  expectSaid("/nowhere/libplugins.so");
}

// A library is opened as often as it is loaded, and its creators stay until it is deregistered as often.
TEST_P(RegistryOf, Libraries) {
  void* const first = registry().loadLibrary(libraryFile());
  ASSERT_NE(first, nullptr);
  auto* const scale = registry().getCreator("Scale", "1", "test");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(registry().getPluginCreator("Scale", "1", "test"), nullptr) << "it is of the newer kind";
  EXPECT_NE(registry().getPluginCreator("OldDynamic", "2", ""), nullptr);
  EXPECT_EQ(registry().loadLibrary(libraryFile()), first);
  registry().deregisterLibrary(first);
  EXPECT_EQ(registry().getCreator("Scale", "1", "test"), scale);
  registry().deregisterLibrary(first);
  EXPECT_EQ(registry().getCreator("Scale", "1", "test"), nullptr);
  registry().deregisterLibrary(first);
  expectSaid("is not the handle of a loaded library");
}

class Counted final : public nv::IPluginResource {
 public:
  explicit Counted(int* released, bool mayClone = true) : released_(released), mayClone_(mayClone) {}
  nv::IPluginResource* clone() noexcept override { return mayClone_ ? new Counted(released_) : nullptr; }
  int32_t release() noexcept override {
    ++*released_;
    return *released_ > 1 ? 7 : 0;
  }

 private:
  int* released_;
  bool mayClone_;
};

// Resources are of the process: the same object by its key, from every registry.
TEST_P(RegistryOf, Resources) {
  int released = 0;
  Counted prototype(&released), single(&released, false);
  auto* const first = registry().acquirePluginResource("registry test", &prototype);
  ASSERT_NE(first, nullptr);
  EXPECT_NE(first, &prototype) << "a copy of the caller's object";
  EXPECT_EQ(getPluginRegistry()->acquirePluginResource("registry test", nullptr), first);
  EXPECT_EQ(registry().releasePluginResource("registry test"), 0);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(getPluginRegistry()->releasePluginResource("registry test"), 0);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(registry().releasePluginResource("registry test"), -1);
  expectSaid("resource 'registry test' was not acquired");
  EXPECT_EQ(registry().acquirePluginResource("registry test", nullptr), nullptr);
  expectSaid("resource 'registry test' does not exist, and no object was given to clone");
  EXPECT_EQ(registry().acquirePluginResource("registry test", &single), nullptr);
  expectSaid("resource 'registry test'");
  EXPECT_EQ(registry().acquirePluginResource(nullptr, &prototype), nullptr);
  expectSaid("the key is null");
  ASSERT_NE(registry().acquirePluginResource("registry test", &prototype), nullptr);
  EXPECT_EQ(registry().releasePluginResource("registry test"), -1) << "its release() failed";
}

TEST_P(RegistryOf, ErrorsGoToItsRecorder) {
  EXPECT_EQ(registry().getErrorRecorder(), nullptr);
  KeptErrors errors;
  registry().setErrorRecorder(&errors);
  EXPECT_EQ(registry().getErrorRecorder(), &errors);
  EXPECT_EQ(errors.references, 1);
  EXPECT_EQ(registry().loadLibrary("/nowhere/libplugins.so"), nullptr);
  ASSERT_EQ(errors.texts.size(), 1U);
  EXPECT_NE(errors.texts[0].find("/nowhere/libplugins.so"), std::string::npos);
  registry().setErrorRecorder(nullptr);
  EXPECT_EQ(errors.references, 0);
  log().take();
}

TEST_P(RegistryOf, TheParentIsSearchedWhereThatIsEnabled) {
  OldCreator creator;
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "parent"));
  const bool own = std::string(GetParam()) == "process";
  const auto finds = [&] { return registry().getCreator("RegistryTest", "3", "parent") == &creator; };
  EXPECT_TRUE(registry().isParentSearchEnabled());
  EXPECT_TRUE(finds() && lists(creator, true));
  EXPECT_EQ(lists(creator), own);
  registry().setParentSearchEnabled(false);
  EXPECT_FALSE(registry().isParentSearchEnabled());
  EXPECT_EQ(finds(), own);
  EXPECT_EQ(lists(creator, true), own);
  registry().setParentSearchEnabled(true);
  EXPECT_TRUE(finds());
  EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator));
}

INSTANTIATE_TEST_SUITE_P(Owners, RegistryOf, testing::Values("process", "builder", "runtime"),
                         [](const auto& info) { return std::string(info.param); });

// What a builder's registry holds is nobody else's; engines that the builder makes find their plugins there.
TEST(BuilderRegistry, ServesTheEnginesOfItsBuilder) {
  const float factor = 2;
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log())), other(nv::createInferBuilder(log()));
  void* const handle = builder->getPluginRegistry().loadLibrary(libraryFile());
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(other->getPluginRegistry().getCreator("Scale", "1", "test"), nullptr);
  EXPECT_EQ(getPluginRegistry()->getCreator("Scale", "1", "test"), nullptr);
  {
    auto* const creator =
        static_cast<nv::IPluginCreatorV3One*>(builder->getPluginRegistry().getCreator("Scale", "1", "test"));
    ASSERT_NE(creator, nullptr);
    const auto field = factorField(factor);
    const nv::PluginFieldCollection fields{1, &field};
    const std::unique_ptr<nv::IPluginV3> plugin(creator->createPlugin("made", &fields, nv::TensorRTPhase::kBUILD));
    const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
    ASSERT_TRUE(aroundV3(*network, *plugin, dims({3})));
    const std::unique_ptr<nv::ICudaEngine> engine(builder->buildEngineWithConfig(*network, *config));
    ASSERT_NE(engine, nullptr) << log().take();
    EXPECT_EQ(run(*engine, {{"x", {dims({3}), {1, 2, 3}}}})["y0"].values, (std::vector<float>{2, 4, 6}));
    const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(load(*plan), nullptr) << "a runtime does not look into registries of builders";
    EXPECT_NE(log().take().find("no creator of it is registered"), std::string::npos);
  }
  builder->getPluginRegistry().deregisterLibrary(handle);
}

}  // namespace
}  // namespace tenon::test

// SPDX-License-Identifier: Apache-2.0
// Plugins with the capabilities that functions of Python have, written in C++: combinations as a list, strides,
// tactics.
#include <impl/NvInferPythonPlugin.h>

#include "support.h"

namespace tenon::test {
namespace {

class QuickPlugins : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(log().take(), ""); }
  static std::unique_ptr<nv::IPluginV3> makeQuick(nv::TensorFormat format) {
    auto* creator = static_cast<nv::IPluginCreatorV3Quick*>(getPluginRegistry()->getCreator("Quick", "1", "test"));
    const nv::PluginField field("format", &format, nv::PluginFieldType::kINT32, 1);
    const nv::PluginFieldCollection fields{1, &field};
    return std::unique_ptr<nv::IPluginV3>(creator->createPlugin("Quick", "test", &fields, nv::TensorRTPhase::kBUILD,
                                                                nv::QuickPluginCreationRequest::kUNKNOWN));
  }
  Library library_;
};

TEST_F(QuickPlugins, ReadByTheirStrides) {
  for (const auto format : {nv::TensorFormat::kLINEAR, nv::TensorFormat::kHWC}) {
    const auto plugin = makeQuick(format);
    ASSERT_NE(plugin, nullptr);
    const auto plan = build(
        [&](auto& network) {
          return aroundV3(network, *plugin, dims({-1, 3, 4, -1}));
        },
        {{"x", {dims({1, 3, 4, 1}), dims({2, 3, 4, 5}), dims({3, 3, 4, 9})}}});
    ASSERT_NE(plan, nullptr) << log().take();
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr) << log().take();
    for (const auto& shape : {dims({2, 3, 4, 5}), dims({1, 3, 4, 1}), dims({3, 3, 4, 7})}) {
      const auto x = eighths(shape);
      auto expected = x.values;
      for (float& value : expected) value = 2 * value + 3;
      EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, expected) << volume(shape);
    }
  }
}

TEST_F(QuickPlugins, NameTheCallThatFailed) {
  const auto plugin = makeQuick(nv::TensorFormat::kLINEAR);
  EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *plugin, dims({2, 3})); }), nullptr);
  const auto text = log().take();
  for (const char* part :
       {"the layer", "plugin 'Quick', version '1', namespace 'test'", "getOutputDataTypes() returned 4"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace
}  // namespace tenon::test

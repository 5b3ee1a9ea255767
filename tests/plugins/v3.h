// SPDX-License-Identifier: Apache-2.0
// What the tests of IPluginV3 share: the library for as long as a test lives, and the plugin Scale.
#pragma once

#include "support.h"

namespace tenon::test {

inline nv::PluginField factorField(const float& factor) {
  return {"factor", &factor, nv::PluginFieldType::kFLOAT32, 1};
}

class PluginV3 : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(log().take(), "");
    EXPECT_EQ(library_.liveObjects(), 0);
  }
  Library library_;
};

inline std::vector<float> scaled(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

}  // namespace tenon::test

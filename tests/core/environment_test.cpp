// Variables of the environment: what they may be, and what is said of other values.
#include "core/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tenon {
namespace {

TEST(Environment, ValuesThatFitAreRead) {
  for (const auto& [text, value] : {std::pair("0", 0L), std::pair("1", 1L), std::pair("17", 17L)}) {
    setenv("TENON_STOP_AFTER", text, 1);
    EXPECT_EQ(numberSetting("TENON_STOP_AFTER"), value);
    EXPECT_TRUE(ignoredSettings().empty());
  }
  setenv("TENON_SELF_CHECK", "1", 1);
  EXPECT_TRUE(switchedOn("TENON_SELF_CHECK", false));
  setenv("TENON_SELF_CHECK", "0", 1);
  EXPECT_FALSE(switchedOn("TENON_SELF_CHECK", true));
  unsetenv("TENON_SELF_CHECK");
  EXPECT_TRUE(switchedOn("TENON_SELF_CHECK", true));
  unsetenv("TENON_STOP_AFTER");
  EXPECT_EQ(numberSetting("TENON_STOP_AFTER"), std::nullopt);
  EXPECT_EQ(numberSetting("TENON_NOTHING"), std::nullopt);
}

TEST(Environment, OtherValuesAreIgnoredWithASentence) {
  for (const char* text : {"two", "-1", "0", "4096", "1e3", " 2", "2 ", "0x2", "99999999999999999999", "2,5"}) {
    setenv("TENON_THREADS", text, 1);
    EXPECT_EQ(numberSetting("TENON_THREADS"), std::nullopt) << text;
    const auto said = ignoredSettings();
    ASSERT_EQ(said.size(), 1U) << text;
    EXPECT_EQ(said[0],
              "TENON_THREADS is '" + std::string(text) + "', expected a whole number from 1 to 4095; it is ignored");
  }
  setenv("TENON_THREADS", "", 1);  // nothing is as not set
  EXPECT_TRUE(ignoredSettings().empty());
  unsetenv("TENON_THREADS");
  setenv("TENON_CUDA_GRAPH", "off", 1);
  EXPECT_TRUE(switchedOn("TENON_CUDA_GRAPH", true));
  EXPECT_EQ(ignoredSettings(), std::vector<std::string>{"TENON_CUDA_GRAPH is 'off', expected 0 or 1; it is ignored"});
  unsetenv("TENON_CUDA_GRAPH");
}

TEST(Environment, PathsThatAreNotThereAreNamed) {
  setenv("TENON_CUDA_LIBS", "/tmp::/no/such/folder:/dev/null", 1);
  setenv("TENON_CUDART", "/no/such/file", 1);
  setenv("TENON_CACHE_DIR", "/dev/null", 1);
  const auto said = ignoredSettings();
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[0], "TENON_CUDA_LIBS names '/no/such/folder', expected folders separated by colons; it is ignored");
  EXPECT_NE(said[1].find("'/dev/null'"), std::string::npos);
  EXPECT_EQ(said[2], "TENON_CUDART is '/no/such/file', expected the path of NVIDIA's libcudart; it is ignored");
  EXPECT_EQ(said[3].find("TENON_CACHE_DIR is '/dev/null', expected a folder"), 0U);
  setenv("TENON_CUDA_LIBS", "/tmp:/", 1);
  setenv("TENON_CUDART", "", 1);
  setenv("TENON_CACHE_DIR", "/no/such/folder/yet", 1);
  EXPECT_TRUE(ignoredSettings().empty());
  for (const char* name : {"TENON_CUDA_LIBS", "TENON_CUDART", "TENON_CACHE_DIR"}) unsetenv(name);
}

}  // namespace
}  // namespace tenon

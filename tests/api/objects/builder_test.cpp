// The builder's objects through the public interface.
#include <NvInfer.h>
#include <gtest/gtest.h>

TEST(Builder, Exists) { EXPECT_EQ(getInferLibVersion(), 101600); }

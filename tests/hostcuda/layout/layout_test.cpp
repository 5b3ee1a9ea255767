// Our header subset against the CUDA toolkit's headers: same sizes, offsets and values.
#include <gtest/gtest.h>

#include "facts.h"

namespace hostcuda_test {
namespace {

TEST(Layout, IsThatOfTheToolkit) {
  const Facts toolkit = toolkitFacts();
  if (toolkit.empty()) GTEST_SKIP() << "no headers of the CUDA toolkit were found when the tests were configured";
  const Facts own = ownFacts();
  ASSERT_EQ(toolkit.size(), own.size());
  for (const auto& [name, value] : toolkit) {
    const auto found = own.find(name);
    ASSERT_NE(own.end(), found) << name;
    EXPECT_EQ(value, found->second) << name;
  }
}

}  // namespace
}  // namespace hostcuda_test

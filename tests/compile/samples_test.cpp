// How many samples of a candidate are taken.
#include "compile/tune/samples.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon::compile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Samples that are taken when each one is of `seconds`, the first `disturbed` of them disturbed.
int taken(double best, double seconds, int disturbed) {
  Samples samples(4, best, seconds, true);
  int count = 0;
  for (; !samples.areEnough(); ++count) samples.add(seconds, 1, count < disturbed);
  return count;
}

TEST(Samples, FewerOfWhatIsBehindOrTakesLong) {
  EXPECT_EQ(taken(kInfinity, 1e-4, 0), 8);
  EXPECT_EQ(taken(1e-4, 1e-4, 0), 8);
  EXPECT_EQ(taken(1e-4, 1.5e-4, 0), 4);
  EXPECT_EQ(taken(1e-4, 2e-4, 0), 3);
  EXPECT_EQ(taken(kInfinity, 0.2, 0), 2);
  EXPECT_EQ(taken(kInfinity, 0.04, 0), 3);
}

TEST(Samples, DisturbedOnesAreTakenAgain) {
  EXPECT_EQ(taken(kInfinity, 1e-4, 5), 13);
  EXPECT_EQ(taken(1e-4, 2e-4, 5), 8);
  EXPECT_EQ(taken(kInfinity, 1e-4, 1000), 24 + 8) << "not for ever";
  EXPECT_EQ(taken(kInfinity, 0.2, 1000), 2) << "a long one";
}

TEST(Samples, TheFastestCounts) {
  Samples samples(4, kInfinity, 1e-3, false);
  EXPECT_EQ(samples.fastest(), kInfinity);
  samples.add(4e-3, 2, false);
  samples.add(2e-3, 2, true);  // it was no slower without the others
  samples.add(6e-3, 2, false);
  EXPECT_EQ(samples.fastest(), 1e-3);
}

}  // namespace
}  // namespace tenon::compile

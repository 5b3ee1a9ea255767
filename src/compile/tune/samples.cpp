// Counting, and the limits.
#include "compile/tune/samples.h"

#include <algorithm>
#include <limits>

namespace tenon::compile {
namespace {

constexpr double kBehind = 1.3;     // fewer samples when this many times slower than the best
constexpr double kFarBehind = 1.7;  // and fewer still, which are enough to see it
constexpr int kFewSamples = 3;
constexpr int kMostDisturbed = 6;           // times the iterations
constexpr double kCandidateSeconds = 0.15;  // no more samples of one candidate after this

}  // namespace

Samples::Samples(int iterations, double best, double first, bool counts)
    : iterations_(iterations),
      best_(best),
      fastest_(counts ? first : std::numeric_limits<double>::infinity()),
      spent_(first) {}

bool Samples::areEnough() const {
  if (taken_ >= 2 * iterations_) return true;
  if (spent_ > kCandidateSeconds && taken_ + disturbed_ > 1) return true;
  if (taken_ >= iterations_ && fastest_ > kBehind * best_) return true;
  return taken_ >= kFewSamples && fastest_ > kFarBehind * best_;
}

void Samples::add(double seconds, int runs, bool isDisturbed) {
  spent_ += seconds;
  fastest_ = std::min(fastest_, seconds / runs);
  const bool isExtra = isDisturbed && disturbed_ < kMostDisturbed * iterations_;
  isExtra ? ++disturbed_ : ++taken_;
}

}  // namespace tenon::compile

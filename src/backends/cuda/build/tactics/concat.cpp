// Concatenation: one launch for many parts.
#include "ops/op/concat.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kVersion = 2;  // as of the kernel

class ConcatTactic final : public OwnTacticOf<ops::Concat> {
 public:
  using OwnTacticOf::OwnTacticOf;
  int version() const override { return kVersion; }
  plan::KernelRecord build(const build::Problem& problem, const build::Candidate& candidate) const override {
    auto record = OwnTacticOf::build(problem, candidate);
    record.version = kVersion;
    return record;
  }
};

}  // namespace

const build::Tactic& tactic_concat() {
  static const ConcatTactic kTactic("cuda.concat", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda

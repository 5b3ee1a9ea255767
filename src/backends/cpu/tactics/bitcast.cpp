// When bits are copied.
#include "ops/op/bitcast.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class BitCastTactic final : public SimpleTactic {
 public:
  BitCastTactic() : SimpleTactic("cpu.bitcast", true, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::BitCast>() == nullptr) return compile::no("it copies bits");
    return anyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_bitcast() {
  static const BitCastTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu

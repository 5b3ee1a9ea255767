// When slices in the modes clamp, wrap and reflect can be used.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/slice.h"

namespace tenon::backends::cuda {
namespace {

class SliceAroundTactic final : public OwnTacticOf<ops::Slice> {
 public:
  SliceAroundTactic() : OwnTacticOf("cuda.slice_around", Formats::kAlsoChannelsLast, 20) {}
  int version() const override { return 2; }

 protected:
  compile::Support acceptsOp(const ops::Slice& op, const compile::Problem&) const override {
    if (op.mode == ops::SliceMode::kClamp || op.mode == ops::SliceMode::kWrap || op.mode == ops::SliceMode::kReflect)
      return compile::yes();
    return compile::no("slice mode {}; only clamp, wrap and reflect are supported",
                       enumNames(op.mode)[static_cast<size_t>(op.mode)]);
  }
};

}  // namespace

const compile::Tactic& tactic_slice_around() {
  static const SliceAroundTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

// Slices that read around the edges of the input.
#include "backends/cuda/build/own_tactic.h"
#include "ops/op/slice.h"

namespace tenon::backends::cuda {
namespace {

class SliceAroundTactic final : public OwnTacticOf<ops::Slice> {
 public:
  SliceAroundTactic() : OwnTacticOf("cuda.slice_around", Formats::kAlsoChannelsLast, 20) {}
  int version() const override { return 2; }

 protected:
  build::Support acceptsOp(const ops::Slice& op, const build::Problem&) const override {
    if (op.mode == ops::SliceMode::kClamp || op.mode == ops::SliceMode::kWrap || op.mode == ops::SliceMode::kReflect) return build::yes();
    return build::no("slice mode {}; it clamps, wraps and reflects", enumNames(op.mode)[static_cast<size_t>(op.mode)]);
  }
};

}  // namespace

const build::Tactic& tactic_slice_around() {
  static const SliceAroundTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

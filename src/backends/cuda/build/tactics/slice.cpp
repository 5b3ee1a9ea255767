// Slices that read inside the input, or fill.
#include "ops/op/slice.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class SliceTactic final : public OwnTacticOf<ops::Slice> {
 public:
  SliceTactic() : OwnTacticOf("cuda.slice", Formats::kAlsoChannelsLast, 10) {}

 protected:
  build::Support acceptsOp(const ops::Slice& op, const build::Problem&) const override {
    if (op.mode == ops::SliceMode::kStrict || op.mode == ops::SliceMode::kFill) return build::yes();
    return build::no("slice mode {}; it copies and fills", enumNames(op.mode)[static_cast<size_t>(op.mode)]);
  }
};

}  // namespace

const build::Tactic& tactic_slice() {
  static const SliceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

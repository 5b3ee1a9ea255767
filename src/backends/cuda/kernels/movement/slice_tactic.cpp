// Slices that read inside the input, or fill.
#include "ops/op/slice.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class SliceTactic final : public OwnTacticOf<ops::Slice> {
 public:
  SliceTactic() : OwnTacticOf("cuda.slice", Formats::kAlsoChannelsLast, 10) {}

 protected:
  compile::Support acceptsOp(const ops::Slice& op, const compile::Problem&) const override {
    if (op.mode == ops::SliceMode::kStrict || op.mode == ops::SliceMode::kFill) return compile::yes();
    return compile::no("slice mode {}; only strict bounds and fill are supported",
                       enumNames(op.mode)[static_cast<size_t>(op.mode)]);
  }
};

}  // namespace

const compile::Tactic& tactic_slice() {
  static const SliceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda

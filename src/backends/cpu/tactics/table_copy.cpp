// When copies by tables of positions do the work: slices beyond the bounds, resizing to the nearest element.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/resize.h"
#include "ops/op/slice.h"

namespace tenon::backends::cpu {
namespace {

class TableCopyTactic final : public SimpleTactic {
 public:
  TableCopyTactic() : SimpleTactic("cpu.table_copy", false, 12) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* slice = problem.op.as<ops::Slice>();
    const auto* resize = problem.op.as<ops::Resize>();
    if (slice == nullptr && resize == nullptr) return compile::no("it computes slice and resize");
    if (slice != nullptr && (slice->mode == ops::SliceMode::kStrict || slice->mode == ops::SliceMode::kFill))
      return compile::no("slice mode {}; clamp, wrap and reflect are supported",
                         enumNames(slice->mode)[static_cast<size_t>(slice->mode)]);
    if (resize != nullptr && resize->mode != ops::ResizeMode::kNearest)
      return compile::no("resize mode {}; nearest is supported",
                         enumNames(resize->mode)[static_cast<size_t>(resize->mode)]);
    return anyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_table_copy() {
  static const TableCopyTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu

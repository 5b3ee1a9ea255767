// Asks what could run side by side if memory were no matter, and then keeps memory out of its way.
#include "compile/schedule/streams.h"

#include <algorithm>

#include "plan/branch_steps.h"

namespace tenon::compile {

std::vector<int32_t> spreadOverStreams(plan::Program& program, int32_t most) {
  // Each tensor has a place of its own here, in which its views stand; and so has each workspace.
  const auto apart = [&](int32_t tensor, int32_t base) {
    const auto& view = program.tensors[static_cast<size_t>(tensor)];
    const bool known = tensor != base && view.viewOffset.isConstant() && view.pitch == Extent(0);
    const auto begin = known ? static_cast<uint64_t>(view.viewOffset.constant()) : 0;
    return plan::Place{base + 1, begin, known ? begin + view.bytes : UINT64_MAX};
  };
  const auto branches = memory::branch(plan::branchSteps(program, apart, [](size_t) { return plan::Place{}; }),
                                       std::clamp(most, 0, plan::kMaxAuxStreams) + 1);
  if (branches.streams == 1) return branches.lastBeside;
  program.auxStreams = branches.streams - 1;
  const auto outlive = [&](int32_t tensor, size_t step) {
    if (tensor < 0) return;
    auto& record = program.tensors[static_cast<size_t>(tensor)];
    auto& owner = record.storage == plan::Storage::kView ? program.tensors[static_cast<size_t>(record.index)] : record;
    for (auto* one : {&record, &owner}) one->lastStep = std::max(one->lastStep, branches.lastBeside[step]);
  };
  for (size_t s = 0; s < program.steps.size(); ++s) {
    for (const int32_t tensor : program.steps[s].inputs) outlive(tensor, s);
    for (const int32_t tensor : program.steps[s].outputs) outlive(tensor, s);
  }
  return branches.lastBeside;
}

}  // namespace tenon::compile

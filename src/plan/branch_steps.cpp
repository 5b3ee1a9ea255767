// What each step reads and writes.
#include "plan/branch_steps.h"

namespace tenon::plan {

std::vector<memory::BranchStep> branchSteps(const Program& program,
                                            const std::function<Place(int32_t tensor, int32_t base)>& tensorPlace,
                                            const std::function<Place(size_t step)>& workspacePlace) {
  std::vector<memory::BranchStep> result(program.steps.size());
  // The last step so far that wrote a tensor, or a tensor that is a view of it.
  std::vector<int32_t> writer(program.tensors.size(), -1);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    auto& step = result[s];
    const bool works = program.steps[s].kind != StepKind::kView;  // else its tensors share memory
    const auto touch = [&](int32_t tensor, bool writes) {
      if (tensor < 0) return;
      const auto& record = program.tensors[static_cast<size_t>(tensor)];
      const int32_t base = record.storage == Storage::kView ? record.index : tensor;
      if (program.tensors[static_cast<size_t>(base)].storage == Storage::kConstant) return;
      auto& own = writer[static_cast<size_t>(tensor)];
      auto& whole = writer[static_cast<size_t>(base)];
      const int32_t last = own >= 0 ? own : whole;
      if (!writes && last >= 0) step.needs.push_back(last);
      if (writes) own = whole = static_cast<int32_t>(s);
      if (!works) return;
      const auto place = tensorPlace(tensor, base);
      step.accesses.push_back({place.space, place.begin, place.end, writes});
    };
    for (const int32_t tensor : program.steps[s].inputs) touch(tensor, false);
    for (const int32_t tensor : program.steps[s].outputs) touch(tensor, true);
    const auto workspace = workspacePlace(s);
    step.accesses.push_back({workspace.space, workspace.begin, workspace.end, true});
  }
  return result;
}

}  // namespace tenon::plan

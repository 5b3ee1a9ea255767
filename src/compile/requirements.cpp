// Asks the backend of each kernel.
#include "compile/requirements.h"

#include <set>

#include "runtime/kernel.h"
#include "runtime/requirements.h"

namespace tenon::compile {

std::vector<std::string> requirementsOf(const plan::Plan& plan) {
  std::set<std::string> result;
  for (const auto& program : plan.programs) {
    for (const auto& step : program.steps) {
      if (step.kind != plan::StepKind::kLaunch) continue;
      const auto* asked = dynamic_cast<const runtime::Requirements*>(&runtime::backend(step.kernel.backend));
      if (asked == nullptr) continue;
      for (auto& requirement : asked->requirementsOf(step.kernel)) result.insert(std::move(requirement));
    }
  }
  return {result.begin(), result.end()};
}

}  // namespace tenon::compile

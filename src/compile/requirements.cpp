// Asks the backend of each kernel.
#include "compile/requirements.h"

#include <set>

#include "ops/region_kernels.h"
#include "runtime/kernel.h"
#include "runtime/requirements.h"

namespace tenon::compile {

namespace {

// Of a kernel, and where it runs loops or conditionals, of the kernels of their bodies. These bring their code within
// that of the owner, which says what the code is for.
void addRequirements(const runtime::Requirements& backend, const plan::KernelRecord& record,
                     std::set<std::string>& to) {
  for (auto& requirement : backend.requirementsOf(record)) to.insert(std::move(requirement));
  if (record.name != ops::RegionKernel::kRegions) return;
  ops::forEachRegionKernel(record.params, [&](const ops::RegionKernel& kernel) {
    const plan::KernelRecord own{record.backend, kernel.name, kernel.version, {}, kernel.params, -1};
    for (auto& requirement : backend.requirementsOf(own)) to.insert(std::move(requirement));
  });
}

}  // namespace

std::vector<std::string> requirementsOf(const plan::Plan& plan) {
  std::set<std::string> result;
  for (const auto& program : plan.programs) {
    for (const auto& step : program.steps) {
      if (step.kind != plan::StepKind::kLaunch) continue;
      const auto* asked = dynamic_cast<const runtime::Requirements*>(&runtime::backend(step.kernel.backend));
      if (asked == nullptr) continue;
      addRequirements(*asked, step.kernel, result);
      for (const auto& other : step.others) addRequirements(*asked, other.kernel, result);
    }
  }
  return {result.begin(), result.end()};
}

}  // namespace tenon::compile

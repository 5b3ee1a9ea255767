// Whether the loading machine is one that the plan was made for.
#include "core/error.h"
#include "plan/verify.h"

namespace tenon::plan {

void checkCompatible(const Plan& plan, const Machine& machine) {
  const auto& target = plan.target;
  checkUser(
      target.device == machine.device,
      "engine '{}' was built for device '{}' ({}), this process uses '{}' ({}); build it again here, or choose the "
      "device by TENON_DEVICE",
      plan.name, target.device, target.deviceName, machine.device, machine.deviceName);
  for (const auto& requirement : target.requirements) {
    if (machine.meets(requirement)) continue;
    throw Unsupported(
        "engine '{}' was built on '{}' and needs {}, this machine ({}) has {}; build it again here", plan.name,
        target.deviceName, requirement, machine.deviceName,
        machine.properties.empty() ? "none of these" : fmt::format("{}", fmt::join(machine.properties, ", ")));
  }
}

}  // namespace tenon::plan

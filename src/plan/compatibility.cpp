// Whether the loading machine is one that the plan was made for.
#include <algorithm>

#include "core/error.h"
#include "plan/requirement.h"
#include "plan/verify.h"

namespace tenon::plan {
namespace {

// "9.0" of "sm:90".
std::string capability(std::string_view requirement) {
  if (!requirement.starts_with(kChipRequirement)) return "unknown";
  std::string text(requirement.substr(kChipRequirement.size()));
  if (text.size() > 1) text.insert(text.size() - 1, ".");
  return text;
}

}  // namespace

std::string incompatibleChip(std::string_view needed, std::string_view here) {
  return fmt::format(
      "The engine plan file is generated on an incompatible device, expecting compute {} got compute {}, please "
      "rebuild.",
      capability(here), capability(needed));
}

void checkCompatible(const Plan& plan, const Machine& machine) {
  const auto& target = plan.target;
  checkUser(
      target.device == machine.device,
      "engine '{}' was built for device '{}' ({}), this process uses '{}' ({}); build it again here, or choose the "
      "device by TENON_DEVICE",
      plan.name, target.device, target.deviceName, machine.device, machine.deviceName);
  for (const auto& requirement : target.requirements) {
    if (requirement.starts_with(kCodeRequirement) || machine.meets(requirement)) continue;
    std::string text = fmt::format(
        "engine '{}' was built on '{}' and needs {}, this machine ({}) has {}; build it again here", plan.name,
        target.deviceName, requirement, machine.deviceName,
        machine.properties.empty() ? "none of these" : fmt::format("{}", fmt::join(machine.properties, ", ")));
    if (requirement.starts_with(kChipRequirement)) {
      const auto chip = std::find_if(machine.properties.begin(), machine.properties.end(),
                                     [](const auto& property) { return property.starts_with(kChipRequirement); });
      const std::string_view here = chip != machine.properties.end() ? std::string_view(*chip) : std::string_view();
      text = incompatibleChip(requirement, here) + " (" + text + ")";
    }
    throw Unsupported("{}", text);
  }
}

}  // namespace tenon::plan

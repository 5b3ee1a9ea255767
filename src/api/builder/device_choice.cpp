// The device of a process: what the user demands, or the best that answers.
#include "api/builder/device_choice.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <set>

#include "core/error.h"
#include "runtime/kernel.h"

namespace tenon::api {
namespace {

std::string knownDevices() {
  std::set<std::string> kinds;
  for (runtime::Backend* backend : runtime::backends()) kinds.insert(backend->device().kind());
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// Empty when a backend of the device works here, else why not.
std::string whyNot(const std::string& device) {
  std::string reasons;
  for (runtime::Backend* backend : runtime::backends()) {
    const std::string reason = backend->unavailable();
    if (reason.empty() && backend->device().kind() == device) return {};
    if (!reason.empty() && backend->name() == device) reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return reasons.empty() ? "no such backend is built in; expected one of " + knownDevices() : reasons;
}

}  // namespace

std::string demandedDevice() {
  const char* demanded = std::getenv("TENON_DEVICE");
  if (demanded == nullptr || *demanded == '\0') return {};
  const std::string reason = whyNot(demanded);
  if (!reason.empty())
    throw Unsupported("TENON_DEVICE is '{}', but that device does not work here: {}", demanded, reason);
  return demanded;
}

std::string chosenDevice() {
  const auto demanded = demandedDevice();
  if (!demanded.empty()) return demanded;
  return whyNot("cuda").empty() ? "cuda" : "cpu";
}

}  // namespace tenon::api

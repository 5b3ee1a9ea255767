// Kernels of our own in the place of a library's.
#include "compile/libraries.h"

#include "compile/assignment.h"

namespace tenon::compile {

void leaveLibraries(std::span<Option* const> chosen, double seconds, Log& log) {
  constexpr double kWorth = 0.003;  // of the network's time
  double more = 0;
  size_t count = 0;
  for (const auto* option : chosen) {
    if (!callsVendor(option->candidate.tactic)) continue;
    if (option->own.empty()) return;
    more += option->own[0].seconds - option->seconds;
    ++count;
  }
  if (count == 0 || more > kWorth * seconds) return;
  log.verbose("{} nodes take kernels of our own where a library's are hardly faster: {:.3f} us more of {:.3f} us",
              count, more * 1e6, seconds * 1e6);
  const auto calls = [](const Option& option) { return callsVendor(option.candidate.tactic); };
  for (auto* option : chosen) {
    if (calls(*option)) {
      auto own = std::move(option->own[0]);
      *option = std::move(own);
    }
    std::erase_if(option->spare, calls);
    std::erase_if(option->rivals, calls);
  }
}

}  // namespace tenon::compile

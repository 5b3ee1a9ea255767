// Kernels of our own in the place of a library's.
#include "compile/libraries.h"

#include <array>

#include "compile/assignment.h"

namespace tenon::compile {
namespace {

constexpr double kWorth = 0.005;  // of the network's time: what may be lost by leaving libraries, all together
constexpr std::array<std::string_view, 2> kLibraries{"cudnn", "cublaslt"};  // cuDNN takes longer to open

bool calls(std::string_view tactic, std::string_view library) {
  const auto own = tactic.substr(tactic.find('.') + 1);
  return own.starts_with(library) && own.substr(library.size()).starts_with('_');
}

bool anyCalls(std::span<Option* const> chosen, std::string_view library) {
  return std::any_of(chosen.begin(), chosen.end(),
                     [&](const Option* option) { return calls(option->candidate.tactic, library); });
}

// `left`: seconds that may be lost, of which this takes its part.
void leave(std::span<Option* const> chosen, std::string_view library, double& left, Log& log) {
  double more = 0;
  size_t count = 0;
  for (const auto* option : chosen) {
    if (!calls(option->candidate.tactic, library)) continue;
    if (option->own.empty()) return;
    more += option->own[0].seconds - option->seconds;
    ++count;
  }
  if (count == 0) return;
  const bool leaves = more <= left;
  log.verbose("{} nodes would take {:.3f} us more by kernels of our own, without {}, and {:.3f} us may be lost: {}",
              count, more * 1e6, library, left * 1e6, leaves ? "they do" : "it stays");
  if (!leaves) return;
  left -= std::max(more, 0.0);
  for (auto* option : chosen) {
    if (!calls(option->candidate.tactic, library)) continue;
    auto own = std::move(option->own[0]);
    *option = std::move(own);
  }
}

}  // namespace

void leaveLibraries(std::span<Option* const> chosen, double seconds, Log& log) {
  double left = kWorth * seconds;
  for (const auto library : kLibraries) {
    leave(chosen, library, left, log);
    if (anyCalls(chosen, library)) continue;
    for (auto* option : chosen) {
      const auto isOfIt = [&](const Option& other) { return calls(other.candidate.tactic, library); };
      std::erase_if(option->spare, isOfIt);
      std::erase_if(option->rivals, isOfIt);
    }
  }
}

}  // namespace tenon::compile

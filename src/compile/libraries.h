// Which library a tactic calls, by its name: what a build asks that leaves libraries out, or takes one where it pays.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "compile/tactics/tactic.h"
#include "core/log.h"

namespace tenon::compile {

// Whether none of the libraries ("cudnn") is the one of the tactic, which is called "<backend>.<library>_<what>".
inline bool isAllowed(const Tactic& tactic, std::span<const std::string> excludedLibraries) {
  const auto name = tactic.name();
  const auto own = name.substr(name.find('.') + 1);
  return std::none_of(excludedLibraries.begin(), excludedLibraries.end(), [&](const std::string& library) {
    return own.starts_with(library) && own.substr(library.size()).starts_with('_');
  });
}

// Whether it calls one of the libraries of a GPU's vendor, which are opened at run time.
inline bool callsVendor(std::string_view tactic) {
  return tactic.find(".cudnn_") != std::string_view::npos || tactic.find(".cublaslt_") != std::string_view::npos;
}

struct Option;

// Opening a vendor's library takes loading an engine a tenth of a second and more. Where what is chosen is hardly
// faster by one of them than by kernels of our own (half a per cent of the network, all that is left together), and all
// could do without, these are taken instead; and what nobody chose of a library is no rival any more. `seconds`: of the
// whole network.
void leaveLibraries(std::span<Option* const> chosen, double seconds, Log& log);

}  // namespace tenon::compile

// Which library a tactic calls, by its name: what a build asks that leaves libraries out.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "compile/tactics/tactic.h"

namespace tenon::compile {

// Whether none of the libraries ("cudnn") is the one of the tactic, which is called "<backend>.<library>_<what>".
inline bool isAllowed(const Tactic& tactic, std::span<const std::string> excludedLibraries) {
  const auto name = tactic.name();
  const auto own = name.substr(name.find('.') + 1);
  return std::none_of(excludedLibraries.begin(), excludedLibraries.end(), [&](const std::string& library) {
    return own.starts_with(library) && own.substr(library.size()).starts_with('_');
  });
}

}  // namespace tenon::compile

// Finds a backend by name.
#include "core/error.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

Backend& backend(std::string_view name) {
  std::string known;
  for (Backend* candidate : backends()) {
    if (candidate->name() == name) return *candidate;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", candidate->name());
  }
  throw UserError("backend '{}' is not built in; there are: {}", name, known);
}

}  // namespace tenon::runtime

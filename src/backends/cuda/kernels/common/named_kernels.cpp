// The text of a record, and macros.
#include "backends/cuda/kernels/common/named_kernels.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

// They become macros, whoever wrote the plan.
bool isName(std::string_view text) {
  const auto isPart = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return text.starts_with("tenon_") && std::all_of(text.begin(), text.end(), isPart);
}

}  // namespace

NamedKernels::NamedKernels(const plan::KernelRecord& record) {
  std::string_view text = record.params;
  const auto end = text.starts_with('[') ? 0 : text.find(' ');
  if (end == std::string_view::npos)
    throw UserError("parameters of a kernel of backend cuda: '{}' has no types behind the names", text);
  for (auto left = text.substr(0, end); !left.empty();) {
    const auto comma = std::min(left.find(','), left.size());
    names.emplace_back(left.substr(0, comma));
    if (!isName(names.back()))
      throw UserError("parameters of a kernel of backend cuda: '{}' is no kernel's name", names.back());
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  types = Types::parse(text.substr(end == 0 ? 0 : end + 1));
}

void NamedKernels::addTo(Code& code) const {
  if (names.empty()) return;
  code.defines.emplace_back("NAMED_KERNELS");
  for (const auto& name : names) code.defines.push_back(fmt::format("HAS_{}=,", name));
}

std::string namedParameters(const std::vector<std::string>& names, std::string_view types) {
  return names.empty() ? std::string(types) : fmt::format("{} {}", fmt::join(names, ","), types);
}

}  // namespace tenon::backends::cuda

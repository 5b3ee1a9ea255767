// The table of stages.
#include "compile/stages.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::compile {

double& Stages::at(std::string_view name) {
  const auto found =
      std::find_if(stages_.begin(), stages_.end(), [&](const auto& stage) { return stage->name == name; });
  if (found != stages_.end()) return (*found)->seconds;
  stages_.push_back(std::make_unique<Stage>(Stage{std::string(name), 0}));
  return stages_.back()->seconds;
}

std::string Stages::table() const {
  std::string result;
  for (const auto& stage : stages_) result += fmt::format("\n  {:<44} {:9.3f} s", stage->name, stage->seconds);
  return result;
}

}  // namespace tenon::compile

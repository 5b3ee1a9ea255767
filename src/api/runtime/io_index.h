// Inputs and outputs of an engine by the names that users give.
#pragma once

#include <algorithm>
#include <string>

#include "core/error.h"
#include "runtime/engine.h"

namespace tenon::api {

// Throws where there is none of that name, and says which there are.
inline int ioIndex(const runtime::Engine& engine, const char* tensorName) {
  constexpr size_t kMostNames = 10;
  checkUser(tensorName != nullptr, "the name of the tensor is null");
  const int index = engine.findIo(tensorName);
  if (index >= 0) return index;
  std::string names;
  const auto& io = engine.io();
  for (size_t i = 0; i < std::min(io.size(), kMostNames); ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", io[i].name);
  if (io.size() > kMostNames) names += fmt::format(" and {} more", io.size() - kMostNames);
  throw UserError("the engine has no input or output '{}'; it has {}", tensorName, names);
}

}  // namespace tenon::api

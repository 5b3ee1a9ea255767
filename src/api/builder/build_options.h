// What becomes of the options of a build: the one place that decides which are refused and which change nothing.
#pragma once

#include <string>
#include <vector>

#include "api/builder/builder_config.h"
#include "api/network/network.h"

namespace tenon::api {

// What the answers depend on.
struct BuildFacts {
  const BuilderConfig& config;
  const Network& network;
  bool onHost;  // the engine runs on the CPU
};

// A line "<option>: <what does not change>" for each option that was set and changes nothing in this build. `check()`
// of the configuration comes first.
std::vector<std::string> idleOptions(const BuildFacts& build);

}  // namespace tenon::api

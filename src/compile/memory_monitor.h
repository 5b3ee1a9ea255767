// What memory the process takes in the course of a build, for its log.
#pragma once

#include <string_view>

#include "core/log.h"

namespace tenon::compile {

class MemoryMonitor {
 public:
  MemoryMonitor(bool wanted, Log& log) : wanted_(wanted), log_(log) { report("the network"); }
  // One line, where it is wanted: what the process holds after a stage, and the most that it ever held.
  void report(std::string_view stage) const;

 private:
  bool wanted_;
  Log& log_;
};

}  // namespace tenon::compile

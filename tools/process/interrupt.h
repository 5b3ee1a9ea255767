// Signals that ask the process to end: noted during a build, which then ends in good order; else they end the process.
#pragma once

#include <string>

namespace tenon::tools {

//! While it lives, the first SIGINT (Ctrl-C), SIGTERM or SIGHUP is noted and answered with a line on the standard error
//! stream; the next one ends the process.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

//! The signal that was noted in the latest scope, or 0.
int interruptSignal();
inline bool wasInterrupted() { return interruptSignal() != 0; }
//! "Ctrl-C (SIGINT)" and the like.
std::string interruptName();

//! While it lives, a signal that ends the process removes this file first: it is not yet whole.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
};

}  // namespace tenon::tools

// The progress of a build on a terminal, and Ctrl-C, which ends the build in good order.
#pragma once

#include <NvInfer.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace tenon::trtexec {

//! Cancels the build when the user interrupts; draws nested phases below the log when `draw` is set. The library may
//! call from several threads.
class Progress final : public nvinfer1::IProgressMonitor {
public:
  explicit Progress(bool draw) : draw_(draw) {}

  void phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept override;
  bool stepComplete(const char* phaseName, int32_t step) noexcept override;
  void phaseFinish(const char* phaseName) noexcept override;

private:
  struct Phase {
    std::string name;
    int32_t steps = 0;
    int32_t done = 0;
  };
  void redraw();

  std::mutex mutex_;
  bool draw_;
  std::chrono::steady_clock::time_point drawn_;
  std::vector<Phase> phases_;
};

//! While it lives, the first Ctrl-C is noted instead of ending the process; a second one ends it.
class InterruptScope {
public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool wasInterrupted();

//! Whether the standard output is a terminal that can move its cursor.
bool outputIsTerminal();

} // namespace tenon::trtexec

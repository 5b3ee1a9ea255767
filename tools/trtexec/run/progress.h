// The progress of a build on a terminal, and the end of a build that the user interrupts.
#pragma once

#include <NvInfer.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tenon::trtexec {

struct PhaseState {
  std::string name;
  int32_t steps = 0;
  int32_t done = 0;
};

//! One line of at most `width` columns, the outermost phase first: with bars while they fit, then with shorter names,
//! then without the outer phases.
std::string progressLine(const std::vector<PhaseState>& phases, size_t width);

//! Cancels the build when the user interrupts; draws nested phases below the log when `draw` is set. The library may
//! call from several threads.
class Progress final : public nvinfer1::IProgressMonitor {
 public:
  explicit Progress(bool draw) : draw_(draw) {}

  void phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept override;
  bool stepComplete(const char* phaseName, int32_t step) noexcept override;
  void phaseFinish(const char* phaseName) noexcept override;

 private:
  //! Does nothing shortly after the last time when it `mayWait`.
  void redraw(bool mayWait);

  std::mutex mutex_;
  bool draw_;
  std::chrono::steady_clock::time_point drawn_;
  std::vector<PhaseState> phases_;
};

//! Whether the standard output is a terminal that can move its cursor.
bool outputIsTerminal();

}  // namespace tenon::trtexec

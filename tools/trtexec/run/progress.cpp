// The progress of a build on a terminal, and Ctrl-C.
#include "progress.h"

#include "log.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace tenon::trtexec {

namespace {

volatile std::sig_atomic_t interrupted = 0;
struct sigaction previousAction {};

void noteInterrupt(int) { interrupted = 1; }

size_t terminalWidth() {
  struct winsize size {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

std::string bar(int32_t done, int32_t steps) {
  constexpr int32_t kCells = 16;
  const int32_t filled = steps > 0 ? std::min(kCells, static_cast<int32_t>(int64_t{done} * kCells / steps)) : 0;
  return fmt::format("[{:=<{}}{: <{}}] {}/{}", "", filled, "", kCells - filled, done, steps);
}

} // namespace

void Progress::phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept {
  const std::lock_guard lock(mutex_);
  // A phase stands directly behind its parent.
  auto place = phases_.end();
  if (parentPhase != nullptr) {
    const auto parent = std::find_if(phases_.begin(), phases_.end(), [&](const Phase& p) { return p.name == parentPhase; });
    place = parent == phases_.end() ? phases_.end() : parent + 1;
  }
  phases_.insert(place, Phase{phaseName, nbSteps, 0});
  redraw();
}

bool Progress::stepComplete(const char* phaseName, int32_t step) noexcept {
  const std::lock_guard lock(mutex_);
  for (Phase& phase : phases_) {
    if (phase.name == phaseName) {
      phase.done = std::max(phase.done, step + 1);
    }
  }
  // A build has thousands of steps; nobody reads faster than this.
  constexpr std::chrono::milliseconds kPause{50};
  if (std::chrono::steady_clock::now() - drawn_ >= kPause) {
    redraw();
  }
  return !wasInterrupted();
}

void Progress::phaseFinish(const char* phaseName) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(phases_.begin(), phases_.end(), [&](const Phase& p) { return p.name == phaseName; });
  if (found != phases_.end()) {
    phases_.erase(found);
  }
  redraw();
}

void Progress::redraw() {
  if (!draw_) {
    return;
  }
  drawn_ = std::chrono::steady_clock::now();
  std::string line;
  for (const Phase& phase : phases_) {
    line += fmt::format("{}{} {}", line.empty() ? "" : " > ", phase.name, bar(phase.done, phase.steps));
  }
  theLog().setStatus(std::string_view(line).substr(0, terminalWidth() - 1));
}

InterruptScope::InterruptScope() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = noteInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &previousAction);
}

InterruptScope::~InterruptScope() { sigaction(SIGINT, &previousAction, nullptr); }

bool wasInterrupted() { return interrupted != 0; }

bool outputIsTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

} // namespace tenon::trtexec

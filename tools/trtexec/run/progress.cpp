// The progress of a build on a terminal.
#include "progress.h"

#include "log.h"
#include "process/interrupt.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace tenon::trtexec {

namespace {

size_t terminalWidth() {
  struct winsize size {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

std::string bar(const PhaseState& phase, int32_t cells) {
  const auto filled =
      phase.steps > 0 ? std::clamp<int32_t>(static_cast<int32_t>(int64_t{phase.done} * cells / phase.steps), 0, cells)
                      : 0;
  return fmt::format("[{:=<{}}{: <{}}] ", "", filled, "", cells - filled);
}

//! Names come from models: of what is no printable ASCII nobody knows the columns.
std::string shownName(std::string_view name, size_t most) {
  std::string text(name);
  for (char& c : text) {
    c = c >= ' ' && c <= '~' ? c : '?';
  }
  return text.size() <= most ? text : text.substr(0, most - 2) + "..";
}

//! Phases at this depth and above are few.
constexpr size_t kAlwaysDrawn = 2;

struct Style {
  size_t name;    // characters
  int32_t cells;  // of a bar
  size_t bars;    // so many of the outermost phases have one
};
constexpr size_t kAll = 100;
constexpr Style kStyles[] = {{40, 16, kAll}, {24, 12, kAll}, {24, 8, kAll}, {18, 5, kAll}, {18, 8, 1},
                             {18, 4, 1},     {18, 0, 0},     {12, 0, 0},    {8, 0, 0}};

}  // namespace

std::string progressLine(const std::vector<PhaseState>& phases, size_t width) {
  for (size_t first = 0; first < phases.size(); ++first) {
    for (const Style& style : kStyles) {
      std::string line;
      for (size_t i = first; i < phases.size(); ++i) {
        fmt::format_to(std::back_inserter(line), "{}{} {}{}/{}", i == first ? "" : " > ",
                       shownName(phases[i].name, style.name), i - first < style.bars ? bar(phases[i], style.cells) : "",
                       phases[i].done, phases[i].steps);
      }
      if (line.size() <= width) {
        return line;
      }
    }
  }
  return {};
}

void Progress::phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept {
  const std::lock_guard lock(mutex_);
  // A phase stands directly behind its parent.
  auto place = phases_.end();
  if (parentPhase != nullptr) {
    const auto parent =
        std::find_if(phases_.begin(), phases_.end(), [&](const PhaseState& p) { return p.name == parentPhase; });
    place = parent == phases_.end() ? phases_.end() : parent + 1;
  }
  phases_.insert(place, PhaseState{phaseName, nbSteps, 0});
  redraw(phases_.size() > kAlwaysDrawn);
}

bool Progress::stepComplete(const char* phaseName, int32_t step) noexcept {
  const std::lock_guard lock(mutex_);
  for (PhaseState& phase : phases_) {
    if (phase.name == phaseName) {
      phase.done = std::max(phase.done, step + 1);
    }
  }
  redraw(true);
  return !tools::wasInterrupted();
}

void Progress::phaseFinish(const char* phaseName) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(phases_.begin(), phases_.end(), [&](const PhaseState& p) { return p.name == phaseName; });
  if (found != phases_.end()) {
    phases_.erase(found);
  }
  redraw(phases_.size() >= kAlwaysDrawn);
}

void Progress::redraw(bool mayWait) {
  // A build has thousands of steps and small phases; nobody reads faster than this.
  constexpr std::chrono::milliseconds kPause{50};
  const auto now = std::chrono::steady_clock::now();
  if (!draw_ || (mayWait && now - drawn_ < kPause)) {
    return;
  }
  drawn_ = now;
  theLog().setStatus(progressLine(phases_, terminalWidth() - 1));
}

bool outputIsTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

}  // namespace tenon::trtexec

// SPDX-License-Identifier: Apache-2.0
// The child writes what it found into a pipe; how it ended tells the rest.
#include "subject.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "isolated.h"

namespace tenon::check {
namespace {

[[noreturn]] void child(const std::function<void()>& check, int out, unsigned seconds) {
  alarm(seconds);
  char kind = 'g';
  std::string text;
  try {
    check();
  } catch (const Skipped& reason) {
    kind = 's';
    text = reason.what();
  } catch (const std::exception& error) {
    kind = 'w';
    text = error.what();
  }
  text.insert(text.begin(), kind);
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(out, text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  _exit(0);
}

}  // namespace

Outcome isolated(const std::function<void()>& check, unsigned seconds) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe could be made");
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("no process could be started");
  if (process == 0) {
    close(ends[0]);
    child(check, ends[1], seconds);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  using Kind = Outcome::Kind;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return {Kind::kWrong, fmt::format("does not return within {} s", seconds)};
    return {Kind::kWrong, fmt::format("ends the process by signal {} ({})", signal, strsignal(signal))};
  }
  if (text.empty()) return {Kind::kWrong, "ends the process: does it call exit()?"};
  const Kind kind = text[0] == 'g' ? Kind::kGood : text[0] == 's' ? Kind::kSkipped : Kind::kWrong;
  return {kind, text.substr(1)};
}

}  // namespace tenon::check

// One handler for all signals that ask the process to end, while a scope wants it.
#include "interrupt.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>

namespace tenon::tools {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
constexpr char kAnswer[] = "\nInterrupted: the build ends as soon as it can. Once more ends it at once.\n";

// What the handler reads. Two signals may be handled at once, by two threads: only one of them is the first.
volatile std::sig_atomic_t noting = 0;
std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not lock");
volatile std::sig_atomic_t fileIsUnfinished = 0;
char unfinishedFile[PATH_MAX];

std::mutex mutex;
int users = 0;
std::array<struct sigaction, kSignals.size()> previous;

void onSignal(int signal) {
  int none = 0;
  if (noting != 0 && noted.compare_exchange_strong(none, signal)) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kAnswer, sizeof kAnswer - 1);
    return;
  }
  if (fileIsUnfinished != 0) {
    unlink(unfinishedFile);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void install() {
  const std::lock_guard lock(mutex);
  if (users++ > 0) {
    return;
  }
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;  // a file that is being read does not fail
  for (const int signal : kSignals) {
    sigaddset(&action.sa_mask, signal);  // one after the other, in the order in which they come
  }
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    // What is ignored, as by nohup, stays ignored.
    if (previous[i].sa_handler != SIG_IGN) {
      sigaction(kSignals[i], &action, nullptr);
    }
  }
}

void uninstall() {
  const std::lock_guard lock(mutex);
  if (--users > 0) {
    return;
  }
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &previous[i], nullptr);
  }
}

}  // namespace

InterruptScope::InterruptScope() {
  noted = 0;
  noting = 1;
  install();
}

InterruptScope::~InterruptScope() {
  uninstall();
  noting = 0;
}

int interruptSignal() { return noted; }

std::string interruptName() {
  switch (noted) {
    case SIGINT: return "Ctrl-C (SIGINT)";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    default: return "nothing";
  }
}

UnfinishedFile::UnfinishedFile(const std::string& path) {
  if (path.size() < sizeof unfinishedFile) {
    std::memcpy(unfinishedFile, path.c_str(), path.size() + 1);
    fileIsUnfinished = 1;
  }
  install();
}

UnfinishedFile::~UnfinishedFile() {
  uninstall();
  fileIsUnfinished = 0;
}

}  // namespace tenon::tools

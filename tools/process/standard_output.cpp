// Checks that standard output was written.
#include "standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tenon::tools {

void prepareStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is this one. What is written there fails, as it would on the closed stream.
      [[maybe_unused]] const int place = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, size_t{1} << 14);
}

namespace {

// Of the first failure: what follows it may succeed.
int outputError = 0;

void noteError(bool failed) {
  if (failed && outputError == 0) {
    outputError = errno != 0 ? errno : EIO;
  }
}

}  // namespace

void print(std::string_view text) {
  errno = 0;
  noteError(std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::ferror(stdout) != 0);
}

std::string outputProblem() {
  errno = 0;
  noteError(std::fflush(stdout) != 0 || std::ferror(stdout) != 0);
  return outputError == 0 ? ""
                          : fmt::format("the standard output could not be written: {}", std::strerror(outputError));
}

}  // namespace tenon::tools

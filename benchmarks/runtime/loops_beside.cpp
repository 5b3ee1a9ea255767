// How much of a loop's work threads do beside programs that keep cores busy.
//
//   loops_beside THREADS PIECES MICROSECONDS BETWEEN BUSY [SECONDS]
//
// Loops of so many pieces of that length on the pool, with a serial part between two of them, beside so many busy
// processes of the same cores, priority and control group. Best within `taskset -c` of as many cores as threads.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/platform/pool.h"

namespace {

using Clock = std::chrono::steady_clock;

volatile double result;
double stepsPerMicrosecond = 200;

void compute(double microseconds) {
  double x = 1;
  for (auto steps = static_cast<long>(microseconds * stepsPerMicrosecond); steps > 0; --steps) x = x * 1.0000001 + 1e-9;
  result = x;
}

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void calibrate() {
  constexpr double kMicroseconds = 20'000;
  compute(kMicroseconds);
  const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
  compute(kMicroseconds);
  stepsPerMicrosecond *= kMicroseconds * 1e-6 / (seconds(CLOCK_THREAD_CPUTIME_ID) - start);
}

std::vector<pid_t> startBusy(int count) {
  std::vector<pid_t> processes;
  for (int i = 0; i < count; ++i) {
    const pid_t process = fork();
    if (process == 0) {
      while (true) result = result + 1;
    }
    if (process > 0) processes.push_back(process);
  }
  return processes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "use: loops_beside THREADS PIECES MICROSECONDS BETWEEN BUSY [SECONDS]\n");
    return 1;
  }
  const int threads = std::atoi(argv[1]);
  const int pieces = std::atoi(argv[2]);
  double piece = std::atof(argv[3]);
  const double between = std::atof(argv[4]);
  const double duration = argc > 6 ? std::atof(argv[6]) : 1;
  calibrate();
  const auto busy = startBusy(std::atoi(argv[5]));
  tenon::platform::noteExecutions(1, true);
  std::vector<double> times;
  const auto loop = [&] {
    const auto start = Clock::now();
    tenon::platform::runLoop(
        pieces, pieces, threads,
        [](void* argument, int64_t begin, int64_t end, int) {
          for (; begin < end; ++begin) compute(*static_cast<const double*>(argument));
        },
        &piece);
    compute(between);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  };
  for (const auto end = Clock::now() + std::chrono::milliseconds(300); Clock::now() < end;) loop();
  times.clear();
  const double start = seconds(CLOCK_MONOTONIC);
  const double used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  while (seconds(CLOCK_MONOTONIC) < start + duration) loop();
  const double passed = seconds(CLOCK_MONOTONIC) - start;
  const double cores = (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) / passed;
  for (const pid_t process : busy) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  std::sort(times.begin(), times.end());
  const auto count = times.size();
  std::printf("%.2f times the work of one undisturbed thread, on %.2f cores; us: median %.0f, p99 %.0f, most %.0f\n",
              static_cast<double>(count) * (pieces * piece + between) * 1e-6 / passed, cores, times[count / 2],
              times[count * 99 / 100], times.back());
  std::fflush(stdout);
  _exit(0);  // workers never end
}

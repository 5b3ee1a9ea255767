// Whole processes: the choice of the device, forwarding to a real runtime, fork, exit.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "support.h"

extern char** environ;

namespace hostcuda_test {
namespace {

struct Outcome {
  int status = -1;  // exit status; -1 for a signal or a hang
  std::string output;
};

using Environment = std::vector<std::string>;

bool isOurs(const char* entry) {
  for (const char* name : {"TENON_", "LD_LIBRARY_PATH=", "CUDA_PATH=", "CUDA_HOME=", "TSAN_OPTIONS="}) {
    if (std::strncmp(entry, name, std::strlen(name)) == 0) return true;
  }
  return false;
}

std::string readUntilEnd(int descriptor, std::chrono::steady_clock::time_point deadline) {
  std::string text;
  char buffer[4096];
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd ready{descriptor, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    const ssize_t size = read(descriptor, buffer, sizeof buffer);
    if (size <= 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
  return text + "(no end)";
}

// Runs the probe with these variables and none of the caller's that matter here; stderr is part of the output.
Outcome runProbe(const char* command, Environment environment) {
  environment.emplace_back("TSAN_OPTIONS=die_after_fork=0");  // the first of two entries counts
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!isOurs(*entry)) environment.emplace_back(*entry);
  }
  std::vector<char*> variables;
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  int ends[2];
  EXPECT_EQ(0, pipe2(ends, O_CLOEXEC));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::string program = TENON_PROBE;
  std::string argument = command;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(0, posix_spawn(&child, TENON_PROBE, &actions, nullptr, arguments, variables.data()));
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Outcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  outcome.output = readUntilEnd(ends[0], deadline);
  close(ends[0]);
  int status = 0;
  // Its output has ended, so it ends too, or hangs.
  const bool isDone = comesTrue([&] { return waitpid(child, &status, WNOHANG) == child; }, std::chrono::seconds(10));
  if (!isDone) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  if (isDone && WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

Environment withFakeGpu() { return {"LD_LIBRARY_PATH=" TENON_FAKE_DRIVER_FOLDER, "TENON_CUDART=" TENON_FAKE_RUNTIME}; }

TEST(Process, ComputesOnTheHostWhenAsked) {
  Environment environment = withFakeGpu();
  environment.push_back("TENON_DEVICE=cpu");
  const Outcome outcome = runProbe("mode", environment);
  EXPECT_EQ(0, outcome.status);
  EXPECT_EQ("count 0 1 malloc 0 last cudaSuccess\n", outcome.output);
}

TEST(Process, SaysThatTheVariableIsWrong) {
  const Outcome outcome = runProbe("mode", {"TENON_DEVICE=gpu", "CUDA_VISIBLE_DEVICES="});
  EXPECT_NE(std::string::npos, outcome.output.find("TENON_DEVICE is 'gpu', expected 'cpu' or 'cuda'"));
}

TEST(Process, HasNoDeviceWhenAGpuIsDemandedAndNoneAnswers) {
  const Outcome outcome = runProbe("mode", {"TENON_DEVICE=cuda", "CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(0, outcome.status);
  EXPECT_EQ("count 100 0 malloc 100 last cudaErrorNoDevice\n", outcome.output);
}

TEST(Process, ForwardsToTheRealRuntimeWhereAGpuAnswers) {
  EXPECT_EQ("count 0 3 malloc 2 last fake name\n", runProbe("mode", withFakeGpu()).output);
  const Outcome outcome = runProbe("forward", withFakeGpu());
  EXPECT_EQ("fake 1 11 22 33 44 2 55\ncopy 77\nfake 1 11 22 33 44 2 55\ncopy 77\n", outcome.output);
}

TEST(Process, ForwardsTheRegistrationOfKernels) {
  const Outcome outcome = runProbe("register", withFakeGpu());
  EXPECT_EQ(0, outcome.status);
  EXPECT_EQ(0u, outcome.output.find("fake register\nfake end\nregistered 1\n")) << outcome.output;
  EXPECT_NE(std::string::npos, outcome.output.find("fake unregister\n"));
}

TEST(Process, NeverOpensItselfAsTheRealRuntime) {
  // A copy of our library where the real one is looked for first, the fake one where it is looked for next.
  const std::string folder = testing::TempDir() + "hostcuda_" + std::to_string(getpid());
  const std::string copy = folder + "/copy.so";
  const std::string name = std::string("libcudart.so.") + std::to_string(CUDART_VERSION / 1000);
  ASSERT_EQ(0, std::system(("mkdir -p " + folder + "/lib64 && cp " TENON_LIBRARY " " + copy +
                            " && cp " TENON_FAKE_RUNTIME " " + folder + "/lib64/" + name)
                               .c_str()));
  const std::string libraries = std::string("LD_LIBRARY_PATH=") + TENON_FAKE_DRIVER_FOLDER;
  const Outcome outcome = runProbe("mode", {libraries, "TENON_CUDART=" + copy, "CUDA_PATH=" + folder});
  EXPECT_EQ("count 0 3 malloc 2 last fake name\n", outcome.output);
  EXPECT_EQ(0, std::system(("rm -r " + folder).c_str()));
}

TEST(Process, KernelsRegisterAndLaunchesFail) {
  const Outcome registered = runProbe("register", {"TENON_DEVICE=cpu"});
  EXPECT_EQ(0, registered.status);
  EXPECT_EQ("registered 1\npopped 0: 2 3 4 5 6 7 8 0x9\nagain 52\n", registered.output);
  const Outcome launched = runProbe("launch", {"TENON_DEVICE=cpu"});
  EXPECT_NE(std::string::npos, launched.output.find("Tenon: a CUDA kernel was launched")) << launched.output;
  EXPECT_NE(std::string::npos, launched.output.find("launch cudaErrorNoKernelImageForDevice\n")) << launched.output;
}

TEST(Process, EndsWithLiveObjects) {
  const Outcome outcome = runProbe("exit-live", {"TENON_DEVICE=cpu", "ASAN_OPTIONS=detect_leaks=0"});
  EXPECT_EQ(0, outcome.status) << outcome.output;
}

TEST(Process, WorksInStaticDestructors) {
  const Outcome outcome = runProbe("exit-static", {"TENON_DEVICE=cpu"});
  EXPECT_EQ(0, outcome.status);
  EXPECT_EQ("late 0 0\n", outcome.output);
}

TEST(Process, ForksWhileItsThreadsWork) {
  const Outcome outcome = runProbe("fork", {"TENON_DEVICE=cpu", "ASAN_OPTIONS=detect_leaks=0"});
  EXPECT_EQ(0, outcome.status);
  EXPECT_EQ("child 0\n", outcome.output);
}

}  // namespace
}  // namespace hostcuda_test

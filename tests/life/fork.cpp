// A process forks after it used the library; the child, which has none of the threads, must compute as well.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "support.h"

namespace {

using namespace tenon::test;

constexpr auto kPatience = std::chrono::seconds(60);

PrintingLog& printingLog() {
  static auto* const log = new PrintingLog;
  return *log;
}

// Everything from builder to context; level 1 and more measures kernels, with their teams of threads.
struct Session {
  explicit Session(int optimizationLevel = 1) {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(printingLog()));
    require(builder != nullptr, "make a builder");
    const auto plan = network.build(*builder, optimizationLevel);
    require(plan != nullptr, "build");
    runtime.reset(nv::createInferRuntime(printingLog()));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    require(engine != nullptr, "load");
    context.reset(engine->createExecutionContext());
    require(context != nullptr, "make a context");
  }
  void run() { require(answersRight(network, *context), "run with right answers"); }

  SmallNetwork network;
  std::unique_ptr<nv::IRuntime> runtime;
  std::unique_ptr<nv::ICudaEngine> engine;
  std::unique_ptr<nv::IExecutionContext> context;
};

size_t threadCount() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists() ? 1 : 0;
  return count;
}

// Threads of the process by their names, which new threads take from who makes them.
std::map<std::string, int> threadNames() {
  std::map<std::string, int> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    if (std::getline(file, name)) ++names[name];
  }
  return names;
}

// Runs the action in a child and waits for it; a child that hangs is ended and fails the test.
void inChild(const std::function<void()>& action) {
  std::fflush(nullptr);
  const pid_t child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    action();
    std::exit(0);  // with exit handlers: they must not wait for threads that are not there
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      require(false, "the child ends in time");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFSIGNALED(status)) std::fprintf(stderr, "the child was ended by signal %d\n", WTERMSIG(status));
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well");
}

void forkWhenLoaded() {
  inChild([] { Session().run(); });
  Session().run();
}

void forkWhenBuilt() {
  Session session;
  inChild([&] { session.run(); });
  session.run();
}

void forkWhenRun() {
  Session session;
  session.run();
  if (threadCount() < 2) {
    std::puts("skipped: this build of the library uses one thread");
    std::exit(77);
  }
  auto names = threadNames();
  const int workers = names["tenon-worker"];
  require(workers >= 1 && workers <= 3 && threadCount() == static_cast<size_t>(workers) + 1,
          "no threads but the program's own and up to three workers");
  inChild([&] {
    require(threadCount() == 1, "the child begins with one thread");
    session.run();
    Session(3).run();
    require(threadNames().contains("tenon-worker"), "the child makes workers of its own");
    std::thread([&] { session.run(); }).join();
    session.context.reset();
    session.engine.reset();
  });
  session.run();
}

// Streams of the parent serve the child.
void forkWithStreams() {
  Session session;
  cudaStream_t stream = nullptr;
  require(cudaStreamCreate(&stream) == cudaSuccess, "make a stream");
  const auto x = uniform(3 * SmallNetwork::kInput, 5);
  std::vector<float> y;
  const auto run = [&] {
    require(enqueueSmall(*session.context, x, y, stream), "enqueue");
    require(cudaStreamSynchronize(stream) == cudaSuccess, "synchronize");
    require(session.network.error(x, y) < 1e-5, "right answers");
  };
  run();
  inChild(run);
  run();
  require(cudaStreamDestroy(stream) == cudaSuccess, "destroy the stream");
}

// Children of children, one after the other.
void forkAgain() {
  Session session;
  session.run();
  for (int i = 0; i < 3; ++i) {
    inChild([&] {
      session.run();
      inChild([&] { session.run(); });
      session.run();
    });
  }
}

void useRuntime() {
  void* memory = nullptr;
  require(cudaMalloc(&memory, 8) == cudaSuccess && cudaFree(memory) == cudaSuccess, "allocate");
  require(cudaStreamSynchronize(nullptr) == cudaSuccess, "synchronize");
}

std::atomic<bool> mayBegin{false};
void holdUp() {
  mayBegin = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Another thread calls the runtime for the first time when the fork has begun and is not done. In new processes.
void forkBesideFirstCall() {
  for (int i = 0; i < 8; ++i) {
    inChild([] {
      pthread_atfork(&holdUp, nullptr, nullptr);
      std::atomic<bool> isDone{false};
      std::thread other([&] {
        while (!mayBegin) std::this_thread::yield();
        while (!isDone) useRuntime();
      });
      inChild(&useRuntime);
      isDone = true;
      other.join();
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> cases{{"loaded", &forkWhenLoaded}, {"built", &forkWhenBuilt},
                                                {"ran", &forkWhenRun},       {"streams", &forkWithStreams},
                                                {"again", &forkAgain},       {"first", &forkBesideFirstCall}};
  const auto found = cases.find(argc > 1 ? argv[1] : "");
  require(found != cases.end(), "know the case");
  found->second();
  return 0;
}

// Whether an engine gives the same bits whenever and however it is executed, through the public interface.
//
//   repeat_engine PLAN [SECONDS] [SETS]
//
// Rounds until the seconds are over, at least two; each loads the engine anew. Inputs change from one execution to the
// next among SETS sets of random values, outputs are filled with NaN before each, and all results are compared with the
// first of the same inputs. Ways of a round:
//
//   first      the first executions of a new context
//   poisoned   the context's memory is the caller's, who fills it with NaN or other bytes before each execution
//   queued     executions behind one another, without waiting in between
//   beside     two contexts on two streams of one thread
//   threads    two contexts on two streams, each of a thread
//   captured   one execution in a graph of the caller, which is launched again
//
// In every other round a third stream copies memory all the while. Prints `way executions different` lines, the sum as
// `all`, and how many results hold a number that is not finite; ends with 1 where results differ.
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "truth.h"

namespace repeats {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTimes = 10;  // executions of each way in a round

class Log final : public nv::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
} theLog;

std::vector<char> readFile(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(std::string("cannot open ") + path);
  std::vector<char> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) fail(std::string("cannot read ") + path);
  return bytes;
}

// A context with a stream and tensors of its own.
class Caller {
 public:
  Caller(nv::ICudaEngine& engine, Truth& truth, bool isPoisoned = false) : truth_(truth) {
    context_.reset(isPoisoned ? engine.createExecutionContext(nv::ExecutionContextAllocationStrategy::kUSER_MANAGED)
                              : engine.createExecutionContext());
    if (context_ == nullptr) fail("no execution context");
    if (isPoisoned) {
      arenaBytes_ = std::max<int64_t>(engine.getDeviceMemorySizeV2(), 0);
      arena_.emplace_back(static_cast<size_t>(arenaBytes_));
      context_->setDeviceMemoryV2(arena_[0].data(), arenaBytes_);
    }
    for (const auto* tensors : {&truth.inputs, &truth.outputs}) {
      for (const auto& tensor : *tensors) {
        tensors_.emplace_back(tensor.bytes);
        const bool isInput = tensors == &truth.inputs;
        if (isInput &&
            !context_->setInputShape(tensor.name.c_str(),
                                     engine.getProfileShape(tensor.name.c_str(), 0, nv::OptProfileSelector::kOPT)))
          fail("the shape was refused of " + tensor.name);
        if (!context_->setTensorAddress(tensor.name.c_str(), tensors_.back().data()))
          fail("the address was refused of " + tensor.name);
      }
    }
    for (auto& results : kept_) {
      for (const auto& output : truth.outputs) results.emplace_back(output.bytes);
    }
  }
  ~Caller() {
    cudaStreamSynchronize(stream_.get());
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Puts an execution on the stream, and the copies of its results.
  void start(const std::string& way) {
    const size_t set = next_++ % truth_.sets();
    const auto stream = stream_.get();
    const size_t inputs = truth_.inputs.size();
    for (size_t i = 0; i < inputs; ++i)
      check(cudaMemcpyAsync(tensors_[i].data(), truth_.value(set, i).data(), truth_.inputs[i].bytes,
                            cudaMemcpyDeviceToDevice, stream),
            "copy of inputs");
    for (size_t i = 0; i < truth_.outputs.size(); ++i)
      check(cudaMemsetAsync(tensors_[inputs + i].data(), 0xff, truth_.outputs[i].bytes, stream), "cudaMemsetAsync");
    // NaN, then large numbers, then small ones.
    static constexpr std::array<int, 3> kPoison{0xff, 0x7b, 0x11};
    if (arenaBytes_ > 0)
      check(cudaMemsetAsync(arena_[0].data(), kPoison[next_ % 3], static_cast<size_t>(arenaBytes_), stream), "poison");
    if (executable_ != nullptr) check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
    else if (!context_->enqueueV3(stream)) fail("the execution failed");
    if (pending_.size() == kTimes) fail("too many executions are pending");
    for (size_t i = 0; i < truth_.outputs.size(); ++i)
      check(cudaMemcpyAsync(kept_[pending_.size()][i].data(), tensors_[inputs + i].data(), truth_.outputs[i].bytes,
                            cudaMemcpyDeviceToDevice, stream),
            "copy of results");
    pending_.push_back({way, set});
  }
  void finish() {
    stream_.wait();
    for (size_t k = 0; k < pending_.size(); ++k) {
      Results results;
      for (size_t i = 0; i < truth_.outputs.size(); ++i) {
        auto& result = results.emplace_back(truth_.outputs[i].bytes);
        check(cudaMemcpy(result.data(), kept_[k][i].data(), result.size(), cudaMemcpyDeviceToHost), "copy to the host");
      }
      truth_.compare(pending_[k].way, pending_[k].set, std::move(results));
    }
    pending_.clear();
  }

  // From now on one execution is launched as a graph of the caller.
  void capture() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    if (!context_->enqueueV3(stream_.get())) fail("the execution was not captured");
    check(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
  }

 private:
  struct Pending {
    std::string way;
    size_t set;
  };

  Truth& truth_;
  Stream stream_;
  std::vector<DeviceMemory> arena_, tensors_;
  int64_t arenaBytes_ = 0;
  std::unique_ptr<nv::IExecutionContext> context_;  // goes before its memory
  cudaGraphExec_t executable_ = nullptr;
  size_t next_ = 0;
  std::vector<Pending> pending_;
  std::array<std::vector<DeviceMemory>, kTimes> kept_;  // results on the device, by execution that is pending
};

// Copies memory on a stream of its own, as long as it lives.
class Busy {
 public:
  Busy() : from_(kBytes), to_(kBytes), thread_([this] { copy(); }) {}
  ~Busy() {
    isOver_ = true;
    thread_.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  static constexpr size_t kBytes = size_t{64} << 20;
  void copy() {
    const Stream stream;
    while (!isOver_) {
      for (int i = 0; i < 8; ++i)
        check(cudaMemcpyAsync(to_.data(), from_.data(), kBytes, cudaMemcpyDeviceToDevice, stream.get()), "copy");
      stream.wait();
    }
  }

  DeviceMemory from_, to_;
  std::atomic<bool> isOver_{false};
  std::thread thread_;
};

void round(nv::ICudaEngine& engine, Truth& truth) {
  Caller one(engine, truth);
  for (size_t i = 0; i < kTimes; ++i) {
    one.start("first");
    one.finish();
  }
  Caller poisoned(engine, truth, true);
  for (size_t i = 0; i < kTimes; ++i) {
    poisoned.start("poisoned");
    poisoned.finish();
  }
  for (size_t i = 0; i < kTimes; ++i) one.start("queued");
  one.finish();
  for (size_t i = 0; i < kTimes; ++i) {
    one.start("beside");
    poisoned.start("beside");
  }
  one.finish();
  poisoned.finish();
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&] {
      Caller caller(engine, truth);
      for (size_t i = 0; i < kTimes; ++i) {
        caller.start("threads");
        if (i % 3 == 0) caller.finish();
      }
      caller.finish();
    });
  for (auto& thread : threads) thread.join();
  one.capture();
  for (size_t i = 0; i < kTimes; ++i) {
    one.start("captured");
    if (i % 3 == 0) one.finish();
  }
  one.finish();
}

int run(int count, char** arguments) {
  if (count < 2) fail("usage: repeat_engine PLAN [SECONDS] [SETS]");
  const double seconds = count > 2 ? std::atof(arguments[2]) : 5;
  const int sets = count > 3 ? std::max(1, std::atoi(arguments[3])) : 3;
  check(cudaFree(nullptr), "no device");
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(theLog));
  const auto plan = readFile(arguments[1]);
  const auto start = Clock::now();
  std::unique_ptr<Truth> truth;
  int rounds = 0;
  do {
    const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (engine == nullptr) fail("the plan could not be loaded");
    if (truth == nullptr) {
      const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
      for (int i = 0; i < engine->getNbIOTensors(); ++i) {
        const char* const name = engine->getIOTensorName(i);
        if (engine->getTensorIOMode(name) == nv::TensorIOMode::kINPUT)
          context->setInputShape(name, engine->getProfileShape(name, 0, nv::OptProfileSelector::kOPT));
      }
      truth = std::make_unique<Truth>(*engine, *context, sets);
    }
    std::unique_ptr<Busy> busy;
    if (rounds % 2 == 1) busy = std::make_unique<Busy>();
    round(*engine, *truth);
    ++rounds;
  } while (rounds < 2 || Clock::now() - start < std::chrono::duration<double>(seconds));
  std::printf("rounds %d\n", rounds);
  return truth->report() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace repeats

int main(int count, char** arguments) { return repeats::run(count, arguments); }

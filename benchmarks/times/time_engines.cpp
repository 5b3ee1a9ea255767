// The GPU's time of one execution of each of many engines, in one process.
//
//   time_engines SECONDS OUTPUTS < LIST
//
// Each line of LIST is the path of a plan and, for each input, NAME=FILE with its values. Twenty executions behind one
// another are one graph of the caller; the least time of its launches within SECONDS counts, divided by twenty. Where
// the sizes of outputs come from data there is no graph, and the executions are queued. Writes a line of the path and
// the microseconds for each engine, or the path and "failed"; with OUTPUTS other than "-", the first output as the
// bytes of the file PLAN + OUTPUTS.
#include <chrono>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>

#include "repeats/device.h"

namespace {

using repeats::check;
using repeats::DeviceMemory;
using Clock = std::chrono::steady_clock;
namespace nv = nvinfer1;

constexpr int kExecutions = 20;

class Log final : public nv::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
} theLog;

// Memory for an output whose size comes from data; it is kept from one execution to the next.
class Growing final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t bytes, uint64_t, cudaStream_t) noexcept override {
    if (memory_.empty() || bytes > bytes_) {
      memory_.clear();
      memory_.emplace_back(bytes);
      bytes_ = bytes;
    }
    return memory_[0].data();
  }
  void notifyShape(const char*, const nv::Dims&) noexcept override {}

 private:
  std::vector<DeviceMemory> memory_;
  uint64_t bytes_ = 0;
};

std::vector<char> readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) repeats::fail("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Timed {
 public:
  Timed(nv::IRuntime& runtime, const std::string& path, std::istream& inputs) {
    const auto plan = readFile(path);
    engine_.reset(runtime.deserializeCudaEngine(plan.data(), plan.size()));
    if (engine_ != nullptr) context_.reset(engine_->createExecutionContext());
    if (context_ == nullptr) return;
    for (std::string entry; inputs >> entry;) {
      const auto end = entry.find('=');
      const auto bytes = readFile(entry.substr(end + 1));
      const auto& memory = tensors_.emplace_back(bytes.size());
      check(cudaMemcpy(memory.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "copy of an input");
      context_->setTensorAddress(entry.substr(0, end).c_str(), memory.data());
    }
    for (int i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* const name = engine_->getIOTensorName(i);
      if (engine_->getTensorIOMode(name) == nv::TensorIOMode::kOUTPUT) addOutput(name);
    }
  }

  // Microseconds of one execution; infinite where it failed.
  double least(double seconds) {
    constexpr auto kFailed = std::numeric_limits<double>::infinity();
    if (context_ == nullptr || !context_->enqueueV3(stream_.get())) return kFailed;
    stream_.wait();
    cudaGraphExec_t graph = hasGrowing_ ? nullptr : captured();
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    double best = kFailed;
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    for (int round = 0; round < 5 || Clock::now() < until; ++round) {
      check(cudaEventRecord(begin, stream_.get()), "cudaEventRecord");
      if (graph != nullptr) check(cudaGraphLaunch(graph, stream_.get()), "cudaGraphLaunch");
      for (int i = 0; graph == nullptr && i < kExecutions; ++i) context_->enqueueV3(stream_.get());
      check(cudaEventRecord(end, stream_.get()), "cudaEventRecord");
      stream_.wait();
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
      if (round > 0) best = std::min(best, 1e3 * milliseconds / kExecutions);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    if (graph != nullptr) cudaGraphExecDestroy(graph);
    return best;
  }

  void writeFirstOutput(const std::string& path) const {
    if (context_ == nullptr || outputBytes_ == 0) return;
    std::vector<char> bytes(outputBytes_);
    check(cudaMemcpy(bytes.data(), tensors_[outputAt_].data(), bytes.size(), cudaMemcpyDeviceToHost),
          "copy of an output");
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  void addOutput(const char* name) {
    size_t bytes = repeats::bitsOf(engine_->getTensorDataType(name)) / 8;
    const auto dims = context_->getTensorShape(name);
    for (int axis = 0; axis < dims.nbDims; ++axis) {
      if (dims.d[axis] < 0) {
        hasGrowing_ = true;
        growing_.push_back(std::make_unique<Growing>());
        context_->setOutputAllocator(name, growing_.back().get());
        return;
      }
      bytes *= static_cast<size_t>(dims.d[axis]);
    }
    if (outputBytes_ == 0) {
      outputAt_ = tensors_.size();
      outputBytes_ = bytes;
    }
    context_->setTensorAddress(name, tensors_.emplace_back(bytes).data());
  }
  cudaGraphExec_t captured() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    bool good = true;
    for (int i = 0; i < kExecutions; ++i) good = context_->enqueueV3(stream_.get()) && good;
    if (cudaStreamEndCapture(stream_.get(), &graph) != cudaSuccess || !good) return nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
    return executable;
  }

  repeats::Stream stream_;
  std::vector<DeviceMemory> tensors_;
  std::vector<std::unique_ptr<Growing>> growing_;
  bool hasGrowing_ = false;
  size_t outputAt_ = 0, outputBytes_ = 0;
  std::unique_ptr<nv::ICudaEngine> engine_;
  std::unique_ptr<nv::IExecutionContext> context_;  // goes before its memory and its engine
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) repeats::fail("expected: time_engines SECONDS OUTPUTS < LIST");
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(theLog));
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string path;
    words >> path;
    Timed timed(*runtime, path, words);
    const double microseconds = timed.least(std::atof(arguments[1]));
    if (microseconds < std::numeric_limits<double>::infinity()) std::printf("%s %.3f\n", path.c_str(), microseconds);
    else std::printf("%s failed\n", path.c_str());
    std::fflush(stdout);
    if (arguments[2] != std::string("-")) timed.writeFirstOutput(path + arguments[2]);
  }
}

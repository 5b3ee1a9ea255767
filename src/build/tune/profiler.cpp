// Runs candidates on the device.
#include "build/tune/profiler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/storage.h"
#include "runtime/kernel.h"

namespace tenon::build {
namespace {

constexpr size_t kRedZone = 256;
constexpr unsigned char kRedByte = 0xb7;
constexpr double kSampleSeconds = 2e-4;  // a sample repeats short kernels until it lasts about this long
constexpr double kHopeless = 3;          // stop after a few runs when this many times slower than the best
constexpr int kTries = 2;                // more runs before a candidate is given up
constexpr double kBehind = 1.3;          // fewer samples when this many times slower than the best
constexpr double kCandidateSeconds = 0.15;  // no more samples of one candidate after this

using runtime::CopyKind;

// Device memory with red zones on both sides of the payload.
class GuardedBuffer {
 public:
  GuardedBuffer(runtime::Device& device, size_t bytes) : device_(device), bytes_(bytes) {
    base_ = static_cast<char*>(device.allocate(bytes + 2 * kRedZone, kRedZone));
    const std::vector<unsigned char> red(kRedZone, kRedByte);
    put(base_, red.data(), kRedZone);
    put(base_ + kRedZone + bytes_, red.data(), kRedZone);
  }
  ~GuardedBuffer() { device_.free(base_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  size_t bytes() const { return bytes_; }
  void* data() const { return base_ + kRedZone; }
  void write(const void* from) { put(base_ + kRedZone, from, bytes_); }
  // The pattern over and over.
  void fill(const std::vector<char>& pattern) {
    for (size_t done = 0; done < bytes_; done += pattern.size()) {
      device_.copy(base_ + kRedZone + done, pattern.data(), std::min(pattern.size(), bytes_ - done), CopyKind::kHostToDevice, nullptr);
    }
    device_.synchronize(nullptr);
  }
  bool intact() const {
    std::vector<unsigned char> zones(2 * kRedZone);
    device_.copy(zones.data(), base_, kRedZone, CopyKind::kDeviceToHost, nullptr);
    device_.copy(zones.data() + kRedZone, base_ + kRedZone + bytes_, kRedZone, CopyKind::kDeviceToHost, nullptr);
    device_.synchronize(nullptr);
    return std::all_of(zones.begin(), zones.end(), [](unsigned char c) { return c == kRedByte; });
  }

 private:
  void put(void* to, const void* from, size_t bytes) {
    device_.copy(to, from, bytes, CopyKind::kHostToDevice, nullptr);
    device_.synchronize(nullptr);
  }
  runtime::Device& device_;
  size_t bytes_;
  char* base_ = nullptr;
};

// Reproducible data in [0.1, 1): positive, so that logarithms and roots stay finite; small integers. Beyond a megabyte
// it repeats.
std::vector<char> randomBytes(DataType dtype, size_t size, uint64_t seed) {
  constexpr size_t kPattern = size_t{1} << 20;
  std::vector<char> bytes(std::min(size, kPattern));
  const int64_t count = static_cast<int64_t>(bytes.size()) * 8 / bits(dtype);
  uint64_t state = seed * 2862933555777941757ull + 3037000493ull;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    if (isFloating(dtype)) {
      storeDouble(dtype, bytes.data(), i, 0.1 + 0.9 * unit);
    } else {
      storeInt(dtype, bytes.data(), i, static_cast<int64_t>(unit * 2));
    }
  }
  return bytes;
}

class DeviceProfiler final : public Profiler {
 public:
  DeviceProfiler(runtime::Device& device, int iterations, Log& log)
      : device_(device), iterations_(std::max(1, iterations)), log_(log) {}

  Measurement measure(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                      std::span<const std::byte> nativeCode, double best) override {
    try {
      return run(problem, candidate, record, nativeCode, best);
    } catch (const Error& error) {
      return {std::numeric_limits<double>::infinity(), 0, error.what()};
    }
  }

 private:
  struct Call {
    runtime::KernelInstance* instance;
    runtime::LaunchArguments arguments;
    int repeats;
  };

  static void launch(void* argument, runtime::StreamHandle stream) {
    auto* call = static_cast<Call*>(argument);
    call->arguments.stream = stream;
    for (int i = 0; i < call->repeats; ++i) call->instance->launch(call->arguments);
  }

  Measurement run(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                  std::span<const std::byte> nativeCode, double best) {
    std::vector<TensorView> constants;
    for (const auto& input : problem.inputs) {
      constants.push_back(input.constant != nullptr ? input.constant->view() : TensorView{});
    }
    auto& backend = runtime::backend(record.backend);
    const auto kernel = backend.load({record, constants, nativeCode, log_});
    const auto instance = kernel->instantiate();

    std::vector<runtime::TensorShape> inputShapes;
    std::vector<runtime::TensorShape> outputShapes;
    // Buffers of the last candidate serve the next one of the same problem.
    auto text = problem.text();
    if (text != bufferedFor_) {
      inputs_.clear();
      outputs_.clear();
      bufferedFor_ = std::move(text);
    }
    inputs_.resize(problem.inputs.size());
    outputs_.resize(problem.outputs.size());
    std::vector<void*> inputPointers;
    std::vector<void*> outputPointers;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const auto& desc = problem.inputs[i];
      inputShapes.push_back({desc.dtype, desc.dims, candidate.inputs[i]});
      const auto bytes = storageBytes(desc.dtype, desc.dims, candidate.inputs[i]);
      if (desc.constant != nullptr && device_.isHost() && candidate.inputs[i] == Format::kLinear) {
        inputPointers.push_back(const_cast<void*>(desc.constant->view().data));  // weights are large: no copy
        continue;
      }
      auto& buffer = inputs_[i];
      if (buffer == nullptr || buffer->bytes() != bytes) {
        buffer = std::make_unique<GuardedBuffer>(device_, bytes);
        if (desc.constant != nullptr) {
          buffer->write(desc.constant->view().data);
        } else if (bytes > 0) {
          buffer->fill(randomBytes(desc.dtype, bytes, i));
        }
      }
      inputPointers.push_back(buffer->data());
    }
    for (size_t i = 0; i < problem.outputs.size(); ++i) {
      const auto& desc = problem.outputs[i];
      outputShapes.push_back({desc.dtype, desc.dims, candidate.outputs[i]});
      const auto bytes = storageBytes(desc.dtype, desc.dims, candidate.outputs[i]);
      auto& buffer = outputs_[i];
      if (buffer == nullptr || buffer->bytes() != bytes) buffer = std::make_unique<GuardedBuffer>(device_, bytes);
      outputPointers.push_back(buffer->data());
    }
    const size_t workspaceBytes = instance->configure({inputShapes, outputShapes, &problem.symbols});
    GuardedBuffer workspace(device_, workspaceBytes);

    Call call{instance.get(), {inputPointers.data(), outputPointers.data(), workspace.data(), nullptr}, 1};
    launch(&call, nullptr);  // first touch, lazy set-up
    device_.synchronize(nullptr);
    double once = device_.measure(&launch, &call);
    for (const auto& output : outputs_) {
      if (output->intact()) continue;
      outputs_.clear();
      return refuse(candidate, "it writes outside its output");
    }
    if (!workspace.intact()) return refuse(candidate, "it writes outside its workspace");
    // Whatever else the machine does only adds time, so the fastest of several is what the kernel takes.
    for (int i = 0; i < kTries && once > kHopeless * best; ++i) once = std::min(once, device_.measure(&launch, &call));
    if (once > kHopeless * best) return {once, workspaceBytes, {}};

    call.repeats = static_cast<int>(std::clamp(kSampleSeconds / std::max(once, 1e-8), 1.0, 2000.0));
    double fastest = call.repeats == 1 ? once : std::numeric_limits<double>::infinity();
    double spent = once;
    for (int i = 0; i < 2 * iterations_; ++i) {
      const double seconds = device_.measure(&launch, &call);
      spent += seconds;
      fastest = std::min(fastest, seconds / call.repeats);
      if (spent > kCandidateSeconds && i > 0) break;
      if (i + 1 >= iterations_ && fastest > kBehind * best) break;
    }
    return {fastest, workspaceBytes, {}};
  }

  Measurement refuse(const Candidate& candidate, std::string_view why) {
    log_.error("tactic {} is left out: {}", candidate.text(), why);
    return {std::numeric_limits<double>::infinity(), 0, std::string(why)};
  }

  runtime::Device& device_;
  int iterations_;
  Log& log_;
  std::string bufferedFor_;
  std::vector<std::unique_ptr<GuardedBuffer>> inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>> outputs_;
};

}  // namespace

std::unique_ptr<Profiler> makeDeviceProfiler(runtime::Device& device, int iterations, Log& log) {
  return std::make_unique<DeviceProfiler>(device, iterations, log);
}

}  // namespace tenon::build

// Runs candidates on the device.
#include "compile/tune/profiler.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "compile/tune/cold_weights.h"
#include "compile/tune/guarded_buffer.h"
#include "compile/tune/packed_operands.h"
#include "compile/tune/result_check.h"
#include "compile/tune/rotation.h"
#include "compile/tune/samples.h"
#include "compile/tune/test_data.h"
#include "core/error.h"
#include "core/storage.h"
#include "graph/bad_constant.h"
#include "runtime/configure.h"
#include "runtime/device_cache.h"
#include "runtime/disturbance.h"

namespace tenon::compile {
namespace {

constexpr double kSampleSeconds = 2e-4;  // a sample repeats short kernels until it lasts about this long
constexpr double kHopeless = 3;          // stop after a few runs when this many times slower than the best
constexpr int kTries = 2;                // more runs before a candidate is given up
constexpr double kLongRun = 1e-2;        // unless a GPU takes so long, to which nothing adds a multiple
constexpr int kColdSamples = 3;          // times the iterations: of one run each

using runtime::CopyKind;

constexpr size_t kPattern = size_t{1} << 20;

// Beyond a megabyte it repeats.
std::vector<char> testData(DataType dtype, size_t size, uint64_t seed, int64_t below) {
  std::vector<char> bytes(std::min(size, kPattern));
  fillWithTestData(dtype, bytes.data(), static_cast<int64_t>(bytes.size()) * 8 / bits(dtype), seed, below);
  return bytes;
}

// A candidate's kernel with everything a launch takes.
struct Trial {
  std::unique_ptr<runtime::Kernel> kernel;
  std::unique_ptr<runtime::KernelInstance> instance;
  std::vector<void*> inputs;
  std::vector<std::vector<void*>> turns;   // what launches take as inputs in turn; empty: always the same
  std::unique_ptr<PackedOperands> packed;  // null: the profiler's
  std::vector<void*> outputs;
  std::unique_ptr<GuardedBuffer> workspace;
  bool comparable = true;  // its inputs hold what those of the others do
};

class DeviceProfiler final : public Profiler {
 public:
  DeviceProfiler(runtime::Device& device, int iterations, Stages& stages, Log& log)
      : device_(device),
        check_(device, log),
        iterations_(std::max(1, iterations)),
        stages_(stages),
        log_(log),
        packed_(device) {
    disturbance_ = dynamic_cast<const runtime::Disturbance*>(&device);
    if (const auto* cache = dynamic_cast<runtime::DeviceCache*>(&device)) cacheBytes_ = cache->cacheBytes();
  }

  double trust(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
               std::span<const std::byte> nativeCode) override {
    const auto running = stages_.run("tuning: reference candidates");
    try {
      const auto trial = prepare(problem, candidate, record, nativeCode);
      if (!trial.comparable) return std::numeric_limits<double>::infinity();
      poison();
      auto call = callOf(trial);
      const double seconds = device_.measure(&launch, &call);
      check_.expect(problem, candidate, trial.outputs);
      return seconds;
    } catch (const graph::BadConstant&) {
      throw;
    } catch (const Error& error) {
      log_.verbose("no reference candidate to compare with: {}: {}", candidate.text(), error.what());
      return std::numeric_limits<double>::infinity();
    }
  }

  Measurement measure(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                      std::span<const std::byte> nativeCode, double best) override {
    return attempt([&] { return run(problem, candidate, record, nativeCode, best, false); });
  }
  Measurement glance(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                     std::span<const std::byte> nativeCode) override {
    return attempt(
        [&] { return run(problem, candidate, record, nativeCode, std::numeric_limits<double>::infinity(), true); });
  }

 private:
  template <typename Run>
  static Measurement attempt(Run&& run) {
    try {
      return run();
    } catch (const graph::BadConstant&) {
      throw;  // no candidate is to blame
    } catch (const OutOfMemory& error) {
      return {std::numeric_limits<double>::infinity(), 0, error.what(), false};
    } catch (const Unsupported& error) {
      return {std::numeric_limits<double>::infinity(), 0, error.what(), true, true};
    } catch (const Error& error) {
      return {std::numeric_limits<double>::infinity(), 0, error.what(), false};
    }
  }

  struct Call {
    runtime::KernelInstance* instance;
    runtime::LaunchArguments arguments;
    int repeats;
    const Trial* trial;
    size_t turn = 0;
  };

  static void launch(void* argument, runtime::StreamHandle stream) {
    auto* call = static_cast<Call*>(argument);
    call->arguments.stream = stream;
    const auto& turns = call->trial->turns;
    for (int i = 0; i < call->repeats; ++i, ++call->turn) {
      if (!turns.empty()) call->arguments.inputs = turns[call->turn % turns.size()].data();
      call->instance->launch(call->arguments);
    }
  }

  Call callOf(const Trial& trial) const {
    return {
        trial.instance.get(), {trial.inputs.data(), trial.outputs.data(), trial.workspace->data(), nullptr}, 1, &trial};
  }

  void runOnce(const Trial& trial) {
    auto call = callOf(trial);
    launch(&call, nullptr);
    device_.synchronize(nullptr);
  }

  // Buffers of one candidate serve the next one of the same problem.
  void select(const Problem& problem) {
    auto text = problem.text();
    if (text == selected_) return;
    inputs_.clear();
    outputs_.clear();
    rotations_.clear();
    packed_.clear();
    check_.clear();
    inputs_.resize(problem.inputs.size());
    outputs_.resize(problem.outputs.size());
    selected_ = std::move(text);
  }

  Trial prepare(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                std::span<const std::byte> nativeCode) {
    select(problem);
    Trial trial;
    std::vector<TensorView> constants;
    for (const auto& input : problem.inputs)
      constants.push_back(input.constant != nullptr ? input.constant->view() : TensorView{});
    trial.kernel = runtime::backend(record.backend).load({record, constants, nativeCode, log_, false, true});
    trial.instance = trial.kernel->instantiate();
    std::vector<runtime::TensorShape> inputShapes;
    std::vector<runtime::TensorShape> outputShapes;
    // A GPU has many candidates that pack alike. The host has few, and its memory holds the network's weights as well.
    if (device_.isHost()) trial.packed = std::make_unique<PackedOperands>(device_);
    const auto packed =
        (trial.packed != nullptr ? *trial.packed : packed_).of(*trial.kernel, constants, candidate.outputs.at(0));
    std::vector<uint64_t> bytes(problem.inputs.size());  // of what is read in turn
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const auto& desc = problem.inputs[i];
      inputShapes.push_back({desc.dtype, desc.dims, candidate.inputs[i]});
      const auto own = std::find_if(packed.begin(), packed.end(), [&](const auto& one) { return one.input == i; });
      trial.inputs.push_back(own != packed.end() ? own->data
                                                 : input(problem, i, candidate.inputs[i], trial.comparable));
      if (own != packed.end()) bytes[i] = own->bytes;
      else if (desc.constant != nullptr && candidate.inputs[i] == Layout::kLinear)
        bytes[i] = desc.constant->view().bytes();
    }
    trial.turns = turns(problem, trial.inputs, bytes);
    for (size_t i = 0; i < problem.outputs.size(); ++i) {
      const auto& desc = problem.outputs[i];
      outputShapes.push_back({desc.dtype, desc.dims, candidate.outputs[i]});
      const auto bytes = storageBytes(desc.dtype, desc.dims, candidate.outputs[i]);
      auto& buffer = outputs_[i];
      if (buffer == nullptr || buffer->bytes() != bytes) buffer = std::make_unique<GuardedBuffer>(device_, bytes);
      trial.outputs.push_back(buffer->data());
    }
    const size_t workspaceBytes = runtime::configure(*trial.instance, {inputShapes, outputShapes, &problem.symbols});
    trial.workspace = std::make_unique<GuardedBuffer>(device_, workspaceBytes);
    return trial;
  }

  // Address of an operand in a format. On a host device each format holds random data of its own; elsewhere all hold
  // the same tensor, so that results can be compared.
  void* input(const Problem& problem, size_t index, Layout format, bool& comparable) {
    const auto& desc = problem.inputs[index];
    if (desc.constant != nullptr && device_.isHost() && format == Layout::kLinear) {
      return const_cast<void*>(desc.constant->view().data);  // weights are large: no copy
    }
    auto& byFormat = inputs_[index];
    if (const auto found = byFormat.find(format); found != byFormat.end()) return found->second->data();
    if (device_.isHost()) byFormat.clear();
    const auto bytes = storageBytes(desc.dtype, desc.dims, format);
    auto buffer = std::make_unique<GuardedBuffer>(device_, bytes);
    const auto random = [&] {
      if (bytes == 0) return;
      const auto below = integersBelow(problem, index);
      if (bytes < kPattern) return buffer->fill(testData(desc.dtype, bytes, index, below));
      auto& pattern = patterns_[{desc.dtype, index, below}];
      if (pattern.empty()) pattern = testData(desc.dtype, bytes, index, below);
      buffer->fill(pattern);
    };
    if (desc.constant != nullptr && (device_.isHost() || format == Layout::kLinear)) {
      buffer->write(desc.constant->view().data);
    } else if (device_.isHost() || format == Layout::kLinear || bytes == 0) {
      random();
    } else {
      const auto* linear = input(problem, index, Layout::kLinear, comparable);
      if (!check_.convert(desc, Layout::kLinear, format, linear, buffer->data())) {
        comparable = false;
        random();
      }
    }
    return (byFormat[format] = std::move(buffer))->data();
  }

  // The inputs of successive launches, with weights in the place of which copies stand in turn. `bytes`: by input, of
  // weights; 0 for whatever else.
  std::vector<std::vector<void*>> turns(const Problem& problem, const std::vector<void*>& inputs,
                                        const std::vector<uint64_t>& bytes) {
    size_t most = 1;
    std::vector<const Rotation*> rotated(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto copies = bytes[i] == 0 ? 1 : rotatedCopies(problem, i, cacheBytes_);
      if (copies == 1) continue;
      auto& rotation = rotations_[inputs[i]];
      if (rotation == nullptr) rotation = std::make_unique<Rotation>(device_, inputs[i], bytes[i], copies);
      rotated[i] = rotation.get();
      most = std::max(most, copies);
    }
    std::vector<std::vector<void*>> result;
    for (size_t turn = 0; most > 1 && turn < most; ++turn) {
      result.push_back(inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (rotated[i] != nullptr) result.back()[i] = rotated[i]->copy(turn);
      }
    }
    return result;
  }

  using Activations = std::vector<std::span<const std::byte>>;
  static Activations activationsOf(const Problem& problem, const Candidate& candidate, const Trial& trial) {
    Activations found;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const auto& input = problem.inputs[i];
      if (input.constant == nullptr && trial.inputs[i] != nullptr)
        found.emplace_back(static_cast<const std::byte*>(trial.inputs[i]),
                           storageBytes(input.dtype, input.dims, candidate.inputs[i]));
    }
    return found;
  }

  // No number stands where a kernel leaves its output as it was.
  void poison() {
    for (const auto& output : outputs_) {
      const auto bytes = output->bytes();
      if (bytes > 0) output->fill(std::vector<char>(std::min<size_t>(bytes, size_t{1} << 20), static_cast<char>(0xff)));
    }
  }

  Measurement run(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                  std::span<const std::byte> nativeCode, double best, bool once) {
    auto trial = [&] {
      const auto running = stages_.run("tuning: loading kernels");
      return prepare(problem, candidate, record, nativeCode);
    }();
    const auto workspaceBytes = trial.workspace->bytes();
    {
      const auto running = stages_.run("tuning: checking results");
      const bool compared = trial.comparable && check_.expects();
      if (compared) poison();
      runOnce(trial);  // first touch, lazy set-up
      for (const auto& output : outputs_) {
        if (output->intact()) continue;
        for (auto& buffer : outputs_) buffer.reset();
        return refuse(candidate, "the kernel writes outside its output");
      }
      if (!trial.workspace->intact()) return refuse(candidate, "the kernel writes outside its workspace");
      if (compared) {
        if (const auto difference = check_.compare(problem, candidate, trial.outputs); !difference.empty()) {
          auto refusal =
              refuse(candidate, fmt::format("its result for {} differs from that of the reference candidate: {}",
                                            problem.text(), difference));
          refusal.refused = true;  // what the tolerance is for: libraries have engines that round less well
          return refusal;
        }
      }
    }
    const auto running = stages_.run("tuning: measuring");
    // Launches overlap where they do in an engine: a kernel that asks for its weights ahead of the one in front gains
    // from it behind most others, too. Where not, the search over the whole engine finds out.
    auto call = callOf(trial);
    double single = device_.measure(&launch, &call);
    // Whatever else the machine does only adds time, so the fastest of several is what the kernel takes.
    for (int i = 0; i < kTries && (once || single > kHopeless * best) && (device_.isHost() || single < kLongRun); ++i)
      single = std::min(single, device_.measure(&launch, &call));
    if (once || single > kHopeless * best) return {single, workspaceBytes, {}, false};

    const bool isCold = problem.coldWeights && device_.isHost();
    const auto activations = isCold ? activationsOf(problem, candidate, trial) : Activations();
    if (!isCold) call.repeats = static_cast<int>(std::clamp(kSampleSeconds / std::max(single, 1e-8), 1.0, 2000.0));
    Samples samples(iterations_, best, single, call.repeats == 1 && !isCold);
    while (!samples.areEnough()) {
      if (isCold) cold_.prepare(activations);
      const double seconds = device_.measure(&launch, &call);
      samples.add(seconds, call.repeats, disturbance_ != nullptr && disturbance_->wasDisturbed());
    }
    return {samples.fastest(), workspaceBytes, {}, false};
  }

  static Measurement refuse(const Candidate& candidate, std::string_view why) {
    return {std::numeric_limits<double>::infinity(), 0, fmt::format("{} is excluded: {}", candidate.text(), why), true};
  }

  runtime::Device& device_;
  ResultCheck check_;
  int iterations_;
  Stages& stages_;
  Log& log_;
  std::string selected_;
  std::vector<std::map<Layout, std::unique_ptr<GuardedBuffer>>> inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>> outputs_;
  PackedOperands packed_;
  std::map<std::tuple<DataType, size_t, int64_t>, std::vector<char>> patterns_;  // of large inputs
  std::map<const void*, std::unique_ptr<Rotation>> rotations_;                   // by what they are copies of
  ColdCaches cold_;
  const runtime::Disturbance* disturbance_ = nullptr;  // where the device notices it
  size_t cacheBytes_ = 0;                              // 0: nobody says, and nothing is rotated
};

}  // namespace

std::unique_ptr<Profiler> makeDeviceProfiler(runtime::Device& device, int iterations, Stages& stages, Log& log) {
  return std::make_unique<DeviceProfiler>(device, iterations, stages, log);
}

}  // namespace tenon::compile

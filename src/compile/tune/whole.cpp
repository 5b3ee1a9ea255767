// Two versions of one program over the same memory, recorded where the device records.
#include "compile/tune/whole.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compile/proposals.h"
#include "compile/tune/packed_operands.h"
#include "compile/tune/test_data.h"
#include "core/error.h"
#include "core/storage.h"
#include "runtime/binding.h"
#include "runtime/device_memory.h"
#include "runtime/engine_parts.h"
#include "runtime/recording.h"

namespace tenon::compile {
namespace {

constexpr double kTurnSeconds = 4e-3;  // of the executions between two changes of the version
constexpr int kTurns = 4;              // of each version in a race
constexpr int kFewest = 4;             // executions of a turn
constexpr int kMost = 40;
constexpr double kBehind = 1.004;  // of the present version: what is offered loses, and no more turns are needed

}  // namespace

struct Whole::State {
  // The steps' kernels in one of the versions.
  struct Version {
    std::vector<runtime::KernelInstance*> instances;
    std::vector<void*> operands;  // inputs, then outputs of each step
    std::vector<void*> workspaces;
    std::unique_ptr<runtime::Recording> recording;
  };

  State(plan::Plan plan, const SymbolValues& itsSymbols, Log& itsLog)
      : symbols(itsSymbols),
        log(itsLog),
        engine(runtime::Engine::make(std::move(plan), {}, log)),
        device(engine->device()),
        recorder(dynamic_cast<runtime::Recorder*>(&device)),
        binding(engine, 0),
        packed(device),
        timer(device.makeTimer(kMost + 2)) {
    binding.configure(symbols);
    if (binding.isDecidedByDevice())
      throw Unsupported("what a step runs is decided while it runs, by values that measurements do not have");
    arena = own(std::max(engine->arenaBytes(0), uint64_t{1}));
    const auto& program = binding.program();
    for (size_t i = 0; i < program.tensors.size(); ++i) addresses.push_back(place(static_cast<int32_t>(i)));
    for (size_t i = 0; i < program.steps.size(); ++i) {
      const auto& step = program.steps[i];
      auto& operands = present.operands;
      first.push_back(operands.size());
      for (const int32_t input : step.inputs)
        operands.push_back(input < 0 ? nullptr : addresses[static_cast<size_t>(input)]);
      engine->parts().programs[0].placePacked(i, binding.kernelOf(i), operands.data() + first.back());
      for (const int32_t output : step.outputs) operands.push_back(addresses[static_cast<size_t>(output)]);
      present.instances.push_back(binding.instance(i));
      void* const extra = binding.extraWorkspace(i);
      present.workspaces.push_back(extra != nullptr ? extra : static_cast<std::byte*>(arena) + step.workspaceOffset);
    }
    prepare(present);
  }

  void* own(uint64_t bytes) {
    memory.emplace_back(device, nullptr, bytes, "memory for measuring the whole engine");
    return memory.back().data();
  }

  void* place(int32_t tensor) {
    const int32_t base = binding.base(tensor);
    const auto& record = binding.program().tensors[static_cast<size_t>(base)];
    void* address = engine->parts().programs[0].constants[static_cast<size_t>(tensor)];
    if (record.storage == plan::Storage::kArena) address = static_cast<std::byte*>(arena) + record.offset;
    if (record.storage == plan::Storage::kInput || record.storage == plan::Storage::kOutput) {
      if (base != tensor) return static_cast<std::byte*>(ioAddress(base)) + binding.viewOffset(tensor);
      return ioAddress(tensor);
    }
    return address == nullptr ? nullptr : static_cast<std::byte*>(address) + binding.viewOffset(tensor);
  }

  // What a kernel finds that does not pack this operand. The engine has a constant row-major only where one of its own
  // kernels reads it so.
  void* rowMajor(int32_t tensor) {
    if (tensor < 0) return nullptr;
    auto& address = addresses[static_cast<size_t>(tensor)];
    const auto& record = binding.program().tensors[static_cast<size_t>(binding.base(tensor))];
    if (address != nullptr || record.storage != plan::Storage::kConstant) return address;
    const auto& constant = engine->plan().constants[static_cast<size_t>(record.index)];
    if (constant.bytes == 0) return nullptr;
    address = own(constant.bytes);
    device.copy(address, constant.data.get(), constant.bytes, runtime::CopyKind::kHostToDevice, nullptr);
    device.synchronize(nullptr);
    return address;
  }

  // Memory of a network input or output, whichever of its views is asked for first.
  void* ioAddress(int32_t tensor) {
    const auto& record = binding.program().tensors[static_cast<size_t>(tensor)];
    ios.resize(engine->io().size());
    auto& address = ios[static_cast<size_t>(record.index)];
    if (address != nullptr) return address;
    const uint64_t bytes = std::max(binding.bytes(tensor), uint64_t{1});
    address = own(bytes);
    if (record.storage != plan::Storage::kInput) return address;
    constexpr int64_t kBelow = 2;  // of integers
    std::vector<std::byte> data(std::min<uint64_t>(bytes, uint64_t{1} << 20));
    fillWithTestData(record.dtype, data.data(), static_cast<int64_t>(data.size()) * 8 / bits(record.dtype),
                     static_cast<uint64_t>(record.index) + 1, kBelow);
    for (uint64_t done = 0; done < bytes; done += data.size()) {
      device.copy(static_cast<std::byte*>(address) + done, data.data(), std::min<uint64_t>(data.size(), bytes - done),
                  runtime::CopyKind::kHostToDevice, nullptr);
    }
    device.synchronize(nullptr);
    return address;
  }

  void run(const Version& version, runtime::StreamHandle stream) {
    const auto& steps = binding.program().steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (binding.skipped(i)) continue;
      void* const* const inputs = version.operands.data() + first[i];
      void* const* const outputs = inputs + steps[i].inputs.size();
      if (steps[i].kind == plan::StepKind::kCopy) {
        device.copy(outputs[0], inputs[0], binding.bytes(steps[i].outputs[0]), runtime::CopyKind::kDeviceToDevice,
                    stream);
      } else {
        version.instances[i]->launch({inputs, outputs, version.workspaces[i], stream});
      }
    }
  }

  void execute(const Version& version) {
    version.recording != nullptr ? version.recording->replay(nullptr) : run(version, nullptr);
  }

  // Runs it once, so that nothing is loaded later, and records it.
  void prepare(Version& version) {
    run(version, nullptr);
    device.synchronize(nullptr);
    if (recorder == nullptr) return;
    struct Call {
      State* state;
      Version* version;
    } call{this, &version};
    const auto record = [](void* argument, runtime::StreamHandle stream) {
      const auto* c = static_cast<Call*>(argument);
      c->state->run(*c->version, stream);
    };
    // A new one: a graph of CUDA whose executable is updated with other kernels ran a tenth slower, or quicker, than
    // one made for them.
    version.recording.reset();
    version.recording = recorder->record(record, &call, nullptr);
    execute(version);
    device.synchronize(nullptr);
  }

  // Seconds of each of so many executions; the first of the queue, which waits for the host, is left out.
  void sample(const Version& version, int runs, std::vector<double>& seconds) {
    timer->mark(0, nullptr);
    for (int i = 0; i <= runs; ++i) {
      execute(version);
      timer->mark(static_cast<size_t>(i) + 1, nullptr);
    }
    device.synchronize(nullptr);
    for (int i = 1; i <= runs; ++i)
      seconds.push_back(1e-3 * timer->milliseconds(static_cast<size_t>(i), static_cast<size_t>(i) + 1));
  }

  const SymbolValues& symbols;
  Log& log;
  std::shared_ptr<const runtime::Engine> engine;
  runtime::Device& device;
  runtime::Recorder* recorder;
  runtime::Binding binding;
  PackedOperands packed;  // of what is offered: rivals must not read what the winner has packed
  std::unique_ptr<runtime::StepTimer> timer;
  std::vector<runtime::DeviceMemory> memory;
  void* arena = nullptr;
  std::vector<void*> ios;        // by io
  std::vector<void*> addresses;  // by tensor; null where a constant is there only as kernels have packed it
  std::vector<size_t> first;     // where a step's operands begin
  std::vector<std::unique_ptr<runtime::Kernel>> kernels;
  std::vector<std::unique_ptr<runtime::KernelInstance>> instances;
  uint64_t workspaceBytes = 0;  // of what is offered, one after the other
  void* workspace = nullptr;
  Version present, offered;
};

Whole::Whole(plan::Plan plan, const SymbolValues& symbols, Log& log)
    : state_(std::make_unique<State>(std::move(plan), symbols, log)) {}
Whole::~Whole() = default;

void Whole::offer(std::span<const int32_t> steps, const plan::KernelRecord& record,
                  std::span<const std::byte> nativeCode) {
  auto& s = *state_;
  const auto& program = s.binding.program();
  s.offered.instances = s.present.instances;
  s.offered.operands = s.present.operands;
  s.offered.workspaces = s.present.workspaces;
  struct Offered {
    const plan::Step* step;
    void** operands;
    runtime::Kernel* kernel;
    std::vector<TensorView> constants;
    Layout output;
    std::vector<PackedOperands::Operand> packed;
  };
  std::vector<Offered> offered;
  uint64_t most = 0;
  for (const int32_t index : steps) {
    const auto& step = program.steps[static_cast<size_t>(index)];
    std::vector<TensorView> constants;
    for (const int32_t input : step.inputs) {
      if (input < 0) {
        constants.emplace_back();
        continue;
      }
      const auto& tensor = program.tensors[static_cast<size_t>(s.binding.base(input))];
      const bool isConstant = tensor.storage == plan::Storage::kConstant;
      void* const data =
          isConstant ? const_cast<void*>(s.engine->plan().constants[static_cast<size_t>(tensor.index)].data.get())
                     : nullptr;
      constants.push_back({data, tensor.dtype, isConstant ? s.binding.dims(input) : Dims{}});
    }
    s.kernels.push_back(runtime::backend(record.backend).load({record, constants, nativeCode, s.log, false, true}));
    s.instances.push_back(s.kernels.back()->instantiate());
    s.offered.instances[static_cast<size_t>(index)] = s.instances.back().get();
    const auto shapes = s.binding.shapesOf(step);
    most = std::max<uint64_t>(most, s.instances.back()->configure({shapes.inputs, shapes.outputs, &s.symbols}));
    offered.push_back({&step,
                       s.offered.operands.data() + s.first[static_cast<size_t>(index)],
                       s.kernels.back().get(),
                       std::move(constants),
                       shapes.outputs.at(0).layout,
                       {}});
  }
  // As many at once as a host has memory for.
  constexpr uint64_t kMostTogether = uint64_t{256} << 20;
  for (size_t begin = 0, end = 0; begin < offered.size(); begin = end) {
    uint64_t bytes = 0;
    for (; end < offered.size() && (end == begin || bytes < kMostTogether); ++end) {
      for (const auto& constant : offered[end].constants) bytes += constant.data != nullptr ? constant.bytes() : 0;
    }
    inParallel(end - begin, [&](size_t i) {
      auto& one = offered[begin + i];
      one.packed = s.packed.of(*one.kernel, one.constants, one.output);
    });
  }
  for (const auto& one : offered) {
    for (size_t i = 0; i < one.step->inputs.size(); ++i) {
      const auto own =
          std::find_if(one.packed.begin(), one.packed.end(), [&](const auto& packed) { return packed.input == i; });
      one.operands[i] = own != one.packed.end() ? own->data : s.rowMajor(one.step->inputs[i]);
    }
  }
  if (most > s.workspaceBytes) {
    s.workspace = s.own(most);  // what stands elsewhere keeps the earlier one
    s.workspaceBytes = most;
  }
  for (const int32_t step : steps) s.offered.workspaces[static_cast<size_t>(step)] = s.workspace;
  s.prepare(s.offered);
}

Whole::Race Whole::race() {
  auto& s = *state_;
  const auto median = [](std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  std::vector<double> once;
  s.sample(s.present, 1, once);
  const int runs = static_cast<int>(std::clamp(kTurnSeconds / std::max(once[0], 1e-9), double{kFewest}, double{kMost}));
  std::array<std::vector<double>, 2> seconds;
  Race result;
  for (int turn = 0; turn < kTurns; ++turn) {
    s.sample(s.present, runs, seconds[0]);
    s.sample(s.offered, runs, seconds[1]);
    result = {median(seconds[0]), median(seconds[1])};
    if (result.offered > kBehind * result.present) break;
  }
  return result;
}

void Whole::accept() {
  auto& s = *state_;
  std::swap(s.present, s.offered);
}

}  // namespace tenon::compile

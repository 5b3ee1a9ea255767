// From a verified plan to loaded kernels on a device.
#include "runtime/engine_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/storage.h"
#include "ops/check.h"
#include "plan/requirement.h"
#include "plan/verify.h"
#include "runtime/ahead.h"
#include "runtime/keeper.h"
#include "runtime/plugin_host.h"
#include "runtime/preparation.h"

namespace tenon::runtime {
namespace {

Device& findDevice(const std::string& kind) {
  std::string reasons;
  for (Backend* backend : backends()) {
    if (backend->device().kind() != kind) continue;
    const auto reason = backend->unavailable();
    if (reason.empty()) return backend->device();
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", backend->name(), reason);
  }
  throw Unsupported("device '{}' is not available here: {}", kind,
                    reasons.empty() ? "no backend for it is built in" : reasons);
}

plan::Machine machineOf(Device& device) {
  return {device.kind(), device.name(), device.properties(),
          [&device](const std::string& requirement) { return device.meets(requirement); }};
}

std::vector<TensorShape> shapesOf(const plan::Program& program, std::span<const int32_t> indices,
                                  const SymbolValues& symbols) {
  std::vector<TensorShape> shapes;
  for (const int32_t index : indices) {
    const auto& tensor = program.tensors[static_cast<size_t>(index)];
    shapes.push_back({tensor.dtype, evaluate(tensor.shape, symbols), tensor.layout, tensor.pitch.evaluate(symbols)});
  }
  return shapes;
}

// Kernels of one engine. Steps of several profiles with the same record, constants and formats share one kernel, and so
// what it packs.
class KernelLoader {
 public:
  KernelLoader(const plan::Plan& plan, Constants& constants, DeviceConstants& onDevice, const Device& device,
               bool hostCodeAllowed, Log& log)
      : plan_(plan), constants_(constants), onDevice_(onDevice), hostCodeAllowed_(hostCodeAllowed), log_(log) {
    for (const auto& requirement : plan.target.requirements) {
      if (!requirement.starts_with(plan::kCodeRequirement)) continue;
      const auto needed = requirement.substr(plan::kCodeRequirement.size());
      if (device.meets(needed)) continue;
      otherCode_ = needed;
      const auto offered = device.properties();
      log.warning(
          "The native code of engine '{}', built on '{}', is for {}; this device ({}) has {}: kernels are compiled again. "
          "Using an engine plan file across different models of devices is not recommended and is likely to affect "
          "performance or even cause errors.",
          plan.name, plan.target.deviceName, needed, device.name(),
          offered.empty() ? "none" : fmt::format("{}", fmt::join(offered, ", ")));
    }
    here_ = device.properties().empty() ? "" : device.properties().front();
  }

  LoadedProgram load(const plan::Program& program, const SymbolValues& measured) {
    LoadedProgram loaded;
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      const auto& tensor = program.tensors[i];
      const bool view = tensor.storage == plan::Storage::kView;
      loaded.base.push_back(view ? tensor.index : static_cast<int32_t>(i));
    }
    for (const auto& step : program.steps) {
      loaded.checked.push_back(checkedOperator(program, step));
      loaded.kernels.emplace_back();
      loaded.others.emplace_back();
      if (step.kind == plan::StepKind::kLaunch) {
        loaded.kernels.back() = loadSettled(program, loaded, step, step.kernel, measured);
        for (const auto& other : step.others)
          loaded.others.back().push_back(loadSettled(program, loaded, step, other.kernel, measured));
      }
      if (step.kind == plan::StepKind::kCopy) {
        for (const int32_t input : step.inputs) onDevice_.readRowMajor(program, loaded.base, input);
      }
      constants_.done(program, step);
    }
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      if (program.tensors[i].debug) onDevice_.readRowMajor(program, loaded.base, static_cast<int32_t>(i));
    }
    return loaded;
  }

  // After all programs, when constants lie where they stay.
  void findConstants(const plan::Program& program, LoadedProgram& loaded) const {
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      const auto& owner = program.tensors[static_cast<size_t>(loaded.base[i])];
      const bool constant = owner.storage == plan::Storage::kConstant;
      const auto index = static_cast<size_t>(owner.index);
      loaded.constants.push_back(!constant                   ? nullptr
                                 : program.tensors[i].onHost ? const_cast<void*>(plan_.constants[index].data.get())
                                                             : onDevice_.address(index));
    }
  }

 private:
  // Kernels of the host trust their tensors, as a wrong plan must not make them: each set of shapes is held against the
  // operator first. References do so themselves.
  static std::optional<ops::Operator> checkedOperator(const plan::Program& program, const plan::Step& step) {
    if (step.kind != plan::StepKind::kLaunch || !backend(step.kernel.backend).trustsItsOperands()) return std::nullopt;
    const bool isWhole = std::all_of(step.inputs.begin(), step.inputs.end(), [](int32_t input) { return input >= 0; });
    checkUser(isWhole, "plan, step '{}': an input of its kernel is absent", step.name);
    auto op = ops::Operator::parse(step.kernel.op);
    std::vector<ops::TensorType> types;
    for (const int32_t input : step.inputs) {
      const auto& tensor = program.tensors[static_cast<size_t>(input)];
      types.push_back({tensor.dtype, tensor.shape, std::nullopt});
    }
    (void)op.infer(step.name, types);  // before weights are packed
    return op;
  }

  LoadedKernel loadSettled(const plan::Program& program, const LoadedProgram& loaded, const plan::Step& step,
                           const plan::KernelRecord& record, const SymbolValues& measured) {
    for (;;) {
      std::vector<TensorView> constants;
      for (const int32_t input : step.inputs)
        constants.push_back(input < 0 ? TensorView{} : constantOperand(program, loaded, input));
      auto kernel = loadStep(step, record, constants);
      if (constants_.mayRelease(program, step) && dynamic_cast<const Keeper*>(kernel.get()) != nullptr)
        packNow(program, step, *kernel, measured);
      auto packed = onDevice_.read(program, loaded.base, step, kernel, constants);
      if (constants_.settle(program, step, kernel, packed)) return {std::move(kernel), std::move(packed)};
    }
  }

  // Some kernels pack when they know their shapes.
  static void packNow(const plan::Program& program, const plan::Step& step, const Kernel& kernel,
                      const SymbolValues& symbols) {
    try {
      const auto inputs = shapesOf(program, step.inputs, symbols);
      const auto outputs = shapesOf(program, step.outputs, symbols);
      checkOperator(ops::Operator::parse(step.kernel.op), symbols, inputs, outputs);
      (void)kernel.instantiate()->configure({inputs, outputs, &symbols});
    } catch (const Error&) {
      // The context that asks for these shapes will be told.
    }
  }

  std::shared_ptr<const Kernel> loadStep(const plan::Step& step, const plan::KernelRecord& record,
                                         std::span<const TensorView> constants) {
    std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", record.backend, record.name, record.version, record.op,
                                  record.params, record.nativeCode);
    for (const auto& constant : constants)
      key += fmt::format("{}:{}:{},", fmt::ptr(constant.data), name(constant.dtype), constant.dims.text());
    auto& kernel = known_[key];
    if (kernel != nullptr) return kernel;
    std::span<const std::byte> code;
    if (record.nativeCode >= 0 && otherCode_.empty() && (hostCodeAllowed_ || plan_.target.device != "cpu"))
      code = plan_.nativeCode[static_cast<size_t>(record.nativeCode)];
    Backend& owner = backend(record.backend);
    const auto reason = owner.unavailable();
    if (!reason.empty()) throw Unsupported("step '{}' needs the backend '{}': {}", step.name, record.backend, reason);
    try {
      kernel = owner.load({record, constants, code, log_});
    } catch (const Unsupported& error) {
      if (otherCode_.empty()) throw;
      throw Unsupported("{} (step '{}': {})", plan::incompatibleChip(otherCode_, here_), step.name, error.what());
    }
    checkInternal(kernel != nullptr, "backend '{}' gave no kernel for step '{}'", record.backend, step.name);
    return kernel;
  }

  TensorView constantOperand(const plan::Program& program, const LoadedProgram& loaded, int32_t input) const {
    const auto& tensor = program.tensors[static_cast<size_t>(input)];
    const auto& owner = program.tensors[static_cast<size_t>(loaded.base[static_cast<size_t>(input)])];
    TensorView view{nullptr, tensor.dtype, {}};
    if (owner.storage != plan::Storage::kConstant || !isConstant(tensor.shape)) return view;
    const auto& constant = plan_.constants[static_cast<size_t>(owner.index)];
    view.dims = evaluate(tensor.shape, {});
    checkUser(storageBytes(tensor.dtype, view.dims, tensor.layout) <= constant.bytes,
              "plan: tensor '{}' needs more bytes than constant {} has", tensor.name, owner.index);
    view.data = const_cast<void*>(constant.data.get());
    return view;
  }

  const plan::Plan& plan_;
  Constants& constants_;
  DeviceConstants& onDevice_;
  bool hostCodeAllowed_;
  Log& log_;
  std::string otherCode_;  // what the native code is for, where that is not this device; else empty
  std::string here_;       // what the device is in its place
  std::map<std::string, std::shared_ptr<const Kernel>> known_;
};

// What the backends of the plan's kernels may begin with at once.
std::vector<std::function<void()>> aheadOf(const plan::Plan& plan) {
  std::map<std::string, std::vector<const plan::KernelRecord*>> records;
  for (const auto& program : plan.programs) {
    for (const auto& step : program.steps) {
      if (step.kind != plan::StepKind::kLaunch) continue;
      records[step.kernel.backend].push_back(&step.kernel);
      for (const auto& other : step.others) records[other.kernel.backend].push_back(&other.kernel);
    }
  }
  std::vector<std::function<void()>> pieces;
  for (Backend* backend : backends()) {
    auto* const face = dynamic_cast<Ahead*>(backend);
    const auto found = records.find(std::string(backend->name()));
    if (face == nullptr || found == records.end() || !backend->unavailable().empty()) continue;
    for (auto& piece : face->ahead(found->second)) pieces.push_back(std::move(piece));
  }
  return pieces;
}

// Of what kernels keep themselves, in a layout of their library; as many as the constants have.
uint64_t bytesWithinKernels(const EngineParts& parts) {
  uint64_t bytes = 0;
  std::set<std::pair<const Kernel*, size_t>> counted;
  for (const auto& held : parts.held) {
    if (held.packed == nullptr && counted.emplace(held.kernel.get(), held.input).second)
      bytes = addBytes(bytes, parts.plan.constants[held.record].bytes);
  }
  return bytes;
}

}  // namespace

void checkOperator(const ops::Operator& op, const SymbolValues& symbols, std::span<const TensorShape> inputs,
                   std::span<const TensorShape> outputs) {
  const auto views = [](std::span<const TensorShape> shapes) {
    std::vector<TensorView> result;
    for (const auto& shape : shapes) result.push_back({nullptr, shape.dtype, shape.dims});
    return result;
  };
  const auto in = views(inputs);
  const auto out = views(outputs);
  try {
    ops::checkShapes(op.bind(symbols), op.name(), {in, out, nullptr});
  } catch (const InternalError& error) {  // a symbol that the program does not have
    throw UserError("its operator {} does not match the program: {}", op.text(), error.what());
  }
}

std::vector<std::function<void()>> preparationsOf(const EngineParts& parts) {
  const auto& plan = parts.plan;
  std::vector<std::function<void()>> pieces;
  if (!plan.symbols.empty() || !plan.sizes.empty() || plan.programs.size() != 1) return pieces;
  const auto& program = plan.programs[0];
  std::set<std::string> known;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& step = program.steps[i];
    const auto* const kernel = dynamic_cast<const PreparedOnce*>(parts.programs[0].kernels[i].kernel.get());
    const auto isAbsent = [](int32_t index) { return index < 0; };
    if (kernel == nullptr || std::any_of(step.inputs.begin(), step.inputs.end(), isAbsent)) continue;
    auto inputs = shapesOf(program, step.inputs, {});
    auto outputs = shapesOf(program, step.outputs, {});
    auto key = step.kernel.op + step.kernel.params;
    for (const auto& list : {inputs, outputs}) {
      for (const auto& shape : list)
        key += fmt::format(" {} {} {}", name(shape.dtype), shape.dims.text(), name(shape.layout));
    }
    if (!known.insert(std::move(key)).second) continue;
    pieces.emplace_back([kernel, inputs = std::move(inputs), outputs = std::move(outputs)] {
      static const SymbolValues kNone;
      kernel->prepare({inputs, outputs, &kNone});
    });
  }
  return pieces;
}

std::unique_ptr<const EngineParts> loadParts(plan::Plan plan, const PlanSource* source, const std::string& device,
                                             bool hostCodeAllowed, AllocatorHook* allocator, Log& log) {
  auto parts = std::make_unique<EngineParts>();
  parts->plan = std::move(plan);
  parts->shapes = ops::ShapeBinder(parts->plan.shapes);
  parts->device = &findDevice(device.empty() ? parts->plan.target.device : device);
  parts->allocator = allocator;
  plan::checkCompatible(parts->plan, machineOf(*parts->device));
  preparePlugins(parts->plan, hostCodeAllowed);
  const Beside ahead(aheadOf(parts->plan));  // a plan that is refused opens no library of a vendor
  parts->constants = std::make_unique<DeviceConstants>(parts->plan, *parts->device, allocator);
  Constants constants(parts->plan, source, parts->device->isHost());
  KernelLoader loader(parts->plan, constants, *parts->constants, *parts->device, hostCodeAllowed, log);
  const auto& programs = parts->plan.programs;
  for (size_t i = 0; i < programs.size(); ++i)
    parts->programs.push_back(loader.load(programs[i], measuredSymbols(parts->plan, parts->shapes, i)));
  std::vector<std::function<void()>> waiting;
  if (auto pieces = preparationsOf(*parts); !pieces.empty())
    waiting.emplace_back([pieces = std::move(pieces)] { runTogether(pieces); });
  const Beside prepared(std::move(waiting));  // ends while constants are uploaded, or a little later
  parts->constants->place();
  for (size_t i = 0; i < programs.size(); ++i) {
    loader.findConstants(programs[i], parts->programs[i]);
    parts->programs[i].phases = plan::phasesOf(parts->plan, programs[i], parts->shapes);
  }
  parts->held = constants.takeHeld();
  parts->constantBytes = addBytes(parts->constants->bytes(), bytesWithinKernels(*parts));
  log.verbose("weights: {} bytes on the device; {} constants are row-major, {} are packed for kernels",
              parts->constantBytes, parts->constants->rowMajorCount(), parts->constants->packedCount());
  return parts;
}

}  // namespace tenon::runtime

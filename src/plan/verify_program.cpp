// Soundness of one program: storage of tensors, steps, lifetimes, operator texts.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/storage.h"
#include "ops/operator.h"
#include "plan/verify.h"
#include "plan/verify_shape.h"

namespace tenon::plan {
namespace {

class ProgramVerifier {
 public:
  ProgramVerifier(const Plan& plan, size_t index) : plan_(plan), program_(plan.programs[index]), index_(index) {}

  void run() {
    checkUser(program_.auxStreams >= 0 && program_.auxStreams <= kMaxAuxStreams,
              "plan, program {}: {} streams besides the caller's, expected at most {}", index_, program_.auxStreams,
              kMaxAuxStreams);
    verifyIoTensors();
    for (const auto& tensor : program_.tensors) verifyTensor(tensor);
    written_.assign(program_.tensors.size(), false);
    for (size_t i = 0; i < program_.steps.size(); ++i) verifyStep(static_cast<int32_t>(i));
    for (size_t i = 0; i < plan_.io.size(); ++i) {
      checkUser(plan_.io[i].isInput || written_[static_cast<size_t>(program_.ioTensors[i])],
                "plan, program {}: no step writes the output '{}'", index_, plan_.io[i].name);
    }
  }

 private:
  template <typename T>
  static bool inRange(int32_t index, const std::vector<T>& of) {
    return index >= 0 && static_cast<size_t>(index) < of.size();
  }

  const TensorRecord& tensor(int32_t index) const { return program_.tensors[static_cast<size_t>(index)]; }
  // The tensor whose storage this one uses.
  int32_t base(int32_t index) const { return tensor(index).storage == Storage::kView ? tensor(index).index : index; }

  void verifyIoTensors() const {
    checkUser(program_.ioTensors.size() == plan_.io.size(), "plan, program {}: {} tensors for {} inputs and outputs",
              index_, program_.ioTensors.size(), plan_.io.size());
    for (size_t i = 0; i < plan_.io.size(); ++i) {
      const int32_t at = program_.ioTensors[i];
      const auto& io = plan_.io[i];
      checkUser(inRange(at, program_.tensors), "plan, program {}: '{}' is tensor {} of {}", index_, io.name, at,
                program_.tensors.size());
      const auto& record = tensor(at);
      const Storage expected = io.isInput ? Storage::kInput : Storage::kOutput;
      checkUser(record.storage == expected && record.index == static_cast<int32_t>(i) && record.dtype == io.dtype &&
                    record.layout == io.layout && record.shape == io.shape,
                "plan, program {}: '{}' and its tensor {} do not agree in storage, type, shape or format", index_,
                io.name, at);
    }
  }

  void verifyTensor(const TensorRecord& t) const {
    verifyShape(plan_, t.shape, t.name);
    const auto steps = static_cast<int32_t>(program_.steps.size());
    checkUser(t.firstStep >= -1 && t.firstStep <= t.lastStep && t.lastStep < steps,
              "plan, program {}: tensor '{}' lives from step {} to {} of {}", index_, t.name, t.firstStep, t.lastStep,
              steps);
    checkUser(t.layout.fits(static_cast<int>(t.shape.size())),
              "plan, program {}: tensor '{}' of shape {} has the layout {}", index_, t.name, text(t.shape),
              name(t.layout));
    verifyView(t);
    switch (t.storage) {
      case Storage::kInput:
      case Storage::kOutput:
        checkUser(inRange(t.index, plan_.io) &&
                      inRange(program_.ioTensors[static_cast<size_t>(t.index)], program_.tensors) &&
                      &tensor(program_.ioTensors[static_cast<size_t>(t.index)]) == &t,
                  "plan, program {}: tensor '{}' is not the tensor of input or output {}", index_, t.name, t.index);
        break;
      case Storage::kArena: verifyPlace(t.name, t.offset, t.bytes); break;
      case Storage::kConstant: verifyConstant(t); break;
      case Storage::kView:
        checkUser(inRange(t.index, program_.tensors) && tensor(t.index).storage != Storage::kView,
                  "plan, program {}: tensor '{}' is a view of tensor {}, which does not exist or is itself a view",
                  index_, t.name, t.index);
        break;
    }
  }

  // Where the places are within the memory that they view is known with the extents only, and held against it then.
  void verifyView(const TensorRecord& t) const {
    if (t.viewOffset.isConstant(0) && t.pitch.isConstant(0)) return;
    verifyShape(plan_, {t.viewOffset, t.pitch}, t.name);
    checkUser(t.storage == Storage::kView && inRange(t.index, program_.tensors) &&
                  tensor(t.index).storage != Storage::kConstant,
              "plan, program {}: tensor '{}' lies within the memory of another tensor, but is not a view of a computed "
              "tensor",
              index_, t.name);
    checkUser(t.pitch.isConstant(0) || (t.layout == Layout::kChannelsLast && t.shape.size() >= 3),
              "plan, program {}: tensor '{}' of shape {} in the format {} cannot have a row pitch", index_, t.name,
              text(t.shape), name(t.layout));
  }

  void verifyPlace(const std::string& what, uint64_t offset, uint64_t bytes) const {
    checkUser(offset <= program_.arenaBytes && bytes <= program_.arenaBytes - offset && offset % 64 == 0,
              "plan, program {}: '{}' takes {} bytes at {} of an arena of {} bytes", index_, what, bytes, offset,
              program_.arenaBytes);
  }

  void verifyConstant(const TensorRecord& t) const {
    checkUser(inRange(t.index, plan_.constants), "plan, program {}: tensor '{}' is constant {} of {}", index_, t.name,
              t.index, plan_.constants.size());
    const auto& constant = plan_.constants[static_cast<size_t>(t.index)];
    checkUser(isConstant(t.shape) && t.dtype == constant.dtype &&
                  storageBytes(t.dtype, evaluate(t.shape, {}), t.layout) <= constant.bytes,
              "plan, program {}: tensor '{}' ({} {}) does not fit constant {} ({} {})", index_, t.name, name(t.dtype),
              text(t.shape), t.index, name(constant.dtype), constant.dims.text());
  }

  // A base tensor in use at a step must be alive there.
  void verifyUse(const Step& step, int32_t stepIndex, int32_t index, bool writes) {
    const auto& owner = tensor(base(index));
    if (owner.storage == Storage::kArena) {
      checkUser(owner.firstStep <= stepIndex && stepIndex <= owner.lastStep,
                "plan, program {}, step '{}': tensor '{}' lives from step {} to {}, used at {}", index_, step.name,
                owner.name, owner.firstStep, owner.lastStep, stepIndex);
    }
    if (writes) {
      checkUser(owner.storage == Storage::kArena || owner.storage == Storage::kOutput,
                "plan, program {}, step '{}': it writes '{}', which may only be read", index_, step.name, owner.name);
      written_[static_cast<size_t>(base(index))] = true;
      return;
    }
    const bool filled = owner.storage == Storage::kInput || owner.storage == Storage::kConstant ||
                        written_[static_cast<size_t>(base(index))];
    checkUser(filled, "plan, program {}, step '{}': it reads '{}' before any step writes it", index_, step.name,
              owner.name);
  }

  void verifyStep(int32_t stepIndex) {
    const auto& step = program_.steps[static_cast<size_t>(stepIndex)];
    verifyPlace(step.name, step.workspaceOffset, step.workspaceBytes);
    for (const int32_t input : step.inputs) {
      checkUser(input == -1 || inRange(input, program_.tensors), "plan, program {}, step '{}': input tensor {} of {}",
                index_, step.name, input, program_.tensors.size());
      if (input != -1) verifyUse(step, stepIndex, input, false);
    }
    checkUser(!step.outputs.empty(), "plan, program {}, step '{}': it has no outputs", index_, step.name);
    checkUser(step.kind == StepKind::kLaunch || step.others.empty(),
              "plan, program {}, step '{}': it launches nothing, but has kernels for {} ranges of extents", index_,
              step.name, step.others.size());
    if (step.kind == StepKind::kView) return verifyShared(step, stepIndex);
    for (const int32_t output : step.outputs) {
      checkUser(inRange(output, program_.tensors), "plan, program {}, step '{}': output tensor {} of {}", index_,
                step.name, output, program_.tensors.size());
      verifyUse(step, stepIndex, output, true);
    }
    if (step.kind == StepKind::kCopy) {
      checkUser(step.inputs.size() == 1 && step.inputs[0] >= 0 && step.outputs.size() == 1,
                "plan, program {}, step '{}': a copy has {} inputs and {} outputs, expected one each", index_,
                step.name, step.inputs.size(), step.outputs.size());
      return;
    }
    verifyKernel(step);
  }

  // A step of views writes nothing: what it gives stands already where its operands do.
  void verifyShared(const Step& step, int32_t stepIndex) {
    for (const int32_t output : step.outputs) {
      checkUser(inRange(output, program_.tensors), "plan, program {}, step '{}': output tensor {} of {}", index_,
                step.name, output, program_.tensors.size());
      verifyUse(step, stepIndex, output, false);
      for (const int32_t input : step.inputs) {
        checkUser(input != -1 && base(input) == base(output),
                  "plan, program {}, step '{}': it is a view of tensors in other memory", index_, step.name);
      }
    }
  }

  void verifyKernel(const Step& step) {
    verifyRecord(step, step.kernel);
    int64_t last = -1;
    for (const auto& other : step.others) {
      verifyRecord(step, other.kernel);
      checkUser(other.kernel.backend == step.kernel.backend && other.kernel.op == step.kernel.op,
                "plan, program {}, step '{}': it has kernels of different operators or backends", index_, step.name);
      checkUser(
          last < other.elements.low && other.elements.low <= other.elements.high,
          "plan, program {}, step '{}': a kernel is for {} to {} elements; expected ranges in order that do not meet",
          index_, step.name, other.elements.low, other.elements.high);
      last = other.elements.high;
    }
  }

  void verifyRecord(const Step& step, const KernelRecord& kernel) {
    checkUser(!kernel.backend.empty() && !kernel.name.empty(), "plan, program {}, step '{}': it has no kernel", index_,
              step.name);
    checkUser(kernel.nativeCode == -1 || inRange(kernel.nativeCode, plan_.nativeCode),
              "plan, program {}, step '{}': native code {} of {}", index_, step.name, kernel.nativeCode,
              plan_.nativeCode.size());
    if (!parsed_.insert(kernel.op).second) return;
    try {
      (void)ops::Operator::parse(kernel.op);
    } catch (const UserError& error) {
      throw UserError("plan, program {}, step '{}': {}", index_, step.name, error.what());
    }
  }

  const Plan& plan_;
  const Program& program_;
  size_t index_;
  std::vector<bool> written_;  // by base tensor
  std::set<std::string_view> parsed_;
};

}  // namespace

void verifyProgram(const Plan& plan, size_t programIndex) { ProgramVerifier(plan, programIndex).run(); }

}  // namespace tenon::plan

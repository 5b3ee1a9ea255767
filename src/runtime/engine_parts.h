// What an engine is made of; contexts read it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ops/operator.h"
#include "ops/shape_binder.h"
#include "plan/phases.h"
#include "plan/program.h"
#include "plan/range_kernels.h"
#include "runtime/constants.h"
#include "runtime/device_constants.h"
#include "runtime/implementations.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

struct LoadedKernel {
  std::shared_ptr<const Kernel> kernel;
  std::vector<PackedOperand> packed;  // operands that it reads packed
};

struct LoadedProgram {
  std::vector<LoadedKernel> kernels;                  // by step; null for copies
  std::vector<std::vector<LoadedKernel>> others;      // by step: as plan::Step has them
  std::vector<std::optional<ops::Operator>> checked;  // by step: the operator whose shape rule its tensors must follow
  std::vector<int32_t> base;                          // by tensor: the tensor whose storage it uses
  plan::ProgramPhases phases;
  // By tensor: address when it is a constant (or a view of one) that something reads row-major.
  std::vector<void*> constants;

  // `which`: of plan::kernelFor().
  const LoadedKernel& kernel(size_t step, int32_t which) const {
    return which == plan::kOwnKernel ? kernels[step] : others[step][static_cast<size_t>(which)];
  }

  // Puts the addresses of operands that one of a step's kernels reads packed into those of the step's inputs.
  void placePacked(size_t step, int32_t which, void** inputs) const {
    for (const auto& operand : kernel(step, which).packed) {
      if (operand.position == 0 && operand.constant->address != nullptr)
        inputs[operand.input] = operand.constant->address;
    }
  }
};

struct EngineParts {
  plan::Plan plan;
  ops::ShapeBinder shapes;  // of the plan's shape program
  Device* device = nullptr;
  AllocatorHook* allocator = nullptr;
  std::unique_ptr<DeviceConstants> constants;
  std::vector<LoadedProgram> programs;
  uint64_t constantBytes = 0;      // on the device: what the constants take there in all their layouts
  std::vector<HeldConstant> held;  // constants of the plan that have no bytes there
  mutable ToldSteps told;
};

// Holds the tensors of a step against the shape rule of its operator. Throws UserError.
void checkOperator(const ops::Operator& op, const SymbolValues& symbols, std::span<const TensorShape> inputs,
                   std::span<const TensorShape> outputs);

// What contexts would wait for, by kernels that are PreparedOnce, where nothing changes the shapes; once for equal
// steps. The pieces read the parts.
std::vector<std::function<void()>> preparationsOf(const EngineParts& parts);

// Checks the plan against this machine, loads kernels, packs and uploads constants. The plan is verified before.
// `source`: where its constants lie, if they need not stay there; nothing of lent memory is used afterwards.
std::unique_ptr<const EngineParts> loadParts(plan::Plan plan, const PlanSource* source, const std::string& device,
                                             bool hostCodeAllowed, AllocatorHook* allocator, Log& log);

}  // namespace tenon::runtime

// What an engine is made of; contexts read it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ops/operator.h"
#include "plan/program.h"
#include "runtime/constants.h"
#include "runtime/device_memory.h"
#include "runtime/implementations.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

struct LoadedProgram {
  std::vector<std::shared_ptr<const Kernel>> kernels;  // by step; null for copies
  std::vector<std::optional<ops::Operator>> checked;   // by step: the operator whose shape rule its tensors must follow
  std::vector<int32_t> base;                           // by tensor: the tensor whose storage it uses
  std::vector<void*> constants;                        // by tensor: address when it is a constant (or a view of one)
};

struct EngineParts {
  plan::Plan plan;
  Device* device = nullptr;
  AllocatorHook* allocator = nullptr;
  std::vector<DeviceMemory> uploads;  // constants on a device that is not the host; by constant
  std::vector<LoadedProgram> programs;
  uint64_t constantBytes = 0;
  std::vector<HeldConstant> held;  // constants of the plan that have no bytes there
  mutable ToldSteps told;
};

// Holds the tensors of a step against the shape rule of its operator. Throws UserError.
void checkOperator(const ops::Operator& op, const SymbolValues& symbols, std::span<const TensorShape> inputs,
                   std::span<const TensorShape> outputs);

// Checks the plan against this machine, uploads constants, loads kernels. The plan is verified before. `source`: where
// its constants lie, if they need not stay there; nothing of lent memory is used afterwards.
std::unique_ptr<const EngineParts> loadParts(plan::Plan plan, const PlanSource* source, const std::string& device,
                                             bool hostCodeAllowed, AllocatorHook* allocator, Log& log);

}  // namespace tenon::runtime

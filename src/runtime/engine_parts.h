// What an engine is made of; contexts read it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ops/operator.h"
#include "plan/program.h"
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
  mutable ToldSteps told;
};

// Checks the plan against this machine, uploads constants, loads kernels. The plan is verified before.
std::unique_ptr<const EngineParts> loadParts(plan::Plan plan, const std::string& device, bool hostCodeAllowed, AllocatorHook* allocator, Log& log);

}  // namespace tenon::runtime

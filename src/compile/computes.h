// Whether the kernels of a device compute an operator: what passes ask before they make one that the network does not
// have.
#pragma once

#include <span>
#include <string>

#include "ops/operator.h"
#include "runtime/device.h"

namespace tenon::compile {

// True when a tactic of the device other than the reference takes the operator on operands of the given types, at the
// given values of the symbols. Tactics of the excluded libraries are not asked.
bool computes(const runtime::Device& device, const ops::Operator& op, std::span<const ops::TensorType> inputs,
              const SymbolValues& symbols, std::span<const std::string> excludedLibraries = {});

}  // namespace tenon::compile

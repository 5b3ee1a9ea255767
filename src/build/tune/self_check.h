// Runs a chosen candidate against the reference of its operator: TENON_SELF_CHECK=1 makes a build do so for each node.
#pragma once

#include <string>

#include "build/tactics/tactic.h"
#include "core/log.h"

namespace tenon::runtime {
class Device;
}

namespace tenon::build {

// Whether TENON_SELF_CHECK asks for it.
bool selfCheckWanted();

// Empty when the kernel's results are the reference's within the precision of their types, else what differs and where.
// Inputs are random. Problems whose operands are no numbers that a comparison could use (none today) pass.
std::string selfCheck(runtime::Device& device, const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                      std::span<const std::byte> nativeCode, Log& log);

}  // namespace tenon::build

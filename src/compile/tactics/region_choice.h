// Which kernels of a backend compute the operators of the regions of a loop or conditional: for each operator the one
// that stands first where nothing is measured, on row-major tensors.
#pragma once

#include <functional>

#include "compile/tactics/tactic.h"
#include "ops/region_kernels.h"

namespace tenon::compile {

struct RegionSource {
  std::string_view device;   // kind
  std::string_view backend;  // whose kernels they are
  // What a tactic can do beside what it offers for nodes of a graph; may be null.
  std::vector<Candidate> (*more)(const Tactic& tactic, const Problem& problem) = nullptr;
  std::vector<std::byte> ownCode = {};  // of what runs around the regions
};

struct RegionChoice {
  ops::RegionKernels kernels;
  std::vector<std::byte> code;  // machine code of all of them, where the kernels' records say; each aligned to 64 bytes
};

// `problem`: of a loop or conditional. Throws Unsupported where no kernel computes a plugin within, which has no
// reference.
RegionChoice chooseRegionKernels(const Problem& problem, const RegionSource& source);

// Whether the choice is possible: asked only where there are plugins within, which take what they take.
Support takesPluginsWithin(const Problem& problem, const std::function<void()>& choose);

// Why a record may not be used where libraries ("cudnn") are left out: its regions have a kernel of one. Empty: it may.
std::string excludedWithin(const plan::KernelRecord& record, std::span<const std::string> excludedLibraries);

}  // namespace tenon::compile

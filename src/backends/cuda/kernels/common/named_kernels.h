// Kernels of a file by their names: a record says which ones its extents take, where that is known, so that nothing
// else is compiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"

namespace tenon::backends::cuda {

// Parameters of records: "name,name types", or the types alone: all kernels of the file.
struct NamedKernels {
  explicit NamedKernels(const plan::KernelRecord& record);  // UserError when the text is wrong
  // Leaves all others out of a file (KERNEL of intrinsics.cuh).
  void addTo(Code& code) const;

  std::vector<std::string> names;
  Types types;
};

// Such parameters: `types` as Types::text() gives them.
std::string namedParameters(const std::vector<std::string>& names, std::string_view types);

}  // namespace tenon::backends::cuda

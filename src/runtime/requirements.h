// What kernels need of the machine that loads them: optional, of backends whose kernels do not run on every machine
// that has a device of their kind.
#pragma once

#include <string>
#include <vector>

#include "plan/program.h"

namespace tenon::runtime {

class Requirements {
 public:
  virtual ~Requirements() = default;
  // In the form of plan::Target::requirements: what must hold for the kernel of a record ("sm:90", "cudnn:9"), and, as
  // "code:<...>", what its native code is for: elsewhere the kernel is made from the record without that code.
  virtual std::vector<std::string> requirementsOf(const plan::KernelRecord& record) const = 0;
};

}  // namespace tenon::runtime

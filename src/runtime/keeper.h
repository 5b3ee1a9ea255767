// Kernels that keep constants themselves, in a layout that a library chooses for the shapes at hand. Kernels that know
// their layout when they are loaded are Packers (packer.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/error.h"

namespace tenon::runtime {

// What a kernel needs of a constant operand once it is loaded and was configured.
enum class Hold : uint8_t {
  kNothing,    // it reads the operand where it lies
  kCopy,       // it has what it needs, but cannot tell the operand's bytes from it
  kRestorable  // it has all of it
};

// The other face of such a kernel; asked for by dynamic_cast, by the thread that loads the engine.
class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual Hold holds(size_t input) const = 0;
  // The bytes of a kRestorable operand go away: from now on the kernel's own copy is all there is.
  virtual void release(size_t) const {}
  // The operand's bytes again, to the bit; of kRestorable operands only. Any thread.
  virtual void restore(size_t input, void*) const {
    throw InternalError("operand {} of a kernel cannot be restored", input);
  }
};

}  // namespace tenon::runtime

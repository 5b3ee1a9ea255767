// Kernels that read constants in a layout of their own. Who loads an engine packs them, so that each is there once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

// Constant operands of a kernel in a layout of its own.
struct PackedForm {
  // What it is made of. The kernel finds it in the place of the first one, and nothing in the places of the others.
  std::vector<size_t> inputs;
  // Equal exactly when equal constants give equal bytes: kernels whose recipes are equal share the memory.
  std::string recipe;
  uint64_t bytes = 0;
  bool isRestorable = false;  // whether restore() gives the constants again, to the bit
};

// The other face of such a kernel; asked for by dynamic_cast. Loading such a kernel packs nothing.
class Packer {
 public:
  virtual ~Packer() = default;
  // What it reads packed in a step whose first output has this layout. Only inputs that were constant when it was
  // loaded, each in one form at most.
  virtual std::vector<PackedForm> packedForms(Layout output) const = 0;
  // Writes all bytes of the form, to host memory. `sources`: host addresses by PackedForm::inputs, row-major. Any
  // thread.
  virtual void pack(const PackedForm& form, std::span<const void* const> sources, void* to) const = 0;
  // The constant at a position of PackedForm::inputs again, from the packed bytes. Of restorable forms only. Any
  // thread.
  virtual void restore(const PackedForm& form, size_t position, const void*, void*) const {
    throw InternalError("constant {} of the layout '{}' cannot be restored", position, form.recipe);
  }
};

// Empty where the kernel reads all constants row-major. Throws InternalError where a form names another operand than
// one of `constants` that has data.
std::vector<PackedForm> packedForms(const Kernel& kernel, std::span<const TensorView> constants, Layout output);

// Host addresses of what a form is made of.
std::vector<const void*> sourcesOf(const PackedForm& form, std::span<const TensorView> constants);

// Packs to memory of a device: straight where that is the host, else through memory of the host.
void packTo(Device& device, const Kernel& packer, const PackedForm& form, std::span<const void* const> sources,
            void* to);

}  // namespace tenon::runtime

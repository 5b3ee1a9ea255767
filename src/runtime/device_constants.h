// The constants of an engine on its device: each once in each layout that a kernel reads it in, and in no other.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/program.h"
#include "runtime/device_memory.h"
#include "runtime/packer.h"

namespace tenon::runtime {

// One or more constants as a kernel has packed them.
struct PackedConstant {
  PackedForm form;
  std::shared_ptr<const Kernel> packer;
  std::vector<const void*> sources;  // until it is packed
  void* address = nullptr;
  DeviceMemory memory;  // on the host; elsewhere all share one allocation
};

// An operand that a step reads packed.
struct PackedOperand {
  size_t input = 0;
  size_t position = 0;  // of PackedForm::inputs; the address stands in the place of position 0
  const PackedConstant* constant = nullptr;
};

// Filled while an engine is loaded, on one thread. All memory comes from the user's allocator, where there is one. On
// the host row-major constants are read where they lie in the plan, and each packed one has an allocation of its own,
// so that what it was made of can go at once. On any other device place() makes one allocation for everything.
class DeviceConstants {
 public:
  // The plan outlives it.
  DeviceConstants(const plan::Plan& plan, Device& device, AllocatorHook* allocator);

  // What a step reads packed; once for each step and kernel. `base`: by tensor, the tensor whose storage it uses;
  // `constants`: as its kernel was loaded with.
  std::vector<PackedOperand> read(const plan::Program& program, std::span<const int32_t> base, const plan::Step& step,
                                  const std::shared_ptr<const Kernel>& kernel, std::span<const TensorView> constants);
  // A tensor is read row-major on the device.
  void readRowMajor(const plan::Program& program, std::span<const int32_t> base, int32_t tensor);
  // After all steps of all programs: puts everything on the device.
  void place();

  // Row-major, after place(); null where nothing reads it there.
  void* address(size_t constant) const;
  // What they take on the device, row-major ones of the host included; after place().
  uint64_t bytes() const;
  size_t packedCount() const noexcept { return packed_.size(); }
  size_t rowMajorCount() const;

 private:
  struct RowMajor {
    size_t constant = 0;  // the first one of these bytes
    bool isRead = false;
    void* address = nullptr;
  };

  std::string keyOf(const plan::Program& program, std::span<const int32_t> base, const plan::Step& step,
                    const PackedForm& form) const;

  const plan::Plan& plan_;
  Device& device_;
  AllocatorHook* allocator_;
  std::vector<size_t> place_;  // of rowMajor_, by constant
  std::vector<RowMajor> rowMajor_;
  std::deque<PackedConstant> packed_;  // which others point to
  std::map<std::string, const PackedConstant*> known_;
  DeviceMemory memory_;
};

}  // namespace tenon::runtime

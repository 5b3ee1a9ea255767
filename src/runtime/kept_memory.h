// An optional capability of a device: memory that is freed serves what is allocated next.
#pragma once

namespace tenon::runtime {

// The other face of a device whose driver takes long to give memory and to take it back; asked for by dynamic_cast.
// Thread-safe.
class KeptMemory {
 public:
  virtual ~KeptMemory() = default;
  // From now on, for this thread; as often as it was said, letGo() ends it, on the same thread. What the thread frees
  // meanwhile no work may still use.
  virtual void keep() = 0;
  // What is kept goes back to the driver.
  virtual void letGo() noexcept = 0;
};

// While it lives, a device that can keeps what this thread frees.
class KeepingMemory {
 public:
  template <typename Device>
  explicit KeepingMemory(Device& device) : memory_(dynamic_cast<KeptMemory*>(&device)) {
    if (memory_ != nullptr) memory_->keep();
  }
  ~KeepingMemory() {
    if (memory_ != nullptr) memory_->letGo();
  }
  KeepingMemory(const KeepingMemory&) = delete;
  KeepingMemory& operator=(const KeepingMemory&) = delete;

 private:
  KeptMemory* const memory_;
};

}  // namespace tenon::runtime

// Bytes of a plan in memory, aligned to 64, shared by the constants that point into them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tenon::plan {

class Blob {
 public:
  Blob() = default;
  // Not cleared. Throws OutOfMemory.
  static Blob allocate(size_t bytes);
  static Blob copyOf(std::span<const std::byte> bytes);
  // Memory of others, which must stay as long as the blob and whatever shares it.
  static Blob lend(std::span<const std::byte> bytes);

  std::byte* data() const noexcept { return data_.get(); }  // written only before the blob is shared
  size_t bytes() const noexcept { return bytes_; }
  std::span<const std::byte> view() const noexcept { return {data_.get(), bytes_}; }
  // A pointer into the blob that keeps it alive.
  std::shared_ptr<const void> share(size_t offset) const noexcept { return {data_, data_.get() + offset}; }

 private:
  std::shared_ptr<std::byte> data_;
  size_t bytes_ = 0;
};

}  // namespace tenon::plan

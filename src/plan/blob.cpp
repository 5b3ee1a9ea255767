// Aligned memory with shared ownership.
#include "plan/blob.h"

#include "core/error.h"
#include "core/large_memory.h"

namespace tenon::plan {

Blob Blob::allocate(size_t bytes) {
  void* const memory = allocateLarge(bytes);
  if (memory == nullptr) throw OutOfMemory("plan: cannot allocate {} bytes", bytes);
  Blob blob;
  blob.data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(memory), [](std::byte* p) { freeLarge(p); });
  blob.bytes_ = bytes;
  return blob;
}

Blob Blob::copyOf(std::span<const std::byte> bytes) {
  Blob blob = allocate(bytes.size());
  copyLarge(blob.data(), bytes.data(), bytes.size());
  return blob;
}

Blob Blob::lend(std::span<const std::byte> bytes) {
  Blob blob;
  blob.data_ = std::shared_ptr<std::byte>(const_cast<std::byte*>(bytes.data()), [](std::byte*) {});
  blob.bytes_ = bytes.size();
  return blob;
}

}  // namespace tenon::plan

// Blocks of device memory that are freed and serve again, where many of few sizes come and go.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

#include "backends/cuda/driver/libraries.h"

namespace tenon::backends::cuda {

// Thread-safe; the context is current. Only a thread that keeps gets kept blocks and has what it frees kept: it may not
// free one that work under way still uses. For others the driver takes memory back, which waits for such work: a
// context that an application destroys while it executes, beside a build.
class KeptBlocks {
 public:
  void keep();
  void letGo() noexcept;
  // Null where there is no memory.
  void* allocate(size_t bytes);
  void free(void* pointer) noexcept;

 private:
  void* take(size_t bytes);  // of what is kept; null where nothing fits
  void drop(size_t most) noexcept;

  std::mutex mutex_;
  int keepers_ = 0;
  std::unordered_map<void*, size_t> sizes_;  // of what was allocated meanwhile
  std::multimap<size_t, void*> kept_;        // by size
  size_t bytes_ = 0;                         // of all of it
};

}  // namespace tenon::backends::cuda

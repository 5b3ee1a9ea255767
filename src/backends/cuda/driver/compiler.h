// CUDA C++ to machine code by NVRTC, with a cache on disk, and loaded code.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/cuda/driver/libraries.h"

namespace tenon::backends::cuda {

// A file of kernels/, or generated text that includes those, with the macros that make it one of its variants.
struct Code {
  std::string_view file;             // "reduce.cu", or empty
  std::vector<std::string> defines;  // "X=f16"
  std::string text;                  // where `file` is empty
  std::string source() const;        // deterministic
};

// The embedded files by the names with which code includes them, in a table made by the build.
struct EmbeddedFile {
  const char* name;
  const char* text;
};
std::span<const EmbeddedFile> embeddedFiles();

// Machine code for compute capability `capability` (for example 90), from the cache where that has it. Throws
// Unsupported with the compiler's log. The cache is the folder TENON_CACHE_DIR (default ~/.cache/tenon); one that
// cannot be used, or that is empty text, is no error.
std::vector<std::byte> compile(const std::string& source, int capability);

// What such code depends on, and the cache knows it by: compiler, chip, source and every file it may include. For
// tests.
std::string codeKey(const std::string& source, int capability);

// Machine code on the device.
class Module {
 public:
  // Our own: `code` for this chip, or empty, then `source` is compiled. Equal code is on the device once, for all
  // kernels of all engines: it has no variables.
  Module(std::span<const std::byte> code, const Code& source);
  // Of somebody else: PTX or a cubin. Throws Unsupported with what the driver says of it.
  explicit Module(std::span<const std::byte> code);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  CUfunction function(const std::string& name) const;  // throws InternalError when there is none
  CUfunction find(const std::string& name) const;      // null when there is none

 private:
  std::shared_ptr<CUmod_st> module_;
};

// Threads of a block, so that a small launch still reaches every multiprocessor of a large chip: 256, or fewer down to
// `least`.
unsigned blockSize(int64_t threads, unsigned least = 64);

// Blocks of a launch over so many threads; throws InternalError where no grid has as many.
unsigned blocksOf(int64_t threads, unsigned block);

// One launch over so many threads of one dimension (nothing for none), or of a given grid; `sharedBytes` is what a
// block takes beside the code's own shared memory (above 48 KiB only with allowSharedBytes).
enum class Blocks : uint8_t { kApart, kClusters, kTogether };
void launchBytes(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, void* parameters,
                 void* stream, unsigned sharedBytes, Blocks blocks = Blocks::kApart);
template <typename Parameters>
void launchGrid(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, Parameters* parameters,
                void* stream, unsigned sharedBytes = 0) {
  static_assert(std::is_trivially_copyable_v<Parameters> && std::is_class_v<Parameters>,
                "a kernel takes one struct, which the driver copies as bytes");
  launchBytes(function, x, y, z, block, parameters, stream, sharedBytes);
}
// The same, with the blocks along x as clusters (of compute capability 9.0 and later).
template <typename Parameters>
void launchCluster(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, Parameters* parameters,
                   void* stream, unsigned sharedBytes) {
  static_assert(std::is_trivially_copyable_v<Parameters> && std::is_class_v<Parameters>,
                "a kernel takes one struct, which the driver copies as bytes");
  launchBytes(function, x, y, z, block, parameters, stream, sharedBytes, x > 1 ? Blocks::kClusters : Blocks::kApart);
}
// The same with blocks that wait for each other: all run at once, and the driver refuses more than fit. It begins when
// everything in front of it has ended.
template <typename Parameters>
void launchTogether(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, Parameters* parameters,
                    void* stream, unsigned sharedBytes) {
  static_assert(std::is_trivially_copyable_v<Parameters> && std::is_class_v<Parameters>,
                "a kernel takes one struct, which the driver copies as bytes");
  launchBytes(function, x, y, z, block, parameters, stream, sharedBytes, Blocks::kTogether);
}
template <typename Parameters>
void launchThreads(CUfunction function, int64_t threads, Parameters* parameters, void* stream, unsigned block = 256) {
  if (threads <= 0) return;
  launchGrid(function, blocksOf(threads, block), 1, 1, block, parameters, stream);
}
// The next launch of this thread is not set up while the one before it on its stream still runs: between the two the
// stream waits for another one.
void launchNextInOrder() noexcept;
// At least so many; others may launch the function with more. Throws Error where the chip has less.
void allowSharedBytes(CUfunction function, size_t bytes);

}  // namespace tenon::backends::cuda

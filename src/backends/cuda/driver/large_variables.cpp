// The loader's list of libraries, and advice to the kernel.
#include "backends/cuda/driver/large_variables.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace tenon::backends::cuda {
namespace {

// Pages behind what a segment has in the file.
void advise(const dl_phdr_info& library, const ElfW(Phdr) & segment) {
  constexpr uintptr_t kLarge = uintptr_t{8} << 20;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t start = library.dlpi_addr + segment.p_vaddr;
  const uintptr_t begin = (start + segment.p_filesz + page - 1) / page * page;
  const uintptr_t end = start + segment.p_memsz;
  if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0 || end < begin + kLarge) return;
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a system without them is no error
}

int visit(dl_phdr_info* library, size_t, void* known) {
  auto& seen = *static_cast<std::vector<uintptr_t>*>(known);
  const auto* const at = library->dlpi_phdr;
  const auto key = reinterpret_cast<uintptr_t>(at);
  if (std::find(seen.begin(), seen.end(), key) != seen.end()) return 0;
  seen.push_back(key);
  std::for_each(at, at + library->dlpi_phnum, [&](const auto& segment) { advise(*library, segment); });
  return 0;
}

int note(dl_phdr_info* library, size_t, void* known) {
  static_cast<std::vector<uintptr_t>*>(known)->push_back(reinterpret_cast<uintptr_t>(library->dlpi_phdr));
  return 0;
}

}  // namespace

LargeVariables::LargeVariables() {
  dl_iterate_phdr(&note, &known_);
  try {
    thread_ = std::thread([this] { look(); });
  } catch (const std::system_error&) {
    // Opening takes longer then.
  }
}

LargeVariables::~LargeVariables() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

void LargeVariables::look() {
  constexpr auto kPause = std::chrono::microseconds(200);
  while (!ends_) {
    dl_iterate_phdr(&visit, &known_);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tenon::backends::cuda

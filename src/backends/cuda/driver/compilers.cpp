// NVRTC, found at run time. The loader takes a file of another identity for another library: a copy in memory has
// variables and locks of its own.
#include "backends/cuda/driver/compilers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/environment.h"
#include "core/error.h"
#include "core/platform/cores.h"

namespace tenon::backends::cuda {
namespace {

Nvrtc functionsOf(void* library, std::string missing) {
  Nvrtc n{};
  n.missing = std::move(missing);
  const auto get = [&](const char* name, auto& function) { findFunction(library, name, function, n.missing); };
  get("nvrtcCreateProgram", n.createProgram);
  get("nvrtcDestroyProgram", n.destroyProgram);
  get("nvrtcCompileProgram", n.compileProgram);
  get("nvrtcGetProgramLogSize", n.getProgramLogSize);
  get("nvrtcGetProgramLog", n.getProgramLog);
  get("nvrtcGetCUBINSize", n.getCubinSize);
  get("nvrtcGetCUBIN", n.getCubin);
  get("nvrtcGetPTXSize", n.getPtxSize);
  get("nvrtcGetPTX", n.getPtx);
  get("nvrtcGetErrorString", n.getErrorString);
  get("nvrtcVersion", n.version);
  return n;
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// In a sandbox that wants to be told that this will be executed; older systems do not know the flag, and need not be
// told.
int memoryFile() {
  constexpr unsigned kMayBeExecuted = 0x10;  // MFD_EXEC of Linux 6.3
  const int told = memfd_create("nvrtc", MFD_CLOEXEC | kMayBeExecuted);
  return told >= 0 || errno != EINVAL ? told : memfd_create("nvrtc", MFD_CLOEXEC);
}

// The bytes that may be taken without others having to give way; SIZE_MAX where nobody says.
size_t bytesLeft() {
  size_t left = SIZE_MAX;
  std::ifstream facts("/proc/meminfo");
  for (std::string word; facts >> word;) {
    size_t kibibytes = 0;
    if (word == "MemAvailable:" && facts >> kibibytes) left = kibibytes << 10;
  }
  std::ifstream control("/sys/fs/cgroup/memory.max");  // of a container; "max" where it has none
  size_t limit = 0;
  return control >> limit ? std::min(left, limit) : left;
}

bool copyInto(int to, const char* path) {
  constexpr size_t kShare = 16;  // of what is left: compilations want memory, too
  const File from(open(path, O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (from.get() < 0 || fstat(from.get(), &facts) != 0) return false;
  if (static_cast<size_t>(facts.st_size) > bytesLeft() / kShare) return false;
  off_t at = 0;
  while (at < facts.st_size) {
    if (sendfile(to, from.get(), &at, static_cast<size_t>(facts.st_size - at)) <= 0) return false;
  }
  return true;
}

// Null where this system does not let us: memory is short, or nothing may run that was written to memory.
const Nvrtc* copyOfNvrtc() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(nvrtc().compileProgram), &where) == 0 || where.dli_fname == nullptr)
    return nullptr;
  const File memory(memoryFile());
  if (memory.get() < 0 || !copyInto(memory.get(), where.dli_fname)) return nullptr;
  // The loader knows libraries by these names, too, and the next copy may get the same number.
  static std::atomic<size_t> number{0};
  std::string path = "/proc/self/fd/";
  for (size_t i = number++; i > 0; --i) path += "./";
  void* const library = dlopen((path + std::to_string(memory.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto n = std::make_unique<Nvrtc>(functionsOf(library, {}));
  if (n->missing.empty()) return n.release();
  dlclose(library);
  return nullptr;
}

}  // namespace

const Nvrtc& nvrtc() {
  static const auto* const kNvrtc = [] {
    std::string missing;
    void* library = openLibrary({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, missing);
    return new Nvrtc(functionsOf(library, std::move(missing)));
  }();
  return *kNvrtc;
}

Compilers::Copy& Compilers::take() {
  std::unique_lock lock(mutex_);
  if (copies_.empty()) copies_.emplace_back(&nvrtc(), true);
  const auto fewest = [&] {
    return std::min_element(copies_.begin(), copies_.end(),
                            [](const Copy& a, const Copy& b) { return a.users < b.users; });
  };
  if (fewest()->users >= usersOfEach_ && copies_.size() + beingMade_ < most_ && !refused_) {
    ++beingMade_;
    lock.unlock();
    const auto* made = copyOfNvrtc();
    lock.lock();
    --beingMade_;
    const bool isNew =
        made != nullptr && std::none_of(copies_.begin(), copies_.end(), [&](const Copy& copy) {
          return copy.functions->compileProgram == made->compileProgram;  // of a loader that has its own opinion
        });
    if (isNew) {
      copies_.emplace_back(made, false);
    } else {
      refused_ = true;
    }
  }
  auto& copy = *fewest();
  ++copy.users;
  return copy;
}

void Compilers::giveBack(Copy& copy) {
  const std::lock_guard lock(mutex_);
  --copy.users;
}

Compilers& compilers() {
  static auto* const kCompilers = [] {
    constexpr size_t kUsers = 4;
    constexpr size_t kMost = 4;  // 110 MB each
    const size_t wanted = std::clamp<size_t>(static_cast<size_t>(platform::coresOfMask()) / kUsers, 1, kMost);
    const auto most = static_cast<size_t>(numberSetting("TENON_CUDA_COMPILERS").value_or(static_cast<long>(wanted)));
    return new Compilers(most, kUsers);
  }();
  return *kCompilers;
}

}  // namespace tenon::backends::cuda

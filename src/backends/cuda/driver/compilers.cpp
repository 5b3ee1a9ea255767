// The loader takes a file of another identity for another library: a copy in memory has variables and locks of its own.
#include "backends/cuda/driver/compilers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/environment.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

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

bool copyInto(int to, const char* path) {
  const File from(open(path, O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (from.get() < 0 || fstat(from.get(), &facts) != 0) return false;
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
  const File memory(memfd_create("nvrtc", MFD_CLOEXEC));
  if (memory.get() < 0 || !copyInto(memory.get(), where.dli_fname)) return nullptr;
  void* const library = dlopen(fmt::format("/proc/self/fd/{}", memory.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto* n = new Nvrtc{};
  const auto get = [&](const char* name, auto& function) { findFunction(library, name, function, n->missing); };
  get("nvrtcCreateProgram", n->createProgram);
  get("nvrtcDestroyProgram", n->destroyProgram);
  get("nvrtcCompileProgram", n->compileProgram);
  get("nvrtcGetProgramLogSize", n->getProgramLogSize);
  get("nvrtcGetProgramLog", n->getProgramLog);
  get("nvrtcGetCUBINSize", n->getCubinSize);
  get("nvrtcGetCUBIN", n->getCubin);
  get("nvrtcGetErrorString", n->getErrorString);
  get("nvrtcVersion", n->version);
  // Another library of that name, which the loader had already, is none.
  if (n->missing.empty() && n->compileProgram != nvrtc().compileProgram) return n;
  delete n;
  return nullptr;
}

}  // namespace

Compilers::Copy& Compilers::take() {
  std::unique_lock lock(mutex_);
  if (copies_.empty()) copies_.push_back({&nvrtc(), 0});
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
    if (made != nullptr) {
      copies_.push_back({made, 0});
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
    const size_t wanted = std::clamp<size_t>(std::thread::hardware_concurrency() / kUsers, 1, kMost);
    const auto most = static_cast<size_t>(numberSetting("TENON_CUDA_COMPILERS").value_or(static_cast<long>(wanted)));
    return new Compilers(most, kUsers);
  }();
  return *kCompilers;
}

}  // namespace tenon::backends::cuda

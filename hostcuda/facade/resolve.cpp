// Fills the jump table of the facade: at the first call of a symbol, decides whose function it is.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "real_runtime.h"
#include "tenon/hostcuda.h"

namespace tenon::facade {
namespace {

using hostcuda::Mode;

constexpr const char* kNames[] = {
#include "names.inc"
};

bool beginsWith(const char* name, const char* prefix) { return std::strncmp(name, prefix, std::strlen(prefix)) == 0; }

// Programs with kernels register them before main. That must not start the driver: the process may want to fork, and
// the choice of the device may not be made yet. The same side serves all registrations.
bool isRegistration(const char* name) {
  return beginsWith(name, "__cudaRegister") || beginsWith(name, "__cudaUnregister") ||
         beginsWith(name, "__cudaInitModule");
}

// What works whatever the device: texts, the error state, versions.
bool isAlwaysHost(const char* name) {
  for (const char* own : {"cudaGetErrorName", "cudaGetErrorString", "cudaGetLastError", "cudaPeekAtLastError",
                          "cudaRuntimeGetVersion", "cudaCreateChannelDesc", "__cudaPushCallConfiguration"}) {
    if (std::strcmp(name, own) == 0) return true;
  }
  return isRegistration(name);
}

void* hostFunction(const char* name) { return tenon_hostcuda_symbol(name, TENON_CUDART_MAJOR); }

void* orUnsupported(void* function) {
  return function != nullptr ? function : reinterpret_cast<void*>(&tenon_hostcuda_unsupported);
}

void* realFunction(const char* name) {
  void* runtime = realRuntime();
  if (runtime == nullptr) {
    return isAlwaysHost(name) ? orUnsupported(hostFunction(name)) : reinterpret_cast<void*>(&tenon_hostcuda_no_runtime);
  }
  return orUnsupported(dlsym(runtime, name));
}

bool registersWithReal() {
  static const bool isReal = tenon_hostcuda_driver_present() != 0 && realRuntime() != nullptr;
  return isReal;
}

void* functionFor(const char* name) {
  if (isRegistration(name)) return registersWithReal() ? realFunction(name) : orUnsupported(hostFunction(name));
  switch (hostcuda::mode()) {
    case Mode::kHost: return orUnsupported(hostFunction(name));
    case Mode::kCuda: return realFunction(name);
    case Mode::kNoDevice: break;
  }
  if (std::strcmp(name, "cudaGetDeviceCount") == 0) return reinterpret_cast<void*>(&tenon_hostcuda_no_device_count);
  return isAlwaysHost(name) ? orUnsupported(hostFunction(name)) : reinterpret_cast<void*>(&tenon_hostcuda_no_device);
}

}  // namespace
}  // namespace tenon::facade

extern "C" {

extern std::atomic<void*> tenonFacadeTable[];

// Called by the trampolines with a symbol's place in the table; gives the function to go on to.
__attribute__((visibility("hidden"))) void* tenonFacadeResolve(size_t index) noexcept {
  void* function = tenon::facade::functionFor(tenon::facade::kNames[index]);
  tenonFacadeTable[index].store(function, std::memory_order_release);
  return function;
}
}

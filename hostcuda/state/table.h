// The host functions behind the runtime's symbols, as tables that the facades look up by name.
#pragma once

#include <type_traits>
#include <vector>

#include "cuda_runtime_api.h"
#include "scheduler.h"

namespace tenon::hostcuda {

struct Entry {
  const char* name;
  void* function;
  int firstMajor = 12;  // of CUDA, for names whose meaning changed between 12 and 13
  int lastMajor = 13;
};
using Entries = std::vector<Entry>;

// One table per file of API functions.
Entries captureEntries();
Entries copyEntries();
Entries deviceEntries();
Entries errorEntries();
Entries eventEntries();
Entries graphEntries();
Entries graphExecEntries();
Entries graphNodeEntries();
Entries kernelEntries();
Entries memoryEntries();
Entries poolEntries();
Entries streamEntries();

// The same function with stream 0 meaning the calling thread's default stream.
template <auto kFunction>
struct PerThread;
template <class... Args, cudaError_t (*kFunction)(Args...)>
struct PerThread<kFunction> {
  static cudaError_t call(Args... args) {
    const PerThreadDefault scope;
    return kFunction(args...);
  }
};

}  // namespace tenon::hostcuda

// Checked against the header's declaration of the same name.
#define TENON_ENTRY(f)                                                                                   \
  Entry {                                                                                                \
    (static_cast<void>(std::enable_if_t<std::is_same_v<decltype(&api::f), decltype(&::f)>, int>{}), #f), \
        reinterpret_cast<void*>(&api::f)                                                                 \
  }
// With its _ptsz twin.
#define TENON_STREAM_ENTRY(f) \
  TENON_ENTRY(f), Entry { #f "_ptsz", reinterpret_cast < void*>(&PerThread <&api::f>::call) }
// With its _ptds twin.
#define TENON_DEFAULT_STREAM_ENTRY(f) \
  TENON_ENTRY(f), Entry { #f "_ptds", reinterpret_cast < void*>(&PerThread <&api::f>::call) }
// Under a name of some majors only.
#define TENON_ENTRY_AS(name, f, first, last) \
  Entry { name, reinterpret_cast<void*>(&api::f), first, last }
#define TENON_STREAM_ENTRY_AS(name, f, first, last)                               \
  TENON_ENTRY_AS(name, f, first, last), Entry {                                   \
    name "_ptsz", reinterpret_cast<void*>(&PerThread<&api::f>::call), first, last \
  }

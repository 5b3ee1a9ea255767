// A tool that writes down the ranges of a program: "+text" where one begins, "-" where it ends.
#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
std::string events;
std::string domainName;
int domain;

void add(const std::string& text) {
  const std::lock_guard lock(mutex);
  events += text + "\n";
}

nvtxDomainHandle_t create(const char* name) {
  domainName = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

int push(nvtxDomainHandle_t in, const nvtxEventAttributes_t* event) {
  const bool good = in == reinterpret_cast<nvtxDomainHandle_t>(&domain) && event->version == NVTX_VERSION &&
                    event->size == NVTX_EVENT_ATTRIB_STRUCT_SIZE && event->messageType == NVTX_MESSAGE_TYPE_ASCII;
  add(good ? std::string("+") + event->message.ascii : "an event of another layout");
  return 0;
}

int pop(nvtxDomainHandle_t in) {
  add(in == reinterpret_cast<nvtxDomainHandle_t>(&domain) ? "-" : "the end of a range in another domain");
  return 0;
}

template <typename F>
void put(NvtxFunctionTable table, unsigned index, F function) {
  *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t exports) {
  const auto* version = static_cast<const NvtxExportTableVersionInfo*>(exports(NVTX_ETID_VERSIONINFO));
  if (version == nullptr || version->struct_size < sizeof(*version)) return 0;
  version->SetInjectionNvtxVersion(NVTX_VERSION);
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(exports(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks) || exports(NVTX_ETID_INVALID) != nullptr)
    return 0;
  constexpr unsigned kSizes[] = {0,
                                 NVTX_CBID_CORE_SIZE,
                                 NVTX_CBID_CUDA_SIZE,
                                 NVTX_CBID_OPENCL_SIZE,
                                 NVTX_CBID_CUDART_SIZE,
                                 NVTX_CBID_CORE2_SIZE,
                                 NVTX_CBID_SYNC_SIZE};
  for (int module = 1; module < NVTX_CB_MODULE_SIZE; ++module) {
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(module), &table, &size) == 0) return 0;
    if (size != kSizes[module] || table[0] != nullptr || table[size] != nullptr) return 0;
    if (module != NVTX_CB_MODULE_CORE2) continue;
    put(table, NVTX_CBID_CORE2_DomainCreateA, &create);
    put(table, NVTX_CBID_CORE2_DomainRangePushEx, &push);
    put(table, NVTX_CBID_CORE2_DomainRangePop, &pop);
  }
  return 1;
}

EXPORT const char* nvtxToolDomain() { return domainName.c_str(); }

// What happened since the last call.
EXPORT const char* nvtxToolEvents() {
  static std::string taken;
  const std::lock_guard lock(mutex);
  taken.swap(events);
  events.clear();
  return taken.c_str();
}

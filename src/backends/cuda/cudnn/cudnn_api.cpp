// Opens cuDNN.
#include "backends/cuda/cudnn/cudnn_api.h"

#include "backends/cuda/driver/libraries.h"
#include "core/error.h"

namespace tenon::backends::cuda::dnn {

const Library& library() {
  static const auto* const kLibrary = [] {
    auto* l = new Library{};
    void* opened = openLibrary({"libcudnn.so.9"}, l->missing);
    const auto get = [&](const char* name, auto& function) { findFunction(opened, name, function, l->missing); };
    get("cudnnGetVersion", l->getVersion);
    get("cudnnGetLastErrorString", l->getLastError);
    get("cudnnCreate", l->create);
    get("cudnnSetStream", l->setStream);
    get("cudnnBackendCreateDescriptor", l->createDescriptor);
    get("cudnnBackendDestroyDescriptor", l->destroyDescriptor);
    get("cudnnBackendFinalize", l->finalize);
    get("cudnnBackendSetAttribute", l->setAttribute);
    get("cudnnBackendGetAttribute", l->getAttribute);
    get("cudnnBackendExecute", l->execute);
    if (!l->missing.empty()) {
      l->missing = "cuDNN 9: " + l->missing;
      return l;
    }
    // cuDNN looks for this one by name alone, which succeeds when it is loaded already.
    (void)blasLt();
    l->version = static_cast<int>(l->getVersion());
    if (l->version / 10000 != 9) l->missing = fmt::format("cuDNN has version {}, expected 9", l->version);
    return l;
  }();
  return *kLibrary;
}

void check(Status status, const char* what) {
  if (status == 0) return;
  char message[1024] = {};
  library().getLastError(message, sizeof message);
  throw Unsupported("{}: cuDNN status {} ({})", what, status, message);
}

}  // namespace tenon::backends::cuda::dnn

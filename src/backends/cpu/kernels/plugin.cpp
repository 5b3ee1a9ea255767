// Plugins on the host: their code gets host addresses and a stream of hostcuda.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "runtime/host_device.h"
#include "runtime/plugin_host.h"

namespace tenon::backends::cpu {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return runtime::loadPlugin(request, runtime::hostDevice());
}

}  // namespace

KernelRow kernelRow_plugin() { return {"plugin", 1, &load}; }

}  // namespace tenon::backends::cpu

// The facts of each kind of device.
#include "passes/device.h"

namespace tenon::passes {
namespace {

constexpr DeviceFacts kCpu{DeviceKind::kCpu, false, false, false, 1};
constexpr DeviceFacts kGpu{DeviceKind::kGpu, true, true, true, 256};

}  // namespace

DeviceFacts factsOf(std::string_view device) {
  if (device == "cpu") return kCpu;
  return device == "cuda" ? kGpu : DeviceFacts{};
}

}  // namespace tenon::passes

// One launch, whose blocks the host adds up in their order.
#include "backends/cuda/kernels/distance/distance.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/distance/distance_parameters.h"

namespace tenon::backends::cuda {
namespace {

CUfunction functionFor(DataType type) {
  static auto* const kMutex = new std::mutex;
  static auto* const kModules = new std::map<DataType, Module>;
  const std::lock_guard lock(*kMutex);
  auto found = kModules->find(type);
  if (found == kModules->end())
    found = kModules->try_emplace(type, std::span<const std::byte>(), distanceCode(type)).first;
  return found->second.function("tenon_distance");
}

}  // namespace

bool measuresDistance(DataType type) { return cudaName(type) != nullptr && nvrtc().missing.empty(); }

Code distanceCode(DataType type) { return {"distance.cu", {typeDefine("T", type)}, {}}; }

void prepareDistance(DataType type) { compile(distanceCode(type).source(), computeCapability()); }

runtime::TensorDistance measureDistance(DataType type, const void* got, const void* expected, int64_t count,
                                        const runtime::DistanceRule& rule) {
  runtime::TensorDistance result;
  if (count == 0) return result;
  auto& device = cudaDevice();
  const CUfunction function = functionFor(type);
  const int64_t run = std::max(kLeastDistanceRun, (count + kMostDistanceBlocks - 1) / kMostDistanceBlocks);
  std::vector<DistancePart> parts(static_cast<size_t>((count + run - 1) / run));
  const size_t bytes = parts.size() * sizeof(DistancePart);
  const std::unique_ptr<void, void (*)(void*)> memory(device.allocate(bytes, 256),
                                                      [](void* pointer) { cudaDevice().free(pointer); });
  DistanceParameters parameters{
      got, expected, static_cast<DistancePart*>(memory.get()), count, run, rule.factor, rule.largest, rule.infinities};
  launchGrid(function, static_cast<unsigned>(parts.size()), 1, 1, kDistanceThreads, &parameters, nullptr);
  device.copy(parts.data(), memory.get(), bytes, runtime::CopyKind::kDeviceToHost, nullptr);
  device.synchronize(nullptr);
  for (const auto& part : parts) {
    result.squares += part.squares;
    result.difference += part.difference;
    result.gain += part.gain;
    result.excess = std::max(result.excess, part.excess);
    result.differing += part.differing;
    if (part.worst <= result.worst) continue;
    result.worst = part.worst;
    result.at = part.at;
  }
  return result;
}

}  // namespace tenon::backends::cuda

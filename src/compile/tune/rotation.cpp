// One block of memory for all copies.
#include "compile/tune/rotation.h"

#include <algorithm>

#include "core/storage.h"

namespace tenon::compile {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kMostCopies = 64;  // an operand of which these do not fill the cache is a small one

}  // namespace

size_t rotatedCopies(const Problem& problem, size_t input, size_t cacheBytes) {
  const auto& operand = problem.inputs[input];
  if (operand.constant == nullptr || cacheBytes == 0) return 1;
  const size_t bytes = operand.constant->view().bytes();
  if (bytes < cacheBytes / kMostCopies || bytes == 0) return 1;
  // One and a half caches between two uses of a copy, and the copy itself.
  return std::min(kMostCopies, (cacheBytes + cacheBytes / 2) / bytes + 2);
}

Rotation::Rotation(runtime::Device& device, const void* original, size_t bytes, size_t copies)
    : device_(device), copies_(std::max<size_t>(copies, 1)), pitch_(alignBytes(bytes, kAlignment)) {
  base_ = static_cast<std::byte*>(device_.allocate(multiplyBytes(copies_, pitch_), kAlignment));
  for (size_t i = 0; i < copies_; ++i) {
    device_.copy(base_ + i * pitch_, original, bytes, runtime::CopyKind::kDeviceToDevice, nullptr);
  }
  device_.synchronize(nullptr);
}

Rotation::~Rotation() { device_.free(base_); }

}  // namespace tenon::compile

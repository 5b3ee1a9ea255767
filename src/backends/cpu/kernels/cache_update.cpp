// New rows of a cache, in place where the output is the cache's memory.
#include "ops/op/cache_update.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBytesPerThread = 1 << 18;  // below this a second thread costs more than it does

class CacheUpdateInstance final : public runtime::KernelInstance {
 public:
  explicit CacheUpdateInstance(const ops::CacheUpdate&) {}

  size_t configure(const runtime::Shapes& shapes) override {
    cache_ = shapes.inputs[0].dims;
    rows_ = shapes.inputs[1].dims[2];
    isWide_ = shapes.inputs[2].dtype == DataType::kI64;
    rowBytes_ = cache_[3] * (bits(shapes.inputs[0].dtype) / 8);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const bool inPlace = arguments.outputs[0] == arguments.inputs[0];
    const int64_t headBytes = (inPlace ? rows_ : cache_[2]) * rowBytes_;
    const int64_t grain = std::max<int64_t>(kBytesPerThread / std::max<int64_t>(headBytes, 1), 1);
    platform::parallelFor(cache_[0] * cache_[1], grain, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) writeHead(arguments, head, inPlace);
    });
  }

 private:
  void writeHead(const runtime::LaunchArguments& arguments, int64_t head, bool inPlace) const {
    const int64_t capacity = cache_[2];
    const int64_t batch = head / cache_[1];
    const auto* const cache = static_cast<const std::byte*>(arguments.inputs[0]) + head * capacity * rowBytes_;
    const auto* const update = static_cast<const std::byte*>(arguments.inputs[1]) + head * rows_ * rowBytes_;
    auto* const out = static_cast<std::byte*>(arguments.outputs[0]) + head * capacity * rowBytes_;
    const int64_t start = isWide_ ? static_cast<const int64_t*>(arguments.inputs[2])[batch]
                                  : static_cast<const int32_t*>(arguments.inputs[2])[batch];
    const int64_t first = std::clamp<int64_t>(start, 0, capacity);  // rows of the cache that are written
    const int64_t end = start <= -rows_ ? first : std::clamp<int64_t>(start, -rows_, capacity) + rows_;
    const int64_t last = std::clamp<int64_t>(end, first, capacity);
    if (!inPlace) {
      copy(out, cache, first);
      copy(out + last * rowBytes_, cache + last * rowBytes_, capacity - last);
    }
    if (last > first) copy(out + first * rowBytes_, update + (first - start) * rowBytes_, last - first);
  }

  void copy(std::byte* to, const std::byte* from, int64_t rows) const {
    if (rows > 0) std::memcpy(to, from, static_cast<size_t>(rows * rowBytes_));
  }

  Dims cache_;
  int64_t rows_ = 0;
  int64_t rowBytes_ = 0;
  bool isWide_ = false;
};

}  // namespace

KernelRow kernelRow_cache_update() { return {"cache_update", 1, &loadSimple<ops::CacheUpdate, CacheUpdateInstance>}; }

}  // namespace tenon::backends::cpu

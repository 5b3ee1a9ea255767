// Packing of weights.
#include "backends/cpu/kernels/dnnl/dnnl_weights.h"

#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/dnnl_version.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"

namespace tenon::backends::cpu {

dnnl::memory PackedWeights::get(const dnnl::memory::desc& wanted) {
  const DnnlScope scope;
  const std::lock_guard lock(mutex_);
  for (const auto& memory : packed_) {
    if (memory.get_desc() == wanted) return memory;
  }
  if (isReleased_) {
    dnnl::memory again(wanted, dnnlEngine());
    reorder(packed_.front(), again);
    packed_.push_back(again);
    return again;
  }
  if (data_ == nullptr) return dnnl::memory(wanted, dnnlEngine(), DNNL_MEMORY_NONE);
  dnnl::memory plain(plain_, dnnlEngine(), const_cast<void*>(data_));
  if (wanted == plain_) {  // lives in the engine's constants
    isLent_ = true;
    return plain;
  }
  dnnl::memory packed(wanted, dnnlEngine());
  reorder(plain, packed);
  packed_.push_back(packed);
  return packed;
}

// Within a DnnlScope.
void PackedWeights::reorder(dnnl::memory from, dnnl::memory to) {
  dnnl::reorder(from, to).execute(dnnlStream(), from, to);
  dnnlStream().wait();
}

bool PackedWeights::holdsAll() {
  const platform::WithoutFork noFork;
  const std::lock_guard lock(mutex_);
  return !packed_.empty() && !isLent_;
}

void PackedWeights::release() {
  const platform::WithoutFork noFork;
  const std::lock_guard lock(mutex_);
  isReleased_ = true;
  data_ = nullptr;
}

void PackedWeights::restore(void* to) {
  const DnnlScope scope;
  const std::lock_guard lock(mutex_);
  reorder(packed_.front(), dnnl::memory(plain_, dnnlEngine(), to));
}

std::optional<dnnl::memory> partOf(const dnnl::memory& whole, const dnnl::memory::desc& part, int64_t first) {
  const auto desc = whole.get_desc();
  if (desc == part && first == 0) return whole;
  const auto layout = blockingOf(desc);
  if (!layout || layout != blockingOf(part)) return std::nullopt;
  int64_t block = 1;
  for (size_t i = 0; i < layout->axes.size(); ++i) block *= layout->axes[i] == 0 ? layout->blocks[i] : 1;
  if (first % block != 0) return std::nullopt;
  auto* const data = static_cast<float*>(whole.get_data_handle());
  if (data == nullptr) return dnnl::memory(part, dnnlEngine(), DNNL_MEMORY_NONE);  // sizes are all that is asked
  return dnnl::memory(part, dnnlEngine(), data + first / block * layout->strides[0]);
}

}  // namespace tenon::backends::cpu

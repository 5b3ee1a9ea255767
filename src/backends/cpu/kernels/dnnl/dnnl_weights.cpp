// Packing of weights.
#include "backends/cpu/kernels/dnnl/dnnl_weights.h"

#include "backends/cpu/kernels/dnnl/dnnl_common.h"

namespace tenon::backends::cpu {

dnnl::memory PackedWeights::get(const dnnl::memory::desc& wanted) {
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

void PackedWeights::reorder(dnnl::memory from, dnnl::memory to) {
  dnnl::reorder(from, to).execute(dnnlStream(), from, to);
  dnnlStream().wait();
}

bool PackedWeights::holdsAll() {
  const std::lock_guard lock(mutex_);
  return !packed_.empty() && !isLent_;
}

void PackedWeights::release() {
  const std::lock_guard lock(mutex_);
  isReleased_ = true;
  data_ = nullptr;
}

void PackedWeights::restore(void* to) {
  const std::lock_guard lock(mutex_);
  reorder(packed_.front(), dnnl::memory(plain_, dnnlEngine(), to));
}

}  // namespace tenon::backends::cpu

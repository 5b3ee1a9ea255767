// Packing of weights.
#include "backends/cpu/run/dnnl_weights.h"

#include "backends/cpu/run/dnnl_common.h"

namespace tenon::backends::cpu {

dnnl::memory PackedWeights::get(const dnnl::memory::desc& wanted) {
  const std::lock_guard lock(mutex_);
  for (const auto& memory : packed_) {
    if (memory.get_desc() == wanted) return memory;
  }
  if (data_ == nullptr) return dnnl::memory(wanted, dnnlEngine(), DNNL_MEMORY_NONE);
  dnnl::memory plain(plain_, dnnlEngine(), const_cast<void*>(data_));
  if (wanted == plain_) return plain;  // lives in the engine's constants
  dnnl::memory packed(wanted, dnnlEngine());
  dnnl::reorder(plain, packed).execute(dnnlStream(), plain, packed);
  dnnlStream().wait();
  packed_.push_back(packed);
  return packed;
}

}  // namespace tenon::backends::cpu

// The two functions of OpenMP that are called come with oneDNN's library, where that computes with OpenMP at all.
#include "backends/cpu/kernels/dnnl/one_thread.h"

extern "C" {
[[gnu::weak]] int omp_get_max_threads();
[[gnu::weak]] void omp_set_num_threads(int threads);
}

namespace tenon::backends::cpu {

OneThread::OneThread() noexcept : before_(omp_get_max_threads != nullptr ? omp_get_max_threads() : 1) {
  if (before_ > 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ > 1) omp_set_num_threads(before_);
}

}  // namespace tenon::backends::cpu

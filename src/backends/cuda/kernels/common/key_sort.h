// Launches of the kernels that sort keys (key_sort.cuh), which the code of the module includes.
#pragma once

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/common/key_sort_parameters.h"

namespace tenon::backends::cuda {

class KeySort {
 public:
  explicit KeySort(const Module& module);

  // Up to `most` keys of each of `items`. Returns the keys for which each item has memory.
  int64_t configure(int64_t items, int64_t most);
  // `counts`: how many keys there are of each item, on the device; null: `most`.
  void launch(uint64_t* keys, const uint32_t* counts, void* stream);

 private:
  void launchTiles(CUfunction function, void* stream);

  CUfunction tiles_;
  CUfunction merge_;
  CUfunction steps_;
  int64_t items_ = 0;
  KeySortParameters parameters_;
};

}  // namespace tenon::backends::cuda

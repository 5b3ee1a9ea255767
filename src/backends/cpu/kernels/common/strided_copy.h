// Copies between strided views: transposes, slices, concatenation, padding and changes of format are all this.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/strided.h"

namespace tenon::backends::cpu {

// Ready for one pair of layouts after configure(); run() allocates nothing. Elements of 1, 2, 4 or 8 bytes.
class StridedCopy {
 public:
  // Element (i...) of `space` goes from fromOffset + sum(i * from) to toOffset + sum(i * to), in elements.
  void configure(const Dims& space, const Strides& from, int64_t fromOffset, const Strides& to, int64_t toOffset,
                 int elementBytes);
  void run(const void* from, void* to) const;

 private:
  template <typename T>
  void copy(const T* from, T* to) const;
  template <typename T>
  void rows(const T* from, T* to, int64_t begin, int64_t end) const;
  template <typename T>
  void tiles(const T* from, T* to, int64_t begin, int64_t end) const;

  TransposeFunctions functions_;
  LoopSpace space_;  // operand 0 is `to`, operand 1 `from`
  int64_t fromOffset_ = 0;
  int64_t toOffset_ = 0;
  int bytes_ = 4;
  int64_t count_ = 0;
  bool tiled_ = false;  // the two innermost axes are a transpose: walked in tiles
};

}  // namespace tenon::backends::cpu

// What copies of bits are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

struct BitCastParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t count = 0;
};

}  // namespace tenon::backends::cuda

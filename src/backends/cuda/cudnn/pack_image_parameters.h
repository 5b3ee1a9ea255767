// What is given to the kernel that packs images into images of blocks.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

struct PackImageParameters {
  const void* x = nullptr;  // of halves
  void* to = nullptr;
  int64_t image = 0, channel = 0, row = 0, column = 0;  // strides of x
  int32_t height = 0, width = 0;                        // of x
  int32_t top = 0, left = 0;                            // zeros before it
  int32_t rows = 0, columns = 0;                        // of the result
  int64_t count = 0;                                    // packs
};

}  // namespace tenon::backends::cuda

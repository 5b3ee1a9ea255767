// Launches whose blocks wait for each other.
#pragma once

#include <type_traits>

#include "backends/cuda/driver/compiler.h"

namespace tenon::backends::cuda {

// All blocks run at once; the driver refuses more than fit. It begins when everything in front of it has ended.
void launchAllAtOnce(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, void* parameters,
                     void* stream, unsigned sharedBytes);
template <typename Parameters>
void launchTogether(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, Parameters* parameters,
                    void* stream, unsigned sharedBytes) {
  static_assert(std::is_trivially_copyable_v<Parameters> && std::is_class_v<Parameters>,
                "a kernel takes one struct, which the driver copies as bytes");
  launchAllAtOnce(function, x, y, z, block, parameters, stream, sharedBytes);
}

}  // namespace tenon::backends::cuda

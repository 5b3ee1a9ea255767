// Weights with their channels innermost, for kernels that read them so.
#pragma once

#include <string>

#include "core/dims.h"

namespace tenon::backends::cuda {

// Weights [K,C,spatial...], row-major, with axis 1 stored innermost; as many bytes as before. `to`: host memory.
void packChannelsLast(const TensorView& weights, void* to);
// The recipe of that: runtime::PackedForm.
std::string channelsLastRecipe(DataType dtype, const Dims& dims);

}  // namespace tenon::backends::cuda

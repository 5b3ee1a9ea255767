// Random numbers by Philox, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// `count` numbers, of which the first is number 4 * block of the draw, as ops::uniformNumbers gives them.
using UniformFunction = void (*)(uint64_t key, uint64_t place, uint64_t block, float* out, size_t count);

UniformFunction uniformFunction();

}  // namespace tenon::backends::cpu

// Which types are halves: what a weakly typed network may have in place of f32.
#pragma once

#include "core/dtype.h"

namespace tenon {

constexpr bool isHalf(DataType type) noexcept { return type == DataType::kF16 || type == DataType::kBF16; }

}  // namespace tenon

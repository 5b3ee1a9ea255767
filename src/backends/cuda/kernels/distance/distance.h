// How far two tensors on the device lie apart.
#pragma once

#include "backends/cuda/driver/compiler.h"
#include "runtime/tensor_distance.h"

namespace tenon::backends::cuda {

bool measuresDistance(DataType type);
Code distanceCode(DataType type);
void prepareDistance(DataType type);
runtime::TensorDistance measureDistance(DataType type, const void* got, const void* expected, int64_t count,
                                        const runtime::DistanceRule& rule);

}  // namespace tenon::backends::cuda

// Reductions of integers, apart from those of f32 because each compiles for a while. Highway wants its headers in this
// order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/reduce_integers_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/reduce_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/reduce_loops.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

ReduceFunctions reduceIntegers(ops::ReduceOp op, DataType type) {
  switch (type) {
    case DataType::kI64: return reducing::of<int64_t>(op);
    case DataType::kI32: return reducing::of<int32_t>(op);
    case DataType::kI8: return reducing::of<int8_t>(op);
    case DataType::kU8: return reducing::of<uint8_t>(op);
    default: return {};
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(reduceIntegers);

}  // namespace

ReduceFunctions integerReduceFunctions(ops::ReduceOp op, DataType type) {
  return TENON_SIMD_BEST(reduceIntegers)(op, type);
}

}  // namespace tenon::backends::cpu
#endif

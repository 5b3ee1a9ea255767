// Reductions of f32. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/reduce_simd.cpp"
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

ReduceFunctions reduceFloats(ops::ReduceOp op) { return reducing::of<float>(op); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(reduceFloats);

}  // namespace

ReduceFunctions reduceFunctions(ops::ReduceOp op, DataType type) {
  return type == DataType::kF32 ? TENON_SIMD_BEST(reduceFloats)(op) : integerReduceFunctions(op, type);
}

}  // namespace tenon::backends::cpu
#endif

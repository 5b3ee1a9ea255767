// Functions of whole numbers whose results towards zero have few values.
#pragma once

#include <cstddef>

namespace tenon::backends::cpu {

// As vector functions over i64: out[i] = the row of ops/pointwise.table of a[i]. The other operands are not read.
void wholeExponential(const void* a, const void*, const void*, void* out, size_t count);
void narrowExponential(const void* a, const void*, const void*, void* out, size_t count);  // i32, which wraps
void wholeLogarithm(const void* a, const void*, const void*, void* out, size_t count);

}  // namespace tenon::backends::cpu

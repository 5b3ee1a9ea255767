// What is there of oneDNN, which a build may be without.
#pragma once

namespace tenon::test {

// Kernels of oneDNN among those of an operator that has one: in a build without it, none.
inline constexpr int kOfOneDnn = TENON_TEST_DNNL;

}  // namespace tenon::test

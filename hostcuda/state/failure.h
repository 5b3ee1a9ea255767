// How a failing call reports: thrown inside as a Failure, turned once into the return value and the thread's last
// error.
#pragma once

#include <new>

#include "driver_types.h"

namespace tenon::hostcuda {

struct Failure {
  cudaError_t code;
};

[[noreturn]] inline void fail(cudaError_t code) { throw Failure{code}; }

inline void require(bool condition, cudaError_t code = cudaErrorInvalidValue) {
  if (!condition) fail(code);
}

// The error that cudaGetLastError of this thread returns next.
cudaError_t& lastError() noexcept;

inline cudaError_t report(cudaError_t code) noexcept {
  if (code != cudaSuccess) lastError() = code;
  return code;
}

// Runs the body of one API function.
template <class Body>
cudaError_t guarded(Body&& body) noexcept {
  try {
    body();
    return cudaSuccess;
  } catch (const Failure& failure) {
    return report(failure.code);
  } catch (const std::bad_alloc&) {
    return report(cudaErrorMemoryAllocation);
  } catch (...) {
    return report(cudaErrorUnknown);
  }
}

}  // namespace tenon::hostcuda

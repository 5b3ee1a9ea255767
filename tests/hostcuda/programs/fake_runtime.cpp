// Stands in for NVIDIA's runtime library: answers that no other library gives, and prints the arguments it got.
#include <cstddef>
#include <cstdio>

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int cudaGetDeviceCount(int* count) {
  *count = 3;
  return 0;
}
FAKE int cudaMalloc(void**, size_t) { return 2; }
FAKE int cudaGetLastError() { return 2; }
FAKE const char* cudaGetErrorName(int) { return "fake name"; }
FAKE int cudaMemcpy2DAsync(void* a, size_t dpitch, const void* b, size_t spitch, size_t width, size_t height, int kind,
                           void* stream) {
  std::printf("fake %d %zu %zu %zu %zu %d %zu\n", a != nullptr && b != nullptr && a != b, dpitch, spitch, width, height,
              kind, reinterpret_cast<size_t>(stream));
  return 77;
}
FAKE void** __cudaRegisterFatBinary(void* image) {
  std::puts("fake register");
  return static_cast<void**>(image);
}
FAKE void __cudaRegisterFatBinaryEnd(void**) { std::puts("fake end"); }
FAKE void __cudaUnregisterFatBinary(void**) { std::puts("fake unregister"); }

// The functions of the CUDA runtime that the player names, for a program that has no device and asks for none.
#include <cuda_runtime_api.h>

extern "C" {
cudaError_t cudaMalloc(void**, size_t) { return cudaErrorMemoryAllocation; }
cudaError_t cudaFree(void*) { return cudaSuccess; }
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind) { return cudaErrorNoDevice; }
cudaError_t cudaStreamCreate(cudaStream_t*) { return cudaErrorNoDevice; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaErrorNoDevice; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaErrorNoDevice; }
const char* cudaGetErrorString(cudaError_t) { return "no device"; }
}

// Memory: what is allocated, what is known of a pointer, copies against plain loops, errors.
#include <cstring>
#include <numeric>
#include <random>

#include "support.h"

namespace hostcuda_test {
namespace {

std::vector<unsigned char> randomBytes(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> bytes(size);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

TEST(Memory, AllocatesAlignedAndUsable) {
  for (const size_t size : {size_t{1}, size_t{3}, size_t{511}, size_t{513}, size_t{1} << 20, (size_t{5} << 20) + 7}) {
    void* pointer = nullptr;
    ASSERT_OK(cudaMalloc(&pointer, size));
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(pointer) % 256) << size;
    ASSERT_OK(cudaMemset(pointer, 0x5a, size));
    std::vector<unsigned char> back(size);
    ASSERT_OK(cudaMemcpy(back.data(), pointer, size, cudaMemcpyDeviceToHost));
    EXPECT_EQ(std::vector<unsigned char>(size, 0x5a), back);
    EXPECT_OK(cudaFree(pointer));
  }
}

TEST(Memory, NothingIsANullPointer) {
  void* pointer = &pointer;
  EXPECT_OK(cudaMalloc(&pointer, 0));
  EXPECT_EQ(nullptr, pointer);
  EXPECT_OK(cudaFree(nullptr));
  EXPECT_OK(cudaFreeHost(nullptr));
  EXPECT_OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
}

TEST(Memory, FreesOnceAndOnlyWhatItGave) {
  char* pointer = nullptr;
  char* host = nullptr;
  int number = 0;
  ASSERT_OK(cudaMalloc(&pointer, 100));
  ASSERT_OK(cudaMallocHost(&host, 100));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(pointer + 1));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeHost(pointer));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(host));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(&number));
  EXPECT_OK(cudaFree(pointer));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(pointer));
  EXPECT_OK(cudaFreeHost(host));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeHost(host));
}

TEST(Memory, FreeWaitsForQueuedWork) {
  Stream stream;
  Gate gate;
  int* pointer = nullptr;
  int back = 0;
  ASSERT_OK(cudaMalloc(&pointer, sizeof(int)));
  gate.put(stream);
  ASSERT_OK(cudaMemsetAsync(pointer, 1, sizeof(int), stream));
  ASSERT_OK(cudaMemcpyAsync(&back, pointer, sizeof(int), cudaMemcpyDefault, stream));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gate.open();
  });
  EXPECT_OK(cudaFree(pointer));
  EXPECT_EQ(0x01010101, back);
  opener.join();
}

TEST(Memory, ExhaustionIsAnError) {
  void* pointer = &pointer;
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&pointer, ~size_t{0} / 2));
  size_t free = 0;
  size_t total = 0;
  ASSERT_OK(cudaMemGetInfo(&free, &total));
  EXPECT_LE(free, total);
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&pointer, total + 1));
  // Untouched pages cost nothing, so the whole limit can be asked for.
  std::vector<void*> parts;
  cudaError_t error = cudaSuccess;
  while (error == cudaSuccess && parts.size() < 10) {
    error = cudaMalloc(&pointer, total / 5 + 1);
    if (error == cudaSuccess) parts.push_back(pointer);
  }
  EXPECT_EQ(cudaErrorMemoryAllocation, error);
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_LT(parts.size(), 5u);
  for (void* part : parts) EXPECT_OK(cudaFree(part));
}

TEST(Memory, KnowsItsPointers) {
  char* device = nullptr;
  char* host = nullptr;
  char* managed = nullptr;
  std::vector<char> own(1000);
  ASSERT_OK(cudaMalloc(&device, 1000));
  ASSERT_OK(cudaHostAlloc(&host, 1000, cudaHostAllocMapped));
  ASSERT_OK(cudaMallocManaged(&managed, 1000));
  ASSERT_OK(cudaHostRegister(own.data() + 100, 200, cudaHostRegisterDefault));
  const auto kind = [](const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_OK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes;
  };
  EXPECT_EQ(cudaMemoryTypeDevice, kind(device).type);
  EXPECT_EQ(cudaMemoryTypeDevice, kind(device + 999).type);
  EXPECT_EQ(device + 999, kind(device + 999).devicePointer);
  EXPECT_EQ(nullptr, kind(device).hostPointer);
  EXPECT_EQ(0, kind(device).device);
  EXPECT_EQ(cudaMemoryTypeHost, kind(host + 5).type);
  EXPECT_EQ(host + 5, kind(host + 5).hostPointer);
  EXPECT_EQ(cudaMemoryTypeManaged, kind(managed).type);
  EXPECT_EQ(cudaMemoryTypeUnregistered, kind(own.data()).type);
  EXPECT_EQ(own.data(), kind(own.data()).hostPointer);
  EXPECT_EQ(cudaMemoryTypeHost, kind(own.data() + 100).type);
  EXPECT_EQ(cudaMemoryTypeHost, kind(own.data() + 299).type);
  EXPECT_EQ(cudaMemoryTypeUnregistered, kind(own.data() + 300).type);
  void* mapped = nullptr;
  EXPECT_OK(cudaHostGetDevicePointer(&mapped, own.data() + 150, 0));
  EXPECT_EQ(own.data() + 150, mapped);
  EXPECT_OK(cudaHostUnregister(own.data() + 100));
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaFreeHost(host));
  EXPECT_OK(cudaFree(managed));
  EXPECT_EQ(cudaMemoryTypeUnregistered, kind(device).type);
}

TEST(Memory, RegistersARangeOnce) {
  std::vector<char> own(1000);
  ASSERT_OK(cudaHostRegister(own.data(), 500, 0));
  EXPECT_ERROR(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own.data(), 500, 0));
  EXPECT_ERROR(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own.data() + 499, 10, 0));
  EXPECT_OK(cudaHostRegister(own.data() + 500, 10, 0));
  EXPECT_ERROR(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data() + 1));
  EXPECT_OK(cudaHostUnregister(own.data() + 500));
  EXPECT_OK(cudaHostUnregister(own.data()));
  EXPECT_ERROR(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data()));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaHostRegister(nullptr, 10, 0));
}

TEST(Memory, RefusesToCopyPastTheEnd) {
  char* device = nullptr;
  std::vector<char> own(200);
  ASSERT_OK(cudaMalloc(&device, 100));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(device, own.data(), 101, cudaMemcpyHostToDevice));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(own.data(), device + 50, 51, cudaMemcpyDeviceToHost));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(device + 99, 0, 2));
  EXPECT_OK(cudaMemset(device + 99, 0, 1));
  EXPECT_ERROR(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, own.data(), 1, static_cast<cudaMemcpyKind>(17)));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(nullptr, own.data(), 1, cudaMemcpyDefault));
  EXPECT_OK(cudaFree(device));
}

TEST(Memory, CopiesRowsLikeALoop) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const size_t width = random() % 70;
    const size_t height = random() % 9;
    size_t pitch = 0;
    unsigned char* device = nullptr;
    ASSERT_OK(cudaMallocPitch(&device, &pitch, width, height));
    ASSERT_GE(pitch, width);
    const size_t sourcePitch = width + random() % 13;
    const std::vector<unsigned char> source = randomBytes(sourcePitch * height + 1, round);
    std::vector<unsigned char> back(sourcePitch * height + 1, 0xee);
    std::vector<unsigned char> expected = back;
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) expected[y * sourcePitch + x] = source[y * sourcePitch + x];
    }
    ASSERT_OK(cudaMemcpy2D(device, pitch, source.data(), sourcePitch, width, height, cudaMemcpyHostToDevice));
    ASSERT_OK(
        cudaMemcpy2DAsync(back.data(), sourcePitch, device, pitch, width, height, cudaMemcpyDeviceToHost, nullptr));
    ASSERT_OK(cudaStreamSynchronize(nullptr));
    EXPECT_EQ(expected, back) << width << " x " << height;
    EXPECT_OK(cudaFree(device));
  }
  char small[4];
  EXPECT_ERROR(cudaErrorInvalidPitchValue, cudaMemcpy2D(small, 2, small, 4, 3, 1, cudaMemcpyDefault));
}

TEST(Memory, FillsRowsLikeALoop) {
  std::vector<unsigned char> bytes(7 * 10, 1);
  ASSERT_OK(cudaMemset2D(bytes.data() + 2, 10, 0x109, 5, 6));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool isInside = i % 10 >= 2 && i % 10 < 7 && i / 10 < 6;
    EXPECT_EQ(isInside ? 9 : 1, bytes[i]) << i;
  }
}

TEST(Memory, CopiesBoxesLikeALoop) {
  const cudaExtent whole = make_cudaExtent(12, 5, 4);
  cudaPitchedPtr device{};
  ASSERT_OK(cudaMalloc3D(&device, whole));
  ASSERT_OK(cudaMemset3D(device, 0, whole));
  const std::vector<unsigned char> source = randomBytes(12 * 5 * 4, 3);
  cudaMemcpy3DParms params{};
  params.srcPtr = make_cudaPitchedPtr(const_cast<unsigned char*>(source.data()), 12, 12, 5);
  params.dstPtr = device;
  params.srcPos = make_cudaPos(1, 2, 1);
  params.dstPos = make_cudaPos(3, 0, 2);
  params.extent = make_cudaExtent(7, 3, 2);
  params.kind = cudaMemcpyHostToDevice;
  ASSERT_OK(cudaMemcpy3D(&params));
  std::vector<unsigned char> expected(12 * 5 * 4, 0);
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 3; ++y) {
      for (size_t x = 0; x < 7; ++x) {
        expected[((z + 2) * 5 + y) * 12 + x + 3] = source[((z + 1) * 5 + y + 2) * 12 + x + 1];
      }
    }
  }
  std::vector<unsigned char> back(12 * 5 * 4, 0xee);
  cudaMemcpy3DParms all{};
  all.srcPtr = device;
  all.dstPtr = make_cudaPitchedPtr(back.data(), 12, 12, 5);
  all.extent = whole;
  all.kind = cudaMemcpyDeviceToHost;
  ASSERT_OK(cudaMemcpy3DAsync(&all, nullptr));
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(expected, back);
  EXPECT_OK(cudaFree(device.ptr));
}

TEST(MemoryPool, FreesInStreamOrder) {
  Stream stream;
  Gate gate;
  int* pointer = nullptr;
  int back = 0;
  ASSERT_OK(cudaMallocAsync(&pointer, sizeof(int), stream));
  gate.put(stream);
  ASSERT_OK(cudaMemsetAsync(pointer, 2, sizeof(int), stream));
  ASSERT_OK(cudaMemcpyAsync(&back, pointer, sizeof(int), cudaMemcpyDefault, stream));
  ASSERT_OK(cudaFreeAsync(pointer, stream));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeAsync(pointer, stream));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeAsync(&back, stream));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0x02020202, back);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(pointer));
}

TEST(MemoryPool, CountsWhatItGave) {
  Stream stream;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.maxSize = 1000;
  cudaMemPool_t pool = nullptr;
  ASSERT_OK(cudaMemPoolCreate(&pool, &properties));
  const auto used = [&] {
    uint64_t bytes = ~uint64_t{0};
    EXPECT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes));
    return bytes;
  };
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_OK(cudaMallocFromPoolAsync(&first, 600, pool, stream));
  EXPECT_EQ(600u, used());
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&second, 401, pool, stream));
  ASSERT_OK(cudaMallocFromPoolAsync(&second, 400, pool, stream));
  ASSERT_OK(cudaFreeAsync(first, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(400u, used());
  uint64_t high = 0;
  ASSERT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
  EXPECT_EQ(1000u, high);
  uint64_t threshold = 123;
  ASSERT_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  ASSERT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(123u, threshold);
  ASSERT_OK(cudaMemPoolDestroy(pool));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
  EXPECT_OK(cudaFree(second));  // outlives its pool
  cudaMemPool_t standard = nullptr;
  ASSERT_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
  EXPECT_NE(nullptr, standard);
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&standard, 1));
}

TEST(MemoryStress, ThreadsAllocateAndAskAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(t);
      for (int i = 0; i < 200; ++i) {
        const size_t size = 1 + random() % 5000;
        unsigned char* pointer = nullptr;
        ASSERT_OK(cudaMalloc(&pointer, size));
        cudaPointerAttributes attributes{};
        ASSERT_OK(cudaPointerGetAttributes(&attributes, pointer + size - 1));
        EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
        ASSERT_OK(cudaMemsetAsync(pointer, t, size, cudaStreamPerThread));
        ASSERT_OK(cudaStreamSynchronize(cudaStreamPerThread));
        EXPECT_EQ(t, pointer[size / 2]);
        ASSERT_OK(cudaFree(pointer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hostcuda_test

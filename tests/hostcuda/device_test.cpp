// The device, versions, limits, errors, kernels, and the symbols of the library.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "support.h"
#include "tenon/hostcuda.h"

namespace hostcuda_test {
namespace {

constexpr int kMajor = CUDART_VERSION / 1000;

TEST(Device, IsOneAndSaysWhatItIs) {
  int count = 0;
  int device = 7;
  ASSERT_OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(1, count);
  ASSERT_OK(cudaGetDevice(&device));
  EXPECT_EQ(0, device);
  EXPECT_OK(cudaSetDevice(0));
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(1));
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(-1));
  cudaDeviceProp properties;
  std::memset(&properties, 0xee, sizeof properties);
  ASSERT_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT_STREQ("Tenon host device", properties.name);
  EXPECT_EQ(32, properties.warpSize);
  EXPECT_GE(properties.multiProcessorCount, 1);
  EXPECT_EQ(1, properties.memoryPoolsSupported);
  EXPECT_EQ(0, properties.reserved[0]);
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 1));
  size_t free = 0;
  size_t total = 0;
  ASSERT_OK(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(total, properties.totalGlobalMem);
}

TEST(Device, AttributesAgreeWithProperties) {
  cudaDeviceProp properties{};
  ASSERT_OK(cudaGetDeviceProperties(&properties, 0));
  const auto value = [](cudaDeviceAttr attribute) {
    int result = -100;
    EXPECT_OK(cudaDeviceGetAttribute(&result, attribute, 0));
    return result;
  };
  EXPECT_EQ(properties.major, value(cudaDevAttrComputeCapabilityMajor));
  EXPECT_EQ(properties.minor, value(cudaDevAttrComputeCapabilityMinor));
  EXPECT_EQ(properties.multiProcessorCount, value(cudaDevAttrMultiProcessorCount));
  EXPECT_EQ(static_cast<int>(properties.sharedMemPerBlock), value(cudaDevAttrMaxSharedMemoryPerBlock));
  EXPECT_EQ(properties.l2CacheSize, value(cudaDevAttrL2CacheSize));
  EXPECT_EQ(properties.maxThreadsPerBlock, value(cudaDevAttrMaxThreadsPerBlock));
  EXPECT_EQ(0, value(cudaDevAttrCooperativeLaunch));
  int unused = 0;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceGetAttribute(&unused, static_cast<cudaDeviceAttr>(0), 0));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceGetAttribute(&unused, static_cast<cudaDeviceAttr>(9999), 0));
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&unused, cudaDevAttrWarpSize, 3));
}

TEST(Device, VersionsAreOfTheLibraryThatAnswers) {
  int driver = 0;
  int runtime = 0;
  ASSERT_OK(cudaDriverGetVersion(&driver));
  ASSERT_OK(cudaRuntimeGetVersion(&runtime));
  EXPECT_EQ(kMajor, runtime / 1000);
  EXPECT_GE(driver, runtime);
}

TEST(Device, KeepsLimitsAndConfigurations) {
  size_t value = 0;
  ASSERT_OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  ASSERT_OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
  EXPECT_EQ(4096u, value);
  EXPECT_ERROR(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&value, static_cast<cudaLimit>(77)));
  cudaFuncCache cache = cudaFuncCachePreferNone;
  ASSERT_OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  ASSERT_OK(cudaDeviceGetCacheConfig(&cache));
  EXPECT_EQ(cudaFuncCachePreferL1, cache);
  unsigned flags = 0;
  ASSERT_OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
  ASSERT_OK(cudaGetDeviceFlags(&flags));
  EXPECT_EQ(static_cast<unsigned>(cudaDeviceScheduleYield), flags & cudaDeviceScheduleMask);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaSetDeviceFlags(cudaDeviceScheduleYield | cudaDeviceScheduleSpin));
  char id[32] = "";
  int device = -1;
  ASSERT_OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  ASSERT_OK(cudaDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(0, device);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(id, 5, 0));
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&device, "0000:99:00.0"));
}

TEST(Error, IsKeptUntilItIsTakenAndPerThread) {
  cudaGetLastError();
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(5));
  EXPECT_OK(cudaSetDevice(0));  // success does not clear it
  std::thread([] { EXPECT_EQ(cudaSuccess, cudaGetLastError()); }).join();
  EXPECT_EQ(cudaErrorInvalidDevice, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

TEST(Error, HasANameAndASentence) {
  EXPECT_STREQ("cudaSuccess", cudaGetErrorName(cudaSuccess));
  EXPECT_STREQ("no error", cudaGetErrorString(cudaSuccess));
  EXPECT_STREQ("cudaErrorMemoryAllocation", cudaGetErrorName(cudaErrorMemoryAllocation));
  EXPECT_STREQ("out of memory", cudaGetErrorString(cudaErrorMemoryAllocation));
  EXPECT_STREQ("invalid argument", cudaGetErrorString(cudaErrorInvalidValue));
  EXPECT_STREQ("unrecognized error code", cudaGetErrorString(static_cast<cudaError_t>(123456)));
}

TEST(Kernel, LaunchFailsAndSaysWhy) {
  testing::internal::CaptureStderr();
  void* arguments[] = {nullptr};
  EXPECT_ERROR(cudaErrorNoKernelImageForDevice,
               cudaLaunchKernel(static_cast<const void*>(arguments), dim3(1), dim3(1), arguments, 0, nullptr));
  EXPECT_ERROR(cudaErrorNoKernelImageForDevice,
               cudaLaunchKernel(static_cast<const void*>(arguments), dim3(1), dim3(1), arguments, 0, nullptr));
  const std::string said = testing::internal::GetCapturedStderr();
  // Said once per process: a test before this one may have launched.
  EXPECT_EQ(said.find("Tenon: a CUDA kernel was launched"), said.rfind("Tenon: a CUDA kernel was launched"));
  cudaFuncAttributes attributes{};
  EXPECT_ERROR(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, static_cast<const void*>(arguments)));
}

std::vector<std::string> exportedNames() {
  std::ifstream list(TENON_EXPORTS);
  std::vector<std::string> names;
  for (std::string line; std::getline(list, line);) names.push_back(line);
  return names;
}

TEST(Symbols, AreThoseOfTheRealLibraryUnderItsVersion) {
  const std::string tag = "libcudart.so." + std::to_string(kMajor);
  void* library = dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << dlerror();
  const std::vector<std::string> names = exportedNames();
  ASSERT_GT(names.size(), 400u);
  for (const std::string& name : names) EXPECT_NE(nullptr, dlvsym(library, name.c_str(), tag.c_str())) << name;
  EXPECT_EQ(nullptr, dlsym(library, "tenonFacadeResolve"));
  dlclose(library);
}

// A function whose name is misspelt in a table would never be called.
TEST(Symbols, EveryHostFunctionIsExported) {
  size_t found = 0;
  for (const std::string& name : exportedNames()) {
    if (tenon_hostcuda_symbol(name.c_str(), kMajor) != nullptr) ++found;
  }
  EXPECT_EQ(tenon_hostcuda_symbol_count(kMajor), found);
  EXPECT_GT(found, 270u);
}

TEST(Symbols, WithoutAHostFunctionSayNotSupported) {
  cudaGetLastError();
  const auto function = reinterpret_cast<int (*)(void*, void*)>(dlsym(RTLD_DEFAULT, "cudaImportExternalMemory"));
  ASSERT_NE(nullptr, function);
  EXPECT_ERROR(cudaErrorNotSupported, static_cast<cudaError_t>(function(nullptr, nullptr)));
}

}  // namespace
}  // namespace hostcuda_test

// gpu_limits: what a Hopper GPU gives at most between kernels, into a multiprocessor, between blocks and to wgmma.
// Alone:
//
//     nvcc -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a benchmarks/gpu_limits/*.cu -o gpu_limits -ldl
//     ./gpu_limits [launches] [copies] [exchange] [products]
#include <algorithm>
#include <cstring>
#include <random>

#include <cuda_fp16.h>

#include "limits.h"

const Chip& chip() {
  static const Chip kChip = [] {
    Chip c;
    CHECK(cudaDeviceGetAttribute(&c.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&c.sharedBytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    return c;
  }();
  return kChip;
}

void report(const std::string& what, double value, const char* unit, const std::string& remark) {
  std::printf("%-66s %9.2f %-12s %s\n", what.c_str(), value, unit, remark.c_str());
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void* randomHalves(size_t count) {
  std::vector<__half> values(std::min<size_t>(count, size_t{1} << 22));
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (auto& value : values) value = __float2half(normal(generator));
  char* result = nullptr;
  CHECK(cudaMalloc(&result, count * sizeof(__half)));
  for (size_t done = 0; done < count; done += values.size()) {
    CHECK(cudaMemcpy(result + done * sizeof(__half), values.data(),
                     std::min(values.size(), count - done) * sizeof(__half), cudaMemcpyHostToDevice));
  }
  return result;
}

int main(int argc, char** argv) {
  const auto wanted = [&](const char* part) {
    return argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* a) { return std::strcmp(a, part) == 0; });
  };
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors, %d MB of L2\n", properties.name, properties.multiProcessorCount,
              properties.l2CacheSize >> 20);
  if (properties.major != 9) {
    std::fprintf(stderr, "gpu_limits is compiled for compute capability 9.0, this is %d.%d\n", properties.major,
                 properties.minor);
    return 1;
  }
  if (wanted("launches")) measureLaunches();
  if (wanted("copies")) measureCopies();
  if (wanted("exchange")) measureExchange();
  if (wanted("products")) measureProducts();
  return 0;
}

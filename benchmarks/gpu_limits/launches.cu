// From one kernel to the next: chains of kernels in a graph, plain and with programmatic dependent launch, and products
// of cuBLASLt between them. A kernel occupies every multiprocessor for about a microsecond.
#include <algorithm>

#include <cublasLt.h>
#include <dlfcn.h>

#include "limits.h"

namespace {

enum class Chain { kPlain, kWaitFirst, kReleaseFirst };  // kWaitFirst: waits, then lets the next one come

struct Moments {
  long long begin, loaded, end;  // clock of the multiprocessor
};

constexpr int kThreads = 128;
constexpr int kShared = 100 << 10;  // so that two blocks fit a multiprocessor
constexpr int kLinks = 200;
constexpr long long kWork = 2000;  // cycles

template <Chain kChain>
__global__ void __launch_bounds__(kThreads) link(const float* in, float* out, Moments* moments) {
  const long long begin = clock64();
  if (kChain == Chain::kReleaseFirst) asm volatile("griddepcontrol.launch_dependents;");
  if (kChain != Chain::kPlain) asm volatile("griddepcontrol.wait;" ::: "memory");
  if (kChain == Chain::kWaitFirst) asm volatile("griddepcontrol.launch_dependents;");
  const size_t index = blockIdx.x * kThreads + threadIdx.x;
  float value = *reinterpret_cast<const volatile float*>(in + index);
  if (value == 12345.f) out[0] = 1;  // the clock is read behind the load
  const long long loaded = clock64();
  while (clock64() - loaded < kWork) value = value * 1.0001f + 1e-6f;
  out[index] = value;
  if (threadIdx.x == 0) moments[multiprocessor()] = {begin, loaded, clock64()};
}

// A kernel whose 64 KB of weights for each block come from memory, asked for ahead of the wait or behind it.
template <bool kAhead>
__global__ void __launch_bounds__(kThreads) weighted(const float* in, float* out, const char* weights) {
  extern __shared__ __align__(128) char copy[];
  __shared__ __align__(8) unsigned long long full;
  constexpr unsigned kBytes = 64 << 10;
  const unsigned barrier = sharedAddress(&full);
  const auto ask = [&] {
    if (threadIdx.x != 0) return;
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(kBytes)
                 : "memory");
    for (unsigned at = 0; at < kBytes; at += kBytes / 8) {
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       sharedAddress(copy) + at),
                   "l"(weights + static_cast<size_t>(blockIdx.x) * kBytes + at), "r"(kBytes / 8), "r"(barrier)
                   : "memory");
    }
  };
  asm volatile("griddepcontrol.launch_dependents;");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (kAhead) ask();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (!kAhead) ask();
  const size_t index = blockIdx.x * kThreads + threadIdx.x;
  float value = *reinterpret_cast<const volatile float*>(in + index);
  asm volatile(
      "{.reg .pred p;\n"
      "wait: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], 0;\n"
      "@!p bra wait;}" ::"r"(barrier)
      : "memory");
  value += static_cast<float>(copy[threadIdx.x]);
  const long long loaded = clock64();
  while (clock64() - loaded < kWork) value = value * 1.0001f + 1e-6f;
  out[index] = value;
}

struct Chained {
  const char* name;
  void (*kernel)(const float*, float*, Moments*);
  bool attribute;
};
constexpr Chained kChains[] = {{"plain", link<Chain::kPlain>, false},
                               {"chained, wait then release", link<Chain::kWaitFirst>, true},
                               {"chained, release then wait", link<Chain::kReleaseFirst>, true}};

// Functions of cuBLASLt, found at run time; one product of halves.
struct Product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t found{};
  decltype(&cublasLtMatmul) matmul = nullptr;
  void *x = nullptr, *w = nullptr, *y = nullptr, *workspace = nullptr;

  bool make(int m, int n, int k) {
    void* library = dlopen("libcublasLt.so.13", RTLD_NOW);
    if (library == nullptr) library = dlopen("libcublasLt.so", RTLD_NOW);
    if (library == nullptr) return false;
#define FIND(name) const auto name = reinterpret_cast<decltype(&cublasLt##name)>(dlsym(library, "cublasLt" #name))
    FIND(Create);
    FIND(MatmulDescCreate);
    FIND(MatrixLayoutCreate);
    FIND(MatmulPreferenceCreate);
    FIND(MatmulPreferenceSetAttribute);
    FIND(MatmulAlgoGetHeuristic);
    FIND(Matmul);
#undef FIND
    matmul = Matmul;
    const size_t workspaceBytes = size_t{32} << 20;
    cublasLtMatmulPreference_t preference = nullptr;
    int count = 0;
    const bool made =
        Create(&handle) == 0 && MatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) == 0 &&
        MatrixLayoutCreate(&a, CUDA_R_16F, n, k, n) == 0 && MatrixLayoutCreate(&b, CUDA_R_16F, k, m, k) == 0 &&
        MatrixLayoutCreate(&c, CUDA_R_16F, n, m, n) == 0 && MatmulPreferenceCreate(&preference) == 0 &&
        MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspaceBytes,
                                     sizeof workspaceBytes) == 0 &&
        MatmulAlgoGetHeuristic(handle, operation, a, b, c, c, preference, 1, &found, &count) == 0 && count == 1;
    x = randomHalves(static_cast<size_t>(m) * k);
    w = randomHalves(static_cast<size_t>(k) * n);
    y = randomHalves(static_cast<size_t>(m) * n);
    CHECK(cudaMalloc(&workspace, workspaceBytes));
    return made;
  }
  void run(cudaStream_t stream) {
    const float one = 1, zero = 0;
    if (matmul(handle, operation, &one, w, a, x, b, &zero, y, c, y, c, &found.algo, workspace, found.workspaceSize,
               stream) != 0)
      std::exit(1);
  }
};

// Microseconds of the graph that `work` becomes.
template <typename Work>
double graphMicroseconds(cudaStream_t stream, Work&& work) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  work();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  std::vector<double> times;
  for (int i = 0; i < 15; ++i)
    times.push_back(1e3 * milliseconds(stream, [&] { CHECK(cudaGraphLaunch(executable, stream)); }));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  return median(times);
}

}  // namespace

void measureLaunches() {
  std::printf("\nfrom a kernel to the next, in a graph; each works %lld cycles behind its first load\n", kWork);
  const int blocks = chip().multiprocessors;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float* buffers[2];
  for (auto& buffer : buffers) {
    CHECK(cudaMalloc(&buffer, sizeof(float) * kThreads * static_cast<size_t>(blocks)));
    CHECK(cudaMemset(buffer, 0, sizeof(float) * kThreads * static_cast<size_t>(blocks)));
  }
  Moments* moments;
  CHECK(cudaMalloc(&moments, sizeof(Moments) * kLinks * static_cast<size_t>(blocks)));
  std::vector<Moments> seen(static_cast<size_t>(kLinks) * static_cast<size_t>(blocks));
  const auto put = [&](const Chained& chain, int i) {
    launch(chain.kernel, blocks, kThreads, kShared, 1, chain.attribute, stream, buffers[i % 2], buffers[(i + 1) % 2],
           moments + static_cast<long>(i) * blocks);
  };
  double alone[3] = {};
  for (int c = 0; c < 3; ++c) {
    const auto& chain = kChains[c];
    alone[c] = graphMicroseconds(stream,
                                 [&] {
                                   for (int i = 0; i < kLinks; ++i) put(chain, i);
                                 }) /
               kLinks;
    CHECK(cudaMemcpy(seen.data(), moments, sizeof(Moments) * seen.size(), cudaMemcpyDeviceToHost));
    std::vector<double> toBegin, toLoaded;
    for (size_t i = 1; i < kLinks; ++i) {
      for (int s = 0; s < blocks; ++s) {
        const auto& before = seen[(i - 1) * static_cast<size_t>(blocks) + static_cast<size_t>(s)];
        const auto& now = seen[i * static_cast<size_t>(blocks) + static_cast<size_t>(s)];
        if (before.end == 0 || now.end == 0 || before.end > now.end) continue;
        toBegin.push_back(static_cast<double>(now.begin - before.end));
        toLoaded.push_back(static_cast<double>(now.loaded - before.end));
      }
    }
    report(std::string(chain.name) + ": a kernel", alone[c], "us");
    report(std::string(chain.name) + ": end of one to begin of the next", median(toBegin), "cycles");
    report(std::string(chain.name) + ": end of one to first load of the next", median(toLoaded), "cycles");
  }
  constexpr size_t kWeights = size_t{1} << 30;
  const auto* weights = static_cast<const char*>(randomHalves(kWeights / 2));
  const size_t each = static_cast<size_t>(blocks) << 16;
  for (const bool ahead : {false, true}) {
    const double one = graphMicroseconds(stream,
                                         [&] {
                                           for (int i = 0; i < kLinks; ++i) {
                                             const char* from =
                                                 weights + static_cast<size_t>(i) % (kWeights / each) * each;
                                             launch(ahead ? weighted<true> : weighted<false>, blocks, kThreads, kShared,
                                                    1, true, stream, buffers[i % 2], buffers[(i + 1) % 2], from);
                                           }
                                         }) /
                       kLinks;
    report(std::string("64 KB of weights a block from memory, ") + (ahead ? "ahead of the wait" : "behind the wait"),
           one, "us");
  }
  Product product;
  if (!product.make(128, 768, 768)) {
    std::printf("no libcublasLt.so: kernels behind its products were not measured\n");
    return;
  }
  product.run(stream);
  const double vendor = graphMicroseconds(stream,
                                          [&] {
                                            for (int i = 0; i < kLinks; ++i) product.run(stream);
                                          }) /
                        kLinks;
  report("cuBLASLt 128 x 768 x 768 f16 behind itself", vendor, "us");
  for (int c = 0; c < 3; ++c) {
    const double pair = graphMicroseconds(stream,
                                          [&] {
                                            for (int i = 0; i < kLinks; ++i) {
                                              product.run(stream);
                                              put(kChains[c], i);
                                            }
                                          }) /
                        kLinks;
    report(std::string("cuBLASLt and one kernel, ") + kChains[c].name, pair, "us",
           "more than both apart: " + std::to_string(pair - vendor - alone[c]));
  }
}

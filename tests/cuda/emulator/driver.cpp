// A libcuda with one GPU of host memory: streams do their work at once, a block's threads take turns on one thread.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "block.h"
#include "emulated_map.h"
#include "graphs.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// What a kernel with arguments of its own takes; its module says so in a variable <name>_arguments. All other kernels
// take one struct.
struct EmulatedArguments {
  unsigned count;
  unsigned bytes[16];
};
struct CUmod_st {
  void* library;
  EmulatedState* state;
};
struct CUfunc_st {
  EmulatedKernel kernel;
  EmulatedState* state;
  size_t parameterBytes;               // of its one struct
  const EmulatedArguments* arguments;  // null: it has one struct
  size_t microseconds;                 // that a block takes by the counted clock
};

EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::snprintf(name, static_cast<size_t>(size), "emulated GPU"), CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = 0;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = 9;
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    *value = 132;  // so that work is divided as on a large chip
  if (attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) *value = 1 << 16;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = reinterpret_cast<CUcontext>(16), CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext* context) { return *context = reinterpret_cast<CUcontext>(16), CUDA_SUCCESS; }
EXPORT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
#undef cuCtxSynchronize  // the header renames it to a later version
EXPORT CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0x7b, bytes);  // what nobody wrote is no zero
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) { return std::free(reinterpret_cast<void*>(pointer)), CUDA_SUCCESS; }
EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  return *pointer = std::malloc(bytes), CUDA_SUCCESS;
}
EXPORT CUresult cuMemFreeHost(void* pointer) { return std::free(pointer), CUDA_SUCCESS; }
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enqueue(stream, [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return enqueue(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  if (isCapturedAsBody(stream)) return CUDA_ERROR_NOT_SUPPORTED;
  return enqueue(stream, [=] { function(argument); });
}

// Modules that are loaded now; no function of a driver.
std::atomic<unsigned long> modules = 0;
EXPORT unsigned long emulatedModules() { return modules; }
EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  // The length of a shared library: the section headers come last.
  const auto* bytes = static_cast<const unsigned char*>(image);
  unsigned long offset = 0;
  unsigned short size = 0;
  unsigned short count = 0;
  std::memcpy(&offset, bytes + 0x28, 8);
  std::memcpy(&size, bytes + 0x3a, 2);
  std::memcpy(&count, bytes + 0x3c, 2);
  char name[] = "/tmp/tenon_emulator_module_XXXXXX";
  const int file = mkstemp(name);
  const auto length = static_cast<ssize_t>(offset + static_cast<unsigned long>(size) * count);
  const bool written = file >= 0 && write(file, image, static_cast<size_t>(length)) == length;
  if (file >= 0) close(file);
  void* library = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(name);
  if (library == nullptr) return std::fprintf(stderr, "emulator: %s\n", dlerror()), CUDA_ERROR_INVALID_IMAGE;
  ++modules;
  *module = new CUmod_st{library, static_cast<EmulatedState*>(dlsym(library, "tenon_emulator"))};
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                   void** values) {
  const CUresult result = cuModuleLoadData(module, image);
  for (unsigned i = 0; result != CUDA_SUCCESS && i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) std::strcpy(static_cast<char*>(values[i]), "no shared library");
  }
  return result;
}
EXPORT CUresult cuModuleUnload(CUmodule module) {
  --modules;
  dlclose(module->library);
  delete module;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto kernel = reinterpret_cast<EmulatedKernel>(dlsym(module->library, name));
  const auto* bytes = static_cast<unsigned long*>(dlsym(module->library, (std::string(name) + "_bytes").c_str()));
  const auto* arguments =
      static_cast<const EmulatedArguments*>(dlsym(module->library, (std::string(name) + "_arguments").c_str()));
  if (kernel == nullptr || (bytes == nullptr && arguments == nullptr)) return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{kernel, module->state, bytes != nullptr ? *bytes : 0, arguments,
                            1 + std::hash<std::string>()(name) % 7};  // until the process ends
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  if (function->arguments == nullptr || index >= function->arguments->count) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *bytes = function->arguments->bytes[index];
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) { return *value = 0, CUDA_SUCCESS; }
// Kernels launched so far; no function of a driver.
std::atomic<unsigned long> launches = 0;
EXPORT unsigned long emulatedLaunches() { return launches; }
// Of these, those that the host has asked for one by one, neither captured nor replayed.
std::atomic<unsigned long> directLaunches = 0;
EXPORT unsigned long emulatedDirectLaunches() { return directLaunches; }
// Copies, because the caller's may change before a recorded launch runs.
class Parameters {
 public:
  void add(const void* bytes, size_t count) {
    constexpr size_t kAlignment = 64;
    copies_.emplace_back(std::aligned_alloc(kAlignment, (count + kAlignment - 1) / kAlignment * kAlignment),
                         &std::free);
    std::memcpy(copies_.back().get(), bytes, count);
    pointers_.push_back(copies_.back().get());
  }
  void makeList() { isList_ = true; }
  const void* get() const { return isList_ ? static_cast<const void*>(pointers_.data()) : pointers_[0]; }

 private:
  std::vector<std::shared_ptr<void>> copies_;
  std::vector<void*> pointers_;
  bool isList_ = false;
};
std::shared_ptr<Parameters> parametersOf(const CUfunc_st& function, void** arguments) {
  auto parameters = std::make_shared<Parameters>();
  if (function.arguments == nullptr) {
    parameters->add(arguments[0], function.parameterBytes);
    return parameters;
  }
  for (unsigned i = 0; i < function.arguments->count; ++i) parameters->add(arguments[i], function.arguments->bytes[i]);
  parameters->makeList();
  return parameters;
}
EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void**) {
  const auto& c = *config;
  unsigned cluster = 1;
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) cluster = c.attrs[i].value.clusterDim.x;
    // Of a launch whose blocks all run at once those along x do: kernels wait for no others.
    if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cluster = c.gridDimX;
  }
  const unsigned threads = c.blockDimX * c.blockDimY * c.blockDimZ;
  if (c.gridDimX == 0 || c.gridDimY == 0 || c.gridDimZ == 0 || c.gridDimY > 65535 || c.gridDimZ > 65535 ||
      threads == 0 || threads > 1024 || cluster == 0 || cluster > 8 || c.gridDimX % cluster != 0)
    return CUDA_ERROR_INVALID_VALUE;
  directLaunches += emulatedGraphOf(c.hStream) == nullptr ? 1 : 0;
  const EmulatedSize grid{c.gridDimX, c.gridDimY, c.gridDimZ};
  const EmulatedSize block{c.blockDimX, c.blockDimY, c.blockDimZ};
  return enqueue(c.hStream, [=, parameters = parametersOf(*function, arguments)] {
    ++launches;
    emulatedSpend(function->microseconds * (grid.x * grid.y * grid.z + block.x % 31));
    runGrid(function->kernel, *function->state, grid, block, parameters->get(), cluster);
  });
}
EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned, CUstream stream, void** arguments, void** extra) {
  CUlaunchConfig config{};
  config.hStream = stream;
  config.gridDimX = gx;
  config.gridDimY = gy;
  config.gridDimZ = gz;
  config.blockDimX = bx;
  config.blockDimY = by;
  config.blockDimZ = bz;
  return cuLaunchKernelEx(&config, function, arguments, extra);
}

// Bytes of an element; 0: there are no maps of this type here.
unsigned mappedBytes(CUtensorMapDataType type) {
  if (type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32) return 4;
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ? 2 : 0;
}
// Maps in the order of products.
bool isMapped(CUtensorMapDataType type, const void* base, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
              CUtensorMapFloatOOBfill fill) {
  return mappedBytes(type) != 0 && reinterpret_cast<size_t>(base) % 16 == 0 &&
         interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && swizzle == CU_TENSOR_MAP_SWIZZLE_128B &&
         fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
}
CUresult writeMap(CUtensorMap* map, const EmulatedMap& made) {
  static_assert(sizeof made <= sizeof *map);
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &made, sizeof made);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                       const cuuint64_t* extents, const cuuint64_t* pitches, const cuuint32_t* box,
                                       const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                       CUtensorMapFloatOOBfill fill) {
  // Rank 3: pieces of 128 bytes of each row as an axis of their own. Rank 4: matrices that lie anyhow.
  const bool hasPieces = rank == 3;
  bool good = isMapped(type, base, interleave, swizzle, fill) && rank >= 2 && rank <= 4 &&
              box[0] * mappedBytes(type) == 128 && box[1] != 0 && box[1] <= 256;
  for (cuuint32_t i = 0; good && i < rank; ++i)
    good = extents[i] != 0 && steps[i] == 1 && (i == 0 || pitches[i - 1] % 16 == 0);
  if (good && hasPieces)
    good = extents[0] == box[0] && pitches[1] == 128 && extents[2] * 128 <= pitches[0] && box[2] != 0 && box[2] <= 256;
  if (good && rank == 4) good = box[2] == 1 && box[3] == 1;
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  EmulatedMap made{};
  made.base = static_cast<const unsigned char*>(base);
  made.elementBytes = mappedBytes(type);
  made.isRounded = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  made.columns = static_cast<long long>(extents[0] * (hasPieces ? extents[2] : 1));
  made.width = static_cast<long long>(extents[1]);
  made.height = rank == 4 ? static_cast<long long>(extents[2]) : 1;
  made.images = rank == 4 ? static_cast<long long>(extents[3]) : 1;
  made.pitch = static_cast<long long>(pitches[0]);
  made.pitchOfRows = rank == 4 ? static_cast<long long>(pitches[1]) : 0;
  made.pitchOfImages = rank == 4 ? static_cast<long long>(pitches[2]) : 0;
  made.boxRows = box[1];
  made.boxPieces = hasPieces ? box[2] : 0;
  return writeMap(map, made);
}
EXPORT CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                        const cuuint64_t* extents, const cuuint64_t* pitches, const int* lower,
                                        const int* upper, cuuint32_t channels, cuuint32_t pixels,
                                        const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                        CUtensorMapFloatOOBfill fill) {
  bool good = isMapped(type, base, interleave, swizzle, fill) && (rank == 4 || rank == 5) &&
              channels * mappedBytes(type) == 128 && pixels >= 1 && pixels <= 1024 && steps[0] == 1 &&
              steps[rank - 1] == 1 && pitches[0] % 16 == 0 && pitches[1] == pitches[0] * extents[1] &&
              pitches[2] == pitches[1] * extents[2];
  const int axes = static_cast<int>(rank) - 2;
  const int most = axes == 2 ? 127 : 15;
  for (int i = 0; good && i < axes; ++i) {
    good = lower[i] >= -most - 1 && lower[i] <= most && upper[i] >= -most - 1 && upper[i] <= most &&
           steps[1 + i] >= 1 && steps[1 + i] <= 8;
  }
  if (good && axes == 3) good = pitches[3] == pitches[2] * extents[3];
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  EmulatedMap made{};
  made.base = static_cast<const unsigned char*>(base);
  made.elementBytes = mappedBytes(type);
  made.isRounded = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  made.columns = static_cast<long long>(extents[0]);
  made.width = static_cast<long long>(extents[1]);
  made.height = static_cast<long long>(extents[2]);
  made.images = static_cast<long long>(extents[rank - 1]);
  made.depth = axes == 3 ? static_cast<long long>(extents[3]) : 0;
  made.pitchOfRows = static_cast<long long>(pitches[1]);
  made.pitchOfImages = static_cast<long long>(pitches[2]);
  made.pitch = static_cast<long long>(pitches[0]);
  made.boxRows = pixels;
  made.isWindows = true;
  for (int i = 0; i < axes; ++i) {  // W, H, then D
    const int at = i == 2 ? 2 : 1 - i;
    made.first[at] = lower[i];
    made.last[at] = static_cast<int>(extents[1 + i]) - 1 + upper[i];
    made.step[i] = static_cast<int>(steps[1 + i]);
  }
  return writeMap(map, made);
}
EXPORT CUresult cuGetErrorString(CUresult, const char** text) { return *text = "of the emulated driver", CUDA_SUCCESS; }

// Compilation, and modules.
#include "backends/cuda/driver/compiler.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/code_cache.h"
#include "backends/cuda/driver/compilers.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/made_once.h"
#include "core/environment.h"
#include "core/error.h"
#include "plan/checksum.h"

namespace tenon::backends::cuda {
namespace {

// Whether a kernel is set up while the one in front of it still runs: it waits by itself then (intrinsics.cuh).
// TENON_CUDA_OVERLAP=0 switches this off.
bool mayOverlap() {
  static const bool kMay = [] {
    return switchedOn("TENON_CUDA_OVERLAP", true) && driver().launchKernelEx != nullptr && computeCapability() >= 90;
  }();
  return kMay;
}

thread_local bool inOrderNext = false;

// Machine code; PTX, which the driver translates, where this chip is taken for an older one.
std::string architecture(int capability) {
  if (unavailableReason().empty() && translatesCode() && capability == computeCapability())
    return fmt::format("--gpu-architecture=compute_{}", capability);
  return fmt::format("--gpu-architecture=sm_{}{}", capability, capability == 90 ? "a" : "");
}

// Empty, and what NVRTC says, where it refuses.
std::vector<std::byte> compileBy(const Nvrtc& n, const std::string& source, int capability, std::string& complaint) {
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto& file : embeddedFiles()) {
    names.push_back(file.name);
    texts.push_back(file.text);
  }
  nvrtcProgram program = nullptr;
  if (n.createProgram(&program, source.c_str(), "tenon.cu", static_cast<int>(names.size()), texts.data(),
                      names.data()) != NVRTC_SUCCESS) {
    throw InternalError("nvrtcCreateProgram failed");
  }
  const auto chip = architecture(capability);
  // Without what textures and the like need, which no kernel of ours has: the code is the same to the byte.
  constexpr int kKnowsMinimal = 13;
  int major = 0;
  int minor = 0;
  n.version(&major, &minor);
  const char* options[] = {chip.c_str(), "--std=c++17", "--fmad=true", "--extra-device-vectorization", "--minimal"};
  const auto status = n.compileProgram(program, major >= kKnowsMinimal ? 5 : 4, options);
  std::vector<std::byte> code;
  size_t size = 0;
  const bool isText = chip.find("compute_") != std::string::npos;
  const auto sizeOf = isText ? n.getPtxSize : n.getCubinSize;
  if (status == NVRTC_SUCCESS && sizeOf(program, &size) == NVRTC_SUCCESS) {
    code.resize(size);
    (isText ? n.getPtx : n.getCubin)(program, reinterpret_cast<char*>(code.data()));
  } else if (n.getProgramLogSize(program, &size) == NVRTC_SUCCESS) {
    std::string log(size, '\0');
    n.getProgramLog(program, log.data());
    complaint = fmt::format("({}): {}", n.getErrorString(status), log);
  }
  n.destroyProgram(&program);
  return code;
}

std::vector<std::byte> compileNow(const std::string& source, int capability) {
  std::string complaint;
  std::vector<std::byte> code;
  {
    Compilers::Lease compiler(compilers());
    code = compileBy(*compiler, source, capability, complaint);
    // All threads would wait for the library itself, were it asked for every kernel that is refused.
    if (!code.empty()) compiler.trust();
    else if (!compiler.isTrusted()) code = compileBy(nvrtc(), source, capability, complaint);
  }
  if (code.empty()) throw Unsupported("NVRTC refuses a kernel for sm_{} {}", capability, complaint);
  return code;
}

// Half a megabyte, and the same for all kernels of a chip.
CodeKey keyOfHeaders(int capability) {
  static auto* const kMutex = new std::mutex;
  static auto* const kKeys = new std::map<int, CodeKey>;
  const std::lock_guard lock(*kMutex);
  const auto found = kKeys->find(capability);
  return found != kKeys->end() ? found->second
                               : kKeys->emplace(capability, CodeKey(codeKey("", capability))).first->second;
}

void unload(CUmodule module) { driver().moduleUnload(module); }

// The module of such code, which stays on the device as long as somebody has it. The mutex of each code is held while
// it is loaded.
std::shared_ptr<CUmod_st> loadedOnce(std::span<const std::byte> code) {
  struct Loaded {
    std::mutex mutex;
    std::weak_ptr<CUmod_st> module;
  };
  struct Known {
    std::mutex mutex;
    std::map<std::array<uint64_t, 3>, std::shared_ptr<Loaded>> modules;  // by length and two hashes
  };
  static auto* const kKnown = new Known;
  constexpr size_t kMost = 1024;
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  std::shared_ptr<Loaded> place;
  {
    const std::lock_guard lock(kKnown->mutex);
    if (kKnown->modules.size() >= kMost)
      std::erase_if(kKnown->modules,
                    [](const auto& known) { return known.second.use_count() == 1 && known.second->module.expired(); });
    auto& known =
        kKnown->modules[{code.size(), plan::checksum(code.data(), code.size()), std::hash<std::string_view>()(text)}];
    if (known == nullptr) known = std::make_shared<Loaded>();
    place = known;
  }
  const std::lock_guard lock(place->mutex);
  auto module = place->module.lock();
  if (module != nullptr) return module;
  CUmodule loaded = nullptr;
  check(driver().moduleLoadData(&loaded, code.data()), "cuModuleLoadData");
  module.reset(loaded, &unload);
  place->module = module;
  return module;
}

}  // namespace

std::string Code::source() const {
  std::string result;
  for (const auto& define : defines) {
    const auto equals = define.find('=');
    result += fmt::format("#define {} {}\n", define.substr(0, equals),
                          equals == std::string::npos ? "" : define.substr(equals + 1));
  }
  if (file.empty()) return result + text;
  for (const auto& embedded : embeddedFiles()) {
    if (file == embedded.name) return result + embedded.text;
  }
  throw InternalError("the kernel file '{}' does not exist", file);
}

std::string codeKey(const std::string& source, int capability) {
  int major = 0;
  int minor = 0;
  nvrtc().version(&major, &minor);
  std::string key = fmt::format("nvrtc {}.{} {}\n", major, minor, architecture(capability));
  for (const auto& file : embeddedFiles()) key += file.text;
  return key + source;
}

std::vector<std::byte> compile(const std::string& source, int capability) {
  if (!nvrtc().missing.empty()) throw Unsupported("NVRTC is needed to compile kernels: {}", nvrtc().missing);
  // Threads that want the same code wait for the one that makes it; the last ones stay for the tactics of a build, and
  // so does that they were refused.
  constexpr size_t kMost = 512;
  static auto* const kMade = new MadeOnce<std::vector<std::byte>>(kMost);
  return *kMade->get(fmt::format("{} {}", capability, source), [&] {
    auto key = keyOfHeaders(capability);
    key.add(source);
    auto code = readCachedCode(key);
    if (code.empty()) {
      code = compileNow(source, capability);
      writeCachedCode(key, code);
    }
    return std::make_shared<const std::vector<std::byte>>(std::move(code));
  });
}

Module::Module(std::span<const std::byte> code, const Code& source) {
  makeCurrent();
  std::vector<std::byte> own;
  if (code.empty()) {
    own = compile(source.source(), computeCapability());
    code = own;
  }
  module_ = loadedOnce(code);
}

Module::Module(std::span<const std::byte> code) {
  makeCurrent();
  std::string text(reinterpret_cast<const char*>(code.data()), code.size());  // PTX ends with a zero
  std::array<char, 4096> log{};
  CUmodule module = nullptr;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const CUresult result = driver().moduleLoadDataEx(&module, text.c_str(), 2, options, values);
  if (result == CUDA_SUCCESS) {
    module_.reset(module, &unload);
    return;
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) check(result, "cuModuleLoadDataEx");
  const char* reason = nullptr;
  driver().getErrorString(result, &reason);
  throw Unsupported("the driver refuses the code of {} bytes: CUDA error {} ({}){}{}", code.size(),
                    static_cast<int>(result), reason != nullptr ? reason : "unknown", log[0] != '\0' ? ": " : "",
                    log.data());
}

namespace {

// A multiprocessor divides its memory between cache and shared memory, and has to be empty to divide it otherwise. What
// stands among products that take most of it as shared memory divides it like them, so that their blocks find room
// while it still runs.
void divideLikeProducts(CUfunction function, const std::string& name) {
  constexpr std::string_view kAmongProducts[] = {"tenon_normalize",       "tenon_mma90",
                                                 "tenon_group_attention", "tenon_stream_attention",
                                                 "tenon_flash_attention", "tenon_row_attention"};
  constexpr int kAllShared = 100;
  if (std::none_of(std::begin(kAmongProducts), std::end(kAmongProducts),
                   [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return;
  check(driver().functionSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kAllShared),
        "cuFuncSetAttribute");
}

}  // namespace

CUfunction Module::function(const std::string& name) const {
  CUfunction result = nullptr;
  check(driver().moduleGetFunction(&result, module_.get(), name.c_str()), name.c_str());
  divideLikeProducts(result, name);
  return result;
}

CUfunction Module::find(const std::string& name) const {
  CUfunction result = nullptr;
  const CUresult status = driver().moduleGetFunction(&result, module_.get(), name.c_str());
  if (status == CUDA_ERROR_NOT_FOUND) return nullptr;
  check(status, "cuModuleGetFunction");
  divideLikeProducts(result, name);
  return result;
}

void allowSharedBytes(CUfunction function, size_t bytes) {
  // 48 KiB need no asking, but the kernel's own arrays and what the driver reserves count among them.
  constexpr size_t kAlways = 32 << 10;
  constexpr int kUnasked = 48 << 10;
  if (bytes <= kAlways) return;
  static auto* const kMutex = new std::mutex;
  const std::lock_guard lock(*kMutex);
  int allowed = 0;
  check(driver().functionGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function),
        "cuFuncGetAttribute");
  const int wanted = std::max(allowed, static_cast<int>(bytes));
  if (wanted == allowed && allowed > kUnasked) return;
  check(driver().functionSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted),
        "cuFuncSetAttribute");
}

void launchNextInOrder() noexcept { inOrderNext = true; }

void launchBytes(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, void* parameters,
                 void* stream, unsigned sharedBytes, Blocks blocks) {
  void* arguments[] = {parameters};
  const bool overlaps = !std::exchange(inOrderNext, false) && mayOverlap() && blocks != Blocks::kTogether;
  if (!overlaps && blocks == Blocks::kApart) {
    check(driver().launchKernel(function, x, y, z, block, 1, 1, sharedBytes, static_cast<CUstream>(stream), arguments,
                                nullptr),
          "cuLaunchKernel");
    return;
  }
  std::array<CUlaunchAttribute, 2> attributes{};
  CUlaunchConfig config{};
  if (overlaps) {
    auto& overlap = attributes[config.numAttrs++];
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
  }
  if (blocks == Blocks::kClusters) {
    auto& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {x, 1, 1};
  }
  if (blocks == Blocks::kTogether) {
    auto& together = attributes[config.numAttrs++];
    together.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    together.value.cooperative = 1;
  }
  config.gridDimX = x;
  config.gridDimY = y;
  config.gridDimZ = z;
  config.blockDimX = block;
  config.blockDimY = 1;
  config.blockDimZ = 1;
  config.sharedMemBytes = sharedBytes;
  config.hStream = static_cast<CUstream>(stream);
  config.attrs = attributes.data();
  check(driver().launchKernelEx(&config, function, arguments, nullptr), "cuLaunchKernelEx");
}

unsigned blockSize(int64_t threads, unsigned least) {
  unsigned size = 256;
  while (size > least && threads < fewBlocks() * size) size /= 2;
  return size;
}

unsigned blocksOf(int64_t threads, unsigned block) {
  const int64_t blocks = (threads + block - 1) / block;
  checkInternal(blocks < int64_t{1} << 31, "a launch of {} threads exceeds the grid", threads);
  return static_cast<unsigned>(blocks);
}

}  // namespace tenon::backends::cuda

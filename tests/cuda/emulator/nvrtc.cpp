// A libnvrtc whose machine code is a shared library for the host, made by the C++ compiler with the headers of this
// folder in the place of the kernels' own.
#include <nvrtc.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct _nvrtcProgram {
  std::string source;
  std::map<std::string, std::string> headers;
  std::string code;
  std::string log;
};

namespace {

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Headers of the kernels that the host has its own form of.
constexpr const char* kPrecompiled = "intrinsics.cuh";
constexpr const char* kReplaced[] = {kPrecompiled, "tensor_core.cuh", "bulk_copies.cuh", "warp_sum.cuh",
                                     "emulated_map.h"};

std::string replacement(const char* name) { return readFile(std::filesystem::path(TENON_EMULATOR_HEADERS) / name); }

void writeFile(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A new folder, until this ends; no path where there is none.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_emulator_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) at = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!at.empty()) std::filesystem::remove_all(at, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path at;
};

// Kernels call the C library only, which the process has, and the compiler's own: linking no other library and writing
// no tables for exceptions saves a tenth of the time.
std::string compileCommand(const std::filesystem::path& headers) {
  return std::string(TENON_EMULATOR_COMPILER) +
         " -std=c++17 -O1 -w -fPIC -fvisibility=hidden -fwrapv -fno-exceptions -fno-asynchronous-unwind-tables -I '" +
         headers.string() + "' ";
}

// The headers of a program as files, which all programs with these headers share until the process ends: there are some
// hundred, and writing them for each program took a quarter of the time. The header that reads the C library is
// precompiled; without that, compiling only takes longer.
const Folder* headersOf(const _nvrtcProgram& program) {
  static std::mutex mutex;
  static std::map<size_t, Folder> folders;
  std::string all;
  for (const auto& [name, text] : program.headers) all += name + '\n' + text;
  const std::lock_guard lock(mutex);
  auto& folder = folders[std::hash<std::string>()(all)];
  if (folder.at.empty()) return nullptr;
  if (std::filesystem::is_empty(folder.at)) {
    for (const auto& [name, text] : program.headers) writeFile(folder.at / name, text);
    const auto header = (folder.at / kPrecompiled).string();
    (void)std::system(
        (compileCommand(folder.at) + "-x c++-header '" + header + "' -o '" + header + ".gch' 2> /dev/null").c_str());
  }
  return &folder;
}

unsigned long refusedAgain = 0;

// Sources in which the text stands that TENON_EMULATED_REFUSES names.
bool isRefused(const std::string& source) {
  const char* const text = std::getenv("TENON_EMULATED_REFUSES");
  if (text == nullptr || source.find(text) == std::string::npos) return false;
  static std::mutex mutex;
  static std::set<size_t> refused;
  const std::lock_guard lock(mutex);
  if (!refused.insert(std::hash<std::string>()(source)).second) ++refusedAgain;
  return true;
}

}  // namespace

EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) {
  std::string text;
  for (const char* name : kReplaced) text += replacement(name);
  *major = 0;  // of no real release: the cache on disk keeps these apart, and what other headers gave
  *minor = static_cast<int>(std::hash<std::string>()(text) & 0x7fffffff);
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int headers,
                                      const char* const* texts, const char* const* names) {
  *program = new _nvrtcProgram{source, {}, {}, {}};
  for (int i = 0; i < headers; ++i) (*program)->headers[names[i]] = texts[i];
  for (const char* name : kReplaced) (*program)->headers[name] = replacement(name);
  // What the host's form of intrinsics.cuh reads, also for sources that are none of ours.
  constexpr const char* kWanted = "wanted_kernels.cuh";
  (*program)->headers.try_emplace(kWanted, replacement("../../../src/backends/cuda/kernels/common/wanted_kernels.cuh"));
  (*program)->headers.erase("cstdint");  // the host's compiler has one
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

// How often a source came again that was refused before.
EXPORT unsigned long emulatedRefusals() { return refusedAgain; }

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  if (isRefused(program->source)) {
    program->log = "the environment wants this kernel refused";
    return NVRTC_ERROR_COMPILATION;
  }
  const auto* const headers = headersOf(*program);
  const Folder folder;
  if (headers == nullptr || folder.at.empty()) return NVRTC_ERROR_INTERNAL_ERROR;
  const auto in = [&](const char* name) { return (folder.at / name).string(); };
  writeFile(in("kernel.cpp"), program->source);
  // The precompiled header has all kernels of a source.
  const bool isNamed = program->source.find("#define NAMED_KERNELS") != std::string::npos;
  const std::string command = compileCommand(headers->at) + (isNamed ? "-DNAMED_KERNELS= " : "") +
                              "-shared -nostdlib -include " + kPrecompiled + " -o '" + in("kernel.so") + "' '" +
                              in("kernel.cpp") + "' -lgcc 2> '" + in("log") + "'";
  const bool good = std::system(command.c_str()) == 0;
  program->log = readFile(in("log"));
  if (good) program->code = readFile(in("kernel.so"));
  return good ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  *size = program->code.size();
  return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  program->code.copy(code, program->code.size());
  return NVRTC_SUCCESS;
}
// The same stands for PTX.
EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) { return nvrtcGetCUBINSize(program, size); }
EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) { return nvrtcGetCUBIN(program, code); }
EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  *size = program->log.size();
  return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  program->log.copy(log, program->log.size());
  return NVRTC_SUCCESS;
}
EXPORT const char* nvrtcGetErrorString(nvrtcResult) { return "the host's compiler says"; }

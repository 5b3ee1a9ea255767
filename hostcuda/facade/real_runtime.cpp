// Finds and opens NVIDIA's runtime library without ever finding this one again.
#include "real_runtime.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace tenon::facade {
namespace {

const std::string kFileName = "libcudart.so." + std::to_string(TENON_CUDART_MAJOR);

std::vector<std::string> expand(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    // Backwards, so that of /usr/local/cuda-13.0 and cuda-13.1 the newer comes first.
    for (size_t i = found.gl_pathc; i > 0; --i) paths.emplace_back(found.gl_pathv[i - 1]);
  }
  globfree(&found);
  return paths;
}

void addFromEnvironment(const char* variable, const std::string& suffix, std::vector<std::string>& folders) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return;
  std::string rest = text;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    if (!folder.empty() && folder[0] == '/') folders.push_back(folder + suffix);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
}

// Folders named in a file of ld.so.conf, its includes followed.
void addFromLoaderConfiguration(const std::string& file, int depth, std::vector<std::string>& folders) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    line.erase(0, line.find_first_not_of(" \t"));
    const size_t end = line.find_last_not_of(" \t\r");
    line.erase(end == std::string::npos ? 0 : end + 1);
    if (line.rfind("include ", 0) == 0) {
      const std::string pattern = line.substr(line.find_first_not_of(" \t", 8));
      if (depth == 0) continue;
      for (const std::string& path : expand(pattern[0] == '/' ? pattern : "/etc/" + pattern)) {
        addFromLoaderConfiguration(path, depth - 1, folders);
      }
    } else if (!line.empty() && line[0] == '/') {
      folders.push_back(line);
    }
  }
}

std::vector<std::string> candidates() {
  std::vector<std::string> folders;
  addFromEnvironment("LD_LIBRARY_PATH", "", folders);
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    addFromEnvironment(variable, "/lib64", folders);
    addFromEnvironment(variable, "/lib", folders);
  }
  addFromLoaderConfiguration("/etc/ld.so.conf", 3, folders);
  for (const char* pattern : {"/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/cuda*/targets/*/lib",
                              "/opt/cuda/lib64", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    for (const std::string& folder : expand(pattern)) folders.push_back(folder);
  }
  std::vector<std::string> files;
  if (const char* file = std::getenv("TENON_CUDART"); file != nullptr && *file != '\0') files.emplace_back(file);
  for (const std::string& folder : folders) files.push_back(folder + "/" + kFileName);
  return files;
}

// A copy of this library, wherever it lies, is known by what it needs.
bool isFacade(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return false;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  for (const ElfW(Dyn)* entry = map->l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && std::strstr(strings + entry->d_un.d_val, "libtenon_hostcuda") != nullptr) {
      return true;
    }
  }
  return false;
}

void* openRuntime() {
  for (const std::string& path : candidates()) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    if (!isFacade(library) && dlsym(library, "cudaMalloc") != nullptr) return library;
    dlclose(library);
  }
  std::fprintf(stderr,
               "Tenon: a GPU answers, but NVIDIA's %s was not found in the usual folders. Set TENON_CUDART to the "
               "path of the file, or TENON_DEVICE=cpu to compute on the host.\n",
               kFileName.c_str());
  return nullptr;
}

}  // namespace

void* realRuntime() {
  static void* const library = openRuntime();
  return library;
}

}  // namespace tenon::facade

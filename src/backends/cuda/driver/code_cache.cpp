// Files <folder>/kernels/<hash>.cubin: a line with the length and the hash of the code, then the code.
#include "backends/cuda/driver/code_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/fields.h"

namespace tenon::backends::cuda {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  if (const char* chosen = std::getenv("TENON_CACHE_DIR"))
    return *chosen == '\0' ? fs::path() : fs::path(chosen) / "kernels";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / ".cache" / "tenon" / "kernels";
}

fs::path fileOf(const fs::path& where, const CodeKey& key) {
  return where / fmt::format("{:016x}{:016x}.cubin", key.first(), key.second());
}

std::string header(std::string_view code) {
  return fmt::format("tenon kernel 1 {} {:016x}\n", code.size(), hashBytes(code));
}

}  // namespace

std::vector<std::byte> readCachedCode(const CodeKey& key) {
  const auto where = folder();
  if (where.empty()) return {};
  std::ifstream file(fileOf(where, key), std::ios::binary);
  if (!file) return {};
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  const auto end = all.find('\n');
  if (end == std::string::npos) return {};
  const auto code = std::string_view(all).substr(end + 1);
  if (all.substr(0, end + 1) != header(code)) return {};
  const auto* bytes = reinterpret_cast<const std::byte*>(code.data());
  return {bytes, bytes + code.size()};
}

void writeCachedCode(const CodeKey& key, const std::vector<std::byte>& code) {
  const auto where = folder();
  if (where.empty()) return;
  std::error_code error;
  fs::create_directories(where, error);
  if (error) return;
  static std::atomic<unsigned> number{0};
  const auto target = fileOf(where, key);
  const auto temporary = where / fmt::format("{}.{}.{}", target.filename().string(), getpid(), number++);
  {
    std::ofstream file(temporary, std::ios::binary);
    const std::string_view view(reinterpret_cast<const char*>(code.data()), code.size());
    file << header(view) << view;
    if (!file.flush()) {
      file.close();
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, target, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace tenon::backends::cuda

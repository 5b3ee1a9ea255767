// The table of variables, and the one way to read them.
#include "core/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace tenon {
namespace {

struct Variable {
  const char* name;
  long low;
  long high;  // with 0 to 1 it is a switch
};

constexpr Variable kVariables[] = {
    {"TENON_CUDA_GRAPH", 0, 1},
    {"TENON_CUDA_CONDITIONAL_NODES", 0, 1},
    {"TENON_CUDA_NORMALIZED_PRODUCTS", 0, 1},
    {"TENON_CUDA_NORMALIZED_ROWS", 0, 1},
    {"TENON_CUDA_EXCITATION", 0, 1},
    {"TENON_CUDA_EXPANSION", 0, 1},
    {"TENON_CUDA_STREAM_ATTENTION", 0, 1},
    {"TENON_CUDA_OMITTED_TAPS", 0, 1},
    {"TENON_CUDA_OVERLAP", 0, 1},
    {"TENON_CUDA_PERSISTENT_PRODUCTS", 0, 1},
    {"TENON_CUDA_COMPILERS", 1, 16},
    {"TENON_CUDA_CAPABILITY", 80, 999},
    {"TENON_CUDA_EXACT_PRODUCTS", 0, 1},
    {"TENON_CUDA_WARPGROUPS", 0, 1},
    {"TENON_SELF_CHECK", 0, 1},
    {"TENON_TACTIC_RANGES", 0, 1},
    {"TENON_LOOP_LIMIT", 1, INT64_MAX},
    {"TENON_THREADS", 1, 4095},
    {"TENON_STOP_AFTER", 0, 1'000'000'000},
};

// What is set; nothing set is as not set.
std::string_view given(const Variable& variable) noexcept {
  const char* const value = std::getenv(variable.name);
  return value != nullptr ? value : "";
}

std::optional<long> read(const Variable& variable) noexcept {
  const std::string_view text = given(variable);
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool fits =
      error == std::errc() && end == text.data() + text.size() && number >= variable.low && number <= variable.high;
  return fits ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<long> numberSetting(std::string_view name) noexcept {
  for (const auto& variable : kVariables) {
    if (variable.name == name) return read(variable);
  }
  return std::nullopt;
}

bool switchedOn(std::string_view name, bool otherwise) noexcept {
  return numberSetting(name).value_or(otherwise ? 1 : 0) != 0;
}

namespace {

// Folders that TENON_CUDA_LIBS names, files that TENON_CUDART and TENON_CACHE_DIR name: what is not there is not looked
// into.
void addMissingPaths(std::vector<std::string>& result) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto value = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::string(text != nullptr ? text : "");
  };
  std::istringstream folders(value("TENON_CUDA_LIBS"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || fs::is_directory(folder, error)) continue;
    result.push_back(
        fmt::format("TENON_CUDA_LIBS names '{}', expected folders separated by colons; it is ignored", folder));
  }
  const auto runtime = value("TENON_CUDART");
  if (!runtime.empty() && !fs::is_regular_file(runtime, error)) {
    result.push_back(
        fmt::format("TENON_CUDART is '{}', expected the path of NVIDIA's libcudart; it is ignored", runtime));
  }
  const auto cache = value("TENON_CACHE_DIR");
  if (!cache.empty() && fs::exists(cache, error) && !fs::is_directory(cache, error)) {
    result.push_back(
        fmt::format("TENON_CACHE_DIR is '{}', expected a folder, or the name of a new one; no cache is kept", cache));
  }
}

}  // namespace

std::vector<std::string> ignoredSettings() {
  std::vector<std::string> result;
  for (const auto& variable : kVariables) {
    if (given(variable).empty() || read(variable)) continue;
    const bool isSwitch = variable.low == 0 && variable.high == 1;
    result.push_back(
        fmt::format("{} is '{}', expected {}; it is ignored", variable.name, given(variable),
                    isSwitch ? "0 or 1" : fmt::format("a whole number from {} to {}", variable.low, variable.high)));
  }
  addMissingPaths(result);
  return result;
}

}  // namespace tenon

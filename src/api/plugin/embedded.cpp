// Libraries stand among the native code of a plan; a fact says which they are.
#include "api/plugin/embedded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <mutex>
#include <set>

#include "api/plugin/registry.h"
#include "core/error.h"
#include "core/fields.h"

namespace tenon::api {
namespace {

constexpr const char* kFact = "plugin_libraries";

struct Contents {
  std::vector<int64_t> sections;  // of Plan::nativeCode
  std::vector<std::string> names;
  static constexpr auto fields = std::tuple{field("sections", &Contents::sections), field("names", &Contents::names)};
};

// A file in memory, open for the rest of the process: the loader knows libraries by name, so that no other one may come
// by this descriptor.
std::string memoryFile(const std::string& name, std::span<const std::byte> bytes) {
  const int file = memfd_create(name.c_str(), MFD_CLOEXEC);
  checkUser(file >= 0, "plugin library '{}' of the engine: no file in memory could be made", name);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = write(file, bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) {
      close(file);
      throw UserError("plugin library '{}' of the engine: {} of {} bytes could be written to memory", name, done,
                      bytes.size());
    }
    done += static_cast<size_t>(wrote);
  }
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

void embedLibraries(plan::Plan& plan, const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  Contents contents;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    checkUser(!file.bad() && !bytes.empty(),
              "IBuilderConfig::setPluginsToSerialize: plugin library '{}' cannot be read, or is empty", path);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    contents.sections.push_back(static_cast<int64_t>(plan.nativeCode.size()));
    contents.names.push_back(path.substr(path.rfind('/') + 1));
    plan.nativeCode.emplace_back(data, data + bytes.size());
  }
  plan.facts[kFact] = writeFields(contents);
}

std::vector<std::pair<std::string, std::span<const std::byte>>> librariesOf(const plan::Plan& plan) {
  const auto found = plan.facts.find(kFact);
  if (found == plan.facts.end()) return {};
  TextReader in(found->second, kFact);
  const auto contents = readFields<Contents>(in);
  checkUser(contents.names.size() == contents.sections.size(), "plan: {} plugin libraries have {} names",
            contents.sections.size(), contents.names.size());
  std::vector<std::pair<std::string, std::span<const std::byte>>> result;
  for (size_t i = 0; i < contents.sections.size(); ++i) {
    const int64_t section = contents.sections[i];
    checkUser(section >= 0 && static_cast<size_t>(section) < plan.nativeCode.size(),
              "plan: plugin library '{}' is section {} of {}", contents.names[i], section, plan.nativeCode.size());
    result.emplace_back(contents.names[i], plan.nativeCode[static_cast<size_t>(section)]);
  }
  return result;
}

void openLibrary(const std::string& name, std::span<const std::byte> bytes) {
  static std::mutex mutex;
  static auto* const opened = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string contents(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (opened->contains(contents)) return;
  checkUser(processRegistry().loadLibrary(memoryFile(name, bytes).c_str()) != nullptr,
            "plugin library '{}' of the engine cannot be loaded; the message before says why", name);
  opened->insert(contents);
}

}  // namespace tenon::api

// Plugin registries: rows of creators, parents, libraries, resources.
#include "api/plugin/registry.h"

#include <dlfcn.h>
#include <impl/NvInferPythonPlugin.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "api/common/convert.h"
#include "api/common/reporter.h"
#include "api/plugin/adapters/expansion.h"

namespace tenon::api {
namespace {

constexpr const char* kOldKind = "PLUGIN CREATOR_V1";
constexpr const char* kNewKind = "PLUGIN CREATOR_V3ONE";
constexpr const char* kQuickKind = "PLUGIN CREATOR_V3QUICK";  // of functions written in Python

// The names that a plugin library exports its creators by.
using GetCreators = nv::IPluginCreatorInterface* const* (*)(int32_t& count);
using GetOldCreators = nv::IPluginCreator* const* (*)(int32_t& count);
using SetLoggerFinder = void (*)(nv::ILoggerFinder* finder);

class ProcessLoggerFinder final : public nv::ILoggerFinder {
 public:
  nv::ILogger* findLogger() override { return processLogger(); }
};

// The namespace that a creator of a library names itself.
const char* ownNamespace(nv::IPluginCreatorInterface& creator) {
  const std::string_view kind = orEmpty(creator.getInterfaceInfo().kind);
  if (kind == kOldKind) return static_cast<nv::IPluginCreator&>(creator).getPluginNamespace();
  if (kind == kNewKind) return static_cast<nv::IPluginCreatorV3One&>(creator).getPluginNamespace();
  return kind == kQuickKind ? static_cast<nv::IPluginCreatorV3Quick&>(creator).getPluginNamespace() : "";
}

nv::IPluginRegistry* read(std::recursive_mutex& mutex, nv::IPluginRegistry* const& parent) {
  const std::lock_guard lock(mutex);
  return parent;
}

struct CloseLibrary {
  void operator()(void* handle) const noexcept { dlclose(handle); }
};

}  // namespace

template <typename R, typename Body>
R PluginRegistry::locked(const char* call, R fallback, Body&& body) const noexcept {
  const std::lock_guard lock(mutex_);
  Reporter reporter(processLogger(), recorder_);
  return guarded(reporter, call, fallback, body);
}

PluginRegistry::Row PluginRegistry::describe(nv::IPluginCreatorInterface& creator, const char* pluginNamespace) {
  const std::string kind = orEmpty(creator.getInterfaceInfo().kind);
  if (kind == kOldKind) {
    auto& old = static_cast<nv::IPluginCreator&>(creator);
    return {orEmpty(old.getPluginName()),
            orEmpty(old.getPluginVersion()),
            orEmpty(pluginNamespace),
            &creator,
            &old,
            nullptr};
  }
  if (kind == kQuickKind) {
    auto& quick = static_cast<nv::IPluginCreatorV3Quick&>(creator);
    return {orEmpty(quick.getPluginName()),
            orEmpty(quick.getPluginVersion()),
            orEmpty(pluginNamespace),
            &creator,
            nullptr,
            nullptr};
  }
  checkUser(kind == kNewKind, "a creator of the kind '{}' cannot be registered; expected '{}', '{}' or '{}'", kind,
            kOldKind, kNewKind, kQuickKind);
  auto& one = static_cast<nv::IPluginCreatorV3One&>(creator);
  return {orEmpty(one.getPluginName()),
          orEmpty(one.getPluginVersion()),
          orEmpty(pluginNamespace),
          &creator,
          nullptr,
          nullptr};
}

PluginRegistry::Identity PluginRegistry::identityOf(nv::IPluginCreatorInterface& creator) {
  const auto row = describe(creator, ownNamespace(creator));
  return {row.name, row.version, row.space};
}

bool PluginRegistry::add(Row row) {
  for (const Row& other : rows_) {
    if (other.name != row.name || other.version != row.version || other.space != row.space) continue;
    if (other.creator == row.creator) return false;
    throw UserError("a creator of plugin '{}' version '{}' in namespace '{}' is registered already", row.name,
                    row.version, row.space);
  }
  if (row.old != nullptr) row.old->setPluginNamespace(row.space.c_str());
  row.library = loading_;
  rows_.push_back(std::move(row));
  refreshLists();
  return true;
}

bool PluginRegistry::remove(const nv::IPluginCreatorInterface* creator) {
  const auto count = std::erase_if(rows_, [&](const Row& row) { return row.creator == creator; });
  if (count != 0) refreshLists();
  return count != 0;
}

void PluginRegistry::refreshLists() {
  all_.clear();
  old_.clear();
  for (const Row& row : rows_) {
    all_.push_back(row.creator);
    if (row.old != nullptr) old_.push_back(row.old);
  }
}

bool PluginRegistry::registerCreator(nv::IPluginCreator& creator, const char* pluginNamespace) noexcept {
  return registerCreator(static_cast<nv::IPluginCreatorInterface&>(creator), pluginNamespace);
}

bool PluginRegistry::registerCreator(nv::IPluginCreatorInterface& creator, const char* pluginNamespace) noexcept {
  return locked("IPluginRegistry::registerCreator", false, [&] { return add(describe(creator, pluginNamespace)); });
}

bool PluginRegistry::deregisterCreator(const nv::IPluginCreator& creator) noexcept {
  return locked("IPluginRegistry::deregisterCreator", false, [&] { return remove(&creator); });
}

bool PluginRegistry::deregisterCreator(const nv::IPluginCreatorInterface& creator) noexcept {
  return locked("IPluginRegistry::deregisterCreator", false, [&] { return remove(&creator); });
}

nv::IPluginCreator* const* PluginRegistry::getPluginCreatorList(int32_t* numCreators) const noexcept {
  const std::lock_guard lock(mutex_);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(old_.size());
  return old_.empty() ? nullptr : old_.data();
}

nv::IPluginCreatorInterface* const* PluginRegistry::getAllCreators(int32_t* numCreators) const noexcept {
  const std::lock_guard lock(mutex_);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(all_.size());
  return all_.empty() ? nullptr : all_.data();
}

nv::IPluginCreatorInterface* const* PluginRegistry::getAllCreatorsRecursive(int32_t* numCreators) noexcept {
  const std::lock_guard lock(mutex_);
  recursive_ = all_;
  if (auto* parent = searchedParent(); parent != nullptr) {
    int32_t count = 0;
    auto* const* more = parent->getAllCreatorsRecursive(&count);
    if (more != nullptr) recursive_.insert(recursive_.end(), more, more + count);
  }
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(recursive_.size());
  return recursive_.empty() ? nullptr : recursive_.data();
}

nv::IPluginCreatorInterface* PluginRegistry::getCreator(const char* name, const char* version,
                                                        const char* pluginNamespace) noexcept {
  return locked("IPluginRegistry::getCreator", static_cast<nv::IPluginCreatorInterface*>(nullptr), [&] {
    checkUser(name != nullptr && version != nullptr, "the name or the version is null");
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
      return row.name == name && row.version == version && row.space == orEmpty(pluginNamespace);
    });
    if (found != rows_.end()) return found->creator;
    auto* const parent = searchedParent();
    return parent != nullptr ? parent->getCreator(name, version, orEmpty(pluginNamespace)) : nullptr;
  });
}

nv::IPluginCreator* PluginRegistry::getPluginCreator(const char* name, const char* version,
                                                     const char* pluginNamespace) noexcept {
  nv::IPluginCreatorInterface* creator = getCreator(name, version, pluginNamespace);
  if (creator == nullptr || std::strcmp(orEmpty(creator->getInterfaceInfo().kind), kOldKind) != 0) return nullptr;
  return static_cast<nv::IPluginCreator*>(creator);
}

std::vector<PluginRegistry::Identity> PluginRegistry::identities() const {
  const std::lock_guard lock(mutex_);
  std::vector<Identity> result;
  for (const Row& row : rows_) result.push_back({row.name, row.version, row.space});
  if (auto* parent = searchedParent(); parent != nullptr) {
    int32_t count = 0;
    auto* const* more = parent->getAllCreatorsRecursive(&count);
    for (int32_t i = 0; more != nullptr && i < count; ++i) result.push_back(identityOf(*more[i]));
  }
  return result;
}

void PluginRegistry::setParent(nv::IPluginRegistry* parent) noexcept {
  const std::lock_guard lock(mutex_);
  parent_ = parent;
}

void PluginRegistry::setErrorRecorder(nv::IErrorRecorder* recorder) noexcept {
  const std::lock_guard lock(mutex_);
  if (recorder == recorder_) return;
  if (recorder != nullptr) recorder->incRefCount();
  if (recorder_ != nullptr) recorder_->decRefCount();
  recorder_ = recorder;
}

nv::IErrorRecorder* PluginRegistry::getErrorRecorder() const noexcept {
  const std::lock_guard lock(mutex_);
  return recorder_;
}

bool PluginRegistry::isParentSearchEnabled() const {
  const std::lock_guard lock(mutex_);
  return parentSearch_;
}

void PluginRegistry::setParentSearchEnabled(const bool enabled) {
  const std::lock_guard lock(mutex_);
  parentSearch_ = enabled;
}

nv::IPluginRegistry::PluginLibraryHandle PluginRegistry::loadLibrary(const char* pluginPath) noexcept {
  return locked("IPluginRegistry::loadLibrary", static_cast<void*>(nullptr), [&] {
    checkUser(pluginPath != nullptr && *pluginPath != '\0', "the path of the plugin library is empty");
    std::unique_ptr<void, CloseLibrary> library(dlopen(pluginPath, RTLD_LAZY | RTLD_LOCAL));
    if (library == nullptr) throw UserError("plugin library '{}': {}", pluginPath, orEmpty(dlerror()));
    const auto symbol = [&](const char* name) { return dlsym(library.get(), name); };
    static ProcessLoggerFinder finder;
    if (auto* set = reinterpret_cast<SetLoggerFinder>(symbol("setLoggerFinder")); set != nullptr) set(&finder);
    auto* creators = reinterpret_cast<GetCreators>(symbol("getCreators"));
    auto* oldCreators = reinterpret_cast<GetOldCreators>(symbol("getPluginCreators"));
    checkUser(creators != nullptr || oldCreators != nullptr,
              "plugin library '{}' exports neither getCreators nor getPluginCreators", pluginPath);
    loading_ = library.get();
    try {
      int32_t count = 0;
      const auto* list = creators != nullptr ? creators(count) : nullptr;
      for (int32_t i = 0; list != nullptr && i < count; ++i) add(describe(*list[i], ownNamespace(*list[i])));
      count = 0;
      const auto* oldList = oldCreators != nullptr ? oldCreators(count) : nullptr;
      for (int32_t i = 0; oldList != nullptr && i < count; ++i) add(describe(*oldList[i], ownNamespace(*oldList[i])));
    } catch (...) {
      std::erase_if(rows_, [&](const Row& row) { return row.library == loading_; });
      refreshLists();
      loading_ = nullptr;
      throw;
    }
    loading_ = nullptr;
    ++libraries_[library.get()];
    return library.release();
  });
}

void PluginRegistry::deregisterLibrary(PluginLibraryHandle handle) noexcept {
  locked("IPluginRegistry::deregisterLibrary", false, [&] {
    const auto found = libraries_.find(handle);
    checkUser(
        found != libraries_.end(),
        "{} is not the handle of a loaded library; expected one that loadLibrary() returned, each as often as it was "
        "returned",
        fmt::ptr(handle));
    if (--found->second == 0) {
      std::erase_if(rows_, [&](const Row& row) { return row.library == handle; });
      refreshLists();
      libraries_.erase(found);
    }
    dlclose(handle);
    return true;
  });
}

// Resources are of the process: whatever registry they are asked of, the same key is the same object.
nv::IPluginResource* PluginRegistry::acquirePluginResource(const char* key, nv::IPluginResource* resource) noexcept {
  if (auto* parent = read(mutex_, parent_); parent != nullptr) return parent->acquirePluginResource(key, resource);
  return locked("IPluginRegistry::acquirePluginResource", static_cast<nv::IPluginResource*>(nullptr), [&] {
    checkUser(key != nullptr, "the key is null");
    auto& entry = resources_[key];
    if (entry.object == nullptr) {
      if (resource != nullptr) entry.object = resource->clone();
      if (entry.object == nullptr) {
        resources_.erase(key);
        throw UserError("resource '{}' does not exist, and no object was given to clone", key);
      }
    }
    ++entry.uses;
    return entry.object;
  });
}

int32_t PluginRegistry::releasePluginResource(const char* key) noexcept {
  if (auto* parent = read(mutex_, parent_); parent != nullptr) return parent->releasePluginResource(key);
  return locked("IPluginRegistry::releasePluginResource", -1, [&] {
    const auto found = resources_.find(std::string_view(orEmpty(key)));
    checkUser(found != resources_.end(), "resource '{}' was not acquired", orEmpty(key));
    if (--found->second.uses > 0) return 0;
    nv::IPluginResource* object = found->second.object;
    resources_.erase(found);
    const int32_t result = object->release();
    delete object;
    return result == 0 ? 0 : -1;
  });
}

namespace {

bool isOfKind(const nv::IPluginResource& resource, const char* kind) {
  return std::strcmp(orEmpty(resource.getInterfaceInfo().kind), kind) == 0;
}

}  // namespace

bool PluginRegistry::mayReplay(const char* name, const char* version, const char* space) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(resources_.begin(), resources_.end(), [&](const auto& entry) {
    const auto& resource = *entry.second.object;
    return isOfKind(resource, ReplayablePlugins::kKind) &&
           static_cast<const ReplayablePlugins&>(resource).mayReplay(name, version, space);
  });
}

const PluginExpansion* PluginRegistry::expansionOf(const void* plugin) const noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, resource] : resources_) {
    if (!isOfKind(*resource.object, PluginExpansions::kKind)) continue;
    const auto* found = static_cast<const PluginExpansions*>(resource.object)->find(plugin);
    if (found != nullptr) return found;
  }
  return nullptr;
}

namespace {

thread_local nv::IPluginRegistry* current = nullptr;

}  // namespace

nv::IPluginRegistry& currentRegistry() noexcept { return current != nullptr ? *current : processRegistry(); }

CurrentRegistry::CurrentRegistry(nv::IPluginRegistry& registry) noexcept : before_(std::exchange(current, &registry)) {}

CurrentRegistry::~CurrentRegistry() { current = before_; }

namespace {
__attribute__((constructor)) void watchForks() {
  pthread_atfork(nullptr, nullptr, [] { processRegistry().afterForkInChild(); });
}
}  // namespace

PluginRegistry& processRegistry() noexcept {
  alignas(PluginRegistry) static std::byte place[sizeof(PluginRegistry)];  // no allocation can fail here
  static auto* registry = [] {
    auto* made = new (place) PluginRegistry;
    expansionFinder() = [](const void* plugin) { return processRegistry().expansionOf(plugin); };
    return made;
  }();
  return *registry;
}

}  // namespace tenon::api

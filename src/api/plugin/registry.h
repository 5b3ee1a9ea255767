// IPluginRegistry: creators by name, version and namespace; plugin libraries; shared resources. A runtime or
// builder has one of its own, whose parent, the registry of the process, is searched behind it. Thread-safe.
#pragma once

#include <NvInferRuntime.h>

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "tenon/plugin_expansion.h"
#include "tenon/plugin_replay.h"

namespace tenon::api {

namespace nv = nvinfer1;

class PluginRegistry final : public nv::IPluginRegistry {
 public:
  explicit PluginRegistry(nv::IPluginRegistry* parent = nullptr) : parent_(parent) {}
  ~PluginRegistry() noexcept override = default;  // libraries stay open: objects of them may be alive

  void setParent(nv::IPluginRegistry* parent) noexcept;

  bool registerCreator(nv::IPluginCreator& creator, const char* pluginNamespace) noexcept override;
  nv::IPluginCreator* const* getPluginCreatorList(int32_t* numCreators) const noexcept override;
  nv::IPluginCreator* getPluginCreator(const char* name, const char* version,
                                       const char* pluginNamespace) noexcept override;
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override;
  nv::IErrorRecorder* getErrorRecorder() const noexcept override;
  bool deregisterCreator(const nv::IPluginCreator& creator) noexcept override;
  bool isParentSearchEnabled() const override;
  void setParentSearchEnabled(bool enabled) override;
  PluginLibraryHandle loadLibrary(const char* pluginPath) noexcept override;
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override;
  bool registerCreator(nv::IPluginCreatorInterface& creator, const char* pluginNamespace) noexcept override;
  nv::IPluginCreatorInterface* const* getAllCreators(int32_t* numCreators) const noexcept override;
  nv::IPluginCreatorInterface* getCreator(const char* name, const char* version,
                                          const char* pluginNamespace) noexcept override;
  bool deregisterCreator(const nv::IPluginCreatorInterface& creator) noexcept override;
  nv::IPluginResource* acquirePluginResource(const char* key, nv::IPluginResource* resource) noexcept override;
  int32_t releasePluginResource(const char* key) noexcept override;
  nv::IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* numCreators) noexcept override;

  struct Identity {
    std::string name, version, space;
  };
  std::vector<Identity> identities() const;  // of all creators that getCreator() finds
  // Another thread may have held the lock at the moment of the fork, and waited for code of the user: no fork waits for
  // that.
  void afterForkInChild() noexcept { new (&mutex_) std::recursive_mutex; }
  // Of a plugin object that says what it computes; null where no resource knows it.
  const PluginExpansion* expansionOf(const void* plugin) const noexcept;
  // Whether a resource says that executions of the plugin may be recorded.
  bool mayReplay(const char* name, const char* version, const char* space) const noexcept;

 private:
  struct Row {
    std::string name, version, space;
    nv::IPluginCreatorInterface* creator = nullptr;
    nv::IPluginCreator* old = nullptr;  // the same object where it is of the older kind
    void* library = nullptr;            // that it came with
  };
  struct Resource {
    nv::IPluginResource* object = nullptr;
    int32_t uses = 0;
  };
  bool add(Row row);
  bool remove(const nv::IPluginCreatorInterface* creator);
  void refreshLists();
  static Identity identityOf(nv::IPluginCreatorInterface& creator);
  // Where creators that are not here are looked for; null for nowhere.
  nv::IPluginRegistry* searchedParent() const noexcept { return parentSearch_ ? parent_ : nullptr; }
  template <typename R, typename Body>
  R locked(const char* call, R fallback, Body&& body) const noexcept;
  static Row describe(nv::IPluginCreatorInterface& creator, const char* pluginNamespace);

  mutable std::recursive_mutex mutex_;  // creators may call back while they are asked for their names
  std::vector<Row> rows_;
  std::vector<nv::IPluginCreatorInterface*> all_;
  std::vector<nv::IPluginCreator*> old_;
  std::map<std::string, Resource, std::less<>> resources_;
  nv::IErrorRecorder* recorder_ = nullptr;
  nv::IPluginRegistry* parent_;
  std::vector<nv::IPluginCreatorInterface*> recursive_;  // what getAllCreatorsRecursive() gave last
  bool parentSearch_ = true;
  void* loading_ = nullptr;         // library whose creators are being registered
  std::map<void*, int> libraries_;  // by handle, how often loadLibrary() returned it
};

// The registry in which engines that this thread loads find their creators: that of the runtime or builder, else of the
// process.
nv::IPluginRegistry& currentRegistry() noexcept;
// While it lives, it is another one.
class CurrentRegistry {
 public:
  explicit CurrentRegistry(nv::IPluginRegistry& registry) noexcept;
  ~CurrentRegistry();
  CurrentRegistry(const CurrentRegistry&) = delete;
  CurrentRegistry& operator=(const CurrentRegistry&) = delete;

 private:
  nv::IPluginRegistry* const before_;
};

// The registry of the process. It is never destroyed: registrars run before main and after exit handlers.
PluginRegistry& processRegistry() noexcept;

}  // namespace tenon::api

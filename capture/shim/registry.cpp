// The plugin registry as the application sees it: the library's, with creators that note what they make.
#include <NvInfer.h>

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "shim/answers.h"
#include "shim/plugins.h"
#include "shim/settings.h"
#include "shim/users.h"
#include "shim/wrappers.h"

namespace tenon::capture {
namespace {

using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;

void record(const char* function, const std::string& arguments, const char* answer) {
  if (settings().records() || settings().dumpApi) {
    std::lock_guard lock(Recorder::instance().order());
    Recorder::instance().append(std::string("{\"m\":\"IPluginRegistry.") + function + "\",\"a\":[" + arguments +
                                "],\"r\":" + answer + "}");
  }
}

template <typename Creator>
std::string described(const Creator& creator, const char* space) {
  return quoted(creator.getPluginName()) + "," + quoted(creator.getPluginVersion()) + "," + quoted(space);
}

std::string described(IPluginCreatorInterface& creator, const char* space) {
  const std::string_view kind = creator.getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V1") {
    return described(static_cast<IPluginCreator&>(creator), space);
  }
  if (kind == "PLUGIN CREATOR_V3ONE") {
    return described(static_cast<nvinfer1::IPluginCreatorV3One&>(creator), space);
  }
  return "null,null," + quoted(space);
}

class Registry final : public nvinfer1::IPluginRegistry {
 public:
  explicit Registry(nvinfer1::IPluginRegistry& real) : real_(real) {}
  ~Registry() noexcept override = default;

  bool registerCreator(IPluginCreator& creator, const char* space) noexcept override {
    const bool done = real_.registerCreator(creator, space);
    record("registerCreator", described(creator, space), done ? "true" : "false");
    return done;
  }
  IPluginCreator* const* getPluginCreatorList(int32_t* count) const noexcept override {
    int32_t found = 0;
    IPluginCreator* const* list = real_.getPluginCreatorList(&found);
    std::lock_guard lock(mutex_);
    old_.clear();
    for (int32_t i = 0; i < found; ++i) {
      old_.push_back(static_cast<IPluginCreator*>(wrapCreator(list[i])));
    }
    if (count != nullptr) {
      *count = found;
    }
    return old_.data();
  }
  IPluginCreator* getPluginCreator(const char* name, const char* version, const char* space) noexcept override {
    return static_cast<IPluginCreator*>(wrapCreator(real_.getPluginCreator(name, version, space)));
  }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    uint64_t id = 0;
    real_.setErrorRecorder(standInFor(recorder, id));
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    uint64_t id = 0;
    return originalOf(real_.getErrorRecorder(), id);
  }
  bool deregisterCreator(const IPluginCreator& creator) noexcept override {
    return real_.deregisterCreator(static_cast<const IPluginCreator&>(unwrapCreator(creator)));
  }
  bool isParentSearchEnabled() const override { return real_.isParentSearchEnabled(); }
  void setParentSearchEnabled(bool enabled) override { real_.setParentSearchEnabled(enabled); }
  PluginLibraryHandle loadLibrary(const char* path) noexcept override {
    const PluginLibraryHandle handle = real_.loadLibrary(path);
    record("loadLibrary", quoted(path), handle != nullptr ? "true" : "null");
    return handle;
  }
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override { real_.deregisterLibrary(handle); }
  bool registerCreator(IPluginCreatorInterface& creator, const char* space) noexcept override {
    const bool done = real_.registerCreator(creator, space);
    record("registerCreator", described(creator, space), done ? "true" : "false");
    return done;
  }
  IPluginCreatorInterface* const* getAllCreators(int32_t* count) const noexcept override {
    int32_t found = 0;
    IPluginCreatorInterface* const* list = real_.getAllCreators(&found);
    return wrapped(all_, list, found, count);
  }
  IPluginCreatorInterface* getCreator(const char* name, const char* version, const char* space) noexcept override {
    return wrapCreator(real_.getCreator(name, version, space));
  }
  bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept override {
    return real_.deregisterCreator(unwrapCreator(creator));
  }
  nvinfer1::IPluginResource* acquirePluginResource(const char* key,
                                                   nvinfer1::IPluginResource* resource) noexcept override {
    return real_.acquirePluginResource(key, resource);
  }
  int32_t releasePluginResource(const char* key) noexcept override { return real_.releasePluginResource(key); }
  IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* count) noexcept override {
    int32_t found = 0;
    IPluginCreatorInterface* const* list = real_.getAllCreatorsRecursive(&found);
    return wrapped(recursive_, list, found, count);
  }

 private:
  IPluginCreatorInterface* const* wrapped(std::vector<IPluginCreatorInterface*>& store,
                                          IPluginCreatorInterface* const* list, int32_t found, int32_t* count) const {
    std::lock_guard lock(mutex_);
    store.clear();
    for (int32_t i = 0; i < found; ++i) {
      store.push_back(wrapCreator(list[i]));
    }
    if (count != nullptr) {
      *count = found;
    }
    return store.data();
  }

  nvinfer1::IPluginRegistry& real_;
  mutable std::mutex mutex_;
  mutable std::vector<IPluginCreator*> old_;
  mutable std::vector<IPluginCreatorInterface*> all_;
  std::vector<IPluginCreatorInterface*> recursive_;
};

}  // namespace

nvinfer1::IPluginRegistry* wrapRegistry(nvinfer1::IPluginRegistry* real) {
  if (real == nullptr || !settings().wraps()) {
    return real;
  }
  std::lock_guard lock(Recorder::instance().order());
  static auto& kRegistries = *new std::map<nvinfer1::IPluginRegistry*, Registry*>;
  for (const auto& [known, wrapper] : kRegistries) {
    if (real == wrapper) {
      return real;  // the library was itself given a wrapped one
    }
  }
  Registry*& wrapper = kRegistries[real];
  if (wrapper == nullptr) {
    wrapper = new Registry(*real);
  }
  return wrapper;
}

}  // namespace tenon::capture

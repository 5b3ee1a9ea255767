// The entry point of the standard plugin library, and what happens when it is loaded and unloaded.
#include <NvInferPlugin.h>

#include <map>
#include <mutex>

#include "common/core.h"
#include "common/creators.h"

namespace tenon::plugins {
namespace {

// Lives as long as the library is loaded. The expansions come under a key of this copy of the library.
class Library {
 public:
  Library() : key_(fmt::format("tenon.plugin_expansions.{}", static_cast<const void*>(this))) {
    LiveExpansions expansions;
    getPluginRegistry()->acquirePluginResource(key_.c_str(), &expansions);
    atLoad_ = std::make_unique<Creators>(true, "");
  }
  ~Library() {
    spaces_.clear();
    atLoad_.reset();
    getPluginRegistry()->releasePluginResource(key_.c_str());
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool init(nv::ILogger* logger, const char* space) {
    const std::lock_guard lock(mutex_);
    const std::string name = space != nullptr ? space : "";
    if (spaces_.count(name) != 0) return true;
    const auto& creators = spaces_[name] = std::make_unique<Creators>(false, name);
    if (logger != nullptr) {
      logger->log(nv::ILogger::Severity::kVERBOSE,
                  fmt::format("initLibNvInferPlugins: {} creators in namespace '{}'", creators->count(), name).c_str());
    }
    return creators->complete();
  }

 private:
  const std::string key_;
  std::unique_ptr<Creators> atLoad_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Creators>> spaces_;
};

Library library;  // the order of static objects does not matter: descriptions are made when they are asked for

}  // namespace
}  // namespace tenon::plugins

extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace) {
  try {
    return tenon::plugins::library.init(static_cast<nvinfer1::ILogger*>(logger), libNamespace);
  } catch (const std::exception& error) {
    if (logger != nullptr) {
      static_cast<nvinfer1::ILogger*>(logger)->log(nvinfer1::ILogger::Severity::kERROR, error.what());
    }
    return false;
  }
}

// Every function of the registry that the application sees: what arrives at the library's, and what comes back.
#include <NvInfer.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "forward.h"
#include "shim/plugins.h"

namespace {

using namespace nvinfer1;
using tenon::capture::unwrapCreator;

class Creator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "plugin"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override { return &pluginOfTwo(); }
  IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override { return &pluginOfTwo(); }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class Resource final : public IPluginResource {
 public:
  int32_t release() noexcept override { return 0; }
  IPluginResource* clone() noexcept override { return this; }
};

Creator creators[2];
Resource resource;

// Notes function and arguments in one text.
class Real final : public IPluginRegistry {
 public:
  template <typename... A>
  void note(const char* function, A... arguments) const {
    seen = function;
    ((seen += " " + text(arguments)), ...);
  }
  static std::string text(const char* value) { return value != nullptr ? value : "null"; }
  static std::string text(const void* value) { return std::to_string(reinterpret_cast<uintptr_t>(value)); }

  bool registerCreator(IPluginCreator& creator, const char* space) noexcept override {
    note("registerCreator2", static_cast<const void*>(&creator), space);
    return true;
  }
  IPluginCreator* const* getPluginCreatorList(int32_t* count) const noexcept override {
    note("getPluginCreatorList");
    static IPluginCreator* const kAll[] = {&creators[0], &creators[1]};
    *count = 2;
    return kAll;
  }
  IPluginCreator* getPluginCreator(const char* name, const char* version, const char* space) noexcept override {
    note("getPluginCreator", name, version, space);
    return &creators[0];
  }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override {
    note("setErrorRecorder");
    errors = recorder;
  }
  IErrorRecorder* getErrorRecorder() const noexcept override { return errors; }
  bool deregisterCreator(const IPluginCreator& creator) noexcept override {
    note("deregisterCreator2", static_cast<const void*>(&creator));
    return true;
  }
  bool isParentSearchEnabled() const override {
    note("isParentSearchEnabled");
    return true;
  }
  void setParentSearchEnabled(bool enabled) override { note("setParentSearchEnabled", enabled ? "yes" : "no"); }
  PluginLibraryHandle loadLibrary(const char* path) noexcept override {
    note("loadLibrary", path);
    return &resource;
  }
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override {
    note("deregisterLibrary", static_cast<const void*>(handle));
  }
  bool registerCreator(IPluginCreatorInterface& creator, const char* space) noexcept override {
    note("registerCreator", static_cast<const void*>(&creator), space);
    return true;
  }
  IPluginCreatorInterface* const* getAllCreators(int32_t* count) const noexcept override {
    note("getAllCreators");
    return all(count);
  }
  IPluginCreatorInterface* getCreator(const char* name, const char* version, const char* space) noexcept override {
    note("getCreator", name, version, space);
    return &creators[1];
  }
  bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept override {
    note("deregisterCreator", static_cast<const void*>(&creator));
    return true;
  }
  IPluginResource* acquirePluginResource(const char* key, IPluginResource* given) noexcept override {
    note("acquirePluginResource", key, static_cast<const void*>(given));
    return given;
  }
  int32_t releasePluginResource(const char* key) noexcept override {
    note("releasePluginResource", key);
    return 7;
  }
  IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* count) noexcept override {
    note("getAllCreatorsRecursive");
    return all(count);
  }

  mutable std::string seen;
  IErrorRecorder* errors = nullptr;

 private:
  static IPluginCreatorInterface* const* all(int32_t* count) {
    static IPluginCreatorInterface* const kAll[] = {&creators[0], &creators[1]};
    *count = 2;
    return kAll;
  }
};

class Errors final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return 0; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return ErrorCode::kSUCCESS; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return ""; }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override {}
  bool reportError(ErrorCode, ErrorDesc) noexcept override { return false; }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 0; }
};

template <typename List>
bool isAll(List list, int32_t count) {
  return count == 2 && &unwrapCreator(*list[0]) == &creators[0] && &unwrapCreator(*list[1]) == &creators[1] &&
         static_cast<const void*>(list[0]) != &creators[0];
}

}  // namespace

int checkRegistry() {
  Real real;
  IPluginRegistry& face = *tenon::capture::wrapRegistry(&real);
  int count = 0;
  const auto arrives = [&](const std::string& expected, bool holds) {
    probe::expect(holds && real.seen == expected, ("IPluginRegistry: " + expected + ", not " + real.seen).c_str());
    ++count;
  };
  probe::expect(&face != &real, "the registry is not wrapped");
  const std::string own = Real::text(static_cast<const void*>(&creators[0]));
  const std::string thing = Real::text(static_cast<const void*>(&resource));
  auto& asInterface = static_cast<IPluginCreatorInterface&>(creators[0]);
  int32_t number = 0;
  arrives("registerCreator2 " + own + " space", face.registerCreator(creators[0], "space"));
  arrives("registerCreator " + own + " space", face.registerCreator(asInterface, "space"));
  auto* const* old = face.getPluginCreatorList(&number);
  arrives("getPluginCreatorList", isAll(old, number));
  auto* const* every = face.getAllCreators(&number);
  arrives("getAllCreators", isAll(every, number));
  arrives("getAllCreatorsRecursive", isAll(face.getAllCreatorsRecursive(&number), number));
  arrives("getPluginCreator a b c", &unwrapCreator(*face.getPluginCreator("a", "b", "c")) == &creators[0]);
  IPluginCreatorInterface* second = face.getCreator("a", "b", nullptr);
  arrives("getCreator a b null", &unwrapCreator(*second) == &creators[1]);
  arrives("deregisterCreator2 " + own, face.deregisterCreator(*old[0]));
  arrives("deregisterCreator " + own, face.deregisterCreator(*every[0]));
  arrives("isParentSearchEnabled", face.isParentSearchEnabled());
  face.setParentSearchEnabled(true);
  arrives("setParentSearchEnabled yes", true);
  arrives("loadLibrary path", face.loadLibrary("path") == &resource);
  face.deregisterLibrary(&resource);
  arrives("deregisterLibrary " + thing, true);
  arrives("acquirePluginResource key " + thing, face.acquirePluginResource("key", &resource) == &resource);
  arrives("releasePluginResource key", face.releasePluginResource("key") == 7);
  Errors errors;
  face.setErrorRecorder(&errors);
  arrives("setErrorRecorder", real.errors != &errors && face.getErrorRecorder() == &errors);
  probe::expect(tenon::capture::wrapRegistry(&face) == &face, "a wrapped registry is wrapped again");
  return count;
}

// One creator class per kind of interface, over the description of the plugin.
#include "common/creators.h"

#include "common/core.h"

namespace tenon::plugins {
namespace {

// The fields as a creator reports them.
class FieldNames {
 public:
  explicit FieldNames(const Spec& spec) {
    for (const FieldSpec& field : spec.fields) list_.emplace_back(field.name, nullptr, field.type, field.length);
    collection_ = {static_cast<int32_t>(list_.size()), list_.data()};
  }
  const nv::PluginFieldCollection* get() const noexcept { return &collection_; }

 private:
  std::vector<nv::PluginField> list_;
  nv::PluginFieldCollection collection_{};
};

class OldCreator final : public nv::IPluginCreator {
 public:
  OldCreator(const Spec& spec, std::string space) : spec_(spec), names_(spec), space_(std::move(space)) {}
  const char* getPluginName() const noexcept override { return spec_.name; }
  const char* getPluginVersion() const noexcept override { return spec_.version; }
  const nv::PluginFieldCollection* getFieldNames() noexcept override { return names_.get(); }
  nv::IPluginV2* createPlugin(const char*, const nv::PluginFieldCollection* fields) noexcept override {
    return make([&] { return Fields(fields); });
  }
  nv::IPluginV2* deserializePlugin(const char*, const void* bytes, size_t count) noexcept override {
    return make([&] { return Fields::parse(bytes, count); });
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space != nullptr ? space : ""; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  template <typename Read>
  nv::IPluginV2* make(Read&& read) noexcept {
    try {
      return makeOld(spec_, read(), space_);
    } catch (const std::exception& error) {
      report(fmt::format("plugin '{}', version '{}' cannot be made: {}", spec_.name, spec_.version, error.what()));
      return nullptr;
    }
  }
  const Spec& spec_;
  const FieldNames names_;
  std::string space_;
};

class NewCreator final : public nv::IPluginCreatorV3One {
 public:
  NewCreator(const Spec& spec, std::string space) : spec_(spec), names_(spec), space_(std::move(space)) {}
  const char* getPluginName() const noexcept override { return spec_.name; }
  const char* getPluginVersion() const noexcept override { return spec_.version; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  const nv::PluginFieldCollection* getFieldNames() noexcept override { return names_.get(); }
  nv::IPluginV3* createPlugin(const char*, const nv::PluginFieldCollection* fields,
                              nv::TensorRTPhase) noexcept override {
    try {
      return makeNew(spec_, Fields(fields), space_);
    } catch (const std::exception& error) {
      report(fmt::format("plugin '{}', version '{}' cannot be made: {}", spec_.name, spec_.version, error.what()));
      return nullptr;
    }
  }

 private:
  const Spec& spec_;
  const FieldNames names_;
  const std::string space_;
};

}  // namespace

Creators::Creators(bool atLoad, const std::string& space) {
  nv::IPluginRegistry* const registry = getPluginRegistry();
  for (const Spec& spec : standardPlugins()) {
    if (spec.atLoad != atLoad) continue;
    if (registry->getCreator(spec.name, spec.version, space.c_str()) != nullptr) continue;  // somebody's own
    std::unique_ptr<nv::IPluginCreatorInterface> creator;
    if (spec.interface == Interface::kV3) {
      creator = std::make_unique<NewCreator>(spec, space);
    } else {
      creator = std::make_unique<OldCreator>(spec, space);
    }
    if (registry->registerCreator(*creator, space.c_str())) {
      creators_.push_back(std::move(creator));
    } else {
      complete_ = false;
    }
  }
}

Creators::~Creators() {
  for (const auto& creator : creators_) getPluginRegistry()->deregisterCreator(*creator);
}

}  // namespace tenon::plugins

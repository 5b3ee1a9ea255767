// What the adapters of IPluginV3 objects share: their capabilities, told apart by kind.
#pragma once

#include <NvInfer.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/common/convert.h"
#include "api/plugin/adapters/adapter.h"

namespace tenon::api {

// The capability of the expected kind; null where the plugin lacks it.
template <typename T>
T* capability(nv::IPluginV3& plugin, nv::PluginCapabilityType type, const char* kind) {
  nv::IPluginCapability* found = plugin.getCapabilityInterface(type);
  if (found == nullptr) return nullptr;
  const char* got = orEmpty(found->getInterfaceInfo().kind);
  if (std::strcmp(got, kind) != 0) {
    throw Unsupported("the plugin's capability {} is of the kind '{}', which is not supported yet; expected '{}'",
                      static_cast<int32_t>(type), got, kind);
  }
  return static_cast<T*>(found);
}

// A copy, which is the caller's. `name` says what the plugin is where there is none.
template <typename Name>
std::unique_ptr<nv::IPluginV3> cloned(nv::IPluginV3& plugin, Name&& name) {
  nv::IPluginV3* copy = plugin.clone();
  if (copy == nullptr) throw UserError("{}: clone() returned null", name());
  if (copy == &plugin) throw UserError("{}: clone() returned the plugin itself; expected a copy", name());
  return std::unique_ptr<nv::IPluginV3>(copy);
}

inline int32_t sizeOf(const auto& list) { return static_cast<int32_t>(list.size()); }

// The tactics of a builder's capability: `count` of them, which `write` gives.
template <typename Count, typename Write>
std::vector<int32_t> readTactics(const PluginIdentity& identity, Count&& count, Write&& write) {
  const int32_t number = count();
  constexpr int32_t kMost = 1 << 16;
  checkUser(number >= 0 && number <= kMost, "{}: getNbTactics() returned {}; expected 0 to {}", identity.text(), number,
            kMost);
  std::vector<int32_t> result(static_cast<size_t>(number));
  if (number == 0) return result;
  write(result);
  const std::set<int32_t> different(result.begin(), result.end());
  checkUser(different.size() == result.size() && *different.begin() > 0,
            "{}: getValidTactics() gave a tactic twice or one below 1; expected {} different positive numbers",
            identity.text(), number);
  return result;
}

// An IPluginV3 whose capabilities are the ones of functions in Python.
constexpr const char* kQuickCoreKind = "PLUGIN_V3QUICK_CORE";
constexpr const char* kQuickCreatorKind = "PLUGIN CREATOR_V3QUICK";
constexpr const char* kQuickInterface = "IPluginV3Quick";
constexpr const char* kCompiledBuildKind = "PLUGIN_V3QUICKAOT_BUILD";
std::unique_ptr<PluginAdapter> adaptQuick(std::unique_ptr<nv::IPluginV3> plugin);
std::unique_ptr<PluginAdapter> adaptCompiled(std::unique_ptr<nv::IPluginV3> plugin);  // with that build capability

}  // namespace tenon::api

// While a network is built its own objects run; in engines the ones that registered creators make.
#include "api/plugin/plugin_host.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <set>

#include "api/common/convert.h"
#include "api/plugin/adapters/plugin_kernel.h"
#include "api/plugin/adapters/state.h"
#include "api/plugin/embedded.h"
#include "api/plugin/registry.h"
#include "ops/region_kernels.h"
#include "ops/within.h"
#include "runtime/plugin_host.h"

namespace tenon::api {
namespace {

std::vector<PluginRegistry::Identity> knownTo(nv::IPluginRegistry& registry) {
  auto* const own = dynamic_cast<PluginRegistry*>(&registry);
  return own != nullptr ? own->identities() : processRegistry().identities();
}

// What is registered, for a message: those of the same name first.
std::string registered(const PluginIdentity& wanted) {
  constexpr size_t kMost = 8;
  auto known = knownTo(currentRegistry());
  std::stable_partition(known.begin(), known.end(), [&](const auto& one) { return one.name == wanted.type; });
  std::string result;
  for (size_t i = 0; i < std::min(kMost, known.size()); ++i) {
    result += fmt::format("{}'{}' version '{}' namespace '{}'", i == 0 ? "" : ", ", known[i].name, known[i].version,
                          known[i].space);
  }
  if (known.size() > kMost) result += fmt::format(" and {} more", known.size() - kMost);
  return known.empty() ? "none" : result;
}

// Plugins of the plan without a registered creator, for a message; empty where all are there.
std::string missingPlugins(const plan::Plan& plan) {
  std::set<std::string> missing;
  for (const auto& program : plan.programs) {
    for (const auto& step : program.steps) {
      const bool mayHold = step.kernel.name == "plugin" || step.kernel.name == ops::RegionKernel::kRegions;
      if (step.kind != plan::StepKind::kLaunch || !mayHold) continue;
      ops::forEachOf<ops::Plugin>(ops::Operator::parse(step.kernel.op), [&](const ops::Plugin& plugin) {
        if (currentRegistry().getCreator(plugin.type.c_str(), plugin.version.c_str(), plugin.space.c_str()) == nullptr)
          missing.insert(PluginIdentity{"", plugin.type, plugin.version, plugin.space}.text());
      });
    }
  }
  return fmt::format("{}", fmt::join(missing, "; "));
}

class Host final : public runtime::PluginHost {
 public:
  void prepare(const plan::Plan& plan, bool hostCodeAllowed) override {
    const auto libraries = librariesOf(plan);
    if (libraries.empty()) return;
    const auto missing = missingPlugins(plan);
    if (missing.empty()) return;
    checkUser(
        hostCodeAllowed,
        "the engine needs {}, and holds the plugin libraries for it. They are code for this machine's processor: call "
        "IRuntime::setEngineHostCodeAllowed(true) before the engine is loaded, if you trust it, or register the "
        "creators yourself",
        missing);
    for (const auto& [name, bytes] : libraries) openLibrary(name, bytes);
  }

  std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& load, runtime::Device& device) override {
    const auto op = ops::Operator::parse(load.record.op);
    const auto* plugin = op.as<ops::Plugin>();
    checkUser(plugin != nullptr, "a plugin kernel computes plugins; the plan asks for {}", op.name());
    auto parameters = parseParameters(load.record.params);
    auto adapter = parameters.object != 0 ? live(*plugin, parameters) : restored(*plugin, parameters);
    return makePluginKernel(std::move(adapter), *plugin, std::move(parameters), device, load.sizesOnly);
  }

 private:
  static std::unique_ptr<PluginAdapter> live(const ops::Plugin& plugin, const PluginParameters& parameters) {
    const auto object = LivePlugin::find(parameters.object);
    checkUser(object != nullptr, "layer '{}': the plan names a plugin object of a build that is over", plugin.layer);
    return object->configured(plugin, parameters);
  }

  static std::unique_ptr<PluginAdapter> restored(const ops::Plugin& plugin, const PluginParameters& parameters) {
    const PluginIdentity identity{plugin.interfaceName, plugin.type, plugin.version, plugin.space};
    (void)describe(plugin, parameters);  // the record is whole
    nv::IPluginCreatorInterface* creator =
        currentRegistry().getCreator(plugin.type.c_str(), plugin.version.c_str(), plugin.space.c_str());
    checkUser(creator != nullptr,
              "layer '{}': the engine needs {}, and no creator of it is registered. Before the engine is loaded, load "
              "the library that has it (IPluginRegistry::loadLibrary, or dlopen where it uses "
              "REGISTER_TENSORRT_PLUGIN), or call IPluginRegistry::registerCreator, or initLibNvInferPlugins for the "
              "standard ones. Registered: {}",
              plugin.layer, identity.text(), registered(identity));
    try {
      return restore(*creator, identity, plugin.layer, fromBase64(parameters.state));
    } catch (const UserError& error) {
      throw UserError("layer '{}': {}", plugin.layer, error.what());
    }
  }
};

}  // namespace

void installPluginHost() noexcept {
  // Never destroyed, because objects of a program may outlive main, and never refused for want of memory.
  alignas(Host) static std::byte place[sizeof(Host)];
  static auto* const kHost = new (place) Host;
  runtime::pluginHost() = kHost;
}

}  // namespace tenon::api
